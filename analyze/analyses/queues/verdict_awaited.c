// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests that fail while a server that they asked has not answered yet: a time limit of the
 * server's own ended the wait. Half of the failed ones or more have such a question to one address,
 * open for most of their time until they are answered, in any thread of their process; next to no
 * good answer of the same name has, neither then nor otherwise. Most questions that wait so long
 * there belong to them: not to others that were under way. What never answers, as a server that
 * takes metrics, does not count. Next to slower requests or pauses it is said only if the failed
 * ones are most of what these are about.
 */
#include "verdict_queues.h"

#include "analyze/analyses/verdict/fd_rows.h"
#include "analyze/base/idmap.h"
#include "analyze/base/limits.h"
#include "analyze/store/columns/columns.h"
#include "analyze/store/request_rows.h"
#include "analyze/store/row_types.h"
#include "format/grow.h"

#include <stdlib.h>

#define MOST	       0.5 /* of the failed ones; of the time of each; of the questions */
#define RARE	       0.1 /* of that share, of the good answers */
#define QUESTIONS_MOST 1000000
#define STEPS_MOST     50000000 /* questions that are looked at */

/* Good answers outside the time of the errors and in it, and failed ones. */
enum { GOOD, GOOD_THEN, FAILED, N_OUTCOMES };

struct awaited_peer {
	s64 row; /* fd.rowid of a socket to it */
	double n[N_OUTCOMES];
	double took, harmed; /* ns of failed ones; of these, while the problem lasted */
	double open;	     /* ns, of those of failed requests, until these were answered */
	double late, late_n, usual, usual_n;
	double answers, longer; /* questions that wait so long */
	s64 in;			/* the last request that has a question to it */
};

struct question {
	s64 pid, asked, end; /* INT64_MAX: no answer */
	s64 again;	     /* the last send of it */
	s64 closed;	     /* its socket, or the recording ended */
	struct awaited_peer *peer;
	bool datagram;
	bool used;     /* by a failed request; datagrams are of all that wait */
	size_t silent; /* the last datagram before it that has no answer, + 1 */
};

struct awaited {
	const struct judged *j;
	double headline; /* errors that the verdict counts */
	s64 name;	 /* of all of them; 0: several */
	double from, to; /* of the errors */
	bool failed;	 /* these requests are read: before the good ones */
	double lost;	 /* end of the last loss */
	struct fd_rows fds;
	struct idmap peers; /* fd_row.remote -> struct awaited_peer */
	struct question *v;
	size_t n;
	bool full; /* there are more: nothing is said */
	s64 requests[N_OUTCOMES];
	s64 steps, duration;
};

static int add(struct awaited *a, struct question one, s64 fd, struct err *e)
{
	const struct fd_row *f = fd_rows_at(&a->fds, one.pid, fd, one.asked);

	a->full |= a->n >= QUESTIONS_MOST;
	if (!f || a->full)
		return 0;
	one.peer = idmap_get(&a->peers, (u64)f->remote);
	if (!one.peer)
		one.peer = idmap_add(&a->peers, (u64)f->remote, sizeof(*one.peer), SOCKET_LIMIT,
				     "connections", e);
	if (!one.peer || GROW(a->v, a->n, "questions", e) < 0)
		return ERR_FAIL;
	one.peer->row = f->row;
	one.peer->answers += one.end != INT64_MAX;
	one.closed = f->end < a->duration ? f->end : a->duration;
	a->v[a->n++] = one;
	return 0;
}

static int take_answered(void *arg, s64 rowid, const void *upstream, struct err *e)
{
	const struct row_upstream *row = upstream;

	(void)rowid;
	return row->lossy ? 0
			  : add(arg,
				(struct question){ .pid = row->pid,
						   .asked = row->first_send == BULK_NULL
								    ? row->ts
								    : row->first_send,
						   .end = row->ts + row->dur },
				row->fd, e);
}

static int take_unanswered(void *arg, s64 rowid, const void *unanswered, struct err *e)
{
	const struct row_upstream_unanswered *row = unanswered;
	struct awaited *a = arg;

	(void)rowid;
	if ((double)row->ts < a->lost)
		return 0; /* its answer may have been lost */
	return add(a,
		   (struct question){ .pid = row->pid,
				      .asked = row->first_send == BULK_NULL ? row->ts
									    : row->first_send,
				      .again = row->ts,
				      .end = INT64_MAX,
				      .datagram = row->datagram },
		   row->fd, e);
}

static int by_process(const void *a, const void *b)
{
	const struct question *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->asked < y->asked ? -1 : x->asked > y->asked;
}

