// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Offsets of clocks from messages, when a merged recording is read. How far wall clocks are from
 * the clock of the events, before that, is read_clocks() of transform/merge_source.c.
 */
#include "host_clocks.h"

#include "analyze/store/other_end.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASKED_MAX	256  /* exchanges of a connection, nearest to the time in question */
#define RECEIVED_MAX	1024 /* where these are looked for */
#define TIME_MAX	(1ll << 60)
#define CONNECTIONS_MAX 16 /* of two hosts */

/* Of one end: the client sent and received the answer, or the server received and answered. */
struct exchange {
	s64 first, last; /* NULL: INT64_MIN */
	s64 bytes;
};

struct side {
	struct exchange *v;
	int n, max;
};

/* Limits of clock of the server - clock of the client. */
struct limits {
	s64 low, high;
	s64 pairs, fitting; /* compared; of these, of equal size */
	int lag;
};

struct connection {
	struct end_of {
		s64 pid, fd, from, to; /* the number was that of other files before and after */
	} client, server;
};

/* Two hosts; offset: clock of b - clock of a. */
struct link {
	int a, b;
	s64 low, high;
	s64 messages, against;
	s64 first, last; /* of those against, on the clock of a */
	int others, connections;
	struct connection v[CONNECTIONS_MAX];
};

static int take_host(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct host_clocks *c = arg;
	struct host_clock *h = &c->v[c->n];

	(void)e;
	if (c->n == HOST_LIMIT)
		return 1;
	*h = (struct host_clock){ .pids = sqlite3_column_int64(q, 0), .known = c->n == 0 };
	c->n++;
	snprintf(h->name, sizeof(h->name), "%s", db_text(q, 1));
	if (!h->name[0])
		snprintf(h->name, sizeof(h->name), "host %d", c->n);
	return 0;
}

static int take_hosts(struct host_clocks *c, sqlite3 *db, struct err *e)
{
	/* "2.pid_offset": of the second recording; of the first, other facts have no number */
	static const char sql[] =
		"SELECT CAST(p.value AS INT), coalesce(max(h.value), '') FROM recording p LEFT JOIN"
		" recording h ON h.key = CASE WHEN p.key='1.pid_offset' THEN 'host' ELSE"
		" replace(p.key, 'pid_offset', 'host') END"
		" WHERE p.key GLOB '[0-9]*.pid_offset' GROUP BY 1 ORDER BY 1";
	int ret = db_each(db, e, take_host, c, sql, "");

	if (ret == 0 && !c->n)
		c->v[c->n++] = (struct host_clock){ .known = true };
	return ret;
}

static int index_of(const struct host_clocks *c, s64 pid)
{
	int i = c->n - 1;

	while (i > 0 && pid <= c->v[i].pids)
		i--;
	return i;
}

const struct host_clock *host_of(const struct host_clocks *c, s64 pid)
{
	return &c->v[index_of(c, pid)];
}

void host_pids(const struct host_clocks *c, s64 pid, s64 *low, s64 *high)
{
	int i = index_of(c, pid);

	*low = i ? c->v[i].pids : -1;
	*high = i + 1 < c->n ? c->v[i + 1].pids : INT64_MAX;
}

/* ---- the exchanges of a connection ---- */

/* Differences of times in a database that came from elsewhere do not overflow. */
static s64 time_or_none(sqlite3_stmt *q, int i)
{
	s64 ts = sqlite3_column_int64(q, i);
	bool known = sqlite3_column_type(q, i) != SQLITE_NULL && ts > -TIME_MAX && ts < TIME_MAX;

	return known ? ts : INT64_MIN;
}

static int take_exchange(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct side *s = arg;

	(void)e;
	if (s->n == s->max)
		return 1;
	s->v[s->n++] = (struct exchange){ time_or_none(q, 0), time_or_none(q, 1),
					  sqlite3_column_int64(q, 2) };
	return 0;
}

/* Limits by the pairs of exchanges i and i + lag. */
static struct limits align(const struct side *asked, const struct side *got, int lag)
{
	struct limits l = { INT64_MIN, INT64_MAX, 0, 0, lag };
	const struct exchange *a, *b;
	int i;

	for (i = 0; i < asked->n; i++) {
		if (i + lag < 0 || i + lag >= got->n)
			continue;
		a = &asked->v[i];
		b = &got->v[i + lag];
		l.pairs++;
		l.fitting += a->bytes == b->bytes;
		if (a->bytes != b->bytes || b->first == INT64_MIN || a->last == INT64_MIN)
			continue;
		if (a->first != INT64_MIN && b->first - a->first < l.high)
			l.high = b->first - a->first;
		if (b->last != INT64_MIN && b->last - a->last > l.low)
			l.low = b->last - a->last;
	}
	return l;
}

static bool is_limited(const struct limits *l)
{
	return l->low > INT64_MIN && l->high < INT64_MAX;
}

static s64 middle(s64 low, s64 high)
{
	return low / 2 + high / 2;
}

