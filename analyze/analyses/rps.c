// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How many requests a second did each server process answer? Three series that need
 * nothing of the program itself: sends on its server sockets (the system call is
 * chosen by count), turns (receives, then sends, on one socket), and returns of probed
 * functions. r sends between the first and the last make (r - 1) / (t_r - t_1) a second.
 *
 * Sends are requests only if each request is answered by one send: sends a turn and
 * their spread say so. The interval follows from the dispersion of the counts in
 * windows (stats.h); windows in which events were lost are left out of it.
 */
#include "analyze/analysis.h"
#include "analyze/stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENOUGH	    30	 /* events; fewer make no rate */
#define STEADY	    0.25 /* spread of sends a turn up to which their number is called constant */
#define WINDOWS_MAX 1000000

static const struct metric metrics[] = {
	{ "turns", "1/s", HIGHER_IS_BETTER, "turns a second: requests, if they are not pipelined" },
	{ "sends", "1/s", HIGHER_IS_BETTER, "sends a second by the chosen call" },
	{ "calls", "1/s", HIGHER_IS_BETTER, "returns of probed functions a second" },
	{ "sends/turn", "", NEITHER_IS_BETTER, "mean number of sends in a turn" },
	{ "spread", "", LOWER_IS_BETTER, "coefficient of variation of sends in a turn" },
	{ "latency", "ns", LOWER_IS_BETTER, "mean duration of a turn, first receive to last send" },
	{ "dispersion", "", NEITHER_IS_BETTER,
	  "of turns in windows: 1 random, 0 regular, above 1 bursts" },
	{ 0 },
};

struct server {
	s64 pid;
	char name[64];
	char send_call[32], recv_call[32];
	double sends, send_rate; /* of the chosen call */
	double turns, turn_rate;
	double sends_per_turn, spread;
	double latency;
	double calls, call_rate;
	double dispersion; /* of turns */
	size_t windows;	   /* between first and last turn, without loss */
};

/* The call that moved bytes most often, among sends or receives on server sockets. */
static int choose_call(struct analysis_ctx *c, struct server *s, bool send, struct err *e)
{
	static const char sql[] =
		"SELECT n.name, u.n, u.first, u.last FROM socket_use u"
		" JOIN syscall_name n USING(abi, nr)"
		" WHERE u.pid=? AND u.server=1 AND u.send=? ORDER BY u.n DESC, n.name LIMIT 1";
	char *name = send ? s->send_call : s->recv_call;
	sqlite3_stmt *q;
	double span;
	int ret = db_query(&q, c->db, e, sql, "ii", s->pid, (s64)send);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		snprintf(name, sizeof(s->send_call), "%s", sqlite3_column_text(q, 0));
		span = sqlite3_column_double(q, 3) - sqlite3_column_double(q, 2);
		if (send) {
			s->sends = sqlite3_column_double(q, 1);
			s->send_rate = span > 0 ? (s->sends - 1) / span * 1e9 : NAN;
		}
	}
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

static int read_turns(struct analysis_ctx *c, struct server *s, struct err *e)
{
	static const char sql[] = "SELECT count(*), min(ts + dur), max(ts + dur), avg(sends),"
				  " avg(sends * sends), avg(dur) FROM turn WHERE pid=?";
	sqlite3_stmt *q;
	double span, mean, square;
	int ret = db_query(&q, c->db, e, sql, "i", s->pid);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		s->turns = sqlite3_column_double(q, 0);
		span = sqlite3_column_double(q, 2) - sqlite3_column_double(q, 1);
		s->turn_rate = span > 0 ? (s->turns - 1) / span * 1e9 : NAN;
		mean = sqlite3_column_double(q, 3);
		square = sqlite3_column_double(q, 4);
		s->sends_per_turn = s->turns ? mean : NAN;
		s->spread = s->turns && mean > 0 ? sqrt(fmax(square - mean * mean, 0)) / mean : NAN;
		s->latency = s->turns ? sqlite3_column_double(q, 5) : NAN;
	}
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

/* Counts of turns in the whole windows between the first and the last turn. */
static int read_windows(struct analysis_ctx *c, struct server *s, struct err *e)
{
	static const char sql[] =
		"SELECT w.turns FROM request_window w WHERE w.pid=?1"
		" AND w.ts > (SELECT min(ts + dur) FROM turn WHERE pid=?1)"
		" AND w.ts + w.dur < (SELECT max(ts + dur) FROM turn WHERE pid=?1)"
		" AND NOT EXISTS(SELECT 1 FROM loss l WHERE l.reason<>'missed'"
		" AND l.ts < w.ts + w.dur AND l.ts + l.dur > w.ts)";
	double *counts = NULL, *grown;
	size_t cap = 0;
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "i", s->pid);

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0 && s->windows < WINDOWS_MAX) {
		if (s->windows == cap) {
			cap = cap ? 2 * cap : 256;
			grown = realloc(counts, cap * sizeof(*grown));
			if (!grown) {
				ret = err_set(e, ERR_FAIL, "out of memory for windows");
				break;
			}
			counts = grown;
		}
		counts[s->windows++] = sqlite3_column_double(q, 0);
	}
	s->dispersion = stats_dispersion(counts, s->windows);
	sqlite3_finalize(q);
	free(counts);
	return ret < 0 ? ret : 0;
}

