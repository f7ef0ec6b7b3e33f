// SPDX-License-Identifier: GPL-2.0-or-later
/* Upstream servers and pipes that slow units waited for. */
#include "analyze/causes/causes.h"
#include "analyze/store/other_end.h"

#include <stdlib.h>

/* When a thread waits for upstreams: slow units, and ends of chains. */
struct asking {
	struct samples *d;
	struct pieces when;
	struct tally connections; /* by fd.rowid; 0: not known */
};

static void add_when(struct asking *a, u32 tid, s64 from, s64 to)
{
	pieces_add(
		&a->when,
		&(struct piece){ .tid = tid, .object = -1, .from = from, .to = to, .weight = 1 });
}

/* How long the interval lies within one of the moments of its thread, at most. */
static s64 within(const struct asking *a, s64 from, s64 to, u32 tid)
{
	s64 most = 0, start, end;
	size_t i;

	for (i = 0; i < a->when.n; i++) {
		const struct piece *p = &a->when.v[i];

		if (p->tid != tid)
			continue;
		start = p->from > from ? p->from : from;
		end = p->to < to ? p->to : to;
		most = end - start > most ? end - start : most;
	}
	return most;
}

/* The connection that a descriptor was at a time. */
static int add_at(struct asking *a, s64 pid, s64 fd, s64 ts, double ns, struct err *e)
{
	s64 id = 0;
	int ret = db_int(a->d->db, &id, e,
			 "SELECT rowid FROM fd WHERE pid=? AND fd=? AND role='connected' AND ts<=?"
			 " ORDER BY ts DESC LIMIT 1",
			 "iii", pid, fd, ts);

	if (ret == 0)
		tally_add(&a->connections, id, ns);
	return ret;
}

static int read_exchanges(struct asking *a, struct moment m, struct err *e)
{
	sqlite3_stmt *q;
	s64 ns, ts;
	int ret = db_query(&q, a->d->db, e,
			   "SELECT ts, dur, pid, tid, fd FROM upstream WHERE ts<=? AND ts+dur>=?",
			   "ii", m.to, m.from);

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		ts = sqlite3_column_int64(q, 0);
		ns = within(a, ts, ts + sqlite3_column_int64(q, 1), sqlite3_column_int64(q, 3));
		if (ns > 0 && add_at(a, sqlite3_column_int64(q, 2), sqlite3_column_int64(q, 4), ts,
				     ns, e) < 0) {
			ret = ERR_FAIL;
			break;
		}
	}
	return db_end(q, ret);
}

/* Waits in calls on connected sockets: it connects, or waits for more of an answer. */
static int read_waits(struct asking *a, const struct pieces *ends, struct err *e)
{
	struct pieces direct = { 0 };
	const struct pieces *both[] = { &direct, ends };
	size_t i;
	int k, ret = 0;

	samples_pieces(a->d, false, CATEGORY_client, &direct);
	for (k = 0; k < 2; k++)
		for (i = 0; i < both[k]->n && ret == 0; i++) {
			const struct piece *p = &both[k]->v[i];

			if (p->state == SPAN_client && p->object >= 0)
				ret = add_at(a, names_of(&a->d->names, p->tid).pid, p->object,
					     p->from, p->to - p->from, e);
		}
	pieces_free(&direct);
	return ret;
}

/* Connections to one address are one upstream: the first of them stands for it. */
static int join_addresses(struct asking *a, struct tally *ret, struct err *e)
{
	static const char sql[] =
		"SELECT min(o.rowid) FROM fd m JOIN fd o ON o.role='connected' AND"
		" coalesce(nullif(o.remote,''), o.path)=coalesce(nullif(m.remote,''), m.path)"
		" WHERE m.rowid=?";
	size_t i;
	s64 id;
	int r = 0;

	for (i = 0; i < a->connections.n && r == 0; i++) {
		id = 0;
		r = db_int(a->d->db, &id, e, sql, "i", a->connections.of[i].key);
		tally_add(ret, id ? id : a->connections.of[i].key, a->connections.of[i].sum);
	}
	tally_sort(ret);
	return r;
}

/* The process at the other end, if it is in the same recording: by both addresses. */
static int other_process(struct samples *d, s64 fd, s64 *ret_pid, struct err *e)
{
	return db_int(d->db, ret_pid, e, "SELECT " OTHER_END " FROM fd m WHERE m.rowid=?", "i", fd);
}

/* No process takes part in a handshake, unless its accept queue is full: then SYNs are sent again.
 */
