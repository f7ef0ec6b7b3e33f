// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One replay. First the recorder's own stream alone: host, targets and the snapshot
 * are then known before the first event. Then all records in order of time, each
 * shown to the trackers that the table names, in that order.
 */
#include "load.h"

#include "analyze/base/budget.h"
#include "analyze/replay/requests/flow.h"
#include "analyze/replay/requests/track_clients.h"
#include "analyze/replay/requests/track_series.h"
#include "analyze/replay/requests/track_usage.h"
#include "analyze/replay/tasks/track_cpu.h"
#include "analyze/replay/tasks/track_pressure.h"
#include "analyze/replay/tasks/track_shares.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	u16 event;
	bool first; /* in the first pass: only of the recorder's stream */
	track_fn on;
} handlers[] = {
	{ EV_info, true, facts_on_info },
	{ EV_info, true, parts_on_info },
	{ EV_clock, true, facts_on_clock },
	{ EV_site, true, facts_on_site },
	{ EV_disk, true, facts_on_disk },
	{ EV_self, true, facts_on_self },
	{ EV_doctor, true, facts_on_doctor },
	{ EV_mount, true, facts_on_mount },
	{ EV_cgroup, true, groups_on_cgroup },
	{ EV_container, true, groups_on_container },
	{ EV_throttle, true, groups_on_throttle },
	{ EV_cgroup_weight, true, shares_on_first },
	{ EV_cgroup_weight, false, shares_on_weight },
	{ EV_cgroup_made, false, groups_on_cgroup_made },
	{ EV_cgroup_made, false, shares_on_made },
	{ EV_migrate, false, cpu_on_migrate },
	{ EV_fd, false, tcp_on_fd },
	{ EV_tcp_state, false, tcp_on_state },
	{ EV_tcp_retransmit, false, tcp_on_retransmit },
	{ EV_thread, true, tasks_on_thread },
	{ EV_fd, true, fds_on_fd },
	{ EV_counters, true, loss_on_base },
	{ EV_missed, true, loss_on_missed },
	/* later snapshots tell of their own time */
	{ EV_info, false, fds_on_info },
	{ EV_thread, false, tasks_on_thread },
	{ EV_fd, false, fds_on_fd },
	{ EV_counters, false, loss_on_counters },
	{ EV_program, false, loss_on_program },
	{ EV_fork, false, tasks_on_fork },
	{ EV_exec, false, tasks_on_exec },
	{ EV_exit, false, tasks_on_exit },
	{ EV_rename, false, tasks_on_rename },
	{ EV_cgroup_move, false, tasks_on_move },
	{ EV_switch, false, parts_on_switch },
	{ EV_switch, false, states_on_switch },
	{ EV_futex_wait, false, holder_on_wait },
	{ EV_cpu_time, true, pressure_on_cpu },
	{ EV_psi, true, pressure_on_psi },
	{ EV_host_memory, true, pressure_on_host },
	{ EV_cgroup_memory, true, pressure_on_cgroup },
	{ EV_reclaim, false, pressure_on_reclaim },
	{ EV_waking, false, states_on_waking },
	{ EV_waking, false, futex_on_waking },
	{ EV_wakeup_new, false, states_on_wakeup_new },
	/* the reason of a sleep is read from the descriptor before the call may close it */
	{ EV_syscall, false, waits_on_syscall },
	{ EV_syscall, false, states_on_syscall },
	{ EV_syscall, false, syscalls_on_syscall },
	{ EV_syscall, false, futex_on_syscall },
	{ EV_syscall, false, requests_on_syscall },
	{ EV_syscall, false, files_on_syscall },
	{ EV_syscall, false, fds_on_syscall },
	{ EV_syscall_args, false, waits_on_syscall },
	{ EV_syscall_args, false, states_on_syscall },
	{ EV_syscall_args, false, syscalls_on_syscall },
	{ EV_syscall_args, false, futex_on_syscall },
	{ EV_syscall_args, false, requests_on_syscall },
	{ EV_syscall_args, false, files_on_syscall },
	{ EV_syscall_args, false, fds_on_syscall },
	{ EV_syscall_args, false, cpu_on_syscall },
	{ EV_uring_submit, false, uring_on_submit },
	{ EV_uring_complete, false, uring_on_complete },
	{ EV_file_open, false, files_on_open },
	{ EV_file_change, false, files_on_change },
	{ EV_spawn, false, process_on_spawn },
	{ EV_ended, false, process_on_ended },
	{ EV_page_add, false, pagecache_on_add },
	{ EV_page_remove, false, pagecache_on_remove },
	{ EV_page_get, false, pagecache_on_get },
	{ EV_call, false, calls_on_call },
	{ EV_call_args, false, calls_on_call_args },
	{ EV_return, false, calls_on_return },
	{ EV_block_start, false, block_on_start },
	{ EV_block_issue, false, block_on_issue },
	{ EV_block_complete, false, block_on_complete },
};

