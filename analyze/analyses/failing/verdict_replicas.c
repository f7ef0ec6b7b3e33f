// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A server that refuses writes because its replicas do not acknowledge says so by the code of its
 * answer. Which one: a connection on which replicas report, from which no byte came for most of the
 * time of these answers, and for twice the period of reports or longer. What its other end did.
 */
#include "verdict_failing.h"

#include "analyze/analyses/verdict/verdict_stuck.h"

#include "format/protocols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPLICAS_SAID 2

/* Redis: a replica sends REPLCONF ACK once per second (redis.io, Replication). */
static const struct {
	int protocol;
	const char *code, *report;
	double period; /* ns */
} codes[] = {
	{ PROTOCOL_REDIS, "NOREPLICAS", "REPLCONF", 1e9 },
};

struct replica {
	s64 pid, from, to; /* of the server; no byte came in this time */
	char local[64], remote[64];
};

struct replicas {
	struct replica v[REPLICAS_SAID];
	int n;
};

static int add_replica(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct replicas *all = arg;
	struct replica *r = &all->v[all->n++];

	(void)e;
	r->pid = sqlite3_column_int64(q, 0);
	snprintf(r->local, sizeof(r->local), "%s", db_text(q, 1));
	snprintf(r->remote, sizeof(r->remote), "%s", db_text(q, 2));
	r->from = sqlite3_column_int64(q, 3);
	r->to = sqlite3_column_int64(q, 4);
	return 0;
}

static int read_silent(struct replicas *all, struct analysis_ctx *c, const struct judged *j,
		       size_t kind, struct err *e)
{
	static const char sql[] =
		"WITH s AS MATERIALIZED (SELECT id, pid FROM service WHERE server=?1), x AS MATERIALIZED (SELECT"
		" min(e.ts) AS first, max(e.ts) AS last FROM request_error e JOIN request_code k ON k.id=e.code"
		" WHERE e.service IN (SELECT id FROM s) AND k.code=?2), o AS MATERIALIZED (SELECT DISTINCT pid, fd FROM"
		" request WHERE service IN (SELECT id FROM s) AND name IN (SELECT id FROM request_name WHERE"
		" protocol=?3 AND name=?4)), f AS MATERIALIZED (SELECT f.pid, f.fd, f.local, f.remote, f.ts FROM fd f JOIN o"
		" USING(pid, fd), x WHERE f.role='accepted' AND f.ts <= first AND coalesce(f.end, last + 1) > last),"
		" g AS (SELECT f.pid, f.fd, f.local, f.remote, y.ts + y.dur AS at, coalesce(lead(y.ts) OVER (PARTITION BY f.pid, f.fd ORDER BY"
		" y.ts), ?5) AS next FROM f JOIN thread t ON t.pid=f.pid JOIN syscall y ON y.tid=t.tid AND y.fd=f.fd AND y.ts >= f.ts"
		" JOIN syscall_name n USING(abi, nr) WHERE y.ret > 0 AND n.name IN ('read', 'readv', 'recvfrom',"
		" 'recvmsg')) SELECT pid, local, remote, at, next FROM g, x WHERE next - at >= 2 * ?6 AND 2 *"
		" (min(next, last) - max(at, first)) > last - first ORDER BY next - at DESC LIMIT ?7";

	return db_each(c->db, e, add_replica, all, sql, "isisidi", j->about.id, codes[kind].code,
		       (s64)codes[kind].protocol, codes[kind].report, c->duration,
		       codes[kind].period, (s64)REPLICAS_SAID);
}

/* The process at the other end, its thread that ran most, and what it worked on for half of it. */
static int read_other_end(s64 *ret_pid, s64 *ret_tid, s64 *ret_request, sqlite3 *db,
			  const struct replica *r, struct err *e)
{
	static const char end[] =
		"SELECT pid FROM fd WHERE kind='socket' AND role<>'accepted' AND local=?1 AND remote=?2 LIMIT 1";
	static const char thread[] =
		"SELECT tid FROM thread WHERE pid=?1 ORDER BY run DESC LIMIT 1";
	static const char request[] =
		"SELECT rowid FROM request WHERE pid=?1 AND 2 * (min(ts + dur, ?3) - max(ts, ?2)) > ?3 - ?2 ORDER"
		" BY dur DESC LIMIT 1";
	int ret = db_int(db, ret_pid, e, end, "ss", r->remote, r->local);

	if (ret < 0 || !*ret_pid)
		return ret;
	ret = db_int(db, ret_tid, e, thread, "i", *ret_pid);
	return ret < 0 ? ret : db_int(db, ret_request, e, request, "iii", *ret_pid, r->from, r->to);
}

/* The function that half or more of the samples of a thread in this time are in. */
static int read_function(struct buf *out, double *ret_share, sqlite3 *db, s64 tid,
			 const struct replica *r, struct err *e)
{
	struct judged_pause silence = { .start = r->from, .end = r->to, .counts = true };
	struct judged *at = calloc(1, sizeof(*at));
	double n;
	int ret;

	if (!at)
		return err_set(e, ERR_FAIL, "out of memory for samples");
	at->pauses = &silence;
	at->n_pauses = 1;
	ret = pause_stack(out, ret_share, &n, db, at, tid, e);
	free(at);
	return ret;
}

static int say_silent(struct analysis_ctx *c, const struct judged *j, const struct replica *r,
		      struct err *e)
{
	s64 pid = 0, tid = 0, request = 0;
	const char *did = NULL;
	double share = NAN, part = NAN;
	struct buf function = { 0 };
	int ret = read_other_end(&pid, &tid, &request, c->db, r, e);

	if (ret == 0 && tid)
		ret = verdict_did(&did, &share, c->db, tid, r->from, r->to, e);
	if (ret == 0 && tid)
		ret = read_function(&function, &part, c->db, tid, r, e);
	const struct value values[] = {
		VALUE_TEXT("address", r->remote),
		VALUE_NUMBER("length", (double)(r->to - r->from), "ns"),
		VALUE_NUMBER("start", (double)r->from, "at"),
		VALUE_MAYBE("process", process, pid),
		VALUE_TEXT("did", did),
		VALUE_NUMBER("share", did ? share : NAN, "%"),
		VALUE_TEXT("function", function.len ? function.data : NULL),
		VALUE_MAYBE("request", request, request),
		{ 0 },
	};
	const struct finding f = { FINDING_failing_replica,
				   PROBLEM,
				   OBSERVED,
				   j->about,
				   "SELECT * FROM fd WHERE role='accepted'",
				   values,
				   j->finding };

	if (ret == 0)
		ret = finding_put(c->db, c->analysis->name, &f, NULL, e);
	buf_free(&function);
	return ret;
}

int verdict_replicas_say(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	const char *code = verdict_error_code(j);
	const size_t n = sizeof(codes) / sizeof(codes[0]);
	struct replicas all = { 0 };
	size_t kind = 0;
	int i, ret;

	while (kind < n && (!code || strcmp(codes[kind].code, code) != 0))
		kind++;
	if (kind == n)
		return 0;
	ret = read_silent(&all, c, j, kind, e);
	for (i = 0; i < all.n && ret == 0; i++)
		ret = say_silent(c, j, &all.v[i], e);
	return ret;
}
