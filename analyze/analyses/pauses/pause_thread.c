// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which thread served in a pause, and what it did: one scan of thread_state, one of long system
 * calls, one of requests.
 */
#include "pauses.h"

#include "analyze/store/columns/columns.h"
#include "analyze/store/request_rows.h"

#include <stdlib.h>

#define CALL_LEAST 1000000 /* ns: shorter calls are not looked at */

static int by_thread(const void *a, const void *b)
{
	const struct pause *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* The first pause of the thread that starts at ts or later; n: there is none. */
static size_t first_of(const struct pause *v, size_t n, s64 tid, s64 ts)
{
	size_t low = 0, high = n, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (v[mid].tid < tid || (v[mid].tid == tid && v[mid].start < ts))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The first pause that an interval of the thread may touch: those of parts and servers overlap, so
 * one of those after it may have ended before. */
static size_t begin_at(const struct pause *v, size_t n, s64 tid, s64 ts)
{
	size_t i = first_of(v, n, tid, ts);

	while (i > 0 && v[i - 1].tid == tid && v[i - 1].latest > ts)
		i--;
	return i;
}

static void spans(struct pause *p, const struct row_request *row, s64 rowid)
{
	p->request = rowid;
	p->request_ts = row->ts;
	p->request_dur = row->dur;
	p->fd = row->fd;
	p->client = row->client;
	p->received = row->recv_bytes;
	p->sent = row->send_bytes;
}

static s64 middle_of(const struct pause *p)
{
	return p->start + (p->end - p->start) / 2;
}

static void longest_of(struct pause *p, const struct row_request *row, s64 wait)
{
	if (wait <= p->max_wait) {
		p->next_wait = wait > p->next_wait ? wait : p->next_wait;
		return;
	}
	p->next_wait = p->max_wait;
	p->max_wait = wait;
	p->max_ts = row->ts;
	p->max_fd = row->fd;
}

/* The request that spans it: the last one read before its middle. */
void pause_waited(struct pause *p, const struct row_request *row, s64 rowid, s64 end)
{
	s64 ts = row->ts, wait = end - (ts - row->queued), middle = middle_of(p);
	s64 connection = row->pid << 32 | (u32)row->fd;

	p->connection = p->waiting++ ? p->connection : connection;
	p->several |= p->connection != connection;
	longest_of(p, row, wait);
	p->waited += wait;
	p->readers += ts <= middle && row->tid == p->tid;
	if (ts <= middle && end == p->end) {
		p->first = *row;
		p->first_id = rowid;
	}
	if (p->request ? ts > middle || ts <= p->request_ts : ts > middle && end != p->end)
		return;
	if (ts <= middle && row->tid != p->tid)
		p->readers = 1;
	p->pid = row->pid;
	p->tid = row->tid;
	if (ts <= middle) /* else it only sends the first answer afterwards */
		spans(p, row, rowid);
}

s64 pause_within(const struct pause *p, s64 ts, s64 end)
{
	s64 from = ts > p->start ? ts : p->start, to = end < p->end ? end : p->end;

	return to > from ? to - from : 0;
}

/* Columns: tid, ts, dur, state, waker, object. */
static void on_state(struct pause *v, size_t n, sqlite3_stmt *q)
{
	s64 tid = sqlite3_column_int64(q, 0), ts = sqlite3_column_int64(q, 1);
	s64 end = ts + sqlite3_column_int64(q, 2), part;
	int state = sqlite3_column_int(q, 3);
	bool queued = state == STATE_woken || state == STATE_preempted;
	size_t i;

	if (state < 0 || state >= N_STATES)
		return;
	for (i = begin_at(v, n, tid, ts); i < n && v[i].tid == tid && v[i].start < end; i++) {
		part = pause_within(&v[i], ts, end);
		if (!part)
			continue;
		v[i].spent[state] += part;
		if (v[i].reads && (queued || state == STATE_run))
			v[i].worked +=
				pause_within(&v[i], ts > v[i].read.ts ? ts : v[i].read.ts, end);
		if (!queued) {
			v[i].waker[state] = sqlite3_column_int64(q, 4);
		} else if (part > v[i].longest) {
			v[i].longest = part;
			v[i].partner = sqlite3_column_int64(q, 5);
		}
	}
}

/* Of a thread of a runtime with green threads. */
static bool has_no_work(int state)
{
	return state == STATE_futex || state == STATE_poll || state == STATE_timer;
}

/*
 * Who had the CPU for the longest wait in the run queue, or ended the last wait in the state with
 * most time: sleeps that follow each other, for one thing, are one wait.
 */
static void choose_partner(struct pause *p)
{
	int i, most = STATE_woken;
	s64 queued = p->spent[STATE_woken] + p->spent[STATE_preempted];

	for (i = 0; i < N_STATES; i++)
		if (!(p->green && has_no_work(i)) && i != STATE_run && i != STATE_preempted &&
		    p->spent[i] > (most == STATE_woken ? queued : p->spent[most]))
			most = i;
	if (most != STATE_woken)
		p->partner = p->waker[most];
	if (p->partner <= 0)
		p->partner = -1;
}

/* Columns: tid, ts, dur, abi, nr. */
static void on_call(struct pause *v, size_t n, sqlite3_stmt *q)
{
	s64 tid = sqlite3_column_int64(q, 0), ts = sqlite3_column_int64(q, 1);
	s64 end = ts + sqlite3_column_int64(q, 2), part;
	size_t i;

	for (i = begin_at(v, n, tid, ts); i < n && v[i].tid == tid && v[i].start < end; i++) {
		part = pause_within(&v[i], ts, end);
		if (part <= v[i].call)
			continue;
		v[i].call = part;
		v[i].abi = sqlite3_column_int64(q, 3);
		v[i].nr = sqlite3_column_int64(q, 4);
	}
}

static bool is_part_of(const struct pause *p, s64 server, const struct row_request *row)
{
	return p->server == server && (!p->service || p->service == row->service) &&
	       (!p->name || p->name == row->name);
}

/* Columns: thread that read it, ts, dur, server, service, name, rowid, tid, fd, client, bytes. */
static void on_read(struct pause *v, size_t n, sqlite3_stmt *q)
{
	s64 reader = sqlite3_column_int64(q, 0), server = sqlite3_column_int64(q, 3), end;
	const struct row_request row = {
		.ts = sqlite3_column_int64(q, 1),
		.dur = sqlite3_column_int64(q, 2),
		.service = sqlite3_column_int64(q, 4),
		.name = sqlite3_column_int64(q, 5),
		.tid = sqlite3_column_int64(q, 7),
		.fd = sqlite3_column_int64(q, 8),
		.client = sqlite3_column_int64(q, 9),
		.recv_bytes = sqlite3_column_int64(q, 10),
		.send_bytes = sqlite3_column_int64(q, 11),
	};
	size_t i = begin_at(v, n, reader, row.ts);

	for (end = row.ts + row.dur; i < n && v[i].tid == reader && v[i].start < end; i++) {
		struct pause *p = &v[i];

		if (row.ts > middle_of(p) || end < p->end || !is_part_of(p, server, &row) ||
		    (p->reads && row.ts <= p->read.ts))
			continue;
		p->reads = true;
		p->read = row;
		p->read_id = sqlite3_column_int64(q, 6);
	}
}

static int scan(struct pause *v, size_t n, sqlite3 *db, const char *sql, s64 from, s64 to,
		void (*on_row)(struct pause *, size_t, sqlite3_stmt *), struct err *e)
{
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, sql, "iii", from, to, (s64)CALL_LEAST);

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0)
		on_row(v, n, q);
	return db_end(q, ret);
}

