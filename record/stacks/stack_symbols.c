// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A process of its own reads the files that code is in: one on a file system that has stopped to
 * respond since it was opened blocks who reads it. The names come back through a pipe.
 */
#define _GNU_SOURCE /* pipe2 */
#include "stack_symbols.h"

#include "code_names.h"
#include "record/files/procfs.h"
#include "record/functions/rootdir.h"
#include "record/pump/records.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SYMBOLS_TIME 1500000000ull /* ns: a recording ends within two seconds */
#define ALL_KERNEL   UINT64_MAX /* for a module: its symbols take longest to read, and are last */
#define STUCK_MAX    16		/* processes given up: then no more names are read */
#define STUCK_MS     3000	/* without a result, or progress of its reads */
#define STUCK_MOST   10000	/* for all names, without what comes at once */
#define SLICE_MS     20		/* between two looks */
#define READS	     0		/* for a type: not an event, but the module that is read, as tid */
#define KERNEL	     UINT32_MAX /* for such a module */
#define NONE	     (UINT32_MAX - 1) /* the same: all are read */
#define NOT_ALL	     "obsrec: not all names of functions could be read\n"

static int by_module(const void *a, const void *b)
{
	const struct code_name *x = a, *y = b;

	/* start holds the module until names are found */
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

static int put_symbol(const struct code_name *c, struct pump *p, struct err *e)
{
	char text[CODE_NAME_TEXT];
	struct ev_symbol ev;

	code_name_symbol(&ev, text, c);
	return records_put(p, &ev, sizeof(ev), text, e);
}

/* The root of a process that has the module mapped, for the debug file in its container. */
static int root_of(struct raw_queue *q, u32 module)
{
	const struct code_process *p = q->processes;
	int root = -1;
	u32 i;

	for (; p < q->processes + PROCESSES && root < 0; p++)
		for (i = 0; i < p->maps.n && root < 0; i++)
			if (p->maps.list[i].module == (int)module && !rootdir_is_ours(p->pid))
				root = rootdir_open(&q->modules.files, p->pid);
	return root;
}

static void find_parked(struct raw_queue *q, struct code_name *names, u32 n, u32 module)
{
	const struct code_module *m = &q->modules.list[module];
	int root = root_of(q, module);

	code_names_parked(names, n, m->parked, m->path, root);
	if (root >= 0)
		close(root);
}

/* Those of one module, or of the kernel with its modules. */
static void find_names(struct raw_queue *q, struct code_name *names, u32 n, u64 module, bool hide)
{
	const struct code_module *m;
	struct code_process *process;

	if (module == ALL_KERNEL) {
		code_names_kernel(names, n, q->kernel.symbols);
		return;
	}
	m = &q->modules.list[module];
	if (m->silent)
		return;
	if (!hide && m->kind == CODE_ELF && m->parked >= 0) {
		find_parked(q, names, n, module);
	} else if (m->kind == CODE_VDSO && m->elf.elf) { /* of the kernel: no secret */
		code_names_elf(names, n, &m->elf, -1);
	} else if (!hide && m->kind == CODE_JIT) {
		process = raw_queue_process(q, m->pid);
		if (!process)
			return;
		unwinder_perf(&q->unwinder, process);
		code_names_perf(names, n, &process->perf);
	}
}

/* The first n frames, without names; start holds the module. */
static u32 list_frames(const struct raw_queue *q, struct code_name *names,
		       const struct stack_tables *t, u32 n)
{
	const struct code_frame *f;
	enum code_kind kind;
	u32 i;

	for (i = 1; i < n; i++, names++) {
		f = &t->frames[i];
		kind = q->modules.list[f->module].kind;
		names->frame = t->first + i;
		names->address = f->address;
		names->start = f->module;
		if (kind != CODE_KERNEL && kind != CODE_KMOD)
			continue;
		names->address = kernel_code_at(&q->kernel, f->module, f->address);
		names->start = ALL_KERNEL;
	}
	return i - 1;
}

/* ---- the process that reads ---- */

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Keeps only the files of code: it can outlive the recorder, whose output and programs must end. */
static void close_others(const struct raw_queue *q, int out)
{
	int keep[CODE_MODULES_MAX + 2], n = 0, from = 0, i;

	keep[n++] = out;
	if (q->kernel.symbols)
		keep[n++] = fileno(q->kernel.symbols);
	for (i = 1; i < (int)q->modules.n; i++)
		if (q->modules.list[i].kind != CODE_NONE && q->modules.list[i].parked >= 0)
			keep[n++] = q->modules.list[i].parked;
	qsort(keep, n, sizeof(*keep), by_number);
	for (i = 0; i < n; i++) {
		if (keep[i] > from)
			syscall(SYS_close_range, from, keep[i] - 1, 0u);
		from = keep[i] + 1;
	}
	syscall(SYS_close_range, from, ~0u, 0u);
}

static bool send_all(int out, struct buf *b)
{
	size_t at = 0;
	ssize_t n = 0;

	for (; at < b->len && n >= 0; at += n)
		n = write(out, b->data + at, b->len - at);
	buf_clear(b);
	return n >= 0;
}

/* What is read next: it is to blame if nothing follows. */
static bool announce(u32 tid, struct pump *p, int out, struct buf *found)
{
	struct ev_header h = { .type = READS, .size = sizeof(h), .tid = tid };
	struct err e = { 0 };

	return pump_record(p, &h, &e) == 0 && send_all(out, found);
}

/* From this module on; the end is announced if all could be read and sent. */
static void read_names(struct raw_queue *q, struct pump *p, bool hide,
		       const struct stack_naming *to_name, int out)
{
	struct code_name *names = calloc(to_name->older + to_name->frames + 1, sizeof(*names));
	u64 begin = records_now();
	struct err e = { 0 };
	struct buf found = { 0 };
	u32 n, i, from, to;
	bool ok = names;

	pump_divert(p, &found);
	n = ok ? list_frames(q, names, &q->older, to_name->older) : 0;
	n += ok ? list_frames(q, names + n, &q->tables, to_name->frames) : 0;
	if (n)
		qsort(names, n, sizeof(*names), by_module);
	for (from = 0; from < n && ok; from = to) {
		u64 module = names[from].start;

		for (to = from; to < n && names[to].start == module && !names[to].name; to++)
			;
		if (module < to_name->module)
			continue;
		ok = announce(module == ALL_KERNEL ? KERNEL : (u32)module, p, out, &found);
		if (ok && module && records_now() - begin < SYMBOLS_TIME)
			find_names(q, names + from, to - from, module, hide);
		for (i = from; i < to && ok; i++)
			ok = !names[i].name || put_symbol(&names[i], p, &e) == 0;
		ok = ok && send_all(out, &found);
	}
	if (ok)
		announce(NONE, p, out, &found);
}

static void serve(struct raw_queue *q, struct pump *p, bool hide,
		  const struct stack_naming *to_name, int out)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "obsrec-names");
	close_others(q, out);
	q->modules.files = (struct safe_files){ 0 }; /* its worker is the recorder's */
	read_names(q, p, hide, to_name, out);
	_exit(EXIT_SUCCESS);
}

