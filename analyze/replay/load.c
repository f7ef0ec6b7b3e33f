// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One replay. First the recorder's own stream alone: host, targets and the snapshot
 * are then known before the first event. Then all records in order of time, each
 * shown to the trackers that the table names, in that order.
 */
#include "load.h"

#include "analyze/base/budget.h"
#include "analyze/replay/requests/track_series.h"
#include "analyze/replay/tasks/threads.h"
#include "syscall_view.h"
#include "track_loss.h"

#include <stdlib.h>
#include <string.h>

static const struct tracker *const trackers[N_TRACKERS] = {
#define TRACKER(name) &track_##name,
#include "trackers.def"
#undef TRACKER
};

#define PER_EVENT      12
#define EVENTS_KNOWN   256
#define STEP_DEFAULT   1000000000u
#define WINDOWS_A_STEP 10

#define EVENT(id, name, group, doc) _Static_assert((id) < EVENTS_KNOWN, #name);
#define FIELD(type, name, kind, doc)
#define TAIL(name, doc)
#define END
#include "format/events.def"
#undef EVENT
#undef FIELD
#undef TAIL
#undef END

/* The handlers of each event, for one pass, in the order of the trackers. */
struct dispatch {
	track_fn on[EVENTS_KNOWN][PER_EVENT];
};

static void make_dispatch(struct dispatch *d, bool first)
{
	const struct handler *h;
	size_t i, k;

	memset(d, 0, sizeof(*d));
	for (i = 0; i < N_TRACKERS; i++)
		for (h = trackers[i]->handlers; h && h->on; h++) {
			if (h->first != first)
				continue;
			for (k = 0; d->on[h->event][k]; k++)
				;
			d->on[h->event][k] = h->on;
		}
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
			r->call = view_syscall(r, &rec);
		for (on = d.on[rec.type]; *on; on++) {
			ret = (*on)(r, &rec, e);
			if (ret < 0)
				return ret;
		}
		ret = bulk_failed(r->bulk, e);
		if (ret == 0)
			ret = series_failed(r, e);
		if (ret < 0)
			return ret;
	}
	return ret;
}

static int put_states(sqlite3 *db, struct err *e)
{
	static const struct {
		int id, off;
		const char *name, *category, *label, *doc;
	} states[] = {
#define STATE(id, name, off, category, series, label, does, doc) \
	{ id, off, #name, #category, label, doc },
#include "analyze/store/waits.def"
#undef STATE
	};
	size_t i;
	int ret = 0;

	for (i = 0; i < sizeof(states) / sizeof(states[0]) && ret == 0; i++)
		ret = row_put(db, state, e, .id = states[i].id, .name = states[i].name,
			      .off = states[i].off, .category = states[i].category,
			      .label = states[i].label, .doc = states[i].doc);
	return ret;
}

/* The windows of series and of requests: at most so many, of one thread and of all of them. */
static void choose_step(struct replay *r)
{
	u64 rows = SERIES_ROWS + SERIES_RECORD * reader_state(r->reader)->records, n;

	r->step = r->step ? r->step : STEP_DEFAULT;
	while ((n = elapsed(r->begin, r->end) / r->step) >= WINDOW_LIMIT / WINDOWS_A_STEP ||
	       n * r->threads.n > rows)
		r->step *= 10;
	r->window = r->step / WINDOWS_A_STEP;
}

static int replay(struct replay *r, struct err *e)
{
	const struct recording_state *st = reader_state(r->reader);
	struct budget budget;
	size_t i;
	int ret;

	budget_start(&budget, st->file_bytes);
	r->begin = st->ts_min;
	r->end = st->ts_max;
	r->everything = true; /* until the recording names its targets */
	r->groups = st->groups;
	syscall_view_start(r);
	ret = put_states(r->db, e);
	reader_limit(r->reader, UINT64_MAX, UINT64_MAX);
	if (ret == 0)
		ret = pass(r, true, &budget, e);
	if (r->stopped) /* later records tell of the end itself */
		r->end = r->stopped;
	choose_step(r);
	for (i = 0; i < N_TRACKERS && ret == 0; i++)
		if (trackers[i]->start)
			ret = trackers[i]->start(r, e);
	r->events = true;
	reader_rewind(r->reader);
	reader_limit(r->reader, 0, UINT64_MAX);
	if (ret == 0)
		ret = pass(r, false, &budget, e);
	for (i = 0; i < N_TRACKERS && ret == 0; i++)
		if (trackers[i]->finish)
			ret = trackers[i]->finish(r, e);
	if (ret == 0)
		ret = db_exec(r->db, e,
			      "CREATE INDEX latency_of ON latency(kind, subject, item, low)");
	return ret;
}

static int make_slots(struct replay *r, struct err *e)
{
	int i;

	for (i = 0; i < N_TRACKERS; i++) {
		if (!trackers[i]->of_replay)
			continue;
		r->own[i] = calloc(1, trackers[i]->of_replay);
		if (!r->own[i])
			return err_set(e, ERR_FAIL, "out of memory");
	}
	return 0;
}

static void replay_free(struct replay *r)
{
	int i;

	tasks_free(r);
	for (i = 0; i < N_TRACKERS; i++) {
		if (r->own[i] && trackers[i]->free)
			trackers[i]->free(r->own[i]);
		free(r->own[i]);
	}
	free(r->targets);
	free(r->losses);
	bulk_free(r->bulk);
	free(r);
}

int load_recording(sqlite3 *db, struct reader *reader, const struct load_options *o, struct err *e)
{
	struct replay *r = calloc(1, sizeof(*r));
	int i, ret;

	if (!r)
		return err_set(e, ERR_FAIL, "out of memory");
	r->db = db;
	r->reader = reader;
	reader_ahead(reader, o ? o->cpus : 0);
	r->step = o ? o->step : 0;
	r->trackers = trackers;
	ret = make_slots(r, e);
	if (ret == 0)
		ret = bulk_open(&r->bulk, db, e);
	if (ret == 0) {
		ret = replay(r, e);
		if (ret == 0)
			ret = bulk_close(r->bulk, e);
		else if (ret < 0 && bulk_failed(r->bulk, e) < 0)
			ret = ERR_FAIL;
	}
	for (i = 0; i < N_TRACKERS && ret == 0; i++)
		if (trackers[i]->stored)
			ret = trackers[i]->stored(r, e);
	replay_free(r);
	return ret;
}
