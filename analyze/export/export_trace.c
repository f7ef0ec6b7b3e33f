// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tables as a trace: a space-time diagram. Each thread has two tracks, its states (joined by
 * arrows from wakers) and what it does (probed calls, system calls inside them); CPUs, requests,
 * disks and losses have tracks of their own. One query a kind of track, in order of time.
 */
#include "export.h"

#include "analyze/base/idmap.h"
#include "analyze/base/limits.h"
#include "analyze/store/fact.h"
#include "analyze/store/state.h"
#include "format/escape.h"
#include "format/recording.h"
#include "trace_event.h"
#include "trace_tracks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers that no thread has: below 2^22 on Linux, below 80,000,000 in merged recordings. */
#define PID_CPUS    300000001
#define PID_LOSS    300000002
#define PID_DISKS   300000003
#define STATES_BASE 100000000 /* + tid: the track of a thread's states */
#define TURNS_BASE  200000000 /* + row: the tracks of a process's turns */
#define LANE_BITS   10	      /* rows of one disk: LANES_MAX */

/* A thread and its two tracks: what state it is in, and what it does. */
struct rail {
	s64 pid;
	char comm[64];
	struct track states, calls;
	int state; /* of the last slice of states */
	struct span last;
	struct rail
		*next; /* in the order in which they were made: a trace is the same every time */
};

struct trace {
	struct trace_writer w;
	sqlite3 *db;
	struct err *e;
	struct idmap rails; /* threads by tid */
	struct rail *first, **last;
	struct lane_map turns;	/* lanes by pid */
	struct lane_map disks;	/* lanes by device */
	struct lane_map losses; /* lanes (one) by CPU and group */
	struct track *cpus;	/* STREAM_MAX */
	u64 arrows;
	s64 end; /* of the recording */
};

static struct rail *rail_of(struct trace *t, s64 tid)
{
	struct rail *r = idmap_get(&t->rails, tid);

	if (r)
		return r;
	r = calloc(1, sizeof(*r));
	if (!r) {
		err_set(t->e, ERR_FAIL, "out of memory for tracks");
		return NULL;
	}
	r->pid = tid;
	if (idmap_put(&t->rails, tid, r, TASK_LIMIT, t->e) < 0) {
		free(r);
		return NULL;
	}
	*(t->first ? t->last : &t->first) = r;
	t->last = &r->next;
	return r;
}

static const char *text_at(sqlite3_stmt *s, int i)
{
	return db_text(s, i);
}

/* Runs fn for each row. */
static int each(struct trace *t, const char *sql, int (*fn)(struct trace *, sqlite3_stmt *))
{
	sqlite3_stmt *s;
	int ret = db_query(&s, t->db, t->e, sql, "");

	if (ret < 0)
		return ret;
	while (ret == 0 && (ret = db_step(s, t->e)) > 0)
		ret = fn(t, s);
	sqlite3_finalize(s);
	return ret;
}

/* ---- names ---- */

static int on_process(struct trace *t, sqlite3_stmt *s)
{
	return trace_process(&t->w, sqlite3_column_int64(s, 0), text_at(s, 1), 0);
}

static int on_thread(struct trace *t, sqlite3_stmt *s)
{
	struct rail *r = rail_of(t, sqlite3_column_int64(s, 0));

	if (!r)
		return ERR_FAIL;
	r->pid = sqlite3_column_int64(s, 1);
	snprintf(r->comm, sizeof(r->comm), "%s", text_at(s, 2));
	return 0;
}

/* A track is named when it gets its first slice: empty ones are not shown. */
static void name_track(struct trace *t, struct rail *r, s64 tid, struct track *k)
{
	s64 place = 2 * (tid & 0x3fffffff);
	char name[128];

	if (k->tid)
		return;
	k->pid = r->pid;
	k->tid = k == &r->states ? STATES_BASE + tid : tid;
	snprintf(name, sizeof(name), k == &r->states ? "%s[%lld] states" : "%s", r->comm,
		 (long long)tid);
	trace_track(&t->w, k->pid, k->tid, name, k == &r->states ? place : place + 1);
}

