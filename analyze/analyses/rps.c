// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How many requests a second did each process answer on each server socket? Three
 * series that need nothing of the program itself: sends (the system call is chosen by how
 * steady its number in a turn is), turns (receives, then sends, on one connection), and returns
 * of probed functions. r sends between the first and the last make (r - 1) / (t_r - t_1) a
 * second. If events were lost, rates come from the windows without loss.
 *
 * Sends are requests only if each request is answered by one send: sends a turn, their spread
 * and the slope of a line through windows say so. Turns are requests unless several requests share
 * a turn: how turns look says whether that is so. The interval of a rate follows from the
 * dispersion of counts in windows (stats.h).
 *
 * Where several processes share one socket (workers, a process for each connection), who asks
 * wants to know about the server: all of them are one more row, and the sentences are about that.
 */
#include "analysis.h"

#include "analyze/base/number.h"
#include "analyze/stats/stats.h"
#include "analyze/stats/stats_series.h"
#include "latency.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENOUGH	    30	 /* events; fewer make no rate */
#define STEADY	    0.25 /* spread of sends a turn up to which their number is called constant */
#define COVERS	    0.5	 /* of the turns: a call in fewer of them is not what answers requests */
#define NOTABLE	    0.05 /* share of turns of a shape that is worth a sentence */
#define WINDOWS_MAX 1000000

/* Services that a row is about: the one with id ?1, or, if that is negative, all of the name ?2. */
#define MEMBERS \
	"(SELECT id FROM service WHERE iif(?1 >= 0, id=?1, turns > 0 AND " SERVICE_COMMON "=?2))"

static const struct metric metrics[] = {
	{ "turns", "1/s", HIGHER_IS_BETTER, "turns a second: requests, if they are not pipelined" },
	{ "sends", "1/s", HIGHER_IS_BETTER, "sends a second by the chosen call" },
	{ "calls", "1/s", HIGHER_IS_BETTER, "returns of the probed function a second" },
	{ "sends/turn", "", NEITHER_IS_BETTER, "mean number of the chosen call in a turn" },
	{ "spread", "", LOWER_IS_BETTER, "coefficient of variation of that number" },
	{ "slope", "", NEITHER_IS_BETTER,
	  "sends of all calls per turn: line through the origin and the counts in windows" },
	{ "latency", "ns", LOWER_IS_BETTER, "mean duration of a turn, first receive to last send" },
	{ "p50", "ns", LOWER_IS_BETTER, "its median" },
	{ "p99", "ns", LOWER_IS_BETTER, "its 99th percentile" },
	{ "dispersion", "", NEITHER_IS_BETTER,
	  "of turns in windows: 1 random, 0 regular, above 1 bursts" },
	{ "received", "B/s", NEITHER_IS_BETTER,
	  "bytes received a second: in step with requests, however many share a turn" },
	{ "sent", "B/s", NEITHER_IS_BETTER, "bytes sent a second" },
	{ "connections", "", NEITHER_IS_BETTER, "connections that moved bytes" },
	{ "waiting", "", LOWER_IS_BETTER, "most turns that waited for their answer at one time" },
	{ "1:N", "%", NEITHER_IS_BETTER, "turns of one receive and several sends" },
	{ "N:1", "%", NEITHER_IS_BETTER, "turns of several receives and one send" },
	{ "N:N", "%", NEITHER_IS_BETTER, "turns of several receives and several sends" },
	{ 0 },
};

struct server {
	s64 id; /* -1: several processes */
	char name[128], common[96];
	bool function, member; /* member: another row is about this and others */
	char send_call[32], recv_call[32];
	double sends, send_rate;	  /* of the chosen call */
	double sends_per_turn, spread;	  /* of the chosen call */
	double all_per_turn, all_spread;  /* of all calls */
	double turns, turn_rate, seconds; /* between the first and the last */
	double first, last;		  /* turns, ns */
	double latency, latency_max, q[2];
	double one_many, many_one, many_many, paired, handed_over; /* turns */
	double bytes[2]; /* a second: received, sent; NAN: not known */
	double connections, most_open;
	double *counts[2];     /* turns, sends: of whole windows without loss, first to last turn */
	size_t windows, lossy; /* how many; how many were left out */
	double window;	       /* s */
	double dispersion;     /* of turns */
	struct line line;
};

