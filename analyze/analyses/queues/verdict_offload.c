// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Work that an event loop hands to threads of its process, as libuv does for files, names of hosts
 * and cryptography, and nginx for files: the request's thread sleeps in poll until one of them
 * wakes it. The last sleep before the answer decides: what ended it was the end of the work, and
 * the time until then, from the read on, is a wait for these threads. A loop that computes itself
 * has no such sleep, and the answer of another server is no wake-up by a thread of its own process.
 */
#include "offload.h"

#include "analyze/base/limits.h"
#include "analyze/stats/sorted.h"
#include "analyze/store/db_idmap.h"
#include "analyze/store/request_rows.h"
#include "analyze/store/state.h"
#include "format/grow.h"

#include <stdlib.h>
#include <string.h>

#define ALL_BUSY 50.0 /* %, of the time: less is not said */
#define NOTABLE	 0.25 /* of the time that they work: less is not said */

/* Work of a helper for a request: it ended at, and began after from and the work before. */
struct done {
	s64 tid, at, from, name;
};

struct helpers {
	struct offload o;
	struct done *done;
	size_t n_done;
	const struct verdict_when *when;
	struct verdict_side side[2];
	struct idmap of;    /* tid -> struct helper */
	struct idmap locks; /* futex.id -> anything */
	double work;	    /* ns that they did not wait for work */
	s64 first;	    /* tid of the one that worked most */
	double first_ns;
	double did[N_STATES];
	double full;	   /* ns in which all of them worked */
	struct idle *idle; /* what may be waits for work */
	size_t n_idle;
	s64 *at, *by; /* begins and ends of those that are */
	size_t n_at, n_by;
};

/*
 * A helper waits for work in poll if it is an event loop, else on a futex that is no lock: in what
 * serving threads woke it more often.
 */
struct helper {
	s64 tid;
	double time[N_STATES], on_futex; /* ns; on such a futex */
	s64 polls; /* sleeps in poll that serving threads ended, less those on such a futex */
};

struct idle {
	s64 from, to;
	const struct helper *of;
	bool poll;
};

static int add_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct helpers *h = arg;
	s64 end = row->ts + row->dur, sent = row->first_send > row->ts ? row->first_send : end;
	const struct woke *w = offload_last(&h->o, row->tid, row->ts, sent);
	bool in = verdict_when_has(h->when, (double)row->ts - (double)row->queued, (double)end);
	struct helper *of;

	(void)rowid;
	h->side[in].n++;
	h->side[in].latency += (double)row->dur + (double)row->queued;
	if (!w)
		return 0;
	h->side[in].part += (double)(w->at - row->ts);
	of = idmap_get(&h->of, (u64)w->waker);
	if (!of)
		of = idmap_add(&h->of, (u64)w->waker, sizeof(*of), TASK_LIMIT, "threads", e);
	if (!of)
		return ERR_FAIL;
	of->tid = w->waker;
	if (!in)
		return 0;
	if (GROW(h->done, h->n_done, "requests", e) < 0)
		return ERR_FAIL;
	h->done[h->n_done++] =
		(struct done){ w->waker, w->at, row->ts, row->name == BULK_NULL ? 0 : row->name };
	return 0;
}

