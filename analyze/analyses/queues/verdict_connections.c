// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Do requests wait for a free connection to another server? Its connections are limited: a pool of
 * them in the program, or a proxy's maximum. Of a process and an address, the questions without an
 * answer never exceed a number N. While N are outstanding, requests that were read beyond N wait
 * for one of these connections. A slow server has as many questions as there are requests;
 * connections that were open and idle are no limit; and one connection with several questions at
 * one time is none either. But if more were outstanding before than ever in the time of the
 * verdict, the limit is new: it is one of questions, whatever connections are open. A process that
 * hardly asks in that time has no limit: its requests wait for something else.
 */
#include "analyze/analyses/verdict/fd_rows.h"
#include "verdict_queues.h"

#include "analyze/base/idmap.h"
#include "analyze/base/limits.h"
#include "analyze/stats/sorted.h"
#include "analyze/store/request_rows.h"
#include "format/grow.h"

#include <stdlib.h>

#define ASKED_LEAST 0.5 /* questions per request */
#define IDLE_MOST   1.0 /* connections that are open and have no question, on average */

/* A question, or a request: from its read to its answer. */
struct spell {
	s64 pid, remote, from, to; /* remote 0: a request */
};

/* A process and an address. */
struct pair {
	s64 pid, remote, row;
	s64 most, inside;	/* questions at one time: ever, and in the time of the verdict */
	double n, answer;	/* questions in the time of the verdict, and their time */
	double requests;	/* of the process, in that time */
	bool fewer;		/* at one time than ever outside; of a sum: each process */
	bool summed;		/* it is in a sum already */
	double full, waited[2]; /* ns; outside that time, and in it */
	double open;		/* ns, of connections in that time */
};

struct limits_of {
	const struct verdict_when *when;
	struct fd_rows fds;
	struct idmap shared; /* pid and fd: several questions at one time */
	struct spell *v;
	size_t n;
	struct verdict_side side[2];
	s64 name; /* of all requests in the time of the verdict; 0: several, or not known */
	struct idmap pairs; /* pid and remote -> struct pair */
};

static u64 key_of(s64 pid, s64 of)
{
	return (u64)pid << 32 | (u32)of;
}

static int add_spell(struct limits_of *x, s64 pid, s64 remote, s64 from, s64 to, struct err *e)
{
	if (to <= from)
		return 0;
	if (GROW(x->v, x->n, "requests", e) < 0)
		return ERR_FAIL;
	x->v[x->n++] = (struct spell){ pid, remote, from, to };
	return 0;
}

static int on_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct limits_of *x = arg;
	double from = (double)row->ts - (double)row->queued;
	s64 end = row->ts + row->dur;
	bool in = verdict_when_has(x->when, from, (double)end);

	(void)rowid;
	if (in)
		x->name = x->side[1].n > 0 && row->name != x->name ? 0 : row->name;
	x->side[in].n++;
	x->side[in].latency += (double)end - from;
	return add_spell(x, row->pid, 0, row->ts, end, e);
}

static int on_shared(void *arg, sqlite3_stmt *q, struct err *e)
{
	return idmap_put(arg, key_of(sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1)), arg,
			 SOCKET_LIMIT, e);
}

static int on_question(void *arg, s64 rowid, const void *upstream, struct err *e)
{
	const struct row_upstream *row = upstream;
	struct limits_of *x = arg;
	const struct fd_row *f = fd_rows_at(&x->fds, row->pid, row->fd, row->ts);
	s64 from = row->first_send > 0 ? row->first_send : row->ts, to = row->ts + row->dur;
	struct pair *p;
	u64 key;

	(void)rowid;
	if (!f || idmap_get(&x->shared, key_of(row->pid, row->fd)))
		return 0;
	key = key_of(row->pid, f->remote);
	p = idmap_get(&x->pairs, key);
	if (!p)
		p = idmap_add(&x->pairs, key, sizeof(*p), SOCKET_LIMIT, "connections", e);
	if (!p)
		return ERR_FAIL;
	p->pid = row->pid;
	p->remote = f->remote;
	p->row = f->row;
	if (verdict_when_has(x->when, (double)from, (double)to)) {
		p->n++;
		p->answer += (double)(to - from);
	}
	return add_spell(x, row->pid, f->remote, from, to, e);
}

/* How long its connections were open in the time of the verdict. */
static void add_open(struct limits_of *x)
{
	struct pair *p;
	size_t i;

	for (i = 0; i < x->fds.n; i++) {
		const struct fd_row *f = &x->fds.v[i];

		p = idmap_get(&x->pairs, key_of(f->pid, f->remote));
		if (p)
			p->open += verdict_when_within(x->when, (double)f->ts, (double)f->end);
	}
}