/* All pairs are of equal size, and some offset contradicts none of them. */
static bool fits(const struct limits *l)
{
	return is_limited(l) && l->fitting == l->pairs && l->low <= l->high;
}

static bool is_better(const struct limits *l, const struct limits *best)
{
	if (fits(l) != fits(best))
		return fits(l);
	if (!fits(l) && l->fitting != best->fitting)
		return l->fitting > best->fitting;
	return llabs(middle(l->low, l->high)) < llabs(middle(best->low, best->high));
}

/* The best alignment with at least half of the exchanges; *others: how many fit as well. */
static struct limits best_alignment(const struct side *asked, const struct side *got, int *others)
{
	int least = ((asked->n < got->n ? asked->n : got->n) + 1) / 2, lag, fitting = 0;
	struct limits best = { INT64_MIN, INT64_MAX, 0, 0, 0 }, l;

	for (lag = 1 - asked->n; lag < got->n; lag++) {
		l = align(asked, got, lag);
		if (l.pairs < least || !is_limited(&l))
			continue;
		fitting += fits(&l);
		if (!is_limited(&best) || is_better(&l, &best))
			best = l;
	}
	*others = fitting > 1 ? fitting - 1 : 0;
	return best;
}

/* ---- two hosts ---- */

/* Messages of this exchange contradict the others. */
static void add_against(struct link *k, s64 messages, const struct exchange *on_a)
{
	s64 ts = on_a->first != INT64_MIN ? on_a->first : on_a->last;

	if (!messages)
		return;
	k->first = k->against && k->first < ts ? k->first : ts;
	k->last = k->against && k->last > ts ? k->last : ts;
	k->against += messages;
}

/* The limits of all connections together; one that contradicts those before it counts as such. */
static void add_limits(struct link *k, struct limits l, const struct side *on_a, bool reversed)
{
	s64 low = reversed ? -l.high : l.low, high = reversed ? -l.low : l.high;

	if (!is_limited(&l))
		return;
	if (k->messages && (low > k->high || high < k->low)) {
		add_against(k, l.fitting, &on_a->v[0]);
		add_against(k, l.fitting, &on_a->v[on_a->n - 1]);
	} else if (!k->messages) {
		k->low = low;
		k->high = high;
	} else {
		k->low = low > k->low ? low : k->low;
		k->high = high < k->high ? high : k->high;
	}
	k->messages += 2 * l.fitting;
}

/* Where no offset fits all: the messages that contradict the middle. The limits change places. */
static void count_against(struct link *k, const struct side *asked, const struct side *got,
			  struct limits *l, bool reversed)
{
	s64 at = middle(l->low, l->high), n, low = l->low;
	int i, j;

	for (i = 0; i < asked->n; i++) {
		j = i + l->lag;
		if (j < 0 || j >= got->n || asked->v[i].bytes != got->v[j].bytes ||
		    got->v[j].first == INT64_MIN || asked->v[i].last == INT64_MIN)
			continue;
		n = asked->v[i].first != INT64_MIN && got->v[j].first - asked->v[i].first < at;
		n += got->v[j].last != INT64_MIN && got->v[j].last - asked->v[i].last > at;
		add_against(k, n, reversed ? &got->v[j] : &asked->v[i]);
	}
	l->low = l->high;
	l->high = low;
}

static int take_exchanges(struct side *s, sqlite3 *db, const char *sql, const struct end_of *end,
			  s64 around, struct err *e)
{
	return db_each(db, e, take_exchange, s, sql, "iiiiii", end->pid, end->fd, around,
		       (s64)s->max, end->from, end->to);
}

static int add_connection(struct link *k, sqlite3 *db, const struct connection *c, bool reversed,
			  s64 around, struct err *e)
{
	static const char questions[] =
		"SELECT first_send, back, send_bytes FROM (SELECT ts, first_send, ts + dur AS back,"
		" send_bytes FROM upstream WHERE pid=?1 AND fd=?2 AND lossy=0"
		" AND ts >= ?5 AND ts <= ?6 ORDER BY abs(ts - ?3) LIMIT ?4) ORDER BY ts";
	static const char requests[] =
		"SELECT came, first_send, recv_bytes FROM (SELECT ts, ts - queued * arrival_is AS came,"
		" first_send, recv_bytes FROM request WHERE pid=?1 AND fd=?2 AND lossy=0"
		" AND ts >= ?5 AND ts <= ?6 ORDER BY abs(ts - ?3) LIMIT ?4) ORDER BY ts";
	struct side asked = { calloc(ASKED_MAX, sizeof(struct exchange)), 0, ASKED_MAX };
	struct side got = { calloc(RECEIVED_MAX, sizeof(struct exchange)), 0, RECEIVED_MAX };
	struct limits l;
	int others = 0, ret = 0;

	if (!asked.v || !got.v)
		ret = err_set(e, ERR_FAIL, "out of memory for clocks");
	if (ret == 0)
		ret = take_exchanges(&asked, db, questions, &c->client, around, e);
	if (ret == 0)
		ret = take_exchanges(&got, db, requests, &c->server, around, e);
	if (ret == 0 && asked.n && got.n) {
		l = best_alignment(&asked, &got, &others);
		k->others += others;
		if (is_limited(&l) && l.low > l.high)
			count_against(k, &asked, &got, &l, reversed);
		add_limits(k, l, reversed ? &got : &asked, reversed);
	}
	free(asked.v);
	free(got.v);
	return ret;
}