/* The track for a slice at ts, one of those of id; NULL: *ret is -1, too many, or -2, failed. */
static struct track *take_lane(struct trace *t, struct lane_map *map, u64 id, s64 ts, int *ret)
{
	struct lanes *l = lanes_of(map, id, t->e);

	*ret = l ? lanes_take(l, ts, t->e) : -2;
	return *ret < 0 ? NULL : &l->tracks[*ret];
}

/* ---- states, CPUs, wake-ups ---- */

/* From the waker's slice on a CPU to the slice of the thread that it woke. */
static int put_arrow(struct trace *t, s64 tid, const struct rail *r, s64 waker, s64 ts)
{
	struct rail *from = idmap_get(&t->rails, waker);
	char id[64];

	/* a viewer binds an arrow to the slices that it begins and ends in: both must be there */
	if (!from || from == r || from->state != STATE_run || from->last.ts > ts ||
	    from->last.end <= ts)
		return 0;
	snprintf(id, sizeof(id), "\"name\":\"wakes\",\"cat\":\"wakeup\",\"id\":%llu",
		 (unsigned long long)++t->arrows);
	trace_open(&t->w, 's', from->pid, STATES_BASE + waker, ts);
	trace_words(&t->w, id);
	trace_close(&t->w);
	trace_open(&t->w, 'f', r->pid, STATES_BASE + tid, ts);
	trace_words(&t->w, id);
	trace_words(&t->w, "\"bp\":\"e\"");
	return trace_close(&t->w);
}

/* The same time seen from the CPU. */
static int on_cpu(struct trace *t, struct rail *r, s64 tid, s64 cpu, struct span span)
{
	struct track *k = cpu >= 0 && cpu < STREAM_MAX ? &t->cpus[cpu] : NULL;
	char name[128];

	if (!k)
		return 0;
	if (!k->tid) {
		k->pid = PID_CPUS;
		k->tid = cpu + 1;
		snprintf(name, sizeof(name), "CPU %lld", (long long)cpu);
		trace_track(&t->w, k->pid, k->tid, name, cpu);
	}
	/* no CPU runs two threads: where the recording says so, the first one stays */
	if (k->n && span.ts < k->open[0].end)
		span.ts = k->open[0].end;
	if (span.end <= span.ts)
		return 0;
	snprintf(name, sizeof(name), "%s[%lld]", r->comm, (long long)tid);
	return track_begin(&t->w, k, span, name) < 0 ? ERR_FAIL : trace_close(&t->w);
}

static int on_state(struct trace *t, sqlite3_stmt *s)
{
	static const char *const contexts[] = { "task", "softirq", "hardirq", "nmi" };
	s64 ts = sqlite3_column_int64(s, 0), tid = sqlite3_column_int64(s, 2);
	s64 cpu = sqlite3_column_int64(s, 3), waker = sqlite3_column_int64(s, 7);
	struct span span = { ts, ts + sqlite3_column_int64(s, 1) };
	int state = sqlite3_column_int(s, 4), ret;
	struct rail *r = rail_of(t, tid);

	if (!r)
		return ERR_FAIL;
	span.ts = span.ts < r->last.end ? r->last.end : span.ts;
	if (span.end <= span.ts)
		return 0;
	name_track(t, r, tid, &r->states);
	if (track_begin(&t->w, &r->states, span, text_at(s, 5)) < 0)
		return ERR_FAIL;
	if (state == STATE_run)
		trace_arg(&t->w, "cpu", cpu);
	if (sqlite3_column_type(s, 6) != SQLITE_NULL)
		trace_arg_text(&t->w, "syscall", text_at(s, 6));
	if (waker)
		trace_arg(&t->w, "woken_by", waker);
	if (sqlite3_column_type(s, 8) != SQLITE_NULL)
		trace_arg_text(&t->w, "woken_from", contexts[sqlite3_column_int(s, 8) & 3]);
	ret = trace_close(&t->w);
	/* the wait before names the waker too: the arrow ends where the waiting for a CPU begins */
	if (ret == 0 && state == STATE_woken && waker && span.ts == ts)
		ret = put_arrow(t, tid, r, waker, ts);
	r->last = span;
	r->state = state;
	return ret == 0 && state == STATE_run ? on_cpu(t, r, tid, cpu, span) : ret;
}