#define HANDLERS     (sizeof(handlers) / sizeof(handlers[0]))
#define PER_EVENT    12
#define EVENTS_KNOWN 192

/* The handlers of each event, for one pass: the table turned round. */
struct dispatch {
	track_fn on[EVENTS_KNOWN][PER_EVENT];
};

static void make_dispatch(struct dispatch *d, bool first)
{
	size_t i, k;

	memset(d, 0, sizeof(*d));
	for (i = 0; i < HANDLERS; i++) {
		if (handlers[i].first != first)
			continue;
		for (k = 0; d->on[handlers[i].event][k]; k++)
			;
		d->on[handlers[i].event][k] = handlers[i].on;
	}
}

/* Wait classes by number, from the table of system calls. */
static void make_waits(struct replay *r)
{
	const struct syscall_desc *d;

	for (d = syscalls; d->name; d++) {
		if (d->x86_64 >= 0)
			r->waits[0][d->x86_64] = d->wait;
		if (d->aarch64 >= 0)
			r->waits[1][d->aarch64] = d->wait;
	}
	d = syscall_by_name("sched_setaffinity");
	r->setaffinity[0] = d->x86_64;
	r->setaffinity[1] = d->aarch64;
}

/* The first snapshot belongs to the first pass, later ones and all events to the second. */
static bool of_this_pass(const struct replay *r, const struct record *rec, bool first)
{
	bool later = r->snapshot_end && rec->ts > r->snapshot_end;

	if (rec->stream != STREAM_RECORDER)
		return true;
	if (rec->type == EV_fd || rec->type == EV_thread)
		return first != later;
	return first || rec->type != EV_counters;
}

static int pass(struct replay *r, bool first, struct budget *b, struct err *e)
{
	struct dispatch d;
	struct record rec;
	const track_fn *on;
	int ret;

	make_dispatch(&d, first);
	while ((ret = reader_next(r->reader, &rec, e)) > 0) {
		ret = budget_check(b, e);
		if (ret < 0)
			return ret;
		if (!first)
			loss_count_record(r, &rec);
		if (!rec.event || rec.type >= EVENTS_KNOWN || !of_this_pass(r, &rec, first))
			continue;
		if (rec.type == EV_syscall || rec.type == EV_syscall_args)
			r->call = view_syscall(&rec);
		for (on = d.on[rec.type]; *on; on++) {
			ret = (*on)(r, &rec, e);
			if (ret < 0)
				return ret;
		}
	}
	return ret;
}

static int put_states(sqlite3 *db, struct err *e)
{
	static const struct {
		int id, off;
		const char *name, *doc;
	} states[] = {
#define STATE(id, name, off, doc) { id, off, #name, doc },
#include "analyze/store/waits.def"
#undef STATE
	};
	size_t i;
	int ret = 0;

	for (i = 0; i < sizeof(states) / sizeof(states[0]) && ret == 0; i++)
		ret = db_insert(db, TABLE_state, e, "isis", (s64)states[i].id, states[i].name,
				(s64)states[i].off, states[i].doc);
	return ret;
}

