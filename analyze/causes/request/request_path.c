// SPDX-License-Identifier: GPL-2.0-or-later
/* What the latency of a request was spent on, part by part. */
#include "request_path.h"

#include "analyze/store/columns/columns.h"

#include <stdlib.h>
#include <string.h>

#define SERVICES_MAX 8

struct walk {
	struct request_path *path;
	const struct request_tree *t;
	const struct spans *spans;
	s64 ends[TREE_STEPS_MAX]; /* of questions: of the wait for their answers; -1: none */
};

static void add(struct walk *w, struct path_part part)
{
	struct request_path *p = w->path;
	struct path_part *last = p->n ? &p->v[p->n - 1] : NULL;

	if (part.dur <= 0)
		return;
	if (last && last->what == part.what && last->step == part.step &&
	    last->state == part.state) {
		last->dur += last->ts - part.ts;
		last->ts = part.ts;
		return;
	}
	p->cut |= p->n == PATH_PARTS_MAX;
	if (p->n < PATH_PARTS_MAX)
		p->v[p->n++] = part;
}

static s64 within(s64 ts, s64 from, s64 to)
{
	return ts < from ? from : ts > to ? to : ts;
}

/* States of a request's thread from a to b, the last first; unknown where there are none. */
static void add_states(struct walk *w, int step, enum path_what what, s64 a, s64 b)
{
	const struct row_request *r = &w->t->v[step].request;
	s64 shift = host_of(&w->t->clocks, r->pid)->add, from, to;
	const struct span *first = spans_at(w->spans, r->tid, a - shift), *s = first, *next;

	while (s && (next = spans_next(w->spans, s)) && next->ts + shift < b)
		s = next;
	for (; s && s->ts + shift < b && b > a; s--) {
		to = within(s->ts + s->dur + shift, a, b);
		from = within(s->ts + shift, a, b);
		add(w, (struct path_part){ to, b - to, what, STATE_unknown, step });
		add(w, (struct path_part){ from, to - from, what, (enum state)s->state, step });
		b = from;
		if (s == first)
			break;
	}
	add(w, (struct path_part){ a, b - a, what, STATE_unknown, step });
}

static void add_own(struct walk *w, int step, s64 a, s64 b)
{
	s64 read = w->t->v[step].request.ts, cut = read < a ? a : read > b ? b : read;

	add_states(w, step, PATH_STATE, cut, b);
	add_states(w, step, PATH_QUEUE, a, cut);
}

static bool waits_for_others(const struct span *s)
{
	return s->state == SPAN_client || s->state == SPAN_poll || s->state == SPAN_socket;
}

/*
 * When the last wait for the answer ended; -1: its thread did not wait for it. What ended before
 * the answer was sent was a wait for something else.
 */
static s64 end_of_wait(const struct walk *w, int question)
{
	const struct step *q = &w->t->v[question];
	const struct step *peer = request_tree_peer(w->t, q);
	const struct host_clock *h = host_of(&w->t->clocks, q->question.pid), *there;
	s64 from = q->question.ts, to = from + q->question.dur, ret = -1, sent = from, end;
	const struct span *s = spans_at(w->spans, q->question.tid, from - h->add);

	if (!s)
		return to; /* not recorded */
	if (peer) {
		there = host_of(&w->t->clocks, peer->request.pid);
		sent = peer->request.first_send != BULK_NULL ? peer->request.first_send
							     : peer->request.ts;
		sent -= h == there ? 0 : h->error + there->error;
	}
	for (; s && s->ts + h->add < to; s = spans_next(w->spans, s)) {
		end = s->ts + s->dur + h->add;
		if (waits_for_others(s) && end >= sent && end <= to)
			ret = end;
	}
	return ret;
}

/* Of two that a wait could have been for, the one received first after it. */
static bool ends_later(const struct walk *w, int question, int than)
{
	const struct row_upstream *a = &w->t->v[question].question;
	const struct row_upstream *b = than < 0 ? NULL : &w->t->v[than].question;

	if (!b || w->ends[question] != w->ends[than])
		return !b || w->ends[question] > w->ends[than];
	return a->ts + a->dur < b->ts + b->dur;
}

/*
 * The question of a request whose answer ended the last wait before t and after from; -1: none.
 * Those from this one on are done.
 */
static int last_question(const struct walk *w, int step, int before, s64 from, s64 t)
{
	const struct request_tree *tree = w->t;
	int i, ret = -1;

	for (i = step + 1; i < before && tree->v[i].depth > tree->v[step].depth; i++) {
		if (tree->v[i].depth != tree->v[step].depth + 1 || tree->v[i].is_request)
			continue;
		if (w->ends[i] > from && w->ends[i] <= t && ends_later(w, i, ret))
			ret = i;
	}
	return ret;
}

static void add_request(struct walk *w, int step, s64 from, s64 to);

/* From its send to the end of the wait for its answer; returns when it began. */
static s64 add_question(struct walk *w, int question, s64 from, s64 to)
{
	const struct step *q = &w->t->v[question], *peer = request_tree_peer(w->t, q);
	s64 begin = within(q->question.ts, from, to), arrival, answered;

	if (!peer) {
		add(w, (struct path_part){ begin, to - begin, PATH_PEER, STATE_unknown, question });
		return begin;
	}
	arrival = within(peer->request.ts - peer->request.queued, from, to);
	begin = begin < arrival ? begin : arrival; /* it arrived before the send returned */
	answered = within(peer->request.ts + peer->request.dur, arrival, to);
	add(w,
	    (struct path_part){ answered, to - answered, PATH_NETWORK, STATE_unknown, question });
	add_request(w, question + 1, arrival, answered);
	add(w, (struct path_part){ begin, arrival - begin, PATH_NETWORK, STATE_unknown, question });
	return begin;
}