/* ---- what threads do ---- */

static int on_call(struct trace *t, sqlite3_stmt *s)
{
	s64 ts = sqlite3_column_int64(s, 0), tid = sqlite3_column_int64(s, 2);
	struct span span = { ts, ts + sqlite3_column_int64(s, 1) };
	bool call = sqlite3_column_int(s, 3);
	struct rail *r = rail_of(t, tid);
	int ret = 0;

	if (!r)
		return ERR_FAIL;
	name_track(t, r, tid, &r->calls);
	if (sqlite3_column_type(s, 1) != SQLITE_NULL) {
		ret = track_begin(&t->w, &r->calls, span, text_at(s, 4));
	} else { /* its begin was not seen */
		trace_open(&t->w, 'i', r->pid, tid, ts);
		trace_name(&t->w, text_at(s, 4));
		trace_words(&t->w, "\"s\":\"t\"");
	}
	if (ret != 0)
		return ret < 0 ? ret : 0;
	trace_words(&t->w, call ? "\"cat\":\"function\"" : "\"cat\":\"syscall\"");
	if (sqlite3_column_type(s, 5) != SQLITE_NULL)
		trace_arg(&t->w, call ? "value" : "ret", sqlite3_column_int64(s, 5));
	else if (!call)
		trace_arg(&t->w, "unfinished", 1);
	if (sqlite3_column_type(s, 6) != SQLITE_NULL)
		trace_arg(&t->w, "fd", sqlite3_column_int64(s, 6));
	return trace_close(&t->w);
}

/* ---- requests, disks ---- */

static int on_turn(struct trace *t, sqlite3_stmt *s)
{
	s64 ts = sqlite3_column_int64(s, 0), pid = sqlite3_column_int64(s, 2);
	struct span span = { ts, ts + sqlite3_column_int64(s, 1) };
	char name[64];
	int row;
	struct track *k = take_lane(t, &t->turns, pid, ts, &row);

	if (!k)
		return row == -1 ? 0 : ERR_FAIL;
	if (!k->tid) {
		k->pid = pid;
		k->tid = TURNS_BASE + row;
		snprintf(name, sizeof(name), "requests %d", row + 1);
		trace_track(&t->w, pid, k->tid, name, row - LANES_MAX);
	}
	if (track_begin(&t->w, k, span, "turn") < 0)
		return ERR_FAIL;
	trace_words(&t->w, "\"cat\":\"request\"");
	trace_arg(&t->w, "fd", sqlite3_column_int64(s, 3));
	trace_arg(&t->w, "tid", sqlite3_column_int64(s, 4));
	trace_arg(&t->w, "recvs", sqlite3_column_int64(s, 5));
	trace_arg(&t->w, "sends", sqlite3_column_int64(s, 6));
	return trace_close(&t->w);
}

/* The parts of a request: waiting to be given to the device, and on the device. */
static int put_parts(struct trace *t, struct track *k, struct span span, s64 issued)
{
	int ret = 0;

	if (issued <= span.ts || issued >= span.end)
		return 0;
	if (track_begin(&t->w, k, (struct span){ span.ts, issued }, "queued") == 0)
		ret = trace_close(&t->w);
	if (ret == 0 && track_begin(&t->w, k, (struct span){ issued, span.end }, "device") == 0)
		ret = trace_close(&t->w);
	return ret;
}

