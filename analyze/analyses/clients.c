// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which clients of a server get slow answers, and which ask for the expensive ones? Clients are
 * told apart by address, without port; workers of one name on one port are one server. Slow turns
 * are those at or above the 99th percentile of all the server's turns, with what requests
 * waited before they were received. A client whose turns are slow because they take more CPU
 * time than the others' asks for more; one whose turns take no more waits. The converse is told
 * too: a client with few of the turns and much of the CPU time is what the others may wait for.
 */
#include "analysis.h"
#include "latency.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SERVERS	    4
#define SHOWN	    5	 /* clients of a server; the others are one row */
#define SLOW_LEAST  20	 /* slow turns; fewer say nothing of who has them */
#define TIMES_MORE  3.0	 /* a client's turns are slow so many times as often as the others' */
#define SHARE_LEAST 10.0 /* %, of slow turns or of CPU time: less is not worth a sentence */
#define DEARER	    2.0	 /* CPU time of a turn, times the others' */

static const struct metric metrics[] = {
	{ "turns", "", NEITHER_IS_BETTER, "turns with an answer" },
	{ "of_turns", "%", NEITHER_IS_BETTER, "of the server's turns" },
	{ "p50", "ns", LOWER_IS_BETTER,
	  "median duration of a turn, with what its request waited before it was received" },
	{ "p99", "ns", LOWER_IS_BETTER, "99th percentile" },
	{ "max", "ns", LOWER_IS_BETTER, "longest" },
	{ "of_slow", "%", LOWER_IS_BETTER,
	  "of the server's slow turns, the slowest hundredth; n: slow turns of the server" },
	{ "cpu", "ns", NEITHER_IS_BETTER,
	  "CPU time a turn: of the thread that received it, until it receives from another or polls" },
	{ "of_cpu", "%", NEITHER_IS_BETTER, "of such CPU time of all clients" },
	{ "received", "bytes", NEITHER_IS_BETTER, "size of a request: mean of a turn" },
	{ "sent", "bytes", NEITHER_IS_BETTER, "size of an answer: mean of a turn" },
	{ "connections", "", NEITHER_IS_BETTER, "connections that moved bytes" },
	{ "apart", "", LOWER_IS_BETTER, "turns in no time: events were lost meanwhile" },
	{ 0 },
};

struct sums {
	char name[96];
	double turns, timed, slow, cpu, received, sent, connections, apart, max;
	int clients;
};

struct server {
	char common[128], title[160];
	struct sums all, rest, shown[SHOWN];
	int n;	      /* of shown */
	double limit; /* ns: turns as long as this are slow */
	bool cpu;     /* CPU time is known */
};

/* Rows of client with the name of their server. */
#define NAMED                                                         \
	"n AS MATERIALIZED (SELECT c.*, s.common FROM client c JOIN " \
	"(SELECT id, " SERVICE_COMMON " AS common FROM service) s ON s.id=c.service)"

static void add(struct sums *s, const struct sums *o)
{
	s->turns += o->turns;
	s->timed += o->timed;
	s->slow += o->slow;
	s->cpu += o->cpu;
	s->received += o->received;
	s->sent += o->sent;
	s->connections += o->connections;
	s->apart += o->apart;
	s->max = fmax(s->max, o->max);
	s->clients += o->clients;
}

/* The bucket that the 99th percentile is in: turns in it and above are slow. */
static int read_limit(struct analysis_ctx *c, struct server *s, struct err *e)
{
	static const char sql[] =
		"WITH " NAMED ", h AS (SELECT low, sum(n) AS n FROM latency WHERE kind='client'"
		" AND item=0 AND subject IN (SELECT id FROM n WHERE common=?) GROUP BY low)"
		" SELECT max(low) FROM (SELECT low, sum(n) OVER (ORDER BY low DESC) AS above,"
		" sum(n) OVER () AS total FROM h) WHERE above >= 0.01 * total";
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "s", s->common);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	s->limit = ret > 0 ? sqlite3_column_double(q, 0) : 0;
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