static int add_handshakes(struct asking *a, s64 fd, struct cause *c, struct err *e)
{
	static const char sql[] =
		"SELECT count(handshake), median(handshake) FROM connection WHERE role='connected' AND"
		" remote=(SELECT remote FROM fd WHERE rowid=?) AND ts<=? AND ts+handshake>=?";
	struct moment m = samples_around(a->d);
	sqlite3_stmt *q;
	int ret = db_query(&q, a->d->db, e, sql, "iii", fd, m.to, m.from);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0 && sqlite3_column_int64(q, 0) > 0) {
		CAUSE_VALUE(c, VALUE_NUMBER, "handshakes", sqlite3_column_double(q, 0), "");
		CAUSE_VALUE(c, VALUE_NUMBER, "handshake", sqlite3_column_double(q, 1), "ns");
	}
	return db_end(q, ret);
}

static int name_upstream(struct asking *a, struct cause *c, struct err *e)
{
	struct tally joined = { 0 };
	size_t i;
	s64 pid = 0, fd = 0;
	int ret = join_addresses(a, &joined, e);

	if (ret == 0 && joined.n && joined.of[0].key) {
		fd = joined.of[0].key;
		c->part = joined.of[0].sum / joined.total;
		c->object = (struct subject){ SUBJECT_upstream, fd };
		c->offender = c->object;
		/* the connection that was waited for most, of those to this address */
		for (i = 0; i < a->connections.n && ret == 0 && !pid; i++)
			ret = other_process(a->d, a->connections.of[i].key, &pid, e);
		if (pid)
			c->offender = (struct subject){ SUBJECT_process, pid };
		if (ret == 0)
			ret = add_handshakes(a, fd, c, e);
		cause_child(c, FINDING_caveat_network, OBSERVED);
	}
	tally_free(&joined);
	return ret;
}

int cause_upstream(struct samples *d, const struct pieces *ends, struct cause *c, struct err *e)
{
	struct asking a = { .d = d };
	struct moment m = samples_around(d);
	size_t i;
	int ret;

	c->kind = "peer";
	c->finding = FINDING_cause_peer;
	c->evidence = OBSERVED;
	for (i = 0; i < d->n; i++)
		add_when(&a, d->slow[i].tid, d->slow[i].ts, d->slow[i].ts + d->slow[i].dur);
	for (i = 0; i < ends->n; i++)
		if (ends->v[i].state == SPAN_client)
			add_when(&a, ends->v[i].tid, ends->v[i].from, ends->v[i].to);
	ret = read_exchanges(&a, m, e);
	if (ret == 0 && !a.connections.n)
		ret = read_waits(&a, ends, e);
	tally_sort(&a.connections);
	if (ret == 0)
		ret = name_upstream(&a, c, e);
	pieces_free(&a.when);
	tally_free(&a.connections);
	return ret;
}

/* Another process that has the pipe open: for a partner that was not seen to wake. */
static int other_end(struct samples *d, s64 fd, s64 *ret_pid, struct err *e)
{
	return db_int(
		d->db, ret_pid, e,
		"SELECT o.pid FROM fd m JOIN fd o ON o.ino=m.ino AND o.dev=m.dev AND o.pid<>m.pid"
		" WHERE m.pid=? AND m.fd=? AND m.kind='pipe' LIMIT 1",
		"ii", (s64)samples_own(d), fd);
}

int cause_pipe(struct samples *d, struct cause *c, struct err *e)
{
	struct slept s;
	s64 pid = 0;
	u32 waker;
	int ret = 0;

	c->kind = "pipe";
	c->finding = FINDING_cause_pipe;
	slept_follow(&s, d, CATEGORY_pipe, NULL);
	waker = slept_waker(&s);
	c->evidence = waker ? CAUSAL : OVERLAP;
	if (waker) {
		pid = names_of(&d->names, waker).pid;
		c->part = s.wakers.of[0].sum / s.objects.total;
	} else if (s.objects.n && s.objects.of[0].key >= 0) {
		ret = other_end(d, s.objects.of[0].key, &pid, e);
	}
	if (pid)
		c->offender = (struct subject){ SUBJECT_process, pid };
	if (s.objects.n && s.objects.of[0].key >= 0)
		CAUSE_VALUE(c, VALUE_NUMBER, "fd", s.objects.of[0].key, "");
	if (ret == 0)
		ret = slept_end(&s, c, e);
	slept_free(&s);
	return ret;
}