/*
 * The call of server sockets whose number in a turn is steadiest, among those that occur in
 * most turns; of equals the one that moved bytes most often.
 */
static int choose_call(struct analysis_ctx *c, struct server *s, bool send, struct err *e)
{
	static const char sql[] =
		"WITH u AS (SELECT abi, nr, sum(n) AS n, min(first) AS first, max(last) AS last,"
		" sum(turns) AS turns, sum(turn_calls) AS turn_calls, sum(turn_squares) AS turn_squares"
		" FROM socket_use WHERE service IN " MEMBERS " AND send=?3 GROUP BY abi, nr)"
		" SELECT n.name, u.n, u.first, u.last, u.turn_calls, u.turn_squares,"
		" u.turns >= ?4 * max(max(u.turns) OVER (), 1) AS covers,"
		" u.turn_squares * 1.0 * max(?5, 1) / nullif(u.turn_calls * 1.0 * u.turn_calls, 0) AS unsteady"
		" FROM u JOIN syscall_name n USING(abi, nr)"
		" ORDER BY covers DESC, round(unsteady, 3), u.n DESC, n.name LIMIT 1";
	char *name = send ? s->send_call : s->recv_call;
	sqlite3_stmt *q;
	double span, mean;
	int ret =
		db_query(&q, c->db, e, sql, "isidd", s->id, s->common, (s64)send, COVERS, s->turns);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		snprintf(name, sizeof(s->send_call), "%s", sqlite3_column_text(q, 0));
		span = sqlite3_column_double(q, 3) - sqlite3_column_double(q, 2);
		if (send && s->turns) {
			s->sends = sqlite3_column_double(q, 1);
			s->send_rate = span > 0 ? (s->sends - 1) / span * 1e9 : NAN;
			s->sends_per_turn = mean = sqlite3_column_double(q, 4) / s->turns;
			s->spread = sqrt(fmax(sqlite3_column_double(q, 5) / s->turns - mean * mean,
					      0)) /
				    mean;
		}
	}
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

/* Bytes a second of all calls; unknown where a call moves several messages. */
static int read_bytes(struct analysis_ctx *c, struct server *s, struct err *e)
{
	static const char sql[] =
		"SELECT send, sum(bytes) * 1e9 / nullif(max(last) - min(first), 0), min(bytes) > 0"
		" FROM socket_use WHERE service IN " MEMBERS " GROUP BY send";
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "is", s->id, s->common);

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0)
		if (sqlite3_column_int(q, 2))
			s->bytes[sqlite3_column_int(q, 0) != 0] = sqlite3_column_double(q, 1);
	sqlite3_finalize(q);
	return ret;
}

static bool room(struct server *s, size_t cap)
{
	double *turns = realloc(s->counts[0], cap * sizeof(*turns));
	double *sends = turns ? realloc(s->counts[1], cap * sizeof(*sends)) : NULL;

	s->counts[0] = turns ? turns : s->counts[0];
	s->counts[1] = sends ? sends : s->counts[1];
	return turns && sends;
}