static int replay(struct replay *r, struct err *e)
{
	const struct recording_state *st = reader_state(r->reader);
	struct budget budget;
	int ret;

	budget_start(&budget, st->file_bytes);
	r->begin = st->ts_min;
	r->end = st->ts_max;
	r->everything = true; /* until the recording names its targets */
	r->groups = st->groups;
	make_waits(r);
	ret = put_states(r->db, e);
	reader_limit(r->reader, UINT64_MAX, UINT64_MAX);
	if (ret == 0)
		ret = pass(r, true, &budget, e);
	if (ret == 0)
		ret = loss_start(r, e);
	if (r->stopped) /* later records tell of the end itself */
		r->end = r->stopped;
	if (ret == 0)
		ret = series_start(r, e);
	if (ret == 0)
		ret = waits_start(r, e);
	if (ret == 0)
		ret = requests_start(r, e);
	if (ret == 0)
		ret = futex_start(r, e);
	if (ret == 0)
		ret = files_start(r, e);
	r->events = true;
	reader_rewind(r->reader);
	reader_limit(r->reader, 0, UINT64_MAX);
	if (ret == 0)
		ret = pass(r, false, &budget, e);
	return ret;
}

static int finish(struct replay *r, struct err *e)
{
	static int (*const finishers[])(struct replay *, struct err *) = {
		tasks_finish, /* first: ends turns, calls and states */
		syscalls_finish, uses_finish,  servers_finish, calls_finish,
		block_finish,	 cpu_finish,   futex_finish,   epolls_finish,
		tcp_finish,	 uring_finish, files_finish,   pagecache_finish,
		clients_finish,	 loss_finish,  facts_finish,   series_finish,
	};
	size_t i;
	int ret = 0;

	for (i = 0; i < sizeof(finishers) / sizeof(finishers[0]) && ret == 0; i++)
		ret = finishers[i](r, e);
	if (ret == 0)
		ret = db_exec(r->db, e,
			      "CREATE INDEX latency_of ON latency(kind, subject, item, low)");
	return ret;
}

int load_recording(sqlite3 *db, struct reader *reader, struct err *e)
{
	return load_recording_with(db, reader, NULL, e);
}

int load_recording_with(sqlite3 *db, struct reader *reader, const struct load_options *o,
			struct err *e)
{
	struct replay *r = calloc(1, sizeof(*r));
	int ret;

	if (!r)
		return err_set(e, ERR_FAIL, "out of memory");
	r->db = db;
	r->reader = reader;
	r->step = o ? o->step : 0;
	ret = bulk_open(&r->bulk, db, e);
	if (ret == 0)
		ret = replay(r, e);
	if (ret == 0)
		ret = finish(r, e);
	if (ret == 0)
		ret = bulk_close(r->bulk, e);
	tasks_free(r);
	syscalls_free(r);
	uses_free(r);
	services_free(r);
	servers_free(r);
	clients_free(r);
	series_free(r);
	epolls_free(r);
	calls_free(r);
	block_free(r);
	cpu_free(r);
	shares_free(r);
	groups_free(r);
	pressure_free(r);
	holder_free(r);
	files_free(r);
	pagecache_free(r);
	uring_free(r);
	tcp_free(r);
	futex_free(r);
	loss_free(r);
	facts_free(r);
	bulk_free(r->bulk);
	free(r);
	return ret;
}

int load_any(sqlite3 **ret, const char *path, struct err *e)
{
	return load_any_with(ret, path, NULL, e);
}

int load_any_with(sqlite3 **ret, const char *path, const struct load_options *o, struct err *e)
{
	struct reader *reader = NULL;
	sqlite3 *db = NULL;
	int r;

	if (db_is_database(path))
		return db_open_ours(ret, path, e);
	r = reader_open(&reader, path, e);
	if (r == 0)
		r = db_open(&db, NULL, true, e);
	if (r == 0)
		r = load_recording_with(db, reader, o, e);
	reader_free(reader);
	if (r == 0)
		*ret = db;
	else
		sqlite3_close(db);
	return r;
}
