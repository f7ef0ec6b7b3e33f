// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests of programs whose runtime has threads of its own, that are no threads of the kernel:
 * goroutines, Erlang's processes. One that waits leaves its thread, which goes on with others or
 * is idle: the waits of a thread are not those of a request. What is known is what the request
 * asked others: its thread asked them before it read another request. The rest of the time in which
 * threads were idle, in the runtime, is a wait for another green thread or for a timer.
 */
#include "analyze/replay/track.h"

#include "analyze/store/columns/columns.h"
#include "analyze/store/row_types.h"
#include "format/grow.h"

#include <stdlib.h>
#include <string.h>

#define STACKS_MOST (1u << 24) /* and frames */

/* Functions in which threads of a runtime look for work, or run what they found. */
static const struct {
	const char *function, *runs; /* as table process has it */
	bool looks;		     /* a thread that waits in it has no work */
} runtimes[] = {
	{ "runtime.findRunnable", "goroutine", true },
	{ "runtime.findrunnable", "goroutine", true },
	{ "runtime.schedule", "goroutine", true },
	{ "runtime.stopm", "goroutine", true },
	{ "runtime.mcall", "goroutine", true },
	{ "runtime.sysmon", "goroutine", true },
	{ "runtime.goexit", "goroutine", false },
	{ "runtime.goexit.abi0", "goroutine", false },
	{ "erts_schedule", "Erlang process", true },
	{ "erts_check_io", "Erlang process", true },
};

/* A request of such a program; by the thread that read it, then by time. */
struct green_request {
	s64 tid, ts, end, id;
	s64 upstream; /* time of answers that it waited for */
};

/* A question of a request, until its answer. */
struct green_question {
	size_t request;
	s64 asked, answered;
};

struct green {
	sqlite3 *db;
	/* with a function of a runtime: its place, and 1; threads that ran it, or wait in it */
	struct idmap frames, stacks, pids, threads, idle;
	struct green_question *questions;
	size_t n_questions;
	struct green_request *v;
	size_t n;
	struct idmap by_id; /* request.rowid -> place in v, and 1 */
	sqlite3_stmt *put;  /* a row of the new table */
};

static int on_frame(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct green *g = arg;
	const char *name = db_text(q, 1);
	uintptr_t i;

	for (i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++)
		if (strcmp(name, runtimes[i].function) == 0)
			return idmap_put(&g->frames, (u64)sqlite3_column_int64(q, 0),
					 (void *)(i + 1), STACKS_MOST, e);
	return 0;
}

static bool looks(const void *runtime)
{
	return runtime && runtimes[(uintptr_t)runtime - 1].looks;
}

/* In order: the stack of a caller comes first. */
static int on_stack(void *arg, sqlite3_stmt *q, struct err *e)
{
	u64 id = (u64)sqlite3_column_int64(q, 0);
	struct green *g = arg;
	void *runtime = idmap_get(&g->frames, (u64)sqlite3_column_int64(q, 2));
	void *caller = idmap_get(&g->stacks, (u64)sqlite3_column_int64(q, 1));

	if (!runtime || looks(caller))
		runtime = caller;
	return runtime ? idmap_put(&g->stacks, id, runtime, STACKS_MOST, e) : 0;
}

static int add_thread(struct green *g, s64 pid, s64 tid, s64 stack, struct err *e)
{
	void *runtime = stack > 0 ? idmap_get(&g->stacks, (u64)stack) : NULL;
	int ret = 0;

	if (!runtime || tid <= 0 || idmap_get(&g->threads, (u64)tid))
		return 0;
	if (!idmap_get(&g->pids, (u64)pid))
		ret = idmap_put(&g->pids, (u64)pid, runtime, TASK_LIMIT, e);
	return ret < 0 ? ret : idmap_put(&g->threads, (u64)tid, runtime, TASK_LIMIT, e);
}

static int on_wait(void *arg, s64 rowid, const void *wait, struct err *e)
{
	const struct row_offcpu *row = wait;
	struct green *g = arg;
	void *runtime = row->user_stack > 0 ? idmap_get(&g->stacks, (u64)row->user_stack) : NULL;
	bool idle =
		row->state == STATE_futex || row->state == STATE_poll || row->state == STATE_timer;
	int ret = add_thread(g, row->pid, row->tid, row->user_stack, e);

	(void)rowid;
	if (ret < 0 || !idle || row->tid <= 0 || !looks(runtime) ||
	    idmap_get(&g->idle, (u64)row->tid))
		return ret;
	return idmap_put(&g->idle, (u64)row->tid, runtime, TASK_LIMIT, e);
}

static int on_sample(void *arg, s64 rowid, const void *sample, struct err *e)
{
	const struct row_sample *row = sample;

	(void)rowid;
	return add_thread(arg, row->pid, row->tid, row->user_stack, e);
}

