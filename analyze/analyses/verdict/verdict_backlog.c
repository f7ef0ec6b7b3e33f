// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Attaching programs takes obsrec up to a second of CPU time before the first event. On a server
 * that uses most of a CPU requests wait then, and for as long as the queue takes to drain. A queue
 * from before the recording shows what was before: as far as it drains while the load is as usual,
 * it is no problem that was recorded. One that never drains is an overload.
 */
#include "verdict_work.h"

#include "analyze/base/limits.h"
#include "analyze/store/request_rows.h"

#include <stdlib.h>

#define INSTANTS (1 << 20) /* that the recording is divided into */

/* A connection from before the recording. */
struct earlier {
	bool read;
	bool waited; /* its first request arrived before */
	double ts;   /* of that read */
};

struct backlog {
	const struct judged *j;
	struct idmap connections; /* descriptor of a process, by both numbers -> struct earlier */
	int *change;		  /* of the number of requests that wait to be read, by instant */
	double instant, last;	  /* last: ns, a read */
	double last_wait;	  /* ns, of that request */
};

static u64 key_of(s64 pid, s64 fd)
{
	return (u64)pid << 32 | (u32)fd;
}

static int on_connection(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct backlog *b = arg;
	u64 key = key_of(sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1));

	return idmap_add(&b->connections, key, sizeof(struct earlier), SOCKET_LIMIT, "connections",
			 e)
		       ? 0
		       : ERR_FAIL;
}

/* In the order of their ends: the first of a connection, of which no arrival was recorded. */
static int on_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct backlog *b = arg;
	struct earlier *c = idmap_get(&b->connections, key_of(row->pid, row->fd));
	bool waited = c && !c->read && !row->arrival_is;
	double from = waited ? 0 : ceil((double)(row->ts - row->queued) / b->instant);
	double to = floor((double)row->ts / b->instant);

	(void)rowid;
	(void)e;
	if (c && !c->read)
		*c = (struct earlier){ true, waited, (double)row->ts };
	if ((double)row->ts >= b->last) {
		b->last = (double)row->ts;
		b->last_wait = (double)row->queued;
	}
	if (from >= 0 && from < to && to <= INSTANTS) {
		b->change[(int)from]++;
		b->change[(int)to]--;
	}
	return 0;
}

/* When none waited any more; 0: none did at the start, or some do until the end. */
static double drained(const struct backlog *b)
{
	int i, waiting = b->change[0];

	for (i = 1; i < INSTANTS && waiting > 0; i++)
		waiting += b->change[i];
	return waiting > 0 || i == 1 ? 0 : (i - 1) * b->instant;
}

/* Since when one or more waited until the last read. */
static double full_since(const struct backlog *b)
{
	int i, waiting = 0, since = 0;

	for (i = 0; i < (int)(b->last / b->instant) && i < INSTANTS; i++) {
		waiting += b->change[i];
		since = waiting > 0 ? since : i + 1;
	}
	return since * b->instant;
}

static double requests_until(const struct backlog *b, double end)
{
	const struct earlier *c;
	double n = 0;
	size_t at = 0;

	while ((c = idmap_each(&b->connections, &at)))
		n += c->waited && c->ts <= end;
	return n;
}

static int read_backlog(struct backlog *b, struct analysis_ctx *c, struct err *e)
{
	int ret = db_each(
		c->db, e, on_connection, b,
		"SELECT DISTINCT pid, fd FROM fd WHERE role='accepted' AND ts <= 0 AND pid IN (SELECT"
		" pid FROM service WHERE server=?1) LIMIT ?2",
		"ii", b->j->about.id, (s64)SOCKET_LIMIT);

	b->change = calloc(INSTANTS + 1, sizeof(*b->change));
	b->instant = (double)(c->duration > 0 ? c->duration : 1) / INSTANTS;
	if (ret == 0 && !b->change)
		ret = err_set(e, ERR_FAIL, "out of memory for requests that wait");
	return ret < 0 ? ret
		       : requests_each(c->db,
				       COLUMN_OF(request, pid) | COLUMN_OF(request, fd) |
					       COLUMN_OF(request, arrival_is),
				       "SELECT id FROM service WHERE server=?1", b->j->about.id,
				       on_request, b, e);
}

/* CPU time of obsrec from the start of the recording on. */
static int read_recorder(double *ret_ns, struct analysis_ctx *c, double until, struct err *e)
{
	s64 ns = 0;
	int ret = db_int(
		c->db, &ns, e,
		"SELECT coalesce(min(process) FILTER (WHERE ts >= ?1), max(process)) - min(process) FROM"
		" overhead",
		"d", until);

	*ret_ns = (double)ns;
	return ret;
}

/* The load until it had drained, next to that afterwards: busy throughout, and as usual. */
static int is_usual(bool *ret_usual, struct analysis_ctx *c, const struct judged *j, double end,
		    double n, struct err *e)
{
	struct work l = { 0 };
	struct levels v = { .n = 0 };
	double recorder = 0;
	int i, ret = work_read(&l, c, j, e);

	if (ret == 0)
		ret = read_recorder(&recorder, c, end, e);
	for (i = 0; i < j->n_windows; i++) {
		v.window[v.n] = i;
		v.slow[v.n] = (i + 1) * j->width <= end;
		v.neither[v.n++] = i * j->width < end && (i + 1) * j->width > end;
	}
	work_divide(&l, j, &v);
	*ret_usual = l.in.run > 0 && l.out.run > 0 && l.out.time >= LEVELS_SHORTEST * j->width &&
		     work_is_full(&l, j, &v) && work_is_usual(&l, n, recorder);
	return ret;
}

int verdict_backlog(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	struct backlog b = { .j = j };
	int ret = read_backlog(&b, c, e);
	double end = ret == 0 ? drained(&b) : 0, n = requests_until(&b, end);
	bool usual = false;

	if (ret == 0) {
		j->chance.full = full_since(&b);
		j->chance.last_wait = b.last_wait;
	}
	if (ret == 0 && end > START_NS) /* else it is at the edge: verdict_at_edge */
		ret = is_usual(&usual, c, j, end, n, e);
	if (usual) {
		j->chance.drained = end;
		j->chance.backlog = n;
	}
	idmap_free_all(&b.connections);
	free(b.change);
	return ret;
}

int verdict_backlog_say(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	static const char sql[] = "SELECT coalesce(min(process), 0) FROM overhead";
	s64 start = 0;
	int ret = j->chance.drained > 0 ? db_int(c->db, &start, e, sql, "") : 0;
	const struct value values[] = {
		VALUE_NUMBER("n", j->chance.backlog, ""),
		VALUE_NUMBER("end", j->chance.drained, "at"),
		VALUE_NUMBER("start", start > 0 ? (double)start : NAN, "ns"),
		{ 0 },
	};
	const struct finding f = {
		FINDING_verdict_backlog, NOTE, OBSERVED, j->about, NULL, values, 0
	};

	return ret < 0 || !(j->chance.drained > 0)
		       ? ret
		       : finding_put(c->db, c->analysis->name, &f, NULL, e);
}
