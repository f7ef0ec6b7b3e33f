// SPDX-License-Identifier: GPL-2.0-or-later
#include "pause_did.h"

#include "analyze/store/error_names.h"

#include <string.h>

/* Of the pauses that count, the states of their threads; and the request of the longest. */
#define STATES                                                                                 \
	"run, woken + preempted, works * futex, disk, blocked, client, works * poll + socket," \
	" pipe, works * timer, child, lock, stopped, other"
/* works 0: in these states it waits for work of a runtime with green threads. */
#define PAUSES \
	"(SELECT *, NOT EXISTS (SELECT 1 FROM thread t WHERE t.tid=p.tid AND green) AS works FROM pause p)"

/* A second state is said too if it has this part of the time of the largest. */
#define NOTABLE (1.0 / 3)

static int read_states(struct analysis_ctx *c, const struct judged *j, struct pause_cause *p,
		       struct err *e)
{
	static const char sql[] =
		"SELECT " STATES
		", dur, tid, pid, partner, request, fd, request_ts, peer, recv_bytes,"
		" send_bytes, id, works FROM " PAUSES
		" WHERE server=?1 AND id IN (SELECT value FROM json_each(?2))"
		" ORDER BY id";
	int largest[JUDGED_PAUSES], i, k, ret;
	sqlite3_stmt *q = NULL;

	ret = buf_printf(&p->ids, e, "[0");
	for (i = 0; i < j->n_pauses && ret == 0; i++)
		if (j->pauses[i].counts)
			ret = buf_printf(&p->ids, e, ",%lld", (long long)j->pauses[i].id);
	if (ret == 0)
		ret = buf_printf(&p->ids, e, "]");
	if (ret == 0)
		ret = db_query(&q, c->db, e, sql, "is",
			       j->about.kind == SUBJECT_server ? j->about.id : 0, p->ids.data);
	while (ret >= 0 && p->n < JUDGED_PAUSES && (ret = db_step(q, e)) > 0) {
		largest[p->n] = 0;
		for (k = 0; k < N_DID; k++) {
			p->spent[k] += sqlite3_column_double(q, k);
			if (sqlite3_column_double(q, k) > sqlite3_column_double(q, largest[p->n]))
				largest[p->n] = k;
		}
		p->total += sqlite3_column_double(q, N_DID);
		if (p->n++)
			continue;
		p->tid = sqlite3_column_int64(q, N_DID + 1);
		p->pid = sqlite3_column_int64(q, N_DID + 2);
		p->partner = sqlite3_column_int64(q, N_DID + 3);
		p->request = sqlite3_column_type(q, N_DID + 4) != SQLITE_NULL;
		p->fd = sqlite3_column_int64(q, N_DID + 5);
		p->request_ts = sqlite3_column_int64(q, N_DID + 6);
		p->client = sqlite3_column_int64(q, N_DID + 7);
		p->received = sqlite3_column_int64(q, N_DID + 8);
		p->sent = sqlite3_column_int64(q, N_DID + 9);
		p->id = sqlite3_column_int64(q, N_DID + 10);
		p->green = !sqlite3_column_int(q, N_DID + 11);
	}
	sqlite3_finalize(q);
	for (k = 0; k < N_DID; k++)
		p->largest = p->spent[k] > p->spent[p->largest] ? k : p->largest;
	p->second = N_DID;
	for (k = 0; k < N_DID; k++)
		if (k != p->largest && p->spent[k] >= NOTABLE * p->spent[p->largest] &&
		    p->spent[k] > (p->second < N_DID ? p->spent[p->second] : 0))
			p->second = k;
	/* what waits for a CPU is what it runs there */
	if (p->green && p->largest == DID_runq && p->second == N_DID && p->spent[DID_run] > 0)
		p->second = DID_run;
	for (i = 0; i < p->n; i++)
		p->same += largest[i] == p->largest;
	return ret < 0 ? ret : 0;
}

/* What the waker did for most of the first pause. */
static int read_waker(struct analysis_ctx *c, const struct judged *j, struct pause_cause *p,
		      struct err *e)
{
	static const char sql[] =
		"WITH p AS (SELECT ts, dur FROM pause WHERE server=?1 AND partner=?2 ORDER BY id LIMIT 1)"
		" SELECT s.state, sum(min(s.ts + s.dur, p.ts + p.dur) - max(s.ts, p.ts)) AS ns FROM p JOIN"
		" thread_state s ON s.tid=?2 AND s.ts < p.ts + p.dur AND s.ts + s.dur > p.ts"
		" GROUP BY s.state ORDER BY ns DESC LIMIT 1";
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "ii",
			   j->about.kind == SUBJECT_server ? j->about.id : 0, p->partner);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0 && sqlite3_column_int(q, 0) >= 0 && sqlite3_column_int(q, 0) < N_STATES) {
		p->did_ns = sqlite3_column_double(q, 1);
		p->did = verdict_does[sqlite3_column_int(q, 0)];
	}
	return db_end(q, ret);
}