static int find_programs(struct green *g, struct err *e)
{
	int ret = db_each(g->db, e, on_frame, g, "SELECT frame, name FROM symbol", "");

	if (ret < 0 || !g->frames.n)
		return ret;
	ret = db_each(g->db, e, on_stack, g, "SELECT id, caller, frame FROM stack ORDER BY id", "");
	if (ret == 0)
		ret = rows_each(g->db, TABLE_offcpu,
				COLUMN_OF(offcpu, pid) | COLUMN_OF(offcpu, tid) |
					COLUMN_OF(offcpu, state) | COLUMN_OF(offcpu, user_stack),
				on_wait, g, e);
	return ret < 0 ? ret
		       : rows_each(g->db, TABLE_sample,
				   COLUMN_OF(sample, pid) | COLUMN_OF(sample, tid) |
					   COLUMN_OF(sample, user_stack),
				   on_sample, g, e);
}

/* ---- what its requests asked others ---- */

static int on_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct green *g = arg;
	s64 tid = row->receiver != BULK_NULL ? row->receiver : row->tid;

	/* a library may have brought the runtime: other threads wait themselves */
	if (!idmap_get(&g->threads, (u64)tid) || !idmap_get(&g->threads, (u64)row->tid))
		return 0;
	if (GROW(g->v, g->n, "requests", e) < 0)
		return ERR_FAIL;
	g->v[g->n++] = (struct green_request){
		.tid = tid, .ts = row->ts, .end = row->ts + row->dur, .id = rowid
	};
	return 0;
}

static int compare(s64 tid, s64 ts, const struct green_request *r)
{
	if (tid != r->tid)
		return tid < r->tid ? -1 : 1;
	return ts < r->ts ? -1 : ts > r->ts;
}

static int by_read(const void *a, const void *b)
{
	const struct green_request *x = a;

	return compare(x->tid, x->ts, b);
}

/* The last request that the thread had read then; NULL: none, or it was answered. */
static struct green_request *open_at(const struct green *g, s64 tid, s64 ts)
{
	size_t low = 0, high = g->n, mid;

