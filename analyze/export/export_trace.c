// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tables as a trace: a space-time diagram. Each thread has tracks of its states (joined by
 * arrows from wakers), what it does (probed calls, system calls inside them) and samples; CPUs,
 * requests, disks and losses have tracks of their own. One query a kind of track, in order of time.
 * The formats are trace_proto.c and trace_json.c.
 */
#include "export.h"

#include "analyze/base/idmap.h"
#include "analyze/store/fact.h"
#include "format/recording.h"
#include "trace_rail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LANE_BITS 10 /* rows of one disk: LANES_MAX */

static const char *text_at(sqlite3_stmt *s, int i)
{
	return db_text(s, i);
}

static int put_process(struct trace *t, s64 pid, const char *name, s64 place)
{
	return t->w.form->process(&t->w, pid, name, place);
}

/* ---- names ---- */

static int on_process(struct trace *t, sqlite3_stmt *s)
{
	return put_process(t, sqlite3_column_int64(s, 0), text_at(s, 1), 0);
}

static int on_thread(struct trace *t, sqlite3_stmt *s)
{
	struct rail *r = trace_rail(t, sqlite3_column_int64(s, 0));

	if (!r)
		return ERR_FAIL;
	r->pid = sqlite3_column_int64(s, 1);
	snprintf(r->comm, sizeof(r->comm), "%s", text_at(s, 2));
	return 0;
}

/* ---- disks ---- */

/* The parts of a request: waiting to be given to the device, and on the device. */
static int put_parts(struct trace *t, struct track *k, struct span span, s64 issued)
{
	struct trace_event queued = { .name = "queued" }, device = { .name = "device" };

	if (issued <= span.ts || issued >= span.end)
		return 0;
	track_begin(&t->part, k, (struct span){ span.ts, issued }, &queued);
	track_begin(&t->part, k, (struct span){ issued, span.end }, &device);
	return t->w.failed;
}

static int on_block(struct trace *t, sqlite3_stmt *s)
{
	s64 ts = sqlite3_column_int64(s, 0), dev = sqlite3_column_int64(s, 3);
	bool done = sqlite3_column_type(s, 1) != SQLITE_NULL;
	struct span span = { ts, done ? ts + sqlite3_column_int64(s, 1) : t->end };
	struct trace_event v = { .name = text_at(s, 5), .category = "block" };
	bool first = !t->disks.first;
	char name[128];
	int row;
	struct track *k = trace_lane(t, &t->disks, dev, ts, &row);

	if (!k)
		return row == -1 ? 0 : ERR_FAIL;
	if (first)
		put_process(t, PID_DISKS, "Disks", -1);
	if (!k->k.named) {
		s64 place = ((dev & 0x1fffff) << LANE_BITS) + row + 1;

		snprintf(name, sizeof(name), "%s %d", text_at(s, 4), row + 1);
		trace_track(t, k, TRACK_LANE, PID_DISKS, place, name, place);
	}
	trace_arg(&v, "bytes", sqlite3_column_int64(s, 6));
	trace_arg(&v, "sector", sqlite3_column_int64(s, 7));
	trace_arg(&v, "error", sqlite3_column_int64(s, 8));
	if (sqlite3_column_type(s, 9) != SQLITE_NULL)
		trace_arg(&v, "tid", sqlite3_column_int64(s, 9));
	if (!done)
		trace_arg(&v, "unfinished", 1);
	if (track_begin(&t->part, k, span, &v) != 0)
		return t->w.failed;
	return done ? put_parts(t, k, span, ts + sqlite3_column_int64(s, 2)) : 0;
}

/* ---- losses, rates ---- */

static int on_loss(struct trace *t, sqlite3_stmt *s)
{
	s64 ts = sqlite3_column_int64(s, 0), place = sqlite3_column_int64(s, 2);
	struct span span = { ts, ts + sqlite3_column_int64(s, 1) };
	bool first = !t->losses.first;
	struct lanes *l = lanes_of(&t->losses, place, t->e);
	int row = l && l->n ? 0 : l ? lanes_take(l, ts, t->e) : -2;
	struct track *k = row < 0 ? NULL : &l->tracks[0];
	char name[160];
	struct trace_event v = { .name = name };

	if (!k)
		return ERR_FAIL;
	if (first)
		put_process(t, PID_LOSS, "Lost events", -2);
	if (!k->k.named) {
		snprintf(name, sizeof(name), "CPU %lld %s", sqlite3_column_int64(s, 3),
			 text_at(s, 4));
		trace_track(t, k, TRACK_LANE, PID_LOSS, place, name, place);
	}
	snprintf(name, sizeof(name), "%lld lost (%s)", sqlite3_column_int64(s, 5), text_at(s, 6));
	trace_arg(&v, "events", sqlite3_column_int64(s, 5));
	return track_begin(&t->part, k, span, &v) < 0 ? ERR_FAIL : t->w.failed;
}