/* The first question of a process since then. */
static size_t question_since(const struct awaited *a, s64 pid, s64 ts)
{
	const struct question key = { .pid = pid, .asked = ts };
	size_t low = 0, high = a->n, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (by_process(&a->v[mid], &key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct waiting {
	s64 from, sent;
	int outcome;
	s64 number; /* of all requests: each counts once per address */
};

static void take(const struct awaited *a, struct question *q, const struct waiting *w)
{
	s64 till = q->closed < w->sent ? q->closed : w->sent;
	double open = (double)(till - (q->asked > w->from ? q->asked : w->from));
	struct awaited_peer *p = q->peer;

	if (q->used || q->end < w->sent || open < MOST * (double)(w->sent - w->from) ||
	    p->in == w->number)
		return;
	p->in = w->number;
	p->n[w->outcome]++;
	if (w->outcome != FAILED)
		return;
	q->used = !q->datagram;
	p->took += (double)(w->sent - w->from);
	p->harmed += (double)w->from < a->j->end && (double)w->sent > a->j->start;
	p->open += (double)(till - q->asked);
	if (q->end != INT64_MAX) {
		p->late += (double)(q->end - q->asked);
		p->late_n++;
	}
}

/*
 * A resolver asks once for all requests that wait: also before they arrive, but not longer before
 * than they take, unless it asks again. A socket may stay open after the loss of a datagram.
 */
static void mark_silent(struct awaited *a)
{
	size_t i, last = 0;

	for (i = 0; i < a->n; i++) {
		if (i && a->v[i].pid != a->v[i - 1].pid)
			last = 0;
		a->v[i].silent = last;
		if (a->v[i].datagram)
			last = i + 1;
	}
}

static size_t silent_before(const struct awaited *a, s64 pid, size_t i)
{
	if (i < a->n && a->v[i].pid == pid)
		return a->v[i].silent;
	if (!i || a->v[i - 1].pid != pid)
		return 0;
	return a->v[i - 1].datagram ? i : a->v[i - 1].silent;
}

static int take_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct awaited *a = arg;
	double end = (double)(row->ts + row->dur);
	s64 sent = row->first_send != BULK_NULL && row->first_send > row->ts ? row->first_send
									     : row->ts + row->dur;
	bool then = end >= a->from && end <= a->to;
	struct waiting w = { row->ts, sent, a->failed ? FAILED : then ? GOOD_THEN : GOOD, 0 };
	size_t i, silent;
	s64 last;

	(void)rowid;
	(void)e;
	if ((a->name && row->name != a->name) || (row->errors > 0) != a->failed ||
	    (a->failed && !then) || a->full)
		return 0;
	a->requests[w.outcome]++;
	w.number = a->requests[GOOD] + a->requests[GOOD_THEN] + a->requests[FAILED];
	last = row->ts + (s64)((1 - MOST) * (double)(sent - row->ts));
	i = question_since(a, row->pid, row->ts);
	silent = silent_before(a, row->pid, i);
	if (silent && a->v[silent - 1].again >= row->ts - (sent - row->ts))
		take(a, &a->v[silent - 1], &w);
	for (; i < a->n && a->v[i].pid == row->pid && a->v[i].asked <= last; i++) {
		take(a, &a->v[i], &w);
		a->full |= ++a->steps > STEPS_MOST;
		if (a->full)
			break;
	}
	return 0;
}

/* Whose questions wait so long, and what the others take. */
static void count_questions(struct awaited *a)
{
	size_t i;

	for (i = 0; i < a->n; i++) {
		struct awaited_peer *p = a->v[i].peer;
		s64 till = a->v[i].end < a->v[i].closed ? a->v[i].end : a->v[i].closed;
		double open = (double)(till - a->v[i].asked);

		if (!(p->n[FAILED] > 0))
			continue;
		if (open >= MOST * p->open / p->n[FAILED]) {
			p->longer++;
		} else if (a->v[i].end != INT64_MAX) {
			p->usual += open;
			p->usual_n++;
		}
	}
}

static int read_requests(struct awaited *a, struct analysis_ctx *c, bool failed, struct err *e)
{
	a->failed = failed;
	return requests_each(c->db,
			     COLUMN_OF(request, pid) | COLUMN_OF(request, first_send) |
				     COLUMN_OF(request, errors),
			     "SELECT id FROM service WHERE server=?1", a->j->about.id, take_request,
			     a, e);
}

static int read_all(struct awaited *a, struct analysis_ctx *c, struct err *e)
{
	s64 lost = 0;
	int ret = fd_rows_read(&a->fds, c->db, a->j->about.id, "connected", e);

	if (ret < 0 || !a->fds.n)
		return ret;
	ret = db_int(c->db, &lost, e, "SELECT coalesce(max(ts + dur), 0) FROM loss WHERE n > 0",
		     "");
	a->lost = (double)lost;
	if (ret >= 0)
		ret = rows_each(c->db, TABLE_upstream, COLUMNS_ALL, take_answered, a, e);
	if (ret >= 0)
		ret = rows_each(c->db, TABLE_upstream_unanswered, COLUMNS_ALL, take_unanswered, a,
				e);
	if (ret < 0 || !a->n || a->full)
		return ret;
	qsort(a->v, a->n, sizeof(*a->v), by_process);
	mark_silent(a);
	ret = read_requests(a, c, true, e);
	if (ret == 0 && a->requests[FAILED] >= DUE_ANSWERS)
		ret = read_requests(a, c, false, e);
	if (ret == 0)
		count_questions(a);
	return ret;
}

static double share_of(const struct awaited *a, const struct awaited_peer *p, int outcome)
{
	return a->requests[outcome] > 0 ? p->n[outcome] / (double)a->requests[outcome] : 0;
}

/* They are most of what the verdict is about. */
static bool is_about(const struct judged *j, const struct awaited_peer *p)
{
	switch (j->kind) {
	case VERDICT_errors:
		return true;
	case VERDICT_pauses:
		return p->harmed >= MOST * j->waited;
	case VERDICT_slower:
		return j->added > 0 && p->took >= MOST * j->added;
	default:
		return false;
	}
}

static bool is_cause(const struct awaited *a, const struct awaited_peer *p)
{
	double bad = share_of(a, p, FAILED), n = p->n[FAILED];
	/* of other kinds, or at the edges */
	double others = fmax(0, (double)a->requests[FAILED] - a->headline);

	return n >= DUE_ANSWERS && bad >= MOST && share_of(a, p, GOOD) <= RARE * bad &&
	       share_of(a, p, GOOD_THEN) <= RARE * bad && p->answers > 0 && n >= MOST * p->longer &&
	       n - others >= MOST * a->headline && is_about(a->j, p);
}

static void take_peer(struct judged *j, const struct awaited *a, const struct awaited_peer *p)
{
	j->awaited = (struct verdict_awaited){
		.row = p->row,
		.n = p->n[FAILED],
		.of = (double)a->requests[FAILED],
		.open = p->open / p->n[FAILED],
		.late = p->late_n >= MOST * p->n[FAILED] ? p->late / p->late_n : NAN,
		.usual = p->usual_n > 0 ? p->usual / p->usual_n : NAN,
	};
}

/* The errors that the verdict, or what is next to it, counts; false: none of them wait. */
static bool choose_errors(struct awaited *a)
{
	const struct judged *j = a->j;
	bool more = j->more.n > 0 && !j->more.refused, named;
	const struct verdict_errors *m = more ? &j->more : &j->always;

	named = more ? verdict_errors_named(m) : m->of_name;
	a->name = named ? m->name : 0;
	a->headline = named && more ? m->name_n : m->n;
	a->from = m->start - (more ? j->width : 0);
	a->to = m->end + (more ? j->width : 0);
	return j->about.kind == SUBJECT_server && j->status == STATUS_PROBLEM && m->n > 0 &&
	       !(m->cut > 0) && !(j->connect.n > 0) &&
	       (more || (j->kind == VERDICT_errors && m->what == ERRORS_OWN)) &&
	       (j->kind == VERDICT_errors || j->kind == VERDICT_pauses ||
		j->kind == VERDICT_slower);
}

int verdict_awaited(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	struct awaited a = { .j = j, .duration = c->duration };
	const struct awaited_peer *p;
	size_t at = 0;
	int ret;

	if (!choose_errors(&a))
		return 0;
	ret = read_all(&a, c, e);
	while (ret == 0 && !a.full && (p = idmap_each(&a.peers, &at)))
		if (is_cause(&a, p) && (p->n[FAILED] > j->awaited.n ||
					(p->n[FAILED] == j->awaited.n && p->row < j->awaited.row)))
			take_peer(j, &a, p);
	idmap_free_all(&a.peers);
	fd_rows_free(&a.fds);
	free(a.v);
	return ret < 0 ? ret : 0;
}

int verdict_awaited_say(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	const struct verdict_awaited *m = &j->awaited;
	const struct value values[] = {
		VALUE_NUMBER("n", m->n, ""),
		VALUE_NUMBER("of", m->of, ""),
		VALUE_SUBJECT("upstream", upstream, m->row),
		VALUE_NUMBER("open", m->open, "ns"),
		VALUE_NUMBER("late", m->late, "ns"),
		VALUE_NUMBER("usual", m->usual, "ns"),
		{ 0 },
	};
	const struct finding f = { FINDING_verdict_awaited,  PROBLEM, OBSERVED,	 j->about,
				   "SELECT * FROM upstream", values,  j->finding };

	return m->n > 0 ? finding_put(c->db, c->analysis->name, &f, NULL, e) : 0;
}
