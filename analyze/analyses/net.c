// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Connections by process, role and other end, and how long others took to answer: from the
 * last send on a connected socket to the first receive after it, the network included.
 */
#include "analysis.h"

static const struct metric metrics[] = {
	{ "connections", "", NEITHER_IS_BETTER, "fds; copies after fork count" },
	{ "open", "", NEITHER_IS_BETTER, "of these, not closed" },
	{ "exchanges", "", NEITHER_IS_BETTER, "requests to it that were answered" },
	{ "rate", "1/s", NEITHER_IS_BETTER, "exchanges per second" },
	{ "sent", "bytes", NEITHER_IS_BETTER, "in requests to it; of TCP, acknowledged" },
	{ "received", "bytes", NEITHER_IS_BETTER, "of TCP: from the other end" },
	{ "answer", "ns", LOWER_IS_BETTER, "mean time to its first answer" },
	{ "max", "ns", LOWER_IS_BETTER, "longest" },
	{ "excluded", "", LOWER_IS_BETTER, "exchanges that overlap lost events" },
	{ "handshake", "ns", LOWER_IS_BETTER, "mean time to establish a connection to it" },
	{ "handshake_max", "ns", LOWER_IS_BETTER, "longest" },
	{ "accept_delay", "ns", LOWER_IS_BETTER, "mean time from established to accepted" },
	{ "accept_delay_max", "ns", LOWER_IS_BETTER, "longest" },
	{ "failed", "", LOWER_IS_BETTER, "connections closed before they were established" },
	{ "retransmits", "", LOWER_IS_BETTER, "segments sent again" },
	{ "rtt", "ns", LOWER_IS_BETTER, "mean of the kernel's smoothed round-trip times" },
	{ "p50", "ns", LOWER_IS_BETTER, "median time to the answer, all of the process's peers" },
	{ "p99", "ns", LOWER_IS_BETTER, "99th percentile" },
	{ 0 },
};

#define LOCAL "coalesce(nullif(f.local,''),'a socket without an internet address')"

/* Accepted connections by local address; connected ones are with their exchanges. */
static const char connections_sql[] =
	"SELECT f.pid AS id, CASE f.role WHEN 'accepted' THEN ' accepts on ' WHEN 'listening' THEN"
	" ' listens on ' ELSE ' is bound to ' END || " LOCAL " AS part, count(*) AS n,"
	" count(*) AS connections, sum(f.end IS NULL) AS open FROM fd f WHERE f.kind='socket'"
	" AND f.role NOT IN ('', 'connected') GROUP BY f.pid, part ORDER BY count(*) DESC, f.pid, part";

/*
 * Connected sockets by remote address, with the exchanges on them. An fd number that meant several
 * of them is looked up by time; for others, which are nearly all, that would only be slow.
 */
static const char peers_sql[] =
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
	" sum(lossy) AS excluded FROM upstream e GROUP BY e.pid, e.fd, 3),"
	" y AS (SELECT x.pid, coalesce(n.peer, o.peer) AS peer, total(x.n) AS n, total(x.bytes) AS bytes,"
	" total(x.ns) AS ns, max(x.most) AS most, total(x.excluded) AS excluded FROM x LEFT JOIN n ON n.id=x.id"
	" LEFT JOIN o ON o.pid=x.pid AND o.fd=x.fd GROUP BY 1, 2),"
	" s AS (SELECT pid, peer, count(*) AS sockets, sum(end IS NULL) AS still FROM n GROUP BY 1, 2)"
	" SELECT s.pid AS id, ' connects to ' || s.peer AS part, total(y.n) AS n, s.sockets AS connections,"
	" s.still AS open, total(y.n) AS exchanges, total(y.n) * 1e9 / ?1 AS rate, total(y.bytes) AS sent,"
	" total(y.ns) / nullif(total(y.n), 0) AS answer, max(y.most) AS max, total(y.excluded) AS excluded"
	" FROM s LEFT JOIN y ON y.pid=s.pid AND y.peer=s.peer GROUP BY s.pid, s.peer"
	" ORDER BY total(y.ns) DESC, s.pid, s.peer";