static int read_calls(struct analysis_ctx *c, struct server *s, struct err *e)
{
	static const char sql[] =
		"SELECT count(*), min(c.ts + coalesce(c.dur, 0)), max(c.ts + coalesce(c.dur, 0)) FROM call c"
		" JOIN (SELECT DISTINCT tid FROM thread WHERE pid=?) t USING(tid)";
	sqlite3_stmt *q;
	double span;
	int ret = db_query(&q, c->db, e, sql, "i", s->pid);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		s->calls = sqlite3_column_double(q, 0);
		span = sqlite3_column_double(q, 2) - sqlite3_column_double(q, 1);
		s->call_rate = s->calls > 1 && span > 0 ? (s->calls - 1) / span * 1e9 : NAN;
	}
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

static int put_server(struct analysis_ctx *c, const struct server *s, struct err *e)
{
	double error = stats_rate_error(s->dispersion, s->turns, s->windows);
	double send_error =
		stats_rate_error(s->dispersion * s->sends_per_turn, s->sends, s->windows);
	const struct {
		const char *name;
		double value, error;
		double n;
	} values[] = {
		{ "turns", s->turn_rate, error, s->turns },
		{ "sends", s->send_rate, send_error, s->sends },
		{ "calls", s->call_rate, NAN, s->calls },
		{ "sends/turn", s->sends_per_turn, NAN, s->turns },
		{ "spread", s->spread, NAN, s->turns },
		{ "latency", s->latency, NAN, s->turns },
		{ "dispersion", s->dispersion, NAN, s->windows },
	};
	size_t i;
	int ret = 0;

	for (i = 0; i < sizeof(values) / sizeof(values[0]) && ret == 0; i++)
		ret = put_metric(c, e, s->name, values[i].name, values[i].value,
				 values[i].value * (1 - values[i].error),
				 values[i].value * (1 + values[i].error), (s64)values[i].n);
	return ret;
}

static int put_sentences(struct analysis_ctx *c, const struct server *s, struct err *e)
{
	static const char sql[] = "SELECT ts / 1000000000 AS second, sum(turns) AS turns, "
				  "sum(sends) AS sends FROM request_window GROUP BY pid, second";
	int ret;

	ret = put_finding(
		c, e, NOTE, "OBSERVED", sql,
		"%s answered %.0f turns in %.2f s, %.0f a second; it receives by %s and "
		"sends by %s, the calls that moved bytes most often on its server sockets.",
		s->name, s->turns, (s->turns - 1) / s->turn_rate, s->turn_rate, s->recv_call,
		s->send_call);
	if (ret < 0)
		return ret;
	if (s->spread > STEADY)
		return put_finding(
			c, e, WARNING, "OBSERVED", sql,
			"%s sends %.2f times a turn with a spread of %.0f %%: the rate of "
			"sends is only proportional to that of requests, and not steadily.",
			s->name, s->sends_per_turn, 100 * s->spread);
	if (fabs(s->sends_per_turn - 1) > 0.01)
		return put_finding(c, e, NOTE, "OBSERVED", sql,
				   "%s sends %.2f times a turn, nearly always: divide the rate of "
				   "sends by it.",
				   s->name, s->sends_per_turn);
	return 0;
}

static int analyse_server(struct analysis_ctx *c, struct server *s, struct err *e)
{
	int ret = choose_call(c, s, true, e);

	if (ret == 0)
		ret = choose_call(c, s, false, e);
	if (ret == 0)
		ret = read_turns(c, s, e);
	if (ret == 0)
		ret = read_windows(c, s, e);
	if (ret == 0)
		ret = read_calls(c, s, e);
	if (ret < 0)
		return ret;
	if (s->turns < ENOUGH)
		return put_finding(
			c, e, NOTE, "LIMIT", NULL,
			"%s answered only %.0f turns on its server sockets: too few for a "
			"rate (%d are needed).",
			s->name, s->turns, ENOUGH);
	ret = put_server(c, s, e);
	return ret < 0 ? ret : put_sentences(c, s, e);
}

static int run(struct analysis_ctx *c, struct err *e)
{
	static const char sql[] =
		"SELECT u.pid, coalesce(nullif(max(p.comm),''),'?') || '[' || u.pid || ']' FROM socket_use u"
		" LEFT JOIN process p USING(pid) WHERE u.server=1 GROUP BY u.pid"
		" ORDER BY sum(u.n) DESC, u.pid";
	sqlite3_stmt *q;
	int n = 0, ret = db_query(&q, c->db, e, sql, "");

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		struct server s = { .pid = sqlite3_column_int64(q, 0) };

		snprintf(s.name, sizeof(s.name), "%s", sqlite3_column_text(q, 1));
		n++;
		if (analyse_server(c, &s, e) < 0) {
			ret = ERR_FAIL;
			break;
		}
	}
	sqlite3_finalize(q);
	if (ret == 0 && n == 0)
		ret = put_finding(
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
	.plot = {
		.gp = "rps.gp",
		.sql = "SELECT w.ts / 1e9, p.comm || '[' || w.pid || ']', w.turns * 1e9 / w.dur,"
		       " w.sends * 1e9 / w.dur, w.calls * 1e9 / w.dur,"
		       " EXISTS(SELECT 1 FROM loss l WHERE l.reason<>'missed'"
		       " AND l.ts < w.ts + w.dur AND l.ts + l.dur > w.ts)"
		       " FROM request_window w JOIN process p USING(pid)"
		       " WHERE w.pid = (SELECT pid FROM socket_use WHERE server=1 GROUP BY pid"
		       " ORDER BY sum(n) DESC, pid LIMIT 1) ORDER BY w.ts",
	},
};
