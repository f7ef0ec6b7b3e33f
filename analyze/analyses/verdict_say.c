// SPDX-License-Identifier: GPL-2.0-or-later
/* The findings of the verdict: what happened to a server, and under it why. */
#include "verdict.h"

#include "format/buf.h"

#include <string.h>

#define LENGTHS_NAMED 3

static int put_child(struct analysis_ctx *c, const struct judged *j, enum finding_kind kind,
		     enum evidence evidence, const struct value *values, struct err *e)
{
	struct finding f = { kind, PROBLEM, evidence, j->about, NULL, values, j->finding };

	return finding_put(c->db, c->analysis->name, &f, NULL, e);
}

/* Of the pauses that count, the states of their threads; and the request of the longest. */
#define STATES "run, woken + preempted, futex, disk + blocked, client, poll + socket, pipe, timer"

enum did {
	DID_run,
	DID_runq,
	DID_futex,
	DID_disk,
	DID_client,
	DID_input,
	DID_pipe,
	DID_timer,
	N_DID
};

struct pause_cause {
	double spent[N_DID], total;
	s64 tid, pid, partner, fd, request_ts, client, received, sent;
	bool request;
	int largest, same, n;
	struct buf peer, call;
};

static const char *const did_says[N_DID] = {
	"on CPU",
	"waiting for a CPU",
	"waiting for a futex",
	"waiting for a disk",
	"waiting for an upstream",
	"waiting for input",
	"waiting for a pipe",
	"sleeping",
};

static int read_states(struct analysis_ctx *c, const struct judged *j, struct pause_cause *p,
		       struct err *e)
{
	static const char sql[] =
		"SELECT " STATES
		", dur, tid, pid, partner, request, fd, request_ts, peer, recv_bytes,"
		" send_bytes FROM pause WHERE server=?1 AND id IN (SELECT value FROM json_each(?2))"
		" ORDER BY id";
	int largest[JUDGED_PAUSES], i, k, ret;
	struct buf ids = { 0 };
	sqlite3_stmt *q = NULL;

	ret = buf_printf(&ids, e, "[0");
	for (i = 0; i < j->n_pauses && ret == 0; i++)
		if (j->pauses[i].counts)
			ret = buf_printf(&ids, e, ",%lld", (long long)j->pauses[i].id);
	if (ret == 0)
		ret = buf_printf(&ids, e, "]");
	if (ret == 0)
		ret = db_query(&q, c->db, e, sql, "is",
			       j->about.kind == SUBJECT_server ? j->about.id : 0, ids.data);
	buf_free(&ids);
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
	}
	sqlite3_finalize(q);
	for (k = 0; k < N_DID; k++)
		p->largest = p->spent[k] > p->spent[p->largest] ? k : p->largest;
	for (i = 0; i < p->n; i++)
		p->same += largest[i] == p->largest;
	return ret < 0 ? ret : 0;
}

