// SPDX-License-Identifier: GPL-2.0-or-later
/* System calls: a row each, and counts, failures and latencies by process and call. */
#include "analyze/replay/track.h"

#include <stdlib.h>
#include <string.h>

#define ERRNO_MAX   4095 /* results from -4095 to -1 are errors */
#define FUTEX_WAITV 449	 /* in every table */

struct errno_count {
	s32 error;
	u64 n;
};

struct syscall_stat {
	u32 pid;
	u16 nr;
	u8 abi;
	u64 n, errors, unfinished, bytes;
	struct hist latency;
	struct errno_count *failures;
	u32 n_failures;
};

/* The first argument; of futex_waitv, whose futexes are in memory, the futex. 0: not known. */
static u64 first_arg(const struct ev_syscall_args *a)
{
	if (a->flags & SYSCALL_FUTEX)
		return a->arg5;
	return a->nr == FUTEX_WAITV ? 0 : a->arg0;
}

struct call_view view_syscall(const struct record *rec)
{
	const struct ev_syscall *s = rec->event;
	const struct ev_syscall_args *a = rec->event;

	if (s->h.type == EV_syscall)
		return (struct call_view){ .ts = rec->ts,
					   .dur = s->dur,
					   .ret = s->ret,
					   .arg = { (u64)(s64)s->fd, 0, s->count, 0 },
					   .polled = -1,
					   .nr = s->nr,
					   .abi = s->abi,
					   .flags = s->flags };
	return (struct call_view){ .ts = rec->ts,
				   .dur = a->dur,
				   .ret = a->ret,
				   .arg = { first_arg(a), a->arg1, a->arg2, a->arg3 },
				   .polled = a->flags & SYSCALL_ONE_FD ? (s32)a->arg5 : -1,
				   .nr = a->nr,
				   .abi = a->abi,
				   .flags = a->flags };
}

int abi_table(u8 abi, u16 nr)
{
	if (nr >= SYSCALL_NR_MAX)
		return -1;
	return abi == ABI_X86_64 ? 0 : abi == ABI_AARCH64 ? 1 : -1;
}

static struct syscall_stat *stat_of(struct replay *r, u32 pid, const struct call_view *v,
				    struct err *e)
{
	u64 id = (u64)pid << 32 | (u64)v->abi << 16 | v->nr;
	struct syscall_stat *s = idmap_get(&r->syscall_stats, id);

	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s) {
		err_set(e, ERR_FAIL, "out of memory for system calls");
		return NULL;
	}
	*s = (struct syscall_stat){ .pid = pid, .nr = v->nr, .abi = v->abi };
	if (idmap_put(&r->syscall_stats, id, s, STAT_LIMIT, e) < 0) {
		free(s);
		return NULL;
	}
	return s;
}

static int count_failure(struct syscall_stat *s, s32 error, struct err *e)
{
	struct errno_count *grown;
	u32 i;

	s->errors++;
	for (i = 0; i < s->n_failures && s->failures[i].error != error; i++)
		;
	if (i == s->n_failures) {
		grown = realloc(s->failures, (i + 1) * sizeof(*grown));
		if (!grown)
			return err_set(e, ERR_FAIL, "out of memory for errors");
		s->failures = grown;
		grown[s->n_failures++] = (struct errno_count){ error, 0 };
	}
	s->failures[i].n++;
	return 0;
}

static bool takes_fd(const struct replay *r, const struct call_view *v)
{
	int abi = abi_table(v->abi, v->nr);

	return abi >= 0 &&
	       (r->waits[abi][v->nr] == SYSWAIT_FD || r->waits[abi][v->nr] == SYSWAIT_LOCK ||
		r->families[abi][v->nr] == FAMILY_EPOLL);
}