/* ---- the recorder's side ---- */

struct taking {
	struct pump *pump;
	struct buf in; /* less than a record */
	u32 module;    /* that is read */
	int *left;     /* ms to wait */
};

/* Hands on the whole records; the rest stays. */
static int hand_on(struct taking *t, struct err *e)
{
	struct buf *in = &t->in;
	const struct ev_header *h;
	size_t at = 0;
	int ret = 0;

	while (ret == 0 && at + sizeof(*h) <= in->len) {
		h = (const struct ev_header *)(in->data + at);
		if (h->size < sizeof(*h) || at + h->size > in->len)
			break;
		at += h->size;
		if (h->type == READS)
			t->module = h->tid;
		else
			ret = pump_record(t->pump, h, e);
	}
	in->len -= at;
	memmove(in->data, in->data + at, in->len);
	return ret;
}

/* 1: the process has ended; 0: more may come; negative: errors. */
static int take_some(struct taking *t, int from, struct err *e)
{
	char part[65536];
	ssize_t n = read(from, part, sizeof(part));

	if (n < 0 && errno == EINTR)
		return 0;
	if (n <= 0)
		return 1;
	return buf_add(&t->in, part, n, e) < 0 ? ERR_FAIL : hand_on(t, e);
}

/* Returns 1 if the process has to be given up. */
static int take_names(struct taking *t, int from, pid_t pid, struct err *e)
{
	struct pollfd look = { from, POLLIN, 0 };
	int ret = 0, since = 0;
	bool waited = false;
	u64 had = 0, has;

	/* a signal ends the wait, not what has come; its end can wait for what it closes */
	while (ret == 0 && t->module != NONE && !(waited && safe_stopping())) {
		if (poll(&look, 1, SLICE_MS) > 0) {
			ret = take_some(t, from, e);
			waited = false;
			since = 0;
			continue;
		}
		waited = true;
		*t->left -= SLICE_MS;
		since += SLICE_MS;
		/* a slow disk is no file system that does not respond */
		has = procfs_progress(pid);
		since = has > had ? 0 : since;
		had = has;
		if (*t->left <= 0 || (since >= STUCK_MS && !procfs_runnable(pid)))
			return 1;
	}
	return ret < 0 ? ret : 0;
}

void stack_naming_begin(struct stack_naming *n, const struct raw_queue *q)
{
	*n = (struct stack_naming){
		.older = q->older.n_frames,
		.frames = q->tables.n_frames,
		.left = STUCK_MOST,
		.from = -1,
	};
}

bool stack_naming_start(struct stack_naming *n, struct raw_queue *q, struct pump *p, bool hide)
{
	int pipe[2];

	/* after a file that is silent, those of the others; two of them are enough waiting */
	if (n->rounds == 2 || q->stuck >= STUCK_MAX || n->module >= NONE || n->left <= 0)
		return false;
	n->rounds++;
	if (pipe2(pipe, O_CLOEXEC) < 0) {
		fprintf(stderr, NOT_ALL);
		return false;
	}
	n->from = pipe[0];
	n->pid = fork();
	if (n->pid == 0)
		serve(q, p, hide, n, pipe[1]);
	close(pipe[1]);
	return true;
}

int stack_naming_take(struct stack_naming *n, struct pump *p, struct err *e)
{
	struct taking t = { .pump = p, .module = n->module, .left = &n->left };
	int ret = n->pid > 0 ? take_names(&t, n->from, n->pid, e) : 0;

	close(n->from);
	buf_free(&t.in);
	if (n->pid > 0)
		safe_kill(n->pid);
	if (ret == 0 && t.module != NONE && !safe_stopping())
		fprintf(stderr, NOT_ALL);
	n->module = t.module;
	return ret;
}

void stack_naming_blame(struct stack_naming *n, struct raw_queue *q)
{
	if (n->module && n->module < q->modules.n)
		q->modules.list[n->module].silent = true;
	fprintf(stderr,
		"obsrec: %s did not respond in time: names of its functions are not recorded\n",
		n->module == KERNEL ? "/proc/kallsyms" : "a file of code");
	q->stuck++;
	n->module += n->module != KERNEL;
}