static int read_all(struct limits_of *x, struct analysis_ctx *c, s64 server, struct err *e)
{
	int ret = fd_rows_read(&x->fds, c->db, server, "connected", e);

	if (ret == 0)
		ret = db_each(c->db, e, on_shared, &x->shared,
			      "SELECT pid, fd FROM upstream_use WHERE most > 1", "");
	if (ret == 0 && x->fds.n)
		ret = rows_each(c->db, TABLE_upstream, COLUMNS_ALL, on_question, x, e);
	if (ret == 0 && x->pairs.n)
		ret = requests_each(c->db, COLUMN_OF(request, pid),
				    "SELECT id FROM service WHERE server=?1", server, on_request, x,
				    e);
	if (ret == 0)
		add_open(x);
	return ret;
}

/* ---- one process and address ---- */

struct step {
	s32 open, asked;
};
_Static_assert(sizeof(struct step) == 8, "a value of sort_keys");

struct steps {
	s64 *at;
	struct step *v;
	size_t n;
};

static void add_step(struct steps *s, s64 ts, s32 open, s32 asked)
{
	s->at[s->n] = ts;
	s->v[s->n++] = (struct step){ open, asked };
}

/* The edges of the time of the verdict divide, too. p->pid 0: all processes. */
static int make_steps(const struct limits_of *x, const struct pair *p, struct steps *s,
		      struct err *e)
{
	size_t room = 2 * (x->n + (size_t)x->when->n) + 1, i;
	int k;

	s->at = malloc(room * sizeof(*s->at));
	s->v = malloc(room * sizeof(*s->v));
	if (!s->at || !s->v)
		return err_set(e, ERR_FAIL, "out of memory for connections");
	for (k = 0; k < 2 * x->when->n; k++)
		add_step(s, (s64)x->when->v[k / 2][k % 2], 0, 0);
	for (i = 0; i < x->n; i++) {
		const struct spell *v = &x->v[i];
		s32 is_request = !v->remote;

		if ((p->pid && v->pid != p->pid) || (v->remote && v->remote != p->remote))
			continue;
		add_step(s, v->from, is_request, !is_request);
		add_step(s, v->to, -is_request, -!is_request);
	}
	return sort_keys(s->at, s->v, s->n) ? 0
					    : err_set(e, ERR_FAIL, "out of memory for connections");
}

/* Ever: p->most; in the time of the verdict: p->inside. */
static void count_most(const struct limits_of *x, struct pair *p, const struct steps *s)
{
	s64 asked = 0;
	size_t i;

	for (i = 0; i + 1 < s->n; i++) {
		asked += s->v[i].asked;
		if (s->at[i + 1] == s->at[i])
			continue;
		p->most = asked > p->most ? asked : p->most;
		if (verdict_when_has(x->when, (double)s->at[i], (double)s->at[i + 1]))
			p->inside = asked > p->inside ? asked : p->inside;
	}
	p->fewer = p->inside < p->most;
}

static void add_waits(const struct limits_of *x, struct pair *p, const struct steps *s)
{
	s64 open = 0, asked = 0;
	size_t i;

	for (i = 0; i + 1 < s->n; i++) {
		double ns = (double)(s->at[i + 1] - s->at[i]);
		bool in;

		open += s->v[i].open;
		asked += s->v[i].asked;
		in = ns > 0 && verdict_when_has(x->when, (double)s->at[i], (double)s->at[i + 1]);
		if (ns <= 0 || !asked || asked < (in ? p->inside : p->most))
			continue;
		p->full += in ? ns : 0;
		p->waited[in] += open > asked ? (double)(open - asked) * ns : 0;
	}
}

static int walk(const struct limits_of *x, struct pair *p, struct err *e)
{
	struct steps s = { 0 };
	int ret = make_steps(x, p, &s, e);

	if (ret == 0) {
		count_most(x, p, &s);
		add_waits(x, p, &s);
	}
	free(s.at);
	free(s.v);
	return ret;
}

static int walk_pair(const struct limits_of *x, struct pair *p, struct err *e)
{
	size_t i;

	for (i = 0; i < x->n; i++) {
		const struct spell *v = &x->v[i];

		p->requests += !v->remote && v->pid == p->pid &&
			       verdict_when_has(x->when, (double)v->from, (double)v->to);
	}
	return walk(x, p, e);
}

/* ---- which ---- */

static bool asks(const struct pair *p)
{
	return p->n > 0 && p->n >= ASKED_LEAST * p->requests;
}