/* Counts in the whole windows between the first and the last turn. */
static int read_windows(struct analysis_ctx *c, struct server *s, struct err *e)
{
	static const char sql[] =
		"WITH RECURSIVE g(step) AS (SELECT value / 10 FROM recording WHERE key='step_ns'),"
		" w(ts) AS (SELECT (?3 / step + 1) * step FROM g UNION ALL"
		" SELECT ts + step FROM w, g WHERE ts + 2 * step <= ?4 LIMIT 1000000),"
		" r AS MATERIALIZED (SELECT ts, sum(turns) AS turns, sum(sends) AS sends"
		" FROM request_window WHERE service IN " MEMBERS " GROUP BY ts)"
		" SELECT coalesce(r.turns, 0), coalesce(r.sends, 0),"
		" EXISTS(SELECT 1 FROM loss l WHERE l.reason<>'unlocated'"
		" AND l.grp=iif(?5, 'uprobe', 'syscalls')"
		" AND l.ts < w.ts + g.step AND l.ts + l.dur >= w.ts), g.step"
		" FROM w, g LEFT JOIN r ON r.ts=w.ts"
		" WHERE w.ts + g.step <= ?4";
	size_t cap = 0;
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "isiii", s->id, s->common, (s64)s->first,
			   (s64)s->last, (s64)s->function);

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0 && s->windows < WINDOWS_MAX) {
		if (s->windows == cap && !room(s, cap = cap ? 2 * cap : 256)) {
			ret = err_set(e, ERR_FAIL, "out of memory for windows");
			break;
		}
		s->window = sqlite3_column_double(q, 3) / 1e9;
		s->counts[0][s->windows] = sqlite3_column_double(q, 0);
		s->counts[1][s->windows] = sqlite3_column_double(q, 1);
		if (sqlite3_column_int(q, 2))
			s->lossy++;
		else
			s->windows++;
	}
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

/* Rates where nothing was lost; what a lossy window lacks would make them too low. */
static void use_windows(struct server *s)
{
	double turns = stats_mean(s->counts[0], s->windows) / s->window;

	s->dispersion = stats_dispersion(s->counts[0], s->windows);
	s->line = stats_line(s->counts[0], s->counts[1], s->windows);
	if (!s->lossy)
		return;
	s->send_rate *= s->turn_rate > 0 ? turns / s->turn_rate : NAN;
	s->bytes[0] *= s->turn_rate > 0 ? turns / s->turn_rate : NAN;
	s->bytes[1] *= s->turn_rate > 0 ? turns / s->turn_rate : NAN;
	s->turn_rate = turns;
}

static int put_server(struct analysis_ctx *c, const struct server *s, struct err *e)
{
	double error = stats_rate_error(s->dispersion, s->turns, s->windows);
	double send_error =
		stats_rate_error(s->dispersion * s->sends_per_turn, s->sends, s->windows);
	bool f = s->function;
	const struct {
		const char *name;
		double value, low, high, n;
	} values[] = {
		{ "turns", f ? NAN : s->turn_rate, 1 - error, 1 + error, s->turns },
		{ "sends", f ? NAN : s->send_rate, 1 - send_error, 1 + send_error, s->sends },
		{ "calls", f ? s->turn_rate : NAN, 1 - error, 1 + error, s->turns },
		{ "sends/turn", f ? NAN : s->sends_per_turn, NO_INTERVAL, s->turns },
		{ "spread", f ? NAN : s->spread, NO_INTERVAL, s->turns },
		{ "slope", f ? NAN : s->line.slope, s->line.low / s->line.slope,
		  s->line.high / s->line.slope, s->windows },
		{ "latency", s->latency, NO_INTERVAL, s->turns },
		{ "p50", s->q[0], NO_INTERVAL, s->turns },
		{ "p99", s->q[1], NO_INTERVAL, s->turns },
		{ "dispersion", s->dispersion, NO_INTERVAL, s->windows },
		{ "received", s->bytes[0], NO_INTERVAL, s->turns },
		{ "sent", s->bytes[1], NO_INTERVAL, s->turns },
		{ "connections", f ? NAN : s->connections, NO_INTERVAL, s->turns },
		{ "waiting", f ? NAN : s->most_open, NO_INTERVAL, s->turns },
		{ "1:N", 100 * s->one_many / s->turns, NO_INTERVAL, s->turns },
		{ "N:1", 100 * s->many_one / s->turns, NO_INTERVAL, s->turns },
		{ "N:N", 100 * s->many_many / s->turns, NO_INTERVAL, s->turns },
	};
	size_t i;
	int ret = 0;

	for (i = 0; i < sizeof(values) / sizeof(values[0]) && ret == 0; i++)
		ret = put_metric(c, e, s->name, values[i].name, values[i].value,
				 values[i].value * values[i].low, values[i].value * values[i].high,
				 (s64)values[i].n);
	return ret;
}

static const char windows_sql[] =
	"SELECT s.name, w.ts / 1000000000 AS second, sum(w.recvs) AS receives, sum(w.sends) AS sends,"
	" sum(w.turns) AS turns FROM request_window w JOIN service s ON s.id=w.service"
	" GROUP BY w.service, second";