/* Clients by address: those with most of the slow turns, then of the turns, one by one. */
static int read_clients(struct analysis_ctx *c, struct server *s, struct err *e)
{
	static const char sql[] =
		"WITH " NAMED
		", h AS (SELECT subject, sum(n) AS slow FROM latency WHERE kind='client'"
		" AND item=0 AND low >= ?2 GROUP BY subject)"
		" SELECT address, sum(turns) AS t, sum(turns) - sum(lossy), total(h.slow) AS slow, sum(cpu),"
		" sum(recv_bytes), sum(send_bytes), sum(connections), sum(lossy), max(max)"
		" FROM n LEFT JOIN h ON h.subject=n.id WHERE common=?1 GROUP BY address"
		" HAVING t > 0 ORDER BY address='', slow DESC, t DESC, address";
	sqlite3_stmt *q;
	int i, ret = db_query(&q, c->db, e, sql, "sd", s->common, s->limit);

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		struct sums one = { .clients = 1 };
		double *const values[] = { &one.turns,	     &one.timed,    &one.slow,
					   &one.cpu,	     &one.received, &one.sent,
					   &one.connections, &one.apart,    &one.max };
		const char *name = db_text(q, 0);

		snprintf(one.name, sizeof(one.name), "%s", name);
		for (i = 0; i < (int)(sizeof(values) / sizeof(values[0])); i++)
			*values[i] = sqlite3_column_double(q, i + 1);
		add(&s->all, &one);
		if (name[0] && s->n < SHOWN)
			s->shown[s->n++] = one;
		else
			add(&s->rest, &one);
	}
	sqlite3_finalize(q);
	return ret;
}

/* of the clients that are shown, or of the rest */
static int quantiles(struct analysis_ctx *c, const struct server *s, const struct sums *one,
		     double ret_q[2], struct err *e)
{
	static const char sql[] =
		"WITH " NAMED " SELECT low, max(high), sum(l.n) FROM latency l WHERE kind='client'"
		" AND item=0 AND subject IN (SELECT id FROM n WHERE common=?1 AND iif(?2<>'', address=?2,"
		" address NOT IN (?3, ?4, ?5, ?6, ?7))) GROUP BY low ORDER BY low";
	static const double at[] = { 0.5, 0.99 };
	const char *shown[SHOWN];
	sqlite3_stmt *q;
	int i, ret;

	for (i = 0; i < SHOWN; i++)
		shown[i] = i < s->n ? s->shown[i].name : "/"; /* no address */
	ret = db_query(&q, c->db, e, sql, "sssssss", s->common, one->name, shown[0], shown[1],
		       shown[2], shown[3], shown[4]);
	return ret < 0 ? ret : latency_of(q, at, ret_q, 2, one->max, e);
}

static double percent(double part, double all)
{
	return all > 0 ? 100 * part / all : NAN;
}

/* Wilson's 95 % interval of a share, in %; as if turns were slow independently of each other. */
static void interval(double k, double n, double *low, double *high)
{
	double z = 1.959964, p = k / n, d = 1 + z * z / n;
	double mid = p + z * z / (2 * n), half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n));

	*low = n > 0 ? 100 * fmax((mid - half) / d, 0) : NAN;
	*high = n > 0 ? 100 * fmin((mid + half) / d, 1) : NAN;
}

static int put_client(struct analysis_ctx *c, const struct server *s, const struct sums *one,
		      struct err *e)
{
	const struct sums *all = &s->all;
	double q[2], low, high;
	int ret = quantiles(c, s, one, q, e);
	const struct {
		const char *name;
		double value;
		double n;
	} values[] = {
		{ "turns", one->turns, one->turns },
		{ "of_turns", percent(one->turns, all->turns), all->turns },
		{ "p50", q[0], one->timed },
		{ "p99", q[1], one->timed },
		{ "max", one->timed > 0 ? one->max : NAN, one->timed },
		{ "cpu", s->cpu ? one->cpu / one->turns : NAN, one->turns },
		{ "of_cpu", s->cpu ? percent(one->cpu, all->cpu) : NAN, all->turns },
		{ "received", one->received / one->turns, one->turns },
		{ "sent", one->sent / one->turns, one->turns },
		{ "connections", one->connections, one->connections },
		{ "apart", one->apart, one->turns },
	};
	char subject[300];
	size_t i;

	if (one == &s->rest)
		snprintf(subject, sizeof(subject), "%s < others (%d addresses%s)", s->title,
			 one->clients, one->clients > 9000 ? " or more" : "");
	else
		snprintf(subject, sizeof(subject), "%s < %s", s->title, one->name);
	for (i = 0; i < sizeof(values) / sizeof(values[0]) && ret == 0; i++)
		ret = put_metric(c, e, subject, values[i].name, values[i].value, NO_INTERVAL,
				 (s64)values[i].n);
	interval(one->slow, all->slow, &low, &high);
	return ret < 0 ? ret
		       : put_metric(c, e, subject, "of_slow", percent(one->slow, all->slow), low,
				    high, (s64)all->slow);
}