/* Fewer at one time than ever outside. */
static bool is_new(const struct limits_of *x, const struct pair *p)
{
	return !x->when->all && p->fewer;
}

/* All its processes together; false: it is no limit. */
static bool is_limit(const struct limits_of *x, const struct pair *p, const struct limits *l)
{
	struct verdict_side side[2] = { x->side[0], x->side[1] };
	double length = verdict_when_length(x->when);

	side[0].part = p->waited[0];
	side[1].part = p->waited[1];
	return p->n >= ASKED_LEAST * x->side[1].n &&
	       (is_new(x, p) || p->open < ((double)p->most + IDLE_MOST) * length) &&
	       side_is_most(side, l->latency);
}

/*
 * Processes of one server have connections of their own to the same address: one for each that
 * asks.
 */
static double add_processes(const struct limits_of *x, struct pair *sum)
{
	struct pair *p;
	double processes = 0;
	size_t at = 0;

	sum->fewer = true;
	while ((p = idmap_each(&x->pairs, &at))) {
		p->summed |= p->remote == sum->remote;
		if (p->remote != sum->remote || !asks(p))
			continue;
		processes++;
		sum->row = p->row > sum->row ? p->row : sum->row;
		sum->most += p->most;
		sum->inside += p->inside;
		sum->n += p->n;
		sum->answer += p->answer;
		sum->full += p->full;
		sum->waited[0] += p->waited[0];
		sum->waited[1] += p->waited[1];
		sum->open += p->open;
		sum->fewer &= p->fewer;
	}
	sum->full /= fmax(1, processes);
	return processes;
}

/* Of new limits, all questions at one time are said, and never more than those of each process. */
static int sum_of(const struct limits_of *x, struct pair *sum, struct err *e)
{
	struct pair all = { .remote = sum->remote };
	double processes = add_processes(x, sum);
	int ret = processes > 1 && is_new(x, sum) ? walk(x, &all, e) : 0;

	if (ret < 0 || !all.most)
		return ret;
	sum->fewer = all.fewer;
	if (all.fewer) {
		sum->most = all.most;
		sum->inside = all.inside;
		sum->full = all.full;
	}
	return 0;
}

static int put(struct analysis_ctx *c, const struct judged *j, const struct limits_of *x,
	       const struct pair *p, struct err *e)
{
	bool fewer = is_new(x, p), one = !fewer && p->inside == 1;
	const struct value values[] = {
		VALUE_NUMBER("queued", p->waited[1] / x->side[1].n, "ns"),
		VALUE_SUBJECT("upstream", upstream, p->row),
		VALUE_NUMBER("n", (double)p->inside, ""),
		VALUE_NUMBER("before", fewer ? (double)p->most : NAN, ""),
		VALUE_NUMBER("full", fmin(100, percent(p->full, verdict_when_length(x->when))),
			     "%"),
		VALUE_NUMBER("answer", p->answer / p->n, "ns"),
		VALUE_MAYBE("name", request_name, one && x->name != BULK_NULL ? x->name : 0),
		{ 0 },
	};

	return verdict_queues_put(c, j,
				  fewer ? FINDING_verdict_questions
				  : one ? FINDING_verdict_one_question
					: FINDING_verdict_connections,
				  OBSERVED,
				  "SELECT pid, fd, count(*), sum(dur) FROM upstream GROUP BY 1, 2",
				  values, e);
}

#define PAIRS_MOST 64

int verdict_connections(struct analysis_ctx *c, const struct judged *j,
			const struct verdict_when *w, const struct limits *l, struct err *e)
{
	struct limits_of x = { .when = w };
	struct pair best = { 0 }, *p;
	size_t at = 0;
	int ret = read_all(&x, c, j->about.id, e);

	while (ret == 0 && x.pairs.n <= PAIRS_MOST && (p = idmap_each(&x.pairs, &at)))
		ret = walk_pair(&x, p, e);
	at = 0;
	while (ret == 0 && x.pairs.n <= PAIRS_MOST && (p = idmap_each(&x.pairs, &at))) {
		struct pair one = { .remote = p->remote };

		if (p->summed)
			continue;
		ret = sum_of(&x, &one, e);
		if (ret == 0 && one.waited[1] > best.waited[1] && is_limit(&x, &one, l))
			best = one;
	}
	if (ret == 0 && best.row)
		ret = put(c, j, &x, &best, e);
	fd_rows_free(&x.fds);
	idmap_free(&x.shared);
	idmap_free_all(&x.pairs);
	free(x.v);
	return ret < 0 ? ret : best.row > 0;
}