static int on_block(struct trace *t, sqlite3_stmt *s)
{
	s64 ts = sqlite3_column_int64(s, 0), dev = sqlite3_column_int64(s, 3);
	bool done = sqlite3_column_type(s, 1) != SQLITE_NULL;
	struct span span = { ts, done ? ts + sqlite3_column_int64(s, 1) : t->end };
	bool first = !t->disks.first;
	char name[128];
	int row;
	struct track *k = take_lane(t, &t->disks, dev, ts, &row);

	if (!k)
		return row == -1 ? 0 : ERR_FAIL;
	if (first)
		trace_process(&t->w, PID_DISKS, "Disks", -1);
	if (!k->tid) {
		k->pid = PID_DISKS;
		k->tid = ((dev & 0x1fffff) << LANE_BITS) + row + 1;
		snprintf(name, sizeof(name), "%s %d", text_at(s, 4), row + 1);
		trace_track(&t->w, k->pid, k->tid, name, k->tid);
	}
	if (track_begin(&t->w, k, span, text_at(s, 5)) < 0)
		return ERR_FAIL;
	trace_words(&t->w, "\"cat\":\"block\"");
	trace_arg(&t->w, "bytes", sqlite3_column_int64(s, 6));
	trace_arg(&t->w, "sector", sqlite3_column_int64(s, 7));
	trace_arg(&t->w, "error", sqlite3_column_int64(s, 8));
	if (sqlite3_column_type(s, 9) != SQLITE_NULL)
		trace_arg(&t->w, "tid", sqlite3_column_int64(s, 9));
	if (!done)
		trace_arg(&t->w, "unfinished", 1);
	if (trace_close(&t->w) != 0)
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

	if (!k)
		return ERR_FAIL;
	if (first)
		trace_process(&t->w, PID_LOSS, "Lost events", -2);
	if (!k->tid) {
		k->pid = PID_LOSS;
		k->tid = place;
		snprintf(name, sizeof(name), "CPU %lld %s", sqlite3_column_int64(s, 3),
			 text_at(s, 4));
		trace_track(&t->w, k->pid, k->tid, name, place);
	}
	snprintf(name, sizeof(name), "%lld lost (%s)", sqlite3_column_int64(s, 5), text_at(s, 6));
	if (track_begin(&t->w, k, span, name) < 0)
		return ERR_FAIL;
	trace_arg(&t->w, "events", sqlite3_column_int64(s, 5));
	return trace_close(&t->w);
}

static int on_window(struct trace *t, sqlite3_stmt *s)
{
	static const char *const names[] = { "turns per second", "sends per second" };
	s64 pid = sqlite3_column_int64(s, 1);
	int i, ret = 0;

	for (i = 0; i < 2 && ret == 0; i++) {
		trace_open(&t->w, 'C', pid, 0, sqlite3_column_int64(s, 0));
		trace_name(&t->w, names[i]);
		trace_arg(&t->w, "n", sqlite3_column_int64(s, 2 + i));
		ret = trace_close(&t->w);
	}
	return ret;
}

/* ---- the whole ---- */