/* ": it asks for more, ...": the client's CPU time a turn beside the others' */
static void compare_cpu(const struct server *s, const struct sums *one, char *text, size_t size)
{
	double own = one->cpu / one->turns, rest;

	rest = (s->all.cpu - one->cpu) / (s->all.turns - one->turns);
	if (!s->cpu)
		snprintf(text, size, "; without group sched it cannot be told why");
	else if (own >= DEARER * rest)
		snprintf(text, size,
			 ": it asks for more, %.1f us of CPU time a turn, the others %.1f us",
			 own / 1e3, rest / 1e3);
	else
		snprintf(text, size,
			 ": its turns wait, their CPU time (%.1f us a turn) is about the others' "
			 "(%.1f us) or less",
			 own / 1e3, rest / 1e3);
}

static int put_sentence(struct analysis_ctx *c, const struct server *s, const struct sums *one,
			struct err *e)
{
	static const char waits_sql[] =
		"SELECT c.address, s.name, count(*) AS turns, sum(w.dur) / 1e9 AS seconds FROM turn t"
		" JOIN turn_wait w ON w.turn=t.rowid JOIN state s ON s.id=w.state"
		" JOIN client c ON c.id=t.client GROUP BY 1, 2 ORDER BY 1, 4 DESC";
	double others = s->all.turns - one->turns, slow = s->all.slow - one->slow;
	double of_slow = percent(one->slow, s->all.slow),
	       of_turns = percent(one->turns, s->all.turns);
	double of_cpu = percent(one->cpu, s->all.cpu);
	char why[200];

	if (others <= 0)
		return 0;
	if (one->slow >= SLOW_LEAST && of_slow >= SHARE_LEAST &&
	    one->slow / one->turns >= TIMES_MORE * slow / others) {
		compare_cpu(s, one, why, sizeof(why));
		return put_prose(
			c, e, NOTE, "OBSERVED", waits_sql,
			"%s: %s has %.0f %% of the slow turns (%.0f of %.0f that took %.3g "
			"ms or longer) with %.1f %% of the turns%s.",
			s->title, one->name, of_slow, one->slow, s->all.slow, s->limit / 1e6,
			of_turns, why);
	}
	if (s->cpu && of_cpu >= SHARE_LEAST && of_cpu >= TIMES_MORE * of_turns &&
	    one->turns >= SLOW_LEAST)
		return put_prose(c, e, NOTE, "OBSERVED", waits_sql,
				 "%s: %s asks for the expensive answers, it has %.0f %% of the "
				 "clients' CPU time with %.1f %% of the turns.",
				 s->title, one->name, of_cpu, of_turns);
	return 0;
}

static int analyse_server(struct analysis_ctx *c, struct server *s, struct err *e)
{
	int i, ret = read_limit(c, s, e);

	if (ret == 0)
		ret = read_clients(c, s, e);
	for (i = 0; i < s->n && ret == 0; i++)
		ret = put_client(c, s, &s->shown[i], e);
	if (ret == 0 && s->rest.turns > 0)
		ret = put_client(c, s, &s->rest, e);
	for (i = 0; i < s->n && ret == 0; i++)
		ret = put_sentence(c, s, &s->shown[i], e);
	return ret;
}

static int run(struct analysis_ctx *c, struct err *e)
{
	static const char sql[] =
		"SELECT " SERVICE_COMMON ", " SERVICE_TITLE
		" FROM service WHERE id IN (SELECT service FROM client WHERE turns > 0)"
		" GROUP BY 1 ORDER BY sum(turns) DESC, 1 LIMIT ?";
	s64 switches = 0;
	sqlite3_stmt *q;
	int ret = db_int(c->db, &switches, e,
			 "SELECT count(*) FROM coverage WHERE grp='sched' AND records > 0", "");

	if (ret == 0)
		ret = db_query(&q, c->db, e, sql, "i", (s64)SERVERS);
	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		struct server s = { .cpu = switches > 0 };

		snprintf(s.common, sizeof(s.common), "%s", db_text(q, 0));
		snprintf(s.title, sizeof(s.title), "%s", db_text(q, 1));
		ret = analyse_server(c, &s, e);
		if (ret < 0)
			break;
	}
	sqlite3_finalize(q);
	return ret;
}

const struct analysis analysis_clients = {
	.name = "clients",
	.doc = "Which clients get slow answers, and which ask for the expensive ones",
	.needs = "syscalls",
	.metrics = metrics,
	.rows = SERVERS * (SHOWN + 1),
	.run = run,
};
