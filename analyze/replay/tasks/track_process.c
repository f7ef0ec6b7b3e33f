// SPDX-License-Identifier: GPL-2.0-or-later
/* Programs that processes started, what processes had used when they ended, signals that end them.
 */
#include "threads.h"

#include <stdio.h>
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
	ret = row_put(r->db, spawn, e, .ts = replay_time(r, rec->ts), .pid = ev->pid,
		      .parent = ev->parent, .uid = ev->uid, .cgroup = ev->cgroup & INT64_MAX,
		      .length = ev->length, .args = args);
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

/* How long it lived, by the clock of start. */
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
	struct row_process_exit *row = bulk_add(r->bulk, process_exit);

	(void)e;
	row->ts = replay_time(r, rec->ts);
	row->pid = ev->pid;
	row->parent = ev->parent;
	row->life = life_of(r, ev, rec->ts);
	row->code = signal ? BULK_NULL : (s64)(ev->code >> 8 & 0xff);
	row->signal = signal;
	row->user = ev->user & INT64_MAX;
	row->system = ev->system & INT64_MAX;
	row->read_bytes = ev->read & INT64_MAX;
	row->write_bytes = ev->written & INT64_MAX;
	row->rss = ev->rss & INT64_MAX;
	row->major_faults = ev->major_faults;
	return 0;
}

static int process_on_signal(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_signal_sent *ev = rec->event;
	char sender[sizeof(ev->comm) + 1];

	snprintf(sender, sizeof(sender), "%.*s", (int)sizeof(ev->comm), ev->comm);
	return row_put(r->db, signal_sent, e, .ts = replay_time(r, rec->ts), .tid = rec->tid,
		       .target = ev->target, .pid = ev->pid, .signal = ev->number, .code = ev->code,
		       .sender_pid = ev->sender, .sender = sender);
}

static const struct handler handlers[] = {
	{ EV_spawn, false, process_on_spawn },
	{ EV_ended, false, process_on_ended },
	{ EV_signal_sent, false, process_on_signal },
	{ 0 },
};

const struct tracker track_process = {
	.name = "process",
	.handlers = handlers,
};