static int by_end(const void *a, const void *b)
{
	const struct done *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

/* The name of the requests that they worked for most, of several. 0: none has most of it. */
static int most_work(struct helpers *h, s64 *ret_name, struct err *e)
{
	struct idmap names = { 0 };
	double all = 0, *ns;
	size_t i;
	struct idmap_slot *sorted, *one;
	int ret = 0;

	*ret_name = 0;
	if (h->n_done)
		qsort(h->done, h->n_done, sizeof(*h->done), by_end);
	for (i = 0; i < h->n_done && ret == 0; i++) {
		const struct done *x = &h->done[i];
		s64 from = x->from;

		if (i && x[-1].tid == x->tid && x[-1].at > from)
			from = x[-1].at;
		ns = idmap_get(&names, (u64)x->name);
		if (!ns)
			ns = idmap_add(&names, (u64)x->name, sizeof(*ns), TASK_LIMIT, "names", e);
		ret = ns ? 0 : ERR_FAIL;
		if (ns)
			*ns += (double)(x->at - from);
		all += (double)(x->at - from);
	}
	sorted = ret == 0 && names.n > 1 ? idmap_sorted(&names, e) : NULL;
	for (one = sorted; one && one->value; one++)
		if (percent(*(double *)one->value, all) > ALL_BUSY)
			*ret_name = (s64)one->id;
	free(sorted);
	idmap_free_all(&names);
	return ret;
}

static bool polls(const struct helper *of)
{
	return of->polls > 0;
}

/* One of them may wait for work in from..to. */
static int add_idle(struct helpers *h, struct idle one, struct err *e)
{
	if (GROW(h->idle, h->n_idle, "states", e) < 0)
		return ERR_FAIL;
	h->idle[h->n_idle++] = one;
	return 0;
}

static int on_state(void *arg, s64 rowid, const void *state, struct err *e)
{
	const struct row_thread_state *row = state;
	struct helpers *h = arg;
	struct helper *of = idmap_get(&h->of, (u64)row->tid);
	double from = (double)row->ts, to = from + (double)row->dur, within;
	bool poll = row->state == STATE_poll, futex;
	int i, ret = 0;

	(void)rowid;
	if (!of || row->state < 0 || row->state >= N_STATES)
		return 0;
	futex = row->state == STATE_futex && !idmap_get(&h->locks, (u64)row->object);
	if ((poll || futex) && row->waker != BULK_NULL && idmap_get(&h->o.serving, (u64)row->waker))
		of->polls += poll ? 1 : -1;
	within = verdict_when_within(h->when, from, to);
	of->time[row->state] += within;
	of->on_futex += futex ? within : 0;
	for (i = verdict_when_first(h->when, from);
	     (poll || futex) && i < h->when->n && h->when->v[i][0] < to && ret == 0; i++)
		ret = add_idle(h,
			       (struct idle){ (s64)fmax(from, h->when->v[i][0]),
					      (s64)fmin(to, h->when->v[i][1]), of, poll },
			       e);
	return ret;
}

/* What they did, without the waits for work, and when they had these. */
static int sum_up(struct helpers *h, struct err *e)
{
	const struct helper *of;
	size_t at = 0, k;
	double work;
	int i;

	while ((of = idmap_each(&h->of, &at))) {
		double idle = polls(of) ? of->time[STATE_poll] : of->on_futex;

		for (i = 0, work = -idle; i < N_STATES; i++) {
			h->did[i] += of->time[i];
			work += of->time[i];
		}
		h->did[polls(of) ? STATE_poll : STATE_futex] -= idle;
		h->work += work;
		if (work > h->first_ns || (work >= h->first_ns && of->tid < h->first)) {
			h->first = of->tid;
			h->first_ns = work;
		}
	}
	for (k = 0; k < h->n_idle; k++)
		for (i = 0; i < 2 && h->idle[k].poll == polls(h->idle[k].of); i++) {
			if (GROW(h->at, h->n_at, "states", e) < 0 ||
			    GROW(h->by, h->n_by, "states", e) < 0)
				return ERR_FAIL;
			h->at[h->n_at++] = i ? h->idle[k].to : h->idle[k].from;
			h->by[h->n_by++] = i ? -1 : 1;
		}
	return 0;
}

/* Time in which none of them waits for work. */
static int find_full(struct helpers *h, struct err *e)
{
	s64 idle = 0;
	size_t i;

	if (h->n_at && !sort_keys(h->at, h->by, h->n_at))
		return err_set(e, ERR_FAIL, "out of memory for states");
	h->full = verdict_when_length(h->when);
	for (i = 0; i < h->n_at; i++) {
		h->full -= idle ? (double)(h->at[i] - h->at[i - 1]) : 0;
		idle += h->by[i];
	}
	return 0;
}

static int read_work(struct helpers *h, struct analysis_ctx *c, struct err *e)
{
	int ret = db_each(c->db, e, db_idmap, &h->locks,
			  "SELECT id FROM futex WHERE class='contention' LIMIT ?1", "i",
			  (s64)TASK_LIMIT - 1);

	if (ret == 0)
		ret = rows_each(
			c->db, TABLE_thread_state,
			COLUMN_OF(thread_state, ts) | COLUMN_OF(thread_state, dur) |
				COLUMN_OF(thread_state, tid) | COLUMN_OF(thread_state, state) |
				COLUMN_OF(thread_state, waker) | COLUMN_OF(thread_state, object),
			on_state, h, e);
	if (ret >= 0)
		ret = sum_up(h, e);
	return ret < 0 ? ret : find_full(h, e);
}

/* Functions of the samples of one of them in the time of the verdict. */
static int read_function(struct helpers *h, struct analysis_ctx *c, struct buf *out, double *share,
			 double *n, struct err *e)
{
	struct judged_pause *p = calloc((size_t)h->when->n + 1, sizeof(*p));
	struct judged at = { .pauses = p, .n_pauses = h->when->n };
	int i, ret;

	if (!p)
		return err_set(e, ERR_FAIL, "out of memory for samples");
	for (i = 0; i < h->when->n; i++)
		p[i] = (struct judged_pause){ .start = (s64)h->when->v[i][0],
					      .end = (s64)h->when->v[i][1],
					      .counts = true };
	ret = pause_stack(out, share, n, c->db, &at, h->first, e);
	free(p);
	return ret;
}

/* The call, and the file or server, in which they slept longest in this state. */
static int read_place(struct helpers *h, struct analysis_ctx *c, int state, struct buf *call,
		      struct buf *place, struct err *e)
{
	static const char in[] =
		"SELECT n.name FROM thread_state s JOIN syscall_name n ON n.abi=0 AND n.nr=s.nr WHERE s.state=?2 AND"
		" s.tid=?1 AND s.ts < ?4 AND s.ts + s.dur > ?3 GROUP BY s.nr ORDER BY sum(s.dur) DESC LIMIT 1";
	static const char on[] =
		"WITH w AS MATERIALIZED (SELECT s.fd, max(s.ts) AS ts, total(s.dur) AS ns FROM syscall s WHERE s.tid=?1 AND"
		" s.ts < ?4 AND s.ts + s.dur > ?3 AND s.fd >= 0 GROUP BY s.fd ORDER BY ns DESC LIMIT 1) SELECT"
		" coalesce(nullif(f.path, ''), nullif(f.remote, '')) FROM w JOIN fd f ON f.fd=w.fd AND f.ts <= w.ts AND"
		" f.pid=(SELECT pid FROM thread WHERE tid=?1) ORDER BY f.ts DESC LIMIT 1";
	const double *first = h->when->v[0], *last = h->when->v[h->when->n - 1];
	int ret;

	if (state == STATE_run)
		return 0;
	ret = db_add_text(call, c->db, e, in, "iidd", h->first, (s64)state, first[0], last[1]);
	return ret < 0 || state == STATE_futex /* which has no descriptor */
		       ? ret
		       : db_add_text(place, c->db, e, on, "iidd", h->first, (s64)state, first[0],
				     last[1]);
}

static int put(struct helpers *h, struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	const struct verdict_side *in = &h->side[1];
	struct buf function = { 0 }, call = { 0 }, place = { 0 };
	double share = NAN, n = NAN, full = percent(h->full, verdict_when_length(h->when));
	int i, state = 0, ret;
	s64 name = 0;
	bool known;

	h->did[STATE_run] += h->did[STATE_woken] + h->did[STATE_preempted];
	h->did[STATE_woken] = h->did[STATE_preempted] = 0;
	for (i = 1; i < N_STATES; i++)
		state = h->did[i] > h->did[state] ? i : state;
	known = h->did[state] >= NOTABLE * h->work && h->work > 0;
	ret = known ? read_place(h, c, state, &call, &place, e) : 0;
	if (ret == 0 && known && state == STATE_run)
		ret = read_function(h, c, &function, &share, &n, e);
	if (ret == 0)
		ret = most_work(h, &name, e);
	const struct value values[] = {
		VALUE_NUMBER("share", percent(in->part, in->latency), "%"),
		VALUE_SUBJECT("thread", thread, h->first),
		VALUE_NUMBER("others", h->of.n > 1 ? (double)h->of.n - 1 : NAN, ""),
		VALUE_TEXT("state", !known		 ? NULL
				    : state == STATE_run ? "on a CPU or queued for one"
							 : verdict_does[state]),
		VALUE_NUMBER("part", known ? percent(h->did[state], h->work) : NAN, "%"),
		VALUE_TEXT("function", function.len ? function.data : NULL),
		VALUE_TEXT("call", call.len ? call.data : NULL),
		VALUE_TEXT("place", place.len ? place.data : NULL),
		VALUE_MAYBE("name", request_name, name),
		VALUE_NUMBER("full", full >= ALL_BUSY ? fmin(100, full) : NAN, "%"),
		{ 0 },
	};

	if (ret == 0)
		ret = verdict_queues_put(
			c, j, FINDING_verdict_offload, CAUSAL,
			"SELECT waker, count(*), sum(dur) FROM thread_state WHERE state=state_id('poll') GROUP BY 1",
			values, e);
	buf_free(&function);
	buf_free(&call);
	buf_free(&place);
	return ret;
}

int verdict_offload(struct analysis_ctx *c, const struct judged *j, const struct verdict_when *w,
		    const struct limits *l, struct err *e)
{
	struct helpers h = { .when = w };
	int ret = offload_read(&h.o, c->db, j->about.id, e), said = 0;

	if (ret > 0)
		ret = requests_each(c->db,
				    COLUMN_OF(request, tid) | COLUMN_OF(request, first_send) |
					    COLUMN_OF(request, name),
				    "SELECT id FROM service WHERE server=?1", j->about.id,
				    add_request, &h, e);
	if (ret == 0 && h.of.n && side_is_most(h.side, l->latency)) {
		ret = read_work(&h, c, e);
		if (ret == 0)
			ret = put(&h, c, j, e);
		said = 1;
	}
	offload_free(&h.o);
	idmap_free_all(&h.of);
	idmap_free(&h.locks);
	free(h.done);
	free(h.idle);
	free(h.at);
	free(h.by);
	return ret < 0 ? ret : said;
}