static void add_request(struct walk *w, int step, s64 from, s64 to)
{
	int q = w->t->n;

	while (to > from && !w->path->cut) {
		q = last_question(w, step, q, from, to);
		add_own(w, step, q < 0 ? from : w->ends[q], to);
		if (q < 0)
			return;
		to = add_question(w, q, from, w->ends[q]);
	}
}

void request_path_make(struct request_path *ret, const struct request_tree *t,
		       const struct spans *s)
{
	const struct row_request *r = &t->v[0].request;
	struct walk w = { .path = ret, .t = t, .spans = s };
	struct path_part part;
	int i;

	ret->n = 0;
	ret->cut = false;
	for (i = 0; i < t->n; i++)
		w.ends[i] = t->v[i].is_request ? -1 : end_of_wait(&w, i);
	add_request(&w, 0, r->ts - r->queued, r->ts + r->dur);
	for (i = 0; i < ret->n / 2; i++) {
		part = ret->v[i];
		ret->v[i] = ret->v[ret->n - 1 - i];
		ret->v[ret->n - 1 - i] = part;
	}
}

int request_path_moments(struct moment *ret, const struct request_tree *t)
{
	const struct row_request *r = &t->v[0].request;
	int i;

	for (i = 0; i < t->clocks.n; i++)
		ret[i] = (struct moment){ r->ts - r->queued - t->clocks.v[i].add,
					  r->ts + r->dur - t->clocks.v[i].add };
	return t->clocks.n;
}

/* ---- table request_path ---- */

struct slowest {
	s64 service, id, latency;
};

struct chosen {
	struct slowest v[SERVICES_MAX];
	int n;
};

static int choose(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *r = request;
	struct chosen *c = arg;
	int i;

	(void)e;
	for (i = 0; i < c->n && c->v[i].service != r->service; i++)
		;
	if (i == SERVICES_MAX || r->lossy || r->split != 1 ||
	    (i < c->n && r->dur + r->queued <= c->v[i].latency))
		return 0;
	c->v[i] = (struct slowest){ r->service, rowid, r->dur + r->queued };
	c->n += i == c->n;
	return 0;
}

static int put_path(sqlite3 *db, const struct request_tree *t, const struct request_path *p,
		    struct err *e)
{
	static const char *const names[] = { [PATH_QUEUE] = "queue",
					     [PATH_STATE] = "state",
					     [PATH_NETWORK] = "network",
					     [PATH_PEER] = "peer" };
	const struct path_part *part;
	const struct step *s, *of;
	bool between;
	int i, k, ret = 0;

	for (i = 0; i < p->n && ret == 0; i++) {
		part = &p->v[i];
		s = of = &t->v[part->step];
		between = !s->is_request;
		for (k = part->step; between && (!of->is_request || of->depth >= s->depth); k--)
			of = &t->v[k];
		ret = row_put(db, request_path, e, .request = t->v[0].id,
			      .ts = part->ts - host_of(&t->clocks, of->request.pid)->add,
			      .dur = part->dur, .depth = of->depth / 2, .of = of->id,
			      .what = names[part->what],
			      .state = between || part->state == STATE_unknown ? BULK_NULL
									       : part->state,
			      .pid = of->request.pid, .tid = of->request.tid);
	}
	return ret;
}

static int put_all(sqlite3 *db, const struct request_tree *trees, int n, struct err *e)
{
	struct request_path *p = malloc(sizeof(*p));
	struct moment moments[SERVICES_MAX * HOST_LIMIT];
	struct spans spans = { 0 };
	int i, m = 0, ret = p ? 0 : err_set(e, ERR_FAIL, "out of memory for a request");

	for (i = 0; i < n; i++)
		m += request_path_moments(moments + m, &trees[i]);
	if (ret == 0)
		ret = spans_load(&spans, db, moments, m, e);
	for (i = 0; i < n && ret == 0; i++) {
		request_path_make(p, &trees[i], &spans);
		ret = put_path(db, &trees[i], p, e);
	}
	spans_free(&spans);
	free(p);
	return ret;
}

int request_paths_put(sqlite3 *db, struct err *e)
{
	struct request_tree *trees = NULL;
	struct chosen c = { 0 };
	int i, ret = db_exec(db, e, "DELETE FROM request_path");

	if (ret == 0)
		ret = rows_each(db, TABLE_request,
				COLUMN_OF(request, dur) | COLUMN_OF(request, queued) |
					COLUMN_OF(request, service) | COLUMN_OF(request, lossy) |
					COLUMN_OF(request, split),
				choose, &c, e);
	if (ret < 0 || !c.n)
		return ret;
	trees = calloc(c.n, sizeof(*trees));
	if (!trees)
		return err_set(e, ERR_FAIL, "out of memory for requests");
	for (i = 0; i < c.n && ret == 0; i++)
		ret = request_tree_make(&trees[i], db, c.v[i].id, e);
	if (ret == 0)
		ret = put_all(db, trees, c.n, e);
	free(trees);
	return ret;
}