static const char shapes_sql[] =
	"SELECT name, turns, one_many, many_one, many_many, paired, handed_over, most_open FROM service WHERE kind<>'function'";

/* Whether sends can stand for requests. */
static int put_ratio(struct analysis_ctx *c, const struct server *s, struct err *e)
{
	if (s->spread > STEADY)
		return put_prose(
			c, e, WARNING, "OBSERVED", windows_sql,
			"%s sends %.2f times a turn with a spread of %.0f %%: the rate of "
			"sends is only proportional to that of requests, and not steadily.",
			s->name, s->sends_per_turn, 100 * s->spread);
	if (fabs(s->sends_per_turn - 1) > 0.01)
		return put_prose(c, e, NOTE, "OBSERVED", windows_sql,
				 "%s sends %.2f times a turn, nearly always: divide the rate of "
				 "sends by it.",
				 s->name, s->sends_per_turn);
	return 0;
}

/* Whether turns can stand for requests. */
static int put_shapes(struct analysis_ctx *c, const struct server *s, struct err *e)
{
	double notable = NOTABLE * s->turns;
	int ret = 0;

	if (s->many_many > notable)
		ret = put_prose(
			c, e, WARNING, "OBSERVED", shapes_sql,
			"%s: in %.0f %% of its turns several receives are followed by several sends%s: "
			"requests are %s on its connections, so turns are fewer than requests.",
			s->name, 100 * s->many_many / s->turns,
			2 * s->paired > s->many_many ? ", as many as receives in most" : "",
			2 * s->handed_over > s->turns ? "multiplexed (other threads answer)"
						      : "pipelined or multiplexed");
	if (ret == 0 && s->many_one > notable)
		ret = put_prose(
			c, e, NOTE, "OBSERVED", shapes_sql,
			"%s: N:1, in %.0f %% of its turns several receives make one request.",
			s->name, 100 * s->many_one / s->turns);
	if (ret == 0 && s->one_many > notable)
		ret = put_prose(
			c, e, NOTE, "OBSERVED", shapes_sql,
			"%s: 1:N, in %.0f %% of its turns several sends answer one request.",
			s->name, 100 * s->one_many / s->turns);
	return ret;
}

static int put_sentences(struct analysis_ctx *c, const struct server *s, struct err *e)
{
	char left_out[80] = "";
	int ret;

	if (s->lossy)
		snprintf(left_out, sizeof(left_out),
			 " (of the %zu windows without loss; %zu were left out)", s->windows,
			 s->lossy);
	if (s->function)
		return put_prose(c, e, NOTE, "OBSERVED", windows_sql,
				 "%s returned %s times in %.2f s, %s a second%s.", s->name,
				 counted(s->turns).text, s->seconds, counted(s->turn_rate).text,
				 left_out);
	ret = put_prose(
		c, e, NOTE, "OBSERVED", windows_sql,
		"%s answered %s turns in %.2f s, %s a second%s, on %s connection%s; it receives "
		"by %s and sends by %s, the calls whose number in a turn is steadiest.",
		s->name, counted(s->turns).text, s->seconds, counted(s->turn_rate).text, left_out,
		counted(s->connections).text, s->connections == 1 ? "" : "s", s->recv_call,
		s->send_call);
	if (ret == 0)
		ret = put_ratio(c, s, e);
	return ret < 0 ? ret : put_shapes(c, s, e);
}

static int read_quantiles(struct analysis_ctx *c, struct server *s, struct err *e)
{
	static const double at[] = { 0.5, 0.99 };
	sqlite3_stmt *q;
	int ret = db_query(
		&q, c->db, e,
		"SELECT low, max(high), sum(n) FROM latency WHERE kind='service' AND item=0"
		" AND subject IN " MEMBERS " GROUP BY low ORDER BY low",
		"is", s->id, s->common);

	return ret < 0 ? ret : latency_of(q, at, s->q, 2, s->latency_max, e);
}

