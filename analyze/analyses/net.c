// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who talked to whom: connections by process, role and other end, and how long others took to
 * answer: from the last send on a connected socket to the first receive behind it, the network
 * included.
 */
#include "analysis.h"
#include "latency.h"

#include <stdio.h>
#include <string.h>

static const struct metric metrics[] = {
	{ "connections", "", NEITHER_IS_BETTER, "descriptors; copies after fork count" },
	{ "open", "", NEITHER_IS_BETTER, "of these, not closed" },
	{ "exchanges", "", NEITHER_IS_BETTER, "requests to it that were answered" },
	{ "rate", "1/s", NEITHER_IS_BETTER, "exchanges a second" },
	{ "sent", "bytes", NEITHER_IS_BETTER, "in requests to it; of TCP, acknowledged" },
	{ "received", "bytes", NEITHER_IS_BETTER, "of TCP: from the other end" },
	{ "answer", "ns", LOWER_IS_BETTER, "mean time to its first answer" },
	{ "max", "ns", LOWER_IS_BETTER, "longest" },
	{ "apart", "", LOWER_IS_BETTER, "exchanges left out: events were lost meanwhile" },
	{ "handshake", "ns", LOWER_IS_BETTER, "mean time to establish a connection to it" },
	{ "handshake_max", "ns", LOWER_IS_BETTER, "longest" },
	{ "backlog", "ns", LOWER_IS_BETTER, "mean time from established to accepted" },
	{ "backlog_max", "ns", LOWER_IS_BETTER, "longest" },
	{ "failed", "", LOWER_IS_BETTER, "connections closed before they were established" },
	{ "retransmits", "", LOWER_IS_BETTER, "segments sent again" },
	{ "rtt", "ns", LOWER_IS_BETTER, "mean of the kernel's smoothed round-trip times" },
	{ "p50", "ns", LOWER_IS_BETTER, "median time to the answer, all of the process's peers" },
	{ "p99", "ns", LOWER_IS_BETTER, "99th percentile" },
	{ 0 },
};

#define NAME(pid) "(SELECT coalesce(nullif(max(comm),''),'?') FROM process WHERE pid=" pid ")"

#define LOCAL "coalesce(nullif(f.local,''),'a socket without an internet address')"

/* Accepted connections by local port, others by remote address. */
static int put_connections(struct analysis_ctx *c, struct err *e)
{
	static const char sql[] = "SELECT " NAME(
		"f.pid") " || '[' || f.pid || '] ' || CASE f.role WHEN 'accepted' THEN"
			 " 'accepts on ' || " LOCAL " WHEN 'connected' THEN 'connects to ' ||"
			 " coalesce(nullif(f.remote,''),nullif(f.path,''),'?') WHEN 'listening' THEN 'listens on '"
			 " || " LOCAL " ELSE 'is bound to ' || " LOCAL
			 " END AS what, count(*), sum(f.end IS NULL),"
			 " f.role FROM fd f WHERE f.kind='socket' AND f.role<>'' GROUP BY what"
			 " ORDER BY count(*) DESC, what";
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "");

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		const char *subject = db_text(q, 0);
		s64 n = sqlite3_column_int64(q, 1);

		if (strcmp(db_text(q, 3), "connected") == 0)
			continue; /* with its exchanges below */
		ret = put_metric(c, e, subject, "connections", n, NO_INTERVAL, n);
		if (ret == 0)
			ret = put_metric(c, e, subject, "open", sqlite3_column_double(q, 2),
					 NO_INTERVAL, n);
		if (ret < 0)
			break;
	}
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

static int put_peer(struct analysis_ctx *c, sqlite3_stmt *q, struct err *e)
{
	const char *subject = db_text(q, 0);
	double n = sqlite3_column_double(q, 3);
	const struct {
		const char *name;
		double value;
	} values[] = {
		{ "connections", sqlite3_column_double(q, 1) },
		{ "open", sqlite3_column_double(q, 2) },
		{ "exchanges", n },
		{ "rate", n / (c->duration / 1e9) },
		{ "sent", sqlite3_column_double(q, 4) },
		{ "answer", n > 0 ? sqlite3_column_double(q, 5) : NAN },
		{ "max", n > 0 ? sqlite3_column_double(q, 6) : NAN },
		{ "apart", sqlite3_column_double(q, 7) },
	};
	size_t i;
	int ret = 0;

	for (i = 0; i < sizeof(values) / sizeof(values[0]) && ret == 0; i++)
		ret = put_metric(c, e, subject, values[i].name, values[i].value, NO_INTERVAL,
				 (s64)n);
	return ret;
}

/*
 * Connected sockets by remote address, with the exchanges on them. A number that meant several of
 * them is looked up by time; for others, which are nearly all, that would only be slow.
 */