	while (low < high) { /* the first that is read later */
		mid = low + (high - low) / 2;
		if (compare(tid, ts, &g->v[mid]) < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return low && g->v[low - 1].tid == tid && g->v[low - 1].end >= ts ? &g->v[low - 1] : NULL;
}

static int on_upstream(void *arg, s64 rowid, const void *upstream, struct err *e)
{
	const struct row_upstream *row = upstream;
	s64 asked = row->first_send != BULK_NULL ? row->first_send : row->ts,
	    answered = row->ts + row->dur;
	struct green *g = arg;
	struct green_request *r =
		open_at(g, row->asker != BULK_NULL ? row->asker : row->tid, asked);

	(void)rowid;
	if (!r)
		return 0;
	if (GROW(g->questions, g->n_questions, "questions", e) < 0)
		return ERR_FAIL;
	g->questions[g->n_questions++] =
		(struct green_question){ (size_t)(r - g->v), asked,
					 answered < r->end ? answered : r->end };
	return 0;
}

static int by_asked(const void *a, const void *b)
{
	const struct green_question *x = a, *y = b;

	if (x->request != y->request)
		return x->request < y->request ? -1 : 1;
	return x->asked < y->asked ? -1 : x->asked > y->asked;
}

/* Answers to several questions at a time are waited for once. */
static void join_questions(struct green *g)
{
	s64 from, counted = 0;
	size_t i;

	if (g->n_questions)
		qsort(g->questions, g->n_questions, sizeof(*g->questions), by_asked);
	for (i = 0; i < g->n_questions; i++) {
		const struct green_question *q = &g->questions[i];

		if (i == 0 || q->request != q[-1].request)
			counted = 0;
		from = q->asked > counted ? q->asked : counted;
		if (q->answered <= from)
			continue;
		g->v[q->request].upstream += q->answered - from;
		counted = q->answered;
	}
}

/* ---- where their time went ---- */

static bool is_idle(int state)
{
	return state == STATE_futex || state == STATE_poll || state == STATE_timer ||
	       state == STATE_client || state == STATE_other;
}

/* Of one request: the time in which threads were idle. */
struct idle {
	s64 request, ns, client;
};

static int put(struct green *g, s64 request, int state, s64 dur, struct err *e)
{
	int ret = 0;

	if (dur > 0) {
		sqlite3_bind_int64(g->put, 1, request);
		sqlite3_bind_int(g->put, 2, state);
		sqlite3_bind_int64(g->put, 3, dur);
		ret = db_step(g->put, e);
		sqlite3_reset(g->put);
	}
	return ret < 0 ? ret : 0;
}

/* It is a wait for upstreams, and one for what is not known. */
static int settle(struct green *g, struct idle *x, struct err *e)
{
	uintptr_t place = x->ns ? (uintptr_t)idmap_get(&g->by_id, (u64)x->request) : 0;
	s64 upstream = place && g->v[place - 1].upstream > x->client ? g->v[place - 1].upstream
								     : x->client;
	int ret;

	upstream = upstream < x->ns ? upstream : x->ns;
	ret = put(g, x->request, STATE_client, upstream, e);
	if (ret == 0)
		ret = put(g, x->request, STATE_other, x->ns - upstream, e);
	*x = (struct idle){ .request = 0 };
	return ret;
}

static int on_row(struct green *g, struct idle *x, sqlite3_stmt *q, struct err *e)
{
	s64 request = sqlite3_column_int64(q, 0), dur = sqlite3_column_int64(q, 2);
	int state = sqlite3_column_int(q, 1);
	int ret = request == x->request ? 0 : settle(g, x, e);

	if (ret < 0 || !is_idle(state) || !idmap_get(&g->by_id, (u64)request))
		return ret < 0 ? ret : put(g, request, state, dur, e);
	x->request = request;
	x->ns += dur;
	x->client += state == STATE_client ? dur : 0;
	return 0;
}

/* The table stays in the order of the requests. */
static int change_waits(struct green *g, struct err *e)
{
	static const char replace[] =
		"DELETE FROM request_wait; INSERT INTO request_wait (request, state, dur) SELECT request, state, dur"
		" FROM temp.green_wait ORDER BY rowid; DROP TABLE temp.green_wait";
	struct idle x = { .request = 0 };
	sqlite3_stmt *q;
	int ret =
		db_exec(g->db, e, "CREATE TEMP TABLE green_wait (request INT, state INT, dur INT)");

	if (ret == 0)
		ret = db_query(&g->put, g->db, e, "INSERT INTO temp.green_wait VALUES (?1, ?2, ?3)",
			       "");
	if (ret == 0)
		ret = db_query(&q, g->db, e,
			       "SELECT request, state, dur FROM request_wait ORDER BY rowid", "");
	if (ret < 0)
		return ret;
	while (ret >= 0 && (ret = db_step(q, e)) > 0)
		ret = on_row(g, &x, q, e);
	if (ret == 0)
		ret = settle(g, &x, e);
	ret = db_end(q, ret);
	sqlite3_finalize(g->put);
	g->put = NULL;
	return ret < 0 ? ret : db_exec(g->db, e, replace);
}

static int mark(struct green *g, struct idmap *of, const char *sql, struct err *e)
{
	struct idmap_slot *v = idmap_sorted(of, e);
	size_t i;
	int ret = v ? 0 : ERR_FAIL;

	for (i = 0; ret == 0 && v[i].value; i++)
		ret = db_run(g->db, e, sql, "is", (s64)v[i].id,
			     runtimes[(uintptr_t)v[i].value - 1].runs);
	free(v);
	return ret;
}

static int mark_programs(struct green *g, struct err *e)
{
	int ret = mark(g, &g->pids, "UPDATE process SET green=?2 WHERE pid=?1", e);

	return ret < 0 ? ret
		       : mark(g, &g->idle, "UPDATE thread SET green=?2 IS NOT NULL WHERE tid=?1",
			      e);
}

static int follow_requests(struct green *g, struct err *e)
{
	static const u32 set = COLUMN_OF(request, ts) | COLUMN_OF(request, dur) |
			       COLUMN_OF(request, tid) | COLUMN_OF(request, receiver);
	int ret = rows_each(g->db, TABLE_request, set, on_request, g, e);
	size_t i;

	if (ret < 0 || !g->n)
		return ret;
	qsort(g->v, g->n, sizeof(*g->v), by_read);
	for (i = 0; i < g->n && ret >= 0; i++)
		ret = idmap_put(&g->by_id, (u64)g->v[i].id, (void *)(uintptr_t)(i + 1), SIZE_MAX,
				e);
	if (ret >= 0)
		ret = rows_each(g->db, TABLE_upstream, COLUMNS_ALL, on_upstream, g, e);
	join_questions(g);
	return ret < 0 ? ret : change_waits(g, e);
}

static int green_threads_stored(struct replay *r, struct err *e)
{
	struct green g = { .db = r->db };
	int ret = find_programs(&g, e);

	if (ret >= 0 && g.pids.n)
		ret = mark_programs(&g, e);
	if (ret >= 0 && g.pids.n)
		ret = follow_requests(&g, e);
	idmap_free(&g.frames);
	idmap_free(&g.stacks);
	idmap_free(&g.pids);
	idmap_free(&g.threads);
	idmap_free(&g.idle);
	free(g.questions);
	idmap_free(&g.by_id);
	sqlite3_finalize(g.put);
	free(g.v);
	return ret < 0 ? ret : 0;
}

const struct tracker track_green_threads = {
	.name = "green threads",
	.stored = green_threads_stored,
};