static const struct {
	int (*on)(struct trace *, sqlite3_stmt *);
	const char *sql;
} parts[] = {
	{ on_process,
	  "SELECT pid, comm FROM process WHERE comm <> '' AND pid IN (SELECT pid FROM thread)"
	  " ORDER BY start" },
	{ on_thread, "SELECT tid, pid, comm FROM thread ORDER BY start" },
	{ on_state, "SELECT s.ts, s.dur, s.tid, s.cpu, s.state, t.name, n.name, s.waker, s.context"
		    " FROM thread_state s LEFT JOIN state t ON t.id = s.state"
		    " LEFT JOIN (SELECT nr, min(name) AS name FROM syscall_name GROUP BY nr) n"
		    " ON n.nr = s.nr ORDER BY s.ts" },
	{ on_call,
	  "SELECT c.ts, c.dur, c.tid, 1, s.function, c.value, NULL"
	  " FROM call c LEFT JOIN site s ON s.id = c.site UNION ALL"
	  " SELECT c.ts, c.dur, c.tid, 0, n.name, c.ret, c.fd FROM syscall c"
	  " LEFT JOIN syscall_name n ON n.abi = c.abi AND n.nr = c.nr ORDER BY 1, 2 DESC" },
	{ on_turn, "SELECT ts, dur, pid, fd, tid, recvs, sends FROM turn ORDER BY ts" },
	{ on_block,
	  "SELECT b.ts, b.dur, b.queued, b.dev, coalesce(d.name, (b.dev >> 20) || ':' || (b.dev &"
	  " 0xfffff)), block_op(b.op), b.bytes, b.sector, b.error, b.tid FROM block_io b LEFT JOIN disk d ON d.dev = b.dev ORDER BY b.ts" },
	{ on_loss, "SELECT ts, dur, dense_rank() OVER (ORDER BY cpu, grp), cpu, grp, sum(n),"
		   " group_concat(reason, ', ') FROM loss GROUP BY cpu, grp, ts, dur ORDER BY ts" },
	{ on_window,
	  /* windows without requests have no row, but a counter has to come down */
	  "WITH w AS (SELECT w.ts, w.ts + w.dur AS end, v.pid, 1e9 * sum(w.turns) / w.dur AS turns,"
	  " 1e9 * sum(w.sends) / w.dur AS sends FROM request_window w JOIN service v"
	  " ON v.id = w.service WHERE w.dur > 0 GROUP BY v.pid, w.ts) SELECT ts, pid, turns, sends"
	  " FROM w UNION ALL SELECT end, pid, 0, 0 FROM (SELECT end, pid, lead(ts) OVER"
	  " (PARTITION BY pid ORDER BY ts) AS next FROM w) WHERE next IS NULL OR next > end"
	  " ORDER BY 1, 2" },
};

/* What no viewer shows, but the file contains: which recording, and how complete. */
static int put_head(struct trace *t)
{
	static const char *const keys[] = { "host", "kernel", "start", "command", "obsrec" };
	struct buf *b = &t->w.out->b;
	char text[512];
	size_t i;
	int ret = coverage_verdict(text, sizeof(text), t->db, t->e);

	if (ret == 0)
		ret = buf_printf(b, t->e, "{\"otherData\":{\"verdict\":\"%s\"", text);
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]) && ret == 0; i++) {
		ret = fact_text(text, sizeof(text), t->db, keys[i], t->e);
		if (ret == 0)
			ret = buf_printf(b, t->e, ",\"%s\":\"", keys[i]);
		if (ret == 0)
			ret = escape_add(b, ESCAPE_JSON, text, strlen(text), t->e);
		if (ret == 0)
			ret = buf_printf(b, t->e, "\"");
	}
	if (ret == 0)
		ret = buf_printf(b, t->e, "},\"traceEvents\":[");
	return ret < 0 ? ret : trace_process(&t->w, PID_CPUS, "CPUs", -3);
}

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
	lanes_end(&t->w, &t->turns);
	lanes_end(&t->w, &t->disks);
	return lanes_end(&t->w, &t->losses);
}

static void free_all(struct trace *t)
{
	struct rail *r, *next;
	size_t at;

	for (r = t->first; r; r = next) {
		next = r->next;
		track_free(&r->states);
		track_free(&r->calls);
		free(r);
	}
	idmap_free(&t->rails);
	for (at = 0; at < STREAM_MAX; at++)
		track_free(&t->cpus[at]);
	free(t->cpus);
	lanes_free(&t->turns);
	lanes_free(&t->disks);
	lanes_free(&t->losses);
}

int export_perfetto(struct sink *out, sqlite3 *db, struct err *e)
{
	struct trace t = { .w = { .out = out, .e = e }, .db = db, .e = e };
	size_t i;
	int ret;

	t.cpus = calloc(STREAM_MAX, sizeof(*t.cpus));
	if (!t.cpus)
		return err_set(e, ERR_FAIL, "out of memory for tracks");
	ret = db_int(db, &t.end, e, "SELECT value FROM recording WHERE key='duration_ns'", "");
	if (ret == 0)
		ret = put_head(&t);
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]) && ret == 0; i++)
		ret = each(&t, parts[i].sql, parts[i].on);
	if (ret == 0)
		ret = end_all(&t);
	if (ret == 0)
		ret = buf_printf(&out->b, e, "\n]}\n");
	free_all(&t);
	return ret < 0 ? ret : 0;
}