static int put_peers(struct analysis_ctx *c, struct err *e)
{
	static const char sql[] =
		"WITH n AS MATERIALIZED (SELECT rowid AS id, pid, fd, end,"
		" coalesce(nullif(remote,''),nullif(path,''),'?') AS peer FROM fd WHERE kind='socket'"
		" AND role='connected'),"
		" o AS MATERIALIZED (SELECT pid, fd, min(peer) AS peer, count(DISTINCT peer) AS peers"
		" FROM n GROUP BY pid, fd),"
		" x AS (SELECT e.pid, e.fd, iif((e.pid, e.fd) IN (SELECT pid, fd FROM o WHERE peers > 1),"
		" (SELECT f.rowid FROM fd f WHERE f.pid=e.pid AND f.fd=e.fd AND f.ts <= e.ts AND"
		" f.role='connected' ORDER BY f.ts DESC LIMIT 1), NULL) AS id,"
		" count(*) FILTER (WHERE NOT lossy) AS n, total(send_bytes) AS bytes,"
		" total(dur) FILTER (WHERE NOT lossy) AS ns, max(dur) FILTER (WHERE NOT lossy) AS most,"
		" sum(lossy) AS apart FROM exchange e GROUP BY e.pid, e.fd, 3),"
		" y AS (SELECT x.pid, coalesce(n.peer, o.peer) AS peer, total(x.n) AS n, total(x.bytes) AS bytes,"
		" total(x.ns) AS ns, max(x.most) AS most, total(x.apart) AS apart FROM x LEFT JOIN n ON n.id=x.id"
		" LEFT JOIN o ON o.pid=x.pid AND o.fd=x.fd GROUP BY 1, 2),"
		" s AS (SELECT pid, peer, count(*) AS sockets, sum(end IS NULL) AS still FROM n GROUP BY 1, 2)"
		" SELECT " NAME(
			"s.pid") " || '[' || s.pid || '] connects to ' || s.peer, s.sockets, s.still,"
				 " total(y.n), total(y.bytes), total(y.ns) / max(total(y.n), 1), max(y.most), total(y.apart)"
				 " FROM s LEFT JOIN y ON y.pid=s.pid AND y.peer=s.peer GROUP BY s.pid, s.peer"
				 " ORDER BY total(y.ns) DESC, s.pid, s.peer";
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "");

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0)
		if (put_peer(c, q, e) < 0) {
			ret = ERR_FAIL;
			break;
		}
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

/* What TCP says: handshakes, waits for accept, segments sent again. Needs group net. */
static int put_tcp(struct analysis_ctx *c, struct err *e)
{
	static const char sql[] = "SELECT coalesce(" NAME(
		"c.pid") " || '[' || c.pid || '] ', '') || CASE c.role WHEN"
			 " 'accepted' THEN 'TCP on ' || c.local WHEN 'connected' THEN 'TCP to ' || c.remote ELSE"
			 " 'TCP from before' END AS what, count(*), sum(c.end IS NULL), avg(c.handshake),"
			 " avg(c.backlog), sum(c.failed), sum(c.retransmits), avg(nullif(c.srtt,0)),"
			 " count(c.handshake), count(c.backlog), max(c.handshake), max(c.backlog), sum(c.sent), sum(c.received) FROM connection c GROUP BY what"
			 " ORDER BY sum(c.retransmits) DESC, count(*) DESC, what";
	static const struct {
		const char *name;
		int column, n; /* columns of the value and its sample size */
	} values[] = {
		{ "connections", 1, 1 }, { "open", 2, 1 },	     { "handshake", 3, 8 },
		{ "backlog", 4, 9 },	 { "failed", 5, 1 },	     { "retransmits", 6, 1 },
		{ "rtt", 7, 1 },	 { "handshake_max", 10, 8 }, { "backlog_max", 11, 9 },
		{ "sent", 12, 1 },	 { "received", 13, 1 },
	};
	sqlite3_stmt *q;
	size_t i;
	int ret = db_query(&q, c->db, e, sql, "");

	if (ret < 0)
		return ret;
	while (ret >= 0 && (ret = db_step(q, e)) > 0)
		for (i = 0; i < sizeof(values) / sizeof(values[0]) && ret >= 0; i++)
			if (sqlite3_column_type(q, values[i].column) != SQLITE_NULL)
				ret = put_metric(c, e, db_text(q, 0), values[i].name,
						 sqlite3_column_double(q, values[i].column),
						 NO_INTERVAL, sqlite3_column_int64(q, values[i].n));
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

/* "10.0.0.9:80 12, ...": the other ends with most of it; ports of clients tell nothing. */
static int name_peers(struct analysis_ctx *c, const char *column, char *text, size_t size,
		      struct err *e)
{
	char sql[300];
	sqlite3_stmt *q;
	size_t n = 0;
	int ret;

	snprintf(
		sql, sizeof(sql),
		"SELECT coalesce(nullif(iif(role='accepted', rtrim(rtrim(remote,'0123456789'),':'),"
		" remote),''),'?'), sum(%s) AS v FROM connection GROUP BY 1"
		" HAVING v > 0 ORDER BY v DESC, 1 LIMIT 4",
		column);
	ret = db_query(&q, c->db, e, sql, "");
	if (ret < 0)
		return ret;
	text[0] = '\0';
	while ((ret = db_step(q, e)) > 0 && n + 80 < size)
		n += snprintf(text + n, size - n, "%s%.60s %lld", n ? ", " : "", db_text(q, 0),
			      sqlite3_column_int64(q, 1));
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

static int put_retransmits(struct analysis_ctx *c, struct err *e)
{
	static const struct {
		const char *column, *what;
	} bad[] = {
		{ "retransmits", "Segments that TCP sent again" },
		{ "failed", "Connections that were never established" },
	};
	char peers[400], sql[120];
	size_t i;
	s64 n;
	int ret = 0;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]) && ret == 0; i++) {
		snprintf(sql, sizeof(sql), "SELECT total(%s) FROM connection", bad[i].column);
		ret = db_int(c->db, &n, e, sql, "");
		if (ret < 0 || !n)
			continue;
		ret = name_peers(c, bad[i].column, peers, sizeof(peers), e);
		snprintf(sql, sizeof(sql), "SELECT * FROM connection WHERE %s > 0", bad[i].column);
		if (ret == 0)
			ret = put_prose(c, e, WARNING, "OBSERVED", sql,
					"%s: %lld, by other end: %s.", bad[i].what, (long long)n,
					peers);
	}
	return ret;
}

