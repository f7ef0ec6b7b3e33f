// SPDX-License-Identifier: GPL-2.0-or-later
/* Definitions come in the order of their numbers, which makes them small in the file. */
#include "stack_records.h"

#include "code_names.h"
#include "record/made.h"

#include <stdlib.h>
#include <string.h>

#define SYMBOLS_TIME 1500000000ull /* ns: a recording ends within two seconds */
#define ALL_KERNEL   UINT64_MAX /* for a module: its symbols take longest to read, and are last */

/* n bytes as the digits of a build-id are read. */
static u64 digits(const u8 *id, int n)
{
	u64 v = 0;

	while (n--)
		v = v << 8 | *id++;
	return v;
}

static int put_module(const struct code_module *m, u32 id, struct pump *p, bool hide, struct err *e)
{
	u8 build_id[20] = { 0 };
	bool generated = m->kind == CODE_JIT;
	struct ev_module ev = {
		.h = { .type = EV_module },
		.id = id,
		.ino = m->ino,
		.dev = m->dev,
		.pid = generated ? m->pid : 0,
		.kind = m->kind,
		.flags = m->deleted | m->unread << 1,
	};

	memcpy(build_id, m->elf.build_id, m->elf.build_id_size < 20 ? m->elf.build_id_size : 20);
	ev.build_id0 = digits(build_id, 8);
	ev.build_id1 = digits(build_id + 8, 8);
	ev.build_id2 = digits(build_id + 16, 4);
	return made_put(p, &ev, sizeof(ev),
			hide && (m->kind == CODE_ELF || m->kind == CODE_FILE) ? NULL : m->path, e);
}

static int put_frame(struct raw_queue *q, const struct stack_tables *t, u32 i,
		     struct stack_written *w, struct pump *p, bool hide, struct err *e)
{
	const struct code_frame *f = &t->frames[i];
	const struct code_module *m = &q->modules.list[f->module];
	bool absolute = !f->module || m->kind == CODE_JIT || !m->elf.elf;
	struct ev_frame ev = {
		.h = { .type = EV_frame },
		.address = f->address,
		.id = t->first + i,
		.module = f->module,
	};
	int ret = 0;

	if (m->kind == CODE_KERNEL || m->kind == CODE_KMOD)
		absolute = false;
	if (hide && absolute)
		ev.address = 0;
	if (f->module && !w->modules[f->module]) {
		w->modules[f->module] = 1;
		ret = put_module(m, f->module, p, hide, e);
	}
	return ret < 0 ? ret : made_put(p, &ev, sizeof(ev), NULL, e);
}

static int put_stack(const struct stack_tables *t, u32 i, struct pump *p, struct err *e)
{
	const struct stack_node *node = &t->stacks[i];
	struct ev_stack ev = {
		.h = { .type = EV_stack },
		.id = t->first + i,
		.caller = node->caller ? t->first + node->caller : 0,
		.frame = t->first + node->frame,
	};

	return made_put(p, &ev, sizeof(ev), NULL, e);
}

int stack_records_new(struct raw_queue *q, const struct stack_tables *t, struct stack_written *w,
		      struct pump *p, bool hide, struct err *e)
{
	int ret = 0;

	if (!w->modules)
		w->modules = calloc(CODE_MODULES_MAX, 1);
	if (!w->frames)
		w->frames = w->stacks = 1;
	if (!w->modules)
		return err_set(e, ERR_FAIL, "out of memory for stacks");
	for (; ret == 0 && w->frames < t->n_frames; w->frames++)
		ret = put_frame(q, t, w->frames, w, p, hide, e);
	for (; ret == 0 && w->stacks < t->n_stacks; w->stacks++)
		ret = put_stack(t, w->stacks, p, e);
	return ret;
}

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
	return made_put(p, &ev, sizeof(ev), text, e);
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
	if (!hide && (m->kind == CODE_ELF || m->kind == CODE_VDSO) && m->elf.elf) {
		code_names_elf(names, n, &m->elf);
	} else if (!hide && m->kind == CODE_JIT) {
		process = raw_queue_process(q, m->pid);
		if (!process)
			return;
		unwinder_perf(&q->unwinder, process);
		code_names_perf(names, n, &process->perf);
	}
}

/* All frames, without names; start holds the module. */
static u32 list_frames(const struct raw_queue *q, struct code_name *names,
		       const struct stack_tables *t)
{
	const struct code_frame *f;
	enum code_kind kind;
	u32 i;

	for (i = 1; i < t->n_frames; i++, names++) {
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

int stack_records_symbols(struct raw_queue *q, struct pump *p, bool hide, struct err *e)
{
	struct code_name *names =
		calloc(q->tables.n_frames + q->older.n_frames + 1, sizeof(*names));
	u64 begin = made_now();
	u32 n, i, from, to;
	int ret = 0;

	if (!names)
		return err_set(e, ERR_FAIL, "out of memory for symbols");
	n = list_frames(q, names, &q->older);
	n += list_frames(q, names + n, &q->tables);
	qsort(names, n, sizeof(*names), by_module);
	for (from = 0; from < n && ret == 0; from = to) {
		u64 module = names[from].start;

		for (to = from; to < n && names[to].start == module && !names[to].name; to++)
			;
		if (module && made_now() - begin < SYMBOLS_TIME)
			find_names(q, names + from, to - from, module, hide);
		for (i = from; i < to && ret == 0; i++)
			if (names[i].name)
				ret = put_symbol(&names[i], p, e);
	}
	for (i = 0; i < n; i++)
		code_name_free(&names[i]);
	free(names);
	return ret;
}
