// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * When clients have just connected, a server starts what serves them: processes are forked, users
 * log in, caches are empty. The opening lasts while first requests of new connections follow each
 * other from the first request on. Those of a connection end with its first one that has a name: a
 * login has none.
 */
#include "verdict.h"

#include "analyze/base/idmap.h"
#include "analyze/base/limits.h"
#include "analyze/store/request_rows.h"

#include <stdlib.h>

#define FIRST_MOST  3	/* requests of a connection without a name that are its first */
#define LENGTH_MOST 2e9 /* ns: a longer one is a problem of its own */
#define SHARE_MOST  0.1 /* of all requests: connections that live for a few requests never open */

struct first {
	double arrival, end;
};

struct connection {
	s64 ts; /* accepted */
	int n;	/* its first requests so far; FIRST_MOST: all */
};

struct opening {
	struct idmap connections; /* the first of each descriptor of a process, by both numbers */
	struct first *v;
	int n, most;
};

static u64 key_of(s64 pid, s64 fd)
{
	return (u64)pid << 32 | (u32)fd;
}

static int on_accepted(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct opening *o = arg;
	struct connection *c = idmap_add(
		&o->connections, key_of(sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1)),
		sizeof(*c), SOCKET_LIMIT, "connections", e);

	if (!c)
		return ERR_FAIL;
	c->ts = sqlite3_column_int64(q, 2);
	o->most += FIRST_MOST;
	return 0;
}

void verdict_opening_add(struct opening *o, const struct row_request *row)
{
	struct connection *c =
		o->most ? idmap_get(&o->connections, key_of(row->pid, row->fd)) : NULL;

	if (!c || row->ts < c->ts || c->n == FIRST_MOST)
		return;
	o->v[o->n++] =
		(struct first){ (double)(row->ts - row->queued), (double)(row->ts + row->dur) };
	c->n = row->name == BULK_NULL ? c->n + 1 : FIRST_MOST;
}

static int by_arrival(const void *a, const void *b)
{
	const struct first *x = a, *y = b;

	return (x->arrival > y->arrival) - (x->arrival < y->arrival);
}

/* What follows from the first request on, with gaps of less than a window. */
static void follow(struct opening *o, struct judged *j)
{
	int i;

	qsort(o->v, (size_t)o->n, sizeof(*o->v), by_arrival);
	for (i = 0; i < o->n && o->v[i].arrival <= j->opened + j->width; i++) {
		j->opened = fmax(j->opened, o->v[i].end);
		j->opening += o->v[i].end - o->v[i].arrival;
	}
}

/*
 * Clients that could not send while connections opened catch up: more is answered than later, by
 * three standard deviations of a Poisson process. What is slower for another reason is not faster.
 */
static bool catches_up(const struct judged *j, int from, int last)
{
	double answers = 0, later = 0, n = 0, usual;
	int i;

	for (i = from; i <= last; i++)
		answers += j->traffic[i].answers;
	for (; i < j->n_windows; i++) {
		later += j->traffic[i].answers;
		n += j->traffic[i].exchanges > 0;
	}
	usual = n > 0 ? later / n * (last + 1 - from) : INFINITY;
	return answers > usual + 3 * sqrt(usual);
}

/* Most of the time of requests is that of first ones. */
static bool is_mostly_first(const struct judged *j, int first, int last)
{
	double waited = 0;
	int i;

	for (i = first; i <= last; i++)
		waited += j->traffic[i].waited;
	return 2 * j->opening > waited;
}

bool verdict_is_opening(const struct judged *j, int first, int last)
{
	int after = first;

	if (j->opened <= j->begins)
		return false;
	while (after <= last && after * j->width <= j->opened)
		after++;
	if (after == first || after > last)
		return after > last;
	return (last + 1) * j->width <= j->begins + LENGTH_MOST &&
	       (catches_up(j, after, last) || is_mostly_first(j, first, last));
}

int verdict_opening_new(struct opening **ret, struct analysis_ctx *c, s64 server, struct err *e)
{
	struct opening *o = calloc(1, sizeof(*o));
	int done;

	*ret = o;
	if (!o)
		return err_set(e, ERR_FAIL, "out of memory for connections");
	done = db_each(
		c->db, e, on_accepted, o,
		"SELECT pid, fd, min(ts) FROM fd WHERE role='accepted' AND ts > 0 AND pid IN"
		" (SELECT pid FROM service WHERE server=?1) GROUP BY pid, fd ORDER BY 3 LIMIT ?2",
		"ii", server, (s64)SOCKET_LIMIT);
	if (done == 0 && o->most) {
		o->v = calloc((size_t)o->most, sizeof(*o->v));
		done = o->v ? 0 : err_set(e, ERR_FAIL, "out of memory for connections");
	}
	return done;
}

void verdict_opening_end(struct opening *o, struct judged *j)
{
	j->opened = j->begins;
	if (o && o->n && o->n <= SHARE_MOST * (double)j->all.n)
		follow(o, j);
	if (j->opened - j->begins > LENGTH_MOST)
		j->opened = j->begins;
	if (o) {
		idmap_free_all(&o->connections);
		free(o->v);
	}
	free(o);
}