/* The client with its port, as its socket has it; and the longest system call of that pause. */
static int read_names(struct analysis_ctx *c, const struct judged *j, struct pause_cause *p,
		      struct err *e)
{
	static const char peer[] =
		"SELECT coalesce(nullif((SELECT remote FROM fd WHERE pid=?1 AND fd=?2 AND ts <= ?3"
		" ORDER BY ts DESC LIMIT 1), ''), (SELECT nullif(address, '') FROM client WHERE id=?4))";
	static const char name[] =
		"SELECT n.name FROM request r JOIN request_name n ON n.id=r.name WHERE r.pid=?1 AND r.fd=?2"
		" AND r.ts=?3";
	static const char call[] =
		"SELECT n.name FROM pause p JOIN syscall_name n USING(abi, nr) WHERE p.id=?1"
		" AND 2 * call > dur";
	static const char failed[] =
		"SELECT code || coalesce(' (' || (SELECT name FROM " LOCK_ERRORS
		" x WHERE x.code=f.code) || ')', '') FROM (SELECT " ERROR_CODE_OF
		" AS code FROM pause p JOIN request_error e ON e.pid=p.pid AND e.client=p.peer AND e.ts BETWEEN"
		" p.request_ts AND p.request_ts + p.request_dur WHERE p.id=?1 LIMIT 1) f";
	int ret = 0;

	if (p->request)
		ret = db_add_text(&p->failed, c->db, e, failed, "i", p->id);
	if (ret == 0 && p->request)
		ret = db_add_text(&p->peer, c->db, e, peer, "iiii", p->pid, p->fd, p->request_ts,
				  p->client);
	if (ret == 0 && p->request)
		ret = db_add_text(&p->name, c->db, e, name, "iii", p->pid, p->fd, p->request_ts);
	if (ret == 0)
		ret = db_add_text(&p->call, c->db, e, call, "i", p->id);
	return ret < 0 || p->partner <= 0 ? ret : read_waker(c, j, p, e);
}

/* What it ran in all pauses; if that is not what it ran in the longest one, this one. */
static int read_function(struct analysis_ctx *c, const struct judged *j, struct pause_cause *p,
			 struct err *e)
{
	const struct judged_pause *longest = judged_longest(j);
	struct judged_pause copy = longest ? *longest : (struct judged_pause){ 0 };
	const struct judged one = { .pauses = &copy, .n_pauses = 1 };
	struct buf function = { 0 };
	const char *collects = NULL;
	double part = 0, samples = 0;
	int ret = pause_stack_label(&p->function, &p->collects, &p->in_function, &p->samples, c->db,
				    j, p->tid, e);

	if (ret == 0 && p->n > 1)
		ret = pause_stack_label(&function, &collects, &part, &samples, c->db, &one, p->tid,
					e);
	p->in_longest =
		function.len && (!p->function.len || strcmp(function.data, p->function.data) != 0);
	if (p->in_longest) {
		buf_free(&p->function);
		p->function = function;
		p->collects = collects;
		p->in_function = part;
		p->samples = samples;
	} else {
		buf_free(&function);
	}
	return ret;
}

/* The quota that explains why the thread of the longest pause waited for a CPU. */
static int read_quota(struct analysis_ctx *c, struct pause_cause *p, struct err *e)
{
	s64 from = 0, to = 0;
	int ret = db_int(c->db, &from, e, "SELECT ts FROM pause WHERE id=?", "i", p->id);

	if (ret == 0)
		ret = db_int(c->db, &to, e, "SELECT ts + dur FROM pause WHERE id=?", "i", p->id);
	if (ret == 0)
		ret = quota_read(&p->quota, c->db, p->pid, p->pid, from, to, e);
	if (!p->quota.explains)
		p->quota.cgroup = 0;
	return ret;
}

/* Why it waited for a CPU. */
static int read_queued(struct analysis_ctx *c, const struct judged *j, struct pause_cause *p,
		       struct err *e)
{
	int ret = read_quota(c, p, e);

	return ret < 0 || p->quota.cgroup
		       ? ret
		       : pause_contender(c->db, j, p->ids.data, p->pid, &p->contender, e);
}

int pause_did(struct analysis_ctx *c, const struct judged *j, struct pause_cause *p, struct err *e)
{
	int ret = read_states(c, j, p, e);

	if (ret == 0)
		ret = read_names(c, j, p, e);
	if (ret == 0 && (p->largest == DID_runq || p->second == DID_runq))
		ret = read_queued(c, j, p, e);
	if (ret == 0 && j->about.kind == SUBJECT_server)
		ret = pause_others(&p->others, c->db, p->id, e);
	if (ret == 0 && (p->largest == DID_run || p->second == DID_run))
		ret = read_function(c, j, p, e);
	if (ret == 0 && (p->largest == DID_input || p->largest == DID_client) &&
	    j->about.kind == SUBJECT_server)
		ret = pause_upstream(c, j, p->tid, true, &p->upstream, e);
	if (p->upstream.address.len && p->largest == DID_input)
		p->largest = DID_client;
	/* both are waits for the same answer */
	if (p->upstream.address.len && (p->second == DID_input || p->second == DID_client))
		p->second = N_DID;
	return ret;
}

void pause_did_free(struct pause_cause *p)
{
	pause_upstream_free(&p->upstream);
	buf_free(&p->contender.function);
	buf_free(&p->ids);
	buf_free(&p->function);
	buf_free(&p->peer);
	buf_free(&p->call);
	buf_free(&p->name);
	buf_free(&p->failed);
}
