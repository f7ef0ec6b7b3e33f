// SPDX-License-Identifier: GPL-2.0-or-later
/* System calls: a row each, and counts, failures and latencies by process and call. */
#include "track_syscalls.h"

#include "analyze/replay/latency_rows.h"
#include "analyze/replay/tasks/threads.h"
#include "format/grow.h"

#include <stdlib.h>
#include <string.h>

#define ERRNO_MAX 4095 /* results from -4095 to -1 are errors */
#define NAME_SIZE 32   /* of a system call */

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

struct call_sums {
	struct idmap stats;    /* process and call -> struct syscall_stat */
	struct idmap recorded; /* abi << 16 | number -> name, as the recording has it */
	struct idmap named;    /* calls that have a row in syscall_name */
};

static struct call_sums *own(const struct replay *r)
{
	return r->own[TRACK_syscalls];
}

static struct syscall_stat *stat_of(struct replay *r, u32 pid, const struct call_view *v,
				    struct err *e)
{
	u64 id = (u64)pid << 32 | (u64)v->abi << 16 | v->nr;
	struct syscall_stat *s = idmap_get(&own(r)->stats, id);

	if (s)
		return s;
	s = idmap_add(&own(r)->stats, id, sizeof(*s), STAT_LIMIT, "system calls", e);
	if (!s)
		return NULL;
	*s = (struct syscall_stat){ .pid = pid, .nr = v->nr, .abi = v->abi };
	return s;
}

static int count_failure(struct syscall_stat *s, s32 error, struct err *e)
{
	u32 i;

	s->errors++;
	for (i = 0; i < s->n_failures && s->failures[i].error != error; i++)
		;
	if (i == s->n_failures) {
		if (GROW(s->failures, i, "errors", e) < 0)
			return ERR_FAIL;
		s->failures[s->n_failures++] = (struct errno_count){ error, 0 };
	}
	s->failures[i].n++;
	return 0;
}

static bool takes_fd(const struct syscall_desc *d)
{
	return d->wait == SYSWAIT_FD || d->wait == SYSWAIT_LOCK || d->family == FAMILY_EPOLL;
}

static int syscalls_on_syscall(struct replay *r, const struct record *rec, struct err *e)
{
	const struct call_view *v = &r->call;
	bool open = v->flags & SYSCALL_UNFINISHED, timed = !(v->flags & SYSCALL_NO_ENTRY);
	bool fd = takes_fd(v->desc);
	struct thread *t = rec->tid ? task_thread(r, rec->tid, e) : NULL;
	struct syscall_stat *s;
	struct row_syscall *row;

	if (!t)
		return rec->tid ? ERR_FAIL : 0;
	s = stat_of(r, t->process->pid, v, e);
	if (!s)
		return ERR_FAIL;
	t->returned = rec->ts;
	row = bulk_add(r->bulk, syscall);
	row->ts = replay_time(r, elapsed(v->dur, v->ts));
	row->dur = timed ? (s64)(v->dur & INT64_MAX) : BULK_NULL;
	row->tid = rec->tid;
	row->abi = v->abi;
	row->nr = v->nr;
	row->fd = fd ? (s64)(s32)v->arg[0] : v->polled >= 0 ? v->polled : BULK_NULL;
	row->ret = open ? BULK_NULL : v->ret;
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

static int stat_rows(void *arg, void *value, struct err *e)
{
	const struct syscall_stat *s = value;
	struct replay *r = arg;
	u32 i;
	int ret;

	ret = row_put(r->db, syscall_stat, e, .pid = s->pid, .abi = s->abi, .nr = s->nr, .n = s->n,
		      .errors = s->errors, .unfinished = s->unfinished, .timed = s->latency.n,
		      .total = s->latency.sum & INT64_MAX, .max = s->latency.max & INT64_MAX,
		      .bytes = s->bytes & INT64_MAX);
	for (i = 0; i < s->n_failures && ret == 0; i++)
		ret = row_put(r->db, syscall_error, e, .pid = s->pid, .abi = s->abi, .nr = s->nr,
			      .error = s->failures[i].error, .n = s->failures[i].n);
	if (ret == 0)
		ret = latency_rows(r, "syscall", s->pid, (u64)s->abi << 16 | s->nr, &s->latency, e);
	return ret < 0 ? ret : syscalls_name(r, s->abi, s->nr, e);
}

int syscalls_name(struct replay *r, u8 abi, u16 nr, struct err *e)
{
	u64 id = (u64)abi << 16 | nr;
	const char *recorded = idmap_get(&own(r)->recorded, id);
	char name[NAME_SIZE];

	if (idmap_get(&own(r)->named, id))
		return 0;
	/* our table first; the recording may be of a newer kernel and know more */
	if (syscall_find(abi, nr) || !recorded)
		recorded = syscall_name(abi, nr, name, sizeof(name));
	if (idmap_put(&own(r)->named, id, r, STAT_LIMIT, e) < 0)
		return ERR_FAIL;
	return row_put(r->db, syscall_name, e, .abi = abi, .nr = nr, .name = recorded);
}

int syscalls_recorded_name(struct replay *r, u8 abi, u16 nr, const char *name, size_t n,
			   struct err *e)
{
	u64 id = (u64)abi << 16 | nr;
	char *copy;

	if (n >= NAME_SIZE || idmap_get(&own(r)->recorded, id))
		return 0;
	copy = strndup(name, n);
	if (!copy)
		return err_set(e, ERR_FAIL, "out of memory for facts");
	if (idmap_put(&own(r)->recorded, id, copy, STAT_LIMIT, e) < 0) {
		free(copy);
		return ERR_FAIL;
	}
	return 0;
}

static int syscalls_finish(struct replay *r, struct err *e)
{
	return idmap_in_order(&own(r)->stats, stat_rows, r, e);
}

static void syscalls_free(void *slot)
{
	struct call_sums *all = slot;
	struct syscall_stat *s;
	size_t at = 0;

	while ((s = idmap_each(&all->stats, &at))) {
		hist_free(&s->latency);
		free(s->failures);
		free(s);
	}
	idmap_free(&all->stats);
	idmap_free_all(&all->recorded);
	idmap_free(&all->named);
}

static const struct handler handlers[] = {
	{ EV_syscall, false, syscalls_on_syscall },
	{ EV_syscall_args, false, syscalls_on_syscall },
	{ 0 },
};

const struct tracker track_syscalls = {
	.name = "syscalls",
	.handlers = handlers,
	.of_replay = sizeof(struct call_sums),
	.finish = syscalls_finish,
	.free = syscalls_free,
};