/*
 * A thread that had read several requests and then blocked on another server did so for one of
 * them: it goes on with that one, so its answer is the first. Another first answer: not known.
 */
static void choose_asker(struct pause *p)
{
	if (2 * p->spent[STATE_client] < p->end - p->start || p->readers < 2)
		return;
	if (p->first_id && p->first.tid == p->tid)
		spans(p, &p->first, p->first_id);
	else
		p->request = 0;
}

/*
 * Threads that read requests and go on with any of them, as those of Go do: what one did since is
 * for the last request that it read itself, if it also answers it. If it does not, it may have
 * handed it on and gone on with one of others: not known. A thread that only gets requests from
 * others is no such thread. If it may wait for work in between, it must run for most of the pause.
 */
static void choose_own(struct pause *p)
{
	if (p->green && !p->reads)
		p->request = 0;
	if (!p->request || !p->reads)
		return;
	if (p->read.tid == p->tid && (!p->green || 2 * p->worked >= p->end - p->start))
		spans(p, &p->read, p->read_id);
	else
		p->request = 0;
}

/*
 * The request that the thread read itself, and for which it ran or was queued for half of the
 * pause, delays the others: it is no victim of itself, unless no other waited.
 */
static void count_victims(struct pause *p)
{
	bool own = p->reads && (!p->green || p->read_id) && p->read.tid == p->tid &&
		   p->waiting > 1 && 2 * p->worked >= p->end - p->start;
	bool longest = own && p->max_ts == p->read.ts && p->max_fd == p->read.fd;

	p->victims = p->waiting - own;
	p->victim_wait = longest ? p->next_wait : p->max_wait;
}

