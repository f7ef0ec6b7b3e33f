// SPDX-License-Identifier: GPL-2.0-or-later
/* Programs that processes began, and what processes had used when they ended. */
#include "threads.h"

#include <stdlib.h>
#include <string.h>

static int process_on_spawn(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_spawn *ev = rec->event;
	struct thread *t = rec->tid ? task_thread(r, rec->tid, e) : NULL;
	char *args;
	int ret;

	if (!t)
		return rec->tid ? ERR_FAIL : 0;
	args = strndup(rec->tail, rec->tail_len);
	if (!args)
		return err_set(e, ERR_FAIL, "out of memory for arguments");
	ret = db_insert(r->db, TABLE_spawn, e, "iiiiiis", replay_time(r, rec->ts), (s64)ev->pid,
			(s64)ev->parent, (s64)ev->uid, (s64)(ev->cgroup & INT64_MAX),
			(s64)ev->length, args);
	t->process->parent = ev->parent;
	if (!args[0]) { /* withheld */
		free(args);
		return ret;
	}
	free(t->process->cmdline);
	t->process->cmdline = args;
	t->process->has_args = true;
	return ret;
}

/* How long it lived, by the clock that start is told in. */
static s64 life_of(const struct replay *r, const struct ev_ended *ev, u64 ts)
{
	u64 now;

	if (!r->clock_boottime || !ev->start)
		return BULK_NULL;
	now = ts + (r->clock_boottime - r->clock_monotonic);
	return (s64)(elapsed(ev->start, now) & INT64_MAX);
}

static int process_on_ended(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_ended *ev = rec->event;
	u32 signal = ev->code & 0x7f; /* as in wait(2) */
	s64 *row = bulk_row(r->bulk, TABLE_process_exit);

	(void)e;
	row[0] = replay_time(r, rec->ts);
	row[1] = ev->pid;
	row[2] = ev->parent;
	row[3] = life_of(r, ev, rec->ts);
	row[4] = signal ? BULK_NULL : (s64)(ev->code >> 8 & 0xff);
	row[5] = signal;
	row[6] = ev->user & INT64_MAX;
	row[7] = ev->system & INT64_MAX;
	row[8] = ev->read & INT64_MAX;
	row[9] = ev->written & INT64_MAX;
	row[10] = ev->rss & INT64_MAX;
	row[11] = ev->major_faults;
	return 0;
}

static const struct handler handlers[] = {
	{ EV_spawn, false, process_on_spawn },
	{ EV_ended, false, process_on_ended },
	{ 0 },
};

const struct tracker track_process = {
	.name = "process",
	.handlers = handlers,
};