static struct end_of end_at(sqlite3_stmt *q, int i)
{
	return (struct end_of){ sqlite3_column_int64(q, i), sqlite3_column_int64(q, i + 1),
				sqlite3_column_int64(q, i + 2), sqlite3_column_int64(q, i + 3) };
}

static int take_connection(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct link *k = arg;

	(void)e;
	if (k->connections == CONNECTIONS_MAX)
		return 1;
	k->v[k->connections++] = (struct connection){ end_at(q, 0), end_at(q, 4) };
	return 0;
}

/* Connections that a client on one host opened to a server on the other. */
static int add_connections(struct link *k, const struct host_clocks *c, sqlite3 *db, bool reversed,
			   s64 around, struct err *e)
{
	static const char sql[] =
		"SELECT m.pid, m.fd, m.ts, coalesce(m.end, ?7), o.pid, o.fd, o.ts, coalesce(o.end, ?7)"
		" FROM fd m JOIN fd o ON o.local=m.remote AND"
		" o.remote=m.local WHERE m.remote<>'' AND m.role='connected' AND o.role='accepted'"
		" AND m.pid>?1 AND m.pid<?2 AND o.pid>?3 AND o.pid<?4"
		" AND " OFF_LOOPBACK(
			"m.remote") " ORDER BY m.ts > ?6, coalesce(m.end < ?6, 0), m.ts DESC LIMIT ?5";
	const struct host_clock *from = &c->v[reversed ? k->b : k->a];
	const struct host_clock *to = &c->v[reversed ? k->a : k->b];
	s64 low, high, peer_low, peer_high;
	int i, ret;

	host_pids(c, from->pids + 1, &low, &high);
	host_pids(c, to->pids + 1, &peer_low, &peer_high);
	k->connections = 0;
	ret = db_each(db, e, take_connection, k, sql, "iiiiiii", low, high, peer_low, peer_high,
		      (s64)CONNECTIONS_MAX, around, TIME_MAX);
	for (i = 0; i < k->connections && ret == 0; i++)
		ret = add_connection(k, db, &k->v[i], reversed, around, e);
	return ret;
}

/* ---- all hosts ---- */

static s64 error_of(const struct link *k)
{
	return k->high / 2 - k->low / 2 + 1;
}

/* Of the links from a known host to another one, the one that gives it the smallest error. */
static const struct link *next_link(const struct host_clocks *c, const struct link *links, int n)
{
	const struct link *best = NULL;
	s64 error, smallest = 0;
	int i;

	for (i = 0; i < n; i++) {
		const struct host_clock *a = &c->v[links[i].a], *b = &c->v[links[i].b];

		if (!links[i].messages || a->known == b->known)
			continue;
		error = error_of(&links[i]) + (a->known ? a : b)->error;
		if (!best || error < smallest) {
			best = &links[i];
			smallest = error;
		}
	}
	return best;
}

static void spread(struct host_clocks *c, const struct link *links, int n)
{
	const struct link *k;

	while ((k = next_link(c, links, n))) {
		struct host_clock *a = &c->v[k->a], *b = &c->v[k->b];
		struct host_clock *from = a->known ? a : b, *to = a->known ? b : a;
		s64 offset = middle(k->low, k->high);

		to->known = true;
		to->add = from->add + (to == b ? -offset : offset);
		to->error = from->error + error_of(k);
		to->messages = k->messages;
		to->against = k->against;
		to->against_from = k->first + a->add;
		to->against_to = k->last + a->add;
		to->others = k->others;
	}
}

int host_clocks_make(struct host_clocks *ret, sqlite3 *db, s64 around, struct err *e)
{
	struct link *links;
	int a, b, n = 0, got;

	*ret = (struct host_clocks){ 0 };
	got = take_hosts(ret, db, e);
	if (got < 0 || ret->n < 2)
		return got;
	links = calloc(HOST_LIMIT * HOST_LIMIT / 2, sizeof(*links));
	if (!links)
		return err_set(e, ERR_FAIL, "out of memory for clocks");
	for (a = 0; a < ret->n; a++)
		for (b = a + 1; b < ret->n && got == 0; b++) {
			links[n].a = a;
			links[n].b = b;
			got = add_connections(&links[n], ret, db, false, around, e);
			if (got == 0)
				got = add_connections(&links[n++], ret, db, true, around, e);
		}
	if (got == 0)
		spread(ret, links, n);
	free(links);
	return got;
}