/* Rows of counters: time, pid, values. */
static int on_counters(struct trace *t, sqlite3_stmt *s, struct counters *all)
{
	s64 values[COUNTERS_MOST] = { 0 };
	int i;

	for (i = 0; i < all->n; i++)
		values[i] = sqlite3_column_int64(s, 2 + i);
	return counters_put(&t->w, all, sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1),
			    values, t->e);
}

static int on_window(struct trace *t, sqlite3_stmt *s)
{
	return on_counters(t, s, &t->counters);
}

static int on_parts(struct trace *t, sqlite3_stmt *s)
{
	return on_counters(t, s, &t->parts);
}

static const struct track_source parts[] = {
#define TRACK(on, ...)			   { on, { __VA_ARGS__ }, NULL, NULL },
#define TRACK_ROWS(order, on_row, on, ...) { on, { __VA_ARGS__ }, order, on_row },
#include "tracks.def"
#undef TRACK
#undef TRACK_ROWS
};

/* Ends the slices that are open on any track. */
static int end_all(struct trace *t)
{
	struct rail *r;
	size_t at;

	for (r = t->first; r; r = r->next) {
		track_end(&t->w, &r->states);
		track_end(&t->w, &r->calls);
	}
	for (at = 0; at < STREAM_MAX; at++)
		track_end(&t->w, &t->cpus[at]);
	for (at = 0; at < N_LANE_KINDS; at++)
		lanes_end(&t->w, &t->requests[at]);
	lanes_end(&t->w, &t->disks);
	return lanes_end(&t->w, &t->losses);
}

static void free_all(struct trace *t)
{
	struct rail *r, *next;
	size_t at;

	for (r = t->first; r; r = next) {
		next = r->next;
		track_free(&t->w, &r->states);
		track_free(&t->w, &r->calls);
		track_free(&t->w, &r->samples);
		free(r);
	}
	idmap_free(&t->rails);
	trace_names_free(t);
	trace_peers_free(t);
	for (at = 0; t->cpus && at < STREAM_MAX; at++)
		track_free(&t->w, &t->cpus[at]);
	free(t->cpus);
	counters_free(&t->w, &t->counters);
	counters_free(&t->w, &t->parts);
	for (at = 0; at < N_LANE_KINDS; at++)
		lanes_free(&t->w, &t->requests[at]);
	lanes_free(&t->w, &t->disks);
	lanes_free(&t->w, &t->losses);
	if (t->w.form->free)
		t->w.form->free(&t->w);
}

static const char *const rates[] = { "requests per second", "sends per second" };
static const char *const cpu_parts[] = { "softirq, ns per second", "interrupts, ns per second",
					 "stolen, ns per second" };

static int write_trace(const struct trace_form *form, struct sink *out, sqlite3 *db,
		       const struct export_part *part, struct err *e)
{
	struct trace t = { .w = { .form = form, .out = out, .e = e, .cpus = part->cpus },
			   .db = db,
			   .e = e };
	size_t i;
	int ret;

	t.counters = (struct counters){ .names = rates, .n = 2, .first = 1 };
	t.parts = (struct counters){ .names = cpu_parts, .n = 3, .first = 3 };
	t.part = (struct part){ &t.w, { part->from, part->to } };
	t.cpus = calloc(STREAM_MAX, sizeof(*t.cpus));
	if (!t.cpus)
		return err_set(e, ERR_FAIL, "out of memory for tracks");
	ret = fact_number(&t.end, db, "duration_ns", e);
	if (ret == 0)
		ret = trace_names_read(&t);
	if (ret == 0)
		ret = trace_start(&t.w, db);
	if (ret == 0)
		ret = put_process(&t, PID_CPUS, "CPUs", -3);
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]) && ret == 0; i++)
		ret = trace_source(&t, &parts[i]);
	if (ret == 0)
		ret = end_all(&t);
	if (ret == 0)
		ret = form->end(&t.w);
	free_all(&t);
	return ret < 0 ? ret : 0;
}

int export_perfetto(struct sink *out, sqlite3 *db, const struct export_part *part, struct err *e)
{
	return write_trace(&trace_proto, out, db, part, e);
}

int export_json(struct sink *out, sqlite3 *db, const struct export_part *part, struct err *e)
{
	return write_trace(&trace_json, out, db, part, e);
}