static int take_text(struct buf *out, sqlite3_stmt *q, struct err *e)
{
	int ret = db_step(q, e);

	if (ret > 0 && sqlite3_column_type(q, 0) != SQLITE_NULL)
		ret = buf_printf(out, e, "%s", (const char *)sqlite3_column_text(q, 0));
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

/* The client with its port, as its socket has it; and the longest system call. */
static int read_names(struct analysis_ctx *c, const struct judged *j, struct pause_cause *p,
		      struct err *e)
{
	static const char peer[] =
		"SELECT coalesce(nullif((SELECT remote FROM fd WHERE pid=?1 AND fd=?2 AND ts <= ?3"
		" ORDER BY ts DESC LIMIT 1), ''), (SELECT nullif(address, '') FROM client WHERE id=?4))";
	static const char call[] =
		"SELECT n.name FROM pause p JOIN syscall_name n USING(abi, nr) WHERE server=?1"
		" AND 2 * call > dur ORDER BY p.id LIMIT 1";
	sqlite3_stmt *q;
	int ret = 0;

	if (p->request) {
		ret = db_query(&q, c->db, e, peer, "iiii", p->pid, p->fd, p->request_ts, p->client);
		if (ret == 0)
			ret = take_text(&p->peer, q, e);
	}
	if (ret == 0)
		ret = db_query(&q, c->db, e, call, "i",
			       j->about.kind == SUBJECT_server ? j->about.id : 0);
	return ret < 0 ? ret : take_text(&p->call, q, e);
}

static int put_pause_cause(struct analysis_ctx *c, const struct judged *j, struct pause_cause *p,
			   struct err *e)
{
	double share = p->total > 0 ? 100 * p->spent[p->largest] / p->total : NAN;
	bool runq = p->largest == DID_runq, cpu = p->largest == DID_run;
	const struct value values[] = {
		VALUE_SUBJECT("thread", thread, p->tid),
		VALUE_NUMBER("share", share, "%"),
		VALUE_TEXT("state", did_says[p->largest]),
		VALUE_NUMBER("same", p->same, ""),
		VALUE_NUMBER("count", p->n, ""),
		VALUE_TEXT("client", p->peer.len ? p->peer.data : NULL),
		VALUE_NUMBER("in", p->request ? (double)p->received : NAN, "bytes"),
		VALUE_NUMBER("out", p->request ? (double)p->sent : NAN, "bytes"),
		VALUE_TEXT("call", p->call.len && !cpu && !runq ? p->call.data : NULL),
		{ .name = runq ? "contender" : "waker",
		  .of = { p->partner > 0 && !cpu ? SUBJECT_thread : SUBJECT_none, p->partner },
		  .number = NAN,
		  .low = NAN,
		  .high = NAN },
		{ 0 },
	};

	if (isnan(share) || share <= 0)
		return 0;
	return put_child(c, j, FINDING_pause_cause,
			 p->partner > 0 && !cpu && !runq ? CAUSAL : OBSERVED, values, e);
}

static int say_pauses(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	struct value values[LENGTHS_NAMED + 6];
	double longest[LENGTHS_NAMED] = { 0 }, max_wait = 0;
	struct finding f = { FINDING_verdict_pauses, PROBLEM, OBSERVED, j->about, NULL, values, 0 };
	int i, k, n = 0;

	for (i = 0; i < j->n_pauses; i++) {
		double dur = (double)(j->pauses[i].end - j->pauses[i].start), swap;

		if (!j->pauses[i].counts)
			continue;
		max_wait = fmax(max_wait, (double)j->pauses[i].max_wait);
		for (k = 0; k < LENGTHS_NAMED; k++)
			if (dur > longest[k]) {
				swap = longest[k];
				longest[k] = dur;
				dur = swap;
			}
	}
	values[n++] = (struct value)VALUE_NUMBER("count", j->counted, "");
	for (k = 0; k < LENGTHS_NAMED && longest[k] > 0; k++)
		values[n++] = (struct value)VALUE_NUMBER("length", longest[k], "ns");
	values[n++] = (struct value)VALUE_NUMBER(
		"more", j->counted > LENGTHS_NAMED ? j->counted - LENGTHS_NAMED : NAN, "");
	values[n++] = (struct value)VALUE_NUMBER("waited", j->waited, "");
	values[n++] = (struct value)VALUE_NUMBER("max", max_wait, "ns");
	values[n++] = (struct value)VALUE_NUMBER("p99", j->p99_outside, "ns");
	values[n] = (struct value){ 0 };
	return finding_put(c->db, c->analysis->name, &f, &j->finding, e);
}

static int say_slower(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	const struct value values[] = {
		VALUE_NUMBER("start", j->start, "at"),
		VALUE_NUMBER("end", j->end + j->width < (double)c->duration ? j->end : NAN, "at"),
		VALUE_NUMBER("slow", j->slow, "ns"),
		VALUE_NUMBER("baseline", j->baseline, "ns"),
		VALUE_INTERVAL("ratio", j->ratio, j->ratio_low, j->ratio_high, "x"),
		{ 0 },
	};
	struct finding f = { FINDING_verdict_slower, PROBLEM, OBSERVED, j->about, NULL, values, 0 };

	return finding_put(c->db, c->analysis->name, &f, &j->finding, e);
}

static int say_other(struct analysis_ctx *c, struct judged *j, enum finding_kind kind,
		     enum severity severity, struct err *e)
{
	const struct value values[] = {
		VALUE_NUMBER("requests", j->requests > 0 ? j->requests : NAN, ""),
		VALUE_NUMBER("idle", j->idle, "%"),
		VALUE_NUMBER("pause", j->pause_max > 0 ? j->pause_max : NAN, "ns"),
		VALUE_NUMBER("queued", j->queued, "ns"),
		VALUE_NUMBER("served", j->served, "ns"),
		VALUE_NUMBER("count", j->counted, ""),
		{ 0 },
	};
	struct finding f = { kind,     severity, severity == PROBLEM ? OBSERVED : LIMIT,
			     j->about, NULL,	 values,
			     0 };

	if (kind == FINDING_verdict_healthy)
		f.evidence = OBSERVED;
	return finding_put(c->db, c->analysis->name, &f, &j->finding, e);
}

int verdict_say(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	struct pause_cause p = { 0 };
	int ret;

	if (j->status == STATUS_NONE)
		return say_other(c, j, FINDING_verdict_healthy, NOTE, e);
	if (strcmp(j->kind, "requests") == 0)
		return say_other(c, j,
				 j->requests > 0 ? FINDING_verdict_few : FINDING_verdict_unknown,
				 NOTE, e);
	if (strcmp(j->kind, "loss") == 0)
		return say_other(c, j, FINDING_verdict_loss, NOTE, e);
	if (strcmp(j->kind, "slower") == 0)
		return say_slower(c, j, e);
	if (strcmp(j->kind, "overload") == 0)
		return say_other(c, j, FINDING_verdict_overload, PROBLEM, e);
	ret = strcmp(j->kind, "pauses") == 0
		      ? say_pauses(c, j, e)
		      : say_other(c, j, FINDING_verdict_standstill, PROBLEM, e);
	if (ret == 0)
		ret = read_states(c, j, &p, e);
	if (ret == 0)
		ret = read_names(c, j, &p, e);
	if (ret == 0)
		ret = put_pause_cause(c, j, &p, e);
	buf_free(&p.peer);
	buf_free(&p.call);
	return ret;
}