/* From TCP: handshakes, waits for accept, segments sent again. Needs group net. */
static const char tcp_sql[] =
	"SELECT iif(c.pid IS NULL, 'none', 'process') AS kind, c.pid AS id, iif(c.pid IS NULL, '', ' ') ||"
	" CASE c.role WHEN 'accepted' THEN 'TCP on ' || c.local WHEN 'connected' THEN 'TCP to ' || c.remote"
	" ELSE 'TCP opened before' END AS part, count(*) AS n, count(*) AS connections, sum(c.end IS NULL)"
	" AS open, count(c.handshake) AS n, avg(c.handshake) AS handshake, count(c.accept_delay) AS n,"
	" avg(c.accept_delay) AS accept_delay, count(*) AS n, sum(c.failed) AS failed, sum(c.retransmits) AS"
	" retransmits, avg(nullif(c.srtt,0)) AS rtt, count(c.handshake) AS n, max(c.handshake) AS"
	" handshake_max, count(c.accept_delay) AS n, max(c.accept_delay) AS accept_delay_max, count(*) AS n, sum(c.sent)"
	" AS sent, sum(c.received) AS received FROM connection c GROUP BY c.pid, part"
	" ORDER BY sum(c.retransmits) DESC, count(*) DESC, c.pid, part";

static const char answers_sql[] =
	"SELECT subject AS id, ', all answers' AS part, sum(n) AS n, sum(n) AS exchanges,"
	" quantile(0.5, NULL, 'upstream', subject, 0) AS p50,"
	" quantile(0.99, NULL, 'upstream', subject, 0) AS p99 FROM latency WHERE kind='upstream'"
	" GROUP BY subject ORDER BY sum(latency.n * low) DESC, subject LIMIT 5";

/* By the other end; ports of clients carry no meaning. */
#define PEERS(column)                                                                              \
	"SELECT 'peer', '', sum(" column                                                           \
	"), 'none', 0, iif(role='accepted', 'clients of ' || local,"                               \
	" coalesce(nullif(remote,''),'?')) AS who FROM connection GROUP BY who HAVING sum(" column \
	") > 0 ORDER BY 3 DESC, who LIMIT 4"

static const struct finding_query findings[] = {
	{ FINDING_connections_accepted, NOTE, OBSERVED,
	  "SELECT address, sum(connections) FROM client GROUP BY address",
	  "SELECT sum(connections) AS n FROM client HAVING n > 0",
	  "SELECT 'client', '', sum(connections), 'none', 0, coalesce(nullif(address,''),'others') FROM"
	  " client GROUP BY address HAVING sum(connections) > 0 ORDER BY 3 DESC, address LIMIT 5" },
	/* one receive answers one send: else sends without an answer are no questions */
	{ FINDING_upstream_outstanding, NOTE, OVERLAP, "SELECT * FROM upstream_use",
	  "SELECT 'process' AS kind, u.pid AS id, coalesce(nullif(f.remote,''),nullif(f.path,''),'?') AS peer,"
	  " max(u.most) AS most, total(u.waited) / sum(u.answers) AS \"mean:ns\", sum(u.answers) AS n FROM"
	  " upstream_use u JOIN fd f ON f.pid=u.pid AND f.fd=u.fd AND f.ts=u.ts WHERE"
	  " 10 * u.most <= u.sends AND abs(u.sends - u.answers) <= u.most GROUP BY u.pid, peer"
	  " ORDER BY total(u.waited) DESC LIMIT 5",
	  NULL },
	{ FINDING_retransmits, WARNING, OBSERVED, "SELECT * FROM connection WHERE retransmits > 0",
	  "SELECT sum(retransmits) AS n FROM connection HAVING n > 0", PEERS("retransmits") },
	{ FINDING_accept_queues_else, NOTE, OBSERVED, "SELECT * FROM accept_queue",
	  "SELECT sum(overflows) AS n FROM accept_queue HAVING n > 0 AND NOT EXISTS (SELECT 1 FROM"
	  " accept_queue WHERE drops > 0 AND ino IN (SELECT ino FROM fd WHERE role='listening'))",
	  NULL },
	{ FINDING_connects_failed, WARNING, OBSERVED, "SELECT * FROM connection WHERE failed > 0",
	  "SELECT sum(failed) AS n FROM connection HAVING n > 0", PEERS("failed") },
};

static int run(struct analysis_ctx *c, struct err *e)
{
	size_t i;

	(void)e;
	put_table(c, SUBJECT_process, peers_sql, "i", c->duration ? c->duration : (s64)1);
	put_table(c, SUBJECT_process, connections_sql, "");
	put_table(c, SUBJECT_process, tcp_sql, "");
	for (i = 0; i < sizeof(findings) / sizeof(findings[0]); i++)
		find_rows(c, &findings[i], "");
	put_table(c, SUBJECT_process, answers_sql, "");
	add_limit(c, FINDING_network_unseen);
	return c->err;
}

const struct analysis analysis_net = {
	.name = "net",
	.doc = "Which connections were used, and how long did answers take",
	.needs = "syscalls",
	.metrics = metrics,
	.rows = 20,
	.run = run,
};