int pauses_threads(struct pause *v, size_t n, sqlite3 *db, struct err *e)
{
	static const char states[] = "SELECT tid, ts, dur, state, waker, object FROM thread_state"
				     " WHERE ts < ?2 AND ts + dur > ?1 AND dur > 0 AND ?3 > 0";
	static const char calls[] = "SELECT tid, ts, dur, abi, nr FROM syscall"
				    " WHERE dur >= ?3 AND ts < ?2 AND ts + dur > ?1";
	/* as pauses.c takes them; one without an answer lasts until the end */
	static const char reads[] =
		"WITH r AS (SELECT coalesce(receiver, tid) AS reader, ts, dur, service, coalesce(name, 0) AS name,"
		" rowid AS id, tid, fd, client, recv_bytes, send_bytes FROM request WHERE NOT lossy AND paced<>1"
		" UNION ALL SELECT tid, read, ?2 - read, service, coalesce(name, 0), 0, 0, fd, client, 0, 0 FROM"
		" unanswered u WHERE read IS NOT NULL AND " ANSWER_DUE
		") SELECT reader, r.ts, r.dur, s.server,"
		" r.service, r.name, r.id, r.tid, r.fd, r.client, r.recv_bytes, r.send_bytes FROM r JOIN service s ON"
		" s.id=r.service WHERE r.ts < ?2 AND r.ts + r.dur > ?1 AND ?3 > 0 AND r.name NOT IN (SELECT id FROM"
		" request_name WHERE awaits(protocol, name))";
	s64 from = INT64_MAX, to = 0;
	size_t i;
	int ret;

	if (!n)
		return 0;
	qsort(v, n, sizeof(*v), by_thread);
	for (i = 0; i < n; i++) {
		from = v[i].start < from ? v[i].start : from;
		to = v[i].end > to ? v[i].end : to;
		v[i].partner = -1;
		v[i].latest = v[i].end;
		if (i && v[i - 1].tid == v[i].tid && v[i - 1].latest > v[i].end)
			v[i].latest = v[i - 1].latest;
	}
	ret = scan(v, n, db, reads, from, to, on_read, e);
	if (ret == 0)
		ret = scan(v, n, db, states, from, to, on_state, e);
	for (i = 0; i < n; i++) {
		count_victims(&v[i]);
		choose_partner(&v[i]);
		choose_own(&v[i]);
		choose_asker(&v[i]);
	}
	return ret < 0 ? ret : scan(v, n, db, calls, from, to, on_call, e);
}