static int analyse_server(struct analysis_ctx *c, struct server *s, struct err *e)
{
	int ret;

	if (s->turns < ENOUGH && s->member)
		return 0;
	if (s->turns < ENOUGH)
		return put_prose(c, e, NOTE, "LIMIT", NULL,
				 "%s answered only %.0f %s: too few for a rate (%d are needed).",
				 s->name, s->turns, s->function ? "calls" : "turns", ENOUGH);
	s->seconds = (s->last - s->first) / 1e9;
	s->turn_rate = s->seconds > 0 ? (s->turns - 1) / s->seconds : NAN;
	ret = choose_call(c, s, true, e);
	if (ret == 0)
		ret = choose_call(c, s, false, e);
	if (ret == 0)
		ret = read_bytes(c, s, e);
	if (ret == 0)
		ret = read_windows(c, s, e);
	if (ret == 0)
		ret = read_quantiles(c, s, e);
	if (ret < 0)
		return ret;
	use_windows(s);
	ret = put_server(c, s, e);
	return ret < 0 || s->member ? ret : put_sentences(c, s, e);
}

static void read_server(struct server *s, sqlite3_stmt *q)
{
	double *const numbers[] = { &s->turns,	     &s->first,	      &s->last,
				    &s->latency,     &s->latency_max, &s->one_many,
				    &s->many_one,    &s->many_many,   &s->paired,

				    &s->handed_over, &s->connections, &s->most_open };
	size_t i;

	s->id = sqlite3_column_int64(q, 0);
	snprintf(s->name, sizeof(s->name), "%s", sqlite3_column_text(q, 1));
	s->function = sqlite3_column_int(q, 2);
	snprintf(s->common, sizeof(s->common), "%s", sqlite3_column_text(q, 3));
	s->member = sqlite3_column_int(q, 4);
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		*numbers[i] = sqlite3_column_double(q, 5 + (int)i);
	if (s->id < 0) /* maxima of several processes need not be of one time */
		s->most_open = NAN;
	s->latency = s->turns && s->latency_max > 0 ? s->latency / s->turns : NAN;
	s->sends_per_turn = s->spread = s->send_rate = s->bytes[0] = s->bytes[1] = NAN;
}

static int run(struct analysis_ctx *c, struct err *e)
{
	static const char sql[] =
		"WITH s AS MATERIALIZED (SELECT *, kind='function' AS function, " SERVICE_COMMON
		" AS common FROM service),"
		" several AS MATERIALIZED (SELECT common, count(*) AS n FROM s WHERE turns > 0"
		" GROUP BY common HAVING count(DISTINCT pid) > 1)"
		" SELECT -1, common || ' (' || g.n || ' processes)', function, common, 0, sum(turns) AS turns,"
		" min(first_turn), max(last_turn), sum(latency_sum), max(latency_max), sum(one_many),"
		" sum(many_one), sum(many_many), sum(paired),"
		" sum(handed_over),"
		" sum(connections), NULL FROM several g JOIN s USING(common) WHERE turns > 0"
		" GROUP BY common UNION ALL"
		" SELECT id, name, function, common, g.n IS NOT NULL, turns, first_turn, last_turn,"
		" latency_sum, latency_max, one_many, many_one, many_many, paired,"
		" handed_over, connections, most_open FROM s LEFT JOIN several g USING(common)"
		" ORDER BY 3, turns DESC, 1";
	sqlite3_stmt *q;
	int n = 0, ret = db_query(&q, c->db, e, sql, "");

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		struct server s = { 0 };

		read_server(&s, q);
		n += !s.function;
		ret = analyse_server(c, &s, e);
		free(s.counts[0]);
		free(s.counts[1]);
		if (ret < 0)
			break;
	}
	sqlite3_finalize(q);
	if (ret == 0 && n == 0)
		ret = put_prose(
			c, e, NOTE, "LIMIT", NULL,
			"no request rates: no recorded process moved bytes on an accepted or "
			"bound socket.");
	return ret;
}

const struct analysis analysis_rps = {
	.name = "rps",
	.doc = "How many requests a second",
	.needs = "syscalls",
	.metrics = metrics,
	.rows = 10,
	.run = run,
};