/* Who the clients are: other ends of accepted sockets, without their ports. */
static int put_clients(struct analysis_ctx *c, struct err *e)
{
	static const char sql[] =
		"WITH f AS (SELECT pid, ino, dev, ts, rtrim(rtrim(remote,'0123456789'),':') AS host FROM fd"
		" WHERE kind='socket' AND role='accepted' AND remote<>''),"
		/* a copy that a child got is the same connection */
		" o AS (SELECT DISTINCT ino, dev, host, iif(ino, 0, ts) FROM f)"
		" SELECT host, count(*) AS n, sum(count(*)) OVER () FROM o GROUP BY host"
		" ORDER BY n DESC, host LIMIT 5";
	char text[400] = "";
	sqlite3_stmt *q;
	size_t n = 0;
	s64 all = 0;
	int ret = db_query(&q, c->db, e, sql, "");

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0 && n + 80 < sizeof(text)) {
		all = sqlite3_column_int64(q, 2);
		n += snprintf(text + n, sizeof(text) - n, "%s%.60s %lld", n ? ", " : "",
			      db_text(q, 0), sqlite3_column_int64(q, 1));
	}
	sqlite3_finalize(q);
	if (ret < 0 || !all)
		return ret < 0 ? ret : 0;
	return put_prose(c, e, NOTE, "OBSERVED",
			 "SELECT pid, local, remote, ts, end FROM fd WHERE role='accepted'",
			 "Connections accepted: %lld, by other end, most first: %s.",
			 (long long)all, text);
}

static int put_quantiles(struct analysis_ctx *c, struct err *e)
{
	static const char sql[] = "SELECT l.subject, " NAME(
		"l.subject") ", sum(l.n) FROM latency l"
			     " WHERE l.kind='exchange' GROUP BY l.subject"
			     " ORDER BY sum(l.n * l.low) DESC, l.subject LIMIT 5";
	static const double at[] = { 0.5, 0.99 };
	char subject[120];
	sqlite3_stmt *q;
	double v[2];
	int ret = db_query(&q, c->db, e, sql, "");

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		s64 n = sqlite3_column_int64(q, 2);

		snprintf(subject, sizeof(subject), "%s[%lld], all answers", db_text(q, 1),
			 sqlite3_column_int64(q, 0));
		ret = latency_quantiles(c->db, "exchange", sqlite3_column_int64(q, 0), 0, at, v, 2,
					INFINITY, e);
		if (ret == 0)
			ret = put_metric(c, e, subject, "exchanges", n, NO_INTERVAL, n);
		if (ret == 0)
			ret = put_metric(c, e, subject, "p50", v[0], NO_INTERVAL, n);
		if (ret == 0)
			ret = put_metric(c, e, subject, "p99", v[1], NO_INTERVAL, n);
		if (ret < 0)
			break;
	}
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

static int run(struct analysis_ctx *c, struct err *e)
{
	int ret = put_peers(c, e);

	if (ret == 0)
		ret = put_connections(c, e);
	if (ret == 0)
		ret = put_tcp(c, e);
	if (ret == 0)
		ret = put_clients(c, e);
	if (ret == 0)
		ret = put_retransmits(c, e);
	if (ret == 0)
		ret = put_quantiles(c, e);
	return ret < 0 ? ret
		       : put_prose(c, e, NOTE, "LIMIT", NULL,
				   "the network's part of the time to an answer, and addresses of "
				   "connections whose opening was not seen.");
}

const struct analysis analysis_net = {
	.name = "net",
	.doc = "Who talked to whom, and how long did answers take",
	.needs = "syscalls",
	.metrics = metrics,
	.rows = 20,
	.run = run,
};