int syscalls_on_syscall(struct replay *r, const struct record *rec, struct err *e)
{
	const struct call_view *v = &r->call;
	bool open = v->flags & SYSCALL_UNFINISHED, timed = !(v->flags & SYSCALL_NO_ENTRY);
	bool fd = takes_fd(r, v);
	struct thread *t = rec->tid ? task_thread(r, rec->tid, e) : NULL;
	struct syscall_stat *s;
	s64 *row;

	if (!t)
		return rec->tid ? ERR_FAIL : 0;
	s = stat_of(r, t->process->pid, v, e);
	if (!s)
		return ERR_FAIL;
	t->returned = rec->ts;
	row = bulk_row(r->bulk, TABLE_syscall);
	row[0] = replay_time(r, elapsed(v->dur, v->ts));
	row[1] = timed ? (s64)(v->dur & INT64_MAX) : BULK_NULL;
	row[2] = rec->tid;
	row[3] = v->abi;
	row[4] = v->nr;
	row[5] = fd ? (s64)(s32)v->arg[0] : v->polled >= 0 ? v->polled : BULK_NULL;
	row[6] = open ? BULK_NULL : v->ret;
	if (open) {
		s->unfinished++;
		return 0;
	}
	s->n++;
	if (timed)
		hist_add(&s->latency, v->dur);
	if (v->ret > 0 && fd)
		s->bytes += v->ret;
	return v->ret < 0 && v->ret >= -ERRNO_MAX ? count_failure(s, -v->ret, e) : 0;
}

struct latency_arg {
	struct replay *r;
	const char *kind;
	u64 subject, item;
	struct err *e;
	int ret;
};

static void latency_row(void *arg, u64 low, u64 high, u64 n)
{
	struct latency_arg *a = arg;

	if (a->ret == 0)
		a->ret = db_insert(a->r->db, TABLE_latency, a->e, "siiiii", a->kind,
				   (s64)a->subject, (s64)a->item, (s64)(low & INT64_MAX),
				   (s64)(high & INT64_MAX), (s64)n);
}

int latency_rows(struct replay *r, const char *kind, u64 subject, u64 item, const struct hist *h,
		 struct err *e)
{
	struct latency_arg a = { r, kind, subject, item, e, 0 };

	hist_each(h, latency_row, &a);
	return a.ret;
}

static int write_stat(struct replay *r, const struct syscall_stat *s, struct err *e)
{
	u32 i;
	int ret;

	ret = db_insert(r->db, TABLE_syscall_stat, e, "iiiiiiiiii", (s64)s->pid, (s64)s->abi,
			(s64)s->nr, (s64)s->n, (s64)s->errors, (s64)s->unfinished,
			(s64)s->latency.n, (s64)(s->latency.sum & INT64_MAX),
			(s64)(s->latency.max & INT64_MAX), (s64)(s->bytes & INT64_MAX));
	for (i = 0; i < s->n_failures && ret == 0; i++)
		ret = db_insert(r->db, TABLE_syscall_error, e, "iiiii", (s64)s->pid, (s64)s->abi,
				(s64)s->nr, (s64)s->failures[i].error, (s64)s->failures[i].n);
	if (ret == 0)
		ret = latency_rows(r, "syscall", s->pid, (u64)s->abi << 16 | s->nr, &s->latency, e);
	return ret;
}

int syscalls_name(struct replay *r, u8 abi, u16 nr, struct err *e)
{
	u64 id = (u64)abi << 16 | nr;
	const char *told = idmap_get(&r->call_names, id);
	char name[32];

	if (idmap_get(&r->named, id))
		return 0;
	/* our table first; the recording may be of a newer kernel and know more */
	if (syscall_find(abi, nr) || !told)
		told = syscall_name(abi, nr, name, sizeof(name));
	if (idmap_put(&r->named, id, r, STAT_LIMIT, e) < 0)
		return ERR_FAIL;
	return db_insert(r->db, TABLE_syscall_name, e, "iis", (s64)abi, (s64)nr, told);
}

int syscalls_finish(struct replay *r, struct err *e)
{
	const struct syscall_stat *s;
	size_t at = 0;
	int ret = 0;

	while (ret == 0 && (s = idmap_each(&r->syscall_stats, &at))) {
		ret = write_stat(r, s, e);
		if (ret == 0)
			ret = syscalls_name(r, s->abi, s->nr, e);
	}
	return ret;
}

void syscalls_free(struct replay *r)
{
	struct syscall_stat *s;
	size_t at = 0;

	while ((s = idmap_each(&r->syscall_stats, &at))) {
		hist_free(&s->latency);
		free(s->failures);
		free(s);
	}
	idmap_free(&r->syscall_stats);
	idmap_free(&r->named);
}
