// SPDX-License-Identifier: GPL-2.0-or-later
/* What the first screen says, from the tables. */
#include "screen.h"

#include "analyze/base/number.h"
#include "format/escape.h"
#include "say.h"

#include <stdio.h>
#include <string.h>

#define LOSS_LOUD 0.1 /* %: less is said as a share */

static const struct {
	const char *evidence, *sure;
} sure_words[] = {
	{ "OBSERVED", "observed" },
	{ "CAUSAL", "likely" },
	{ "OVERLAP", "likely" },
	{ "CORRELATED", "possible" },
};

static const char *sure_of(const char *evidence)
{
	size_t i;

	for (i = 0; i < sizeof(sure_words) / sizeof(sure_words[0]); i++)
		if (strcmp(sure_words[i].evidence, evidence) == 0)
			return sure_words[i].sure;
	return "possible";
}

const char *screen_status(const struct screen *s)
{
	return s->problems    ? "PROBLEM"
	       : s->healthy   ? "NO PROBLEM FOUND"
	       : s->unchanged ? "NO CHANGE FOUND"
			      : "NOT ENOUGH DATA";
}

bool screen_cause_missing(const struct screen *s)
{
	return s->problems && !s->n_causes && s->kind != VERDICT_errors &&
	       s->kind != VERDICT_unanswered;
}

int verdict_worst(sqlite3 *db, const char **ret_worst, struct err *e)
{
	static const char *const names[] = { "COMPLETE", "TRUNCATED", "LOSSY" };
	s64 worst = 0;
	int ret =
		db_int(db, &worst, e,
		       "SELECT max(CASE verdict WHEN 'LOSSY' THEN 2 WHEN 'TRUNCATED' THEN 1 ELSE 0"
		       " END) FROM coverage",
		       "");

	*ret_worst = names[worst % 3];
	return ret;
}

/* " word 1.2 ms", if it is known. */
static void add_number(struct buf *b, sqlite3 *db, const char *word, sqlite3_stmt *q, int i,
		       const char *unit, struct err *e)
{
	if (sqlite3_column_type(q, i) == SQLITE_NULL)
		return;
	buf_printf(b, e, "%s%s", b->len ? "  " : "", word);
	buf_fail(b, say_number(b, db, sqlite3_column_double(q, i), unit, e));
}

static int read_numbers(struct buf *b, sqlite3 *db, sqlite3_stmt *q, struct err *e)
{
	add_number(b, db, "", q, 4, "", e);
	if (b->len)
		buf_printf(b, e, " requests/s");
	add_number(b, db, "p50 ", q, 5, "ns", e);
	add_number(b, db, "p99 ", q, 6, "ns", e);
	add_number(b, db, "max ", q, 7, "ns", e);
	add_number(b, db, "errors ", q, 8, "", e);
	/* of how many it is known: those of which the protocol was read; errors of other
	 * exchanges, as refused logins, are of none of these */
	if (sqlite3_column_type(q, 11) != SQLITE_NULL) {
		buf_printf(b, e, " of ");
		buf_fail(b, say_number(b, db, sqlite3_column_double(q, 11), "", e));
	}
	add_number(b, db, "ended early ", q, 15, "", e);
	if (sqlite3_column_int64(q, 12) > 0)
		add_number(b, db, "unanswered ", q, 12, "", e);
	add_number(b, db, "busiest thread idle ", q, 9, "%", e);
	add_number(b, db, "to the client's ACK p50 ", q, 13, "ns", e);
	add_number(b, db, "p99 ", q, 14, "ns", e);
	return b->failed;
}

static int read_verdict(struct screen *s, sqlite3 *db, s64 *ret_finding, struct err *e)
{
	sqlite3_stmt *q;
	int ret = db_query(
		&q, db, e,
		"SELECT status, kind, subject_kind, subject, rate, p50, p99, max, errors, idle,"
		" finding, iif(errors > read OR EXISTS (SELECT 1 FROM request x WHERE x.errors > 0 AND x.requests=0"
		" AND x.service IN (SELECT id FROM service WHERE server=subject)), NULL, read), coalesce(unanswered, 0) + coalesce(due, 0), acked_p50, acked_p99, (SELECT v.number FROM finding f JOIN"
		" finding_value v ON v.finding=f.id AND v.name='n' WHERE f.id=verdict.finding AND f.kind GLOB"
		" 'verdict_cut*') FROM verdict ORDER BY rank LIMIT 1",
		"");

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		struct subject about = { SUBJECT_process, sqlite3_column_int64(q, 3) };

		s->problems = strcmp(db_text(q, 0), "problem") == 0;
		s->healthy = strcmp(db_text(q, 0), "none") == 0;
		s->unchanged = strcmp(db_text(q, 0), "unchanged") == 0;
		s->kind = verdict_kind_of(db_text(q, 1));
		if (strcmp(db_text(q, 2), "server") == 0) {
			about.kind = SUBJECT_server;
			s->server = about.id;
		}
		*ret_finding = sqlite3_column_int64(q, 10);
		ret = subject_text(&s->title, db, about, e);
		if (ret == 0)
			ret = read_numbers(&s->numbers, db, q, e);
	}
	return db_end(q, ret);
}

/* A row of table cause or finding is about server ?2. */
#define OF_SERVER                                                                          \
	"CASE subject_kind WHEN 'server' THEN subject=?2 WHEN 'service' THEN subject IN"   \
	" (SELECT id FROM service WHERE server=?2) WHEN 'function' THEN 0 ELSE subject IN" \
	" (SELECT pid FROM service WHERE server=?2) END"

#define SENTENCE "sentence(f.id, f.analysis='causes' AND " OF_SERVER "), f.evidence"

/*
 * Of a server that is slower: its first cause, and the end of its wakeup chain or the load. Next
 * to its own work, what it waited for: reads that miss the page cache cost both.
 */
static const char slower_sql[] =
	"WITH first AS (SELECT f.id FROM finding f LEFT JOIN cause c ON c.finding=f.id WHERE"
	" f.analysis='causes' AND f.parent=0 AND (c.rank > 0 OR f.kind IN ('cause_none',"
	" 'cause_unknown')) AND ?1 > 0 ORDER BY CASE f.subject_kind WHEN 'server' THEN f.subject=?2"
	" WHEN 'service' THEN f.subject IN (SELECT id FROM service WHERE server=?2)"
	" WHEN 'process' THEN f.subject IN (SELECT pid FROM service WHERE server=?2)"
	" WHEN 'program' THEN f.subject IN (SELECT pid FROM service WHERE server=?2)"
	" ELSE 0 END DESC, c.rank IS NULL, c.rank, f.id LIMIT 1)"
	" SELECT " SENTENCE " FROM finding f JOIN first ON f.id=first.id OR"
	" (f.parent=first.id AND f.kind IN ('cause_end',"
	" 'cause_end_stack', 'cause_end_reason', 'cause_failed', 'cause_replaced', 'cause_limit', 'load_more', 'load_dearer', 'load_name', 'load_between', 'load_threads', 'load_less', 'load_dropped', 'load_closed')) OR f.id=(SELECT b.finding FROM cause a JOIN cause b USING(subject_kind,"
	" subject) WHERE a.finding=first.id AND a.category='cpu' AND b.rank=a.rank + 1 AND b.category NOT IN ('cpu', 'queue',"
	" 'runq') AND b.contribution_low >= 0.2) ORDER BY f.kind<>'cause_limit', f.id LIMIT 4";

/*
 * Of a server without a problem of which 1 % of the requests or more are late all the time, by the
 * limit of latency: what they wait for, if it is none of its own, no wait for an event, and none
 * for a CPU, of which the verdict decides.
 */
static const char late_sql[] =
	"WITH c AS (SELECT * FROM cause WHERE rank=1 AND basis='tail' AND NOT own AND category NOT IN"
	" ('cpu', 'queue', 'runq', 'poll', 'server', 'pipe', 'timer', 'other') AND contribution >= 0.5 AND added >="
	" (SELECT v.number FROM finding f JOIN finding_value v ON v.finding=f.id WHERE"
	" f.kind='verdict_limits' AND v.name='latency') AND " OF_SERVER
	" LIMIT 1) SELECT sentence(f.id), f.evidence"
	" FROM finding f, c WHERE (f.id=c.finding OR (f.kind='slow_tail' AND f.subject_kind=c.subject_kind"
	" AND f.subject=c.subject)) AND EXISTS (SELECT 1 FROM finding_value v WHERE v.finding=?1 AND"
	" v.name='late') ORDER BY f.kind<>'slow_tail' LIMIT 2";

/*
 * The thread of the pauses waited for a CPU (?1 names what had it), while requests of server ?2
 * were dearer than otherwise: what these run.
 */
#define DEARER_THEN                                                                                        \
	"SELECT finding, 1 FROM cause WHERE kind='self' AND path<>'' AND EXISTS (SELECT 1 FROM"            \
	" finding l WHERE l.parent=cause.finding AND l.kind='load_dearer') AND EXISTS (SELECT 1"           \
	" FROM finding p JOIN finding_value n ON n.finding=p.id AND n.name='contender' AND n.id > 0 WHERE" \
	" p.parent=?1 AND p.kind='pause_cause') AND EXISTS (SELECT 1 FROM (SELECT ts, dur FROM"            \
	" pause WHERE counts AND server=?2 ORDER BY id LIMIT 1) x WHERE cause.start < x.ts + x.dur"        \
	" AND cause.end > x.ts) AND " OF_SERVER

/* What occupied the serving threads (p) ran, if no wait but for these threads explains more. */
#define OCCUPIED_BY                                                                                               \
	"p.kind='verdict_blocker' AND cause.kind='self' AND path<>'' AND NOT EXISTS (SELECT 1 FROM cause o WHERE" \
	" o.subject_kind=cause.subject_kind AND o.subject=cause.subject AND o.contribution > cause.contribution"  \
	" AND o.category NOT IN ('queue','futex','runq'))"

/* Columns: sentence, evidence. */
static int take_causes(struct screen *s, sqlite3_stmt *q, struct err *e)
{
	int ret = 0;

	while (s->n_causes < SCREEN_CAUSES && ret == 0 && (ret = db_step(q, e)) > 0) {
		struct screen_cause *c = &s->causes[s->n_causes++];

		c->sure = sure_of(db_text(q, 1));
		ret = buf_printf(&c->text, e, "%s", db_text(q, 0));
	}
	return db_end(q, ret);
}

/* Under the finding; for slower requests, the first answer of the analysis causes. */
static int read_causes(struct screen *s, sqlite3 *db, s64 finding, struct err *e)
{
	/* the verdict knows what a name waited for; the cause of which a request of that name in
	 * that time range is the example knows whom for */
	static const char under_sql[] =
		"WITH v AS (SELECT id FROM finding WHERE parent=?1 AND analysis='verdict' ORDER BY id LIMIT 2)"
		" SELECT " SENTENCE " FROM (SELECT id, 0 AS nth FROM v UNION SELECT finding, 1"
		" FROM (SELECT c.finding, max(c.contribution) FROM v JOIN finding_value x ON x.finding=v.id AND x.name='category' JOIN cause c ON"
		" c.category=x.text WHERE c.rank=1 AND EXISTS (SELECT 1 FROM finding_value n JOIN request r ON r.name=n.id"
		" JOIN verdict w ON w.finding=?1 WHERE n.finding=v.id AND n.name='name' AND r.tid=c.example_tid AND r.ts"
		" BETWEEN c.example_ts AND c.example_ts + c.example_dur AND r.ts - r.queued=c.example_ts AND r.ts + r.dur"
		" BETWEEN w.start AND w.end) AND NOT EXISTS (SELECT 1 FROM finding_value u WHERE"
		" u.finding=v.id AND u.name='upstream' AND u.text <> '') AND " OF_SERVER
		" GROUP BY v.id)"
		" UNION SELECT finding, 1 FROM cause WHERE (SELECT count(*) FROM v)=1 AND EXISTS (SELECT 1 FROM v"
		" JOIN finding p ON p.id=v.id WHERE iif(rank=1 AND category<>'queue', p.kind IN"
		" ('verdict_pool', 'verdict_shifted'), 0) OR"
		" (" OCCUPIED_BY "))"
		" AND " OF_SERVER " UNION " DEARER_THEN
		") k JOIN finding f ON f.id=k.id ORDER BY nth,"
		" f.id";
	bool slower = s->unchanged || s->kind == VERDICT_slower || s->kind == VERDICT_tail ||
		      s->kind == VERDICT_overload || s->kind == VERDICT_pool;
	s64 under = 0;
	sqlite3_stmt *q;
	int ret;

	ret = db_int(db, &under, e,
		     "SELECT count(*) FROM finding WHERE parent=?1 AND analysis='verdict'", "i",
		     finding);
	if (ret == 0) /* what the verdict itself found comes first */
		ret = db_query(&q, db, e,
			       slower && !under ? slower_sql
			       : s->healthy	? late_sql
						: under_sql,
			       "ii", finding, s->server);
	if (ret < 0)
		return ret;
	return take_causes(s, q, e);
}

/*
 * Servers that ?1, a verdict, says it waited for: that of the thread that had its request, or of
 * the other end of a connection on which it waited while both had a problem; how long.
 */
#define WAITED_FOR                                                                                                        \
	"w AS MATERIALIZED (SELECT * FROM verdict WHERE finding=?1 AND subject_kind='server'), v AS"                      \
	" MATERIALIZED (SELECT x.* FROM finding p JOIN finding_value x ON x.finding=p.id WHERE"                           \
	" p.parent=?1), u AS MATERIALIZED (SELECT o.* FROM verdict o, w WHERE o.subject_kind='server'"                    \
	" AND o.status='problem' AND o.subject<>w.subject AND o.start < w.end AND o.end > w.start), a"                    \
	" AS MATERIALIZED (SELECT text AS at FROM v WHERE name='upstream' AND text<>'' UNION SELECT"                      \
	" f.remote FROM v JOIN fd f ON f.rowid=v.id WHERE v.name='upstream' AND v.kind='upstream'), q"                    \
	" AS MATERIALIZED (SELECT f.local, f.remote, q.ts, coalesce(q.till, f.end, w.end) AS till FROM"                   \
	" (SELECT pid, fd, ts, ts + dur AS till FROM upstream UNION ALL SELECT pid, fd, ts, NULL FROM"                    \
	" upstream_unanswered) q JOIN w"                                                                                  \
	" JOIN service s ON s.server=w.subject AND s.pid=q.pid JOIN fd f ON f.pid=q.pid AND f.fd=q.fd"                    \
	" AND f.ts <= q.ts AND coalesce(f.end, q.ts) >= q.ts WHERE f.remote IN (SELECT at FROM a) AND"                    \
	" q.ts < w.end AND coalesce(q.till, f.end, w.end) > w.start), asked AS (SELECT u.finding, 1e18 AS ns FROM v JOIN" \
	" service o ON o.pid=(SELECT pid FROM thread t WHERE t.tid=v.id LIMIT 1) JOIN u ON"                               \
	" u.subject=o.server WHERE v.name='peer' AND v.kind='thread' UNION ALL SELECT u.finding,"                         \
	" min(q.till, u.end) - max(q.ts, u.start) FROM q JOIN fd f ON f.remote=q.local AND"                               \
	" f.local=q.remote AND f.role='accepted' AND f.ts < q.till AND coalesce(f.end, q.ts) >= q.ts"                     \
	" JOIN service o ON o.pid=f.pid JOIN u ON u.subject=o.server WHERE q.ts < u.end AND q.till >"                     \
	" u.start)"

/*
 * The cause of the server that this one waited for longest, if it has a problem at the same time:
 * the thread that is named there only has the request.
 */
static int read_upstream_cause(struct screen *s, sqlite3 *db, s64 finding, struct err *e)
{
	static const char sql[] =
		"WITH " WAITED_FOR
		", one AS (SELECT finding FROM asked GROUP BY 1 ORDER BY sum(ns) DESC, 1 LIMIT 1)"
		" SELECT u.subject, sentence(f.id, 1), f.evidence FROM one JOIN u USING(finding) JOIN finding f ON"
		" f.id=coalesce((SELECT min(id) FROM finding WHERE parent=u.finding AND analysis='verdict'), (SELECT"
		" min(finding) FROM cause WHERE rank=1 AND subject_kind='server' AND subject=u.subject))";
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, sql, "i", finding);

	if (ret < 0)
		return ret;
	while (s->n_causes < SCREEN_CAUSES && ret == 0 && (ret = db_step(q, e)) > 0) {
		struct screen_cause *c = &s->causes[s->n_causes++];

		c->sure = sure_of(db_text(q, 2));
		ret = subject_text(&c->text, db,
				   (struct subject){ SUBJECT_server, sqlite3_column_int64(q, 0) },
				   e);
		if (ret >= 0)
			ret = buf_printf(&c->text, e, ": %s", db_text(q, 1));
	}
	return db_end(q, ret);
}

/* Next to the causes, which requests these are about. */
static int read_which(struct screen *s, sqlite3 *db, struct err *e)
{
	static const char sql[] =
		"SELECT sentence(id), evidence FROM finding WHERE kind IN ('verdict_process', 'verdict_few_dear',"
		" 'verdict_larger', 'verdict_disk_waits', 'verdict_oldest', 'verdict_circle', 'verdict_calls')"
		" AND NOT (kind='verdict_calls' AND parent > 0) AND subject_kind='server' AND subject=?1 ORDER BY id";
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, sql, "i", s->server);

	return ret < 0 ? ret : take_causes(s, q, e);
}

static int read_range(struct screen *s, sqlite3 *db, struct err *e)
{
	static const char sql[] =
		"WITH f AS (SELECT max(value) FILTER (WHERE key='start') AS t, max(value) FILTER (WHERE"
		" key='host') AS host, max(value) FILTER (WHERE key='duration_ns') / 1e9 AS s FROM recording)"
		" SELECT date(t), time(t), time(t, '+' || s || ' seconds'), s * 1e9, host FROM f";
	char length[32];
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, sql, "");

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		number_text(length, sizeof(length), sqlite3_column_double(q, 3), "ns");
		if (*db_text(q, 4) && s->title.len)
			ret = buf_printf(&s->title, e, " on %s", db_text(q, 4));
		if (ret >= 0 && *db_text(q, 0))
			ret = buf_printf(&s->range, e, "%s %s to %s UTC (%s)", db_text(q, 0),
					 db_text(q, 1), db_text(q, 2), length);
		else if (ret >= 0)
			ret = buf_printf(&s->range, e, "%s", length);
	}
	return db_end(q, ret);
}

static int read_complete(struct screen *s, sqlite3 *db, struct err *e)
{
	static const char sql[] =
		"SELECT total(records), total(lost), 100.0 * (SELECT max(process) - min(process) FROM"
		" overhead) / (SELECT max(value) FROM recording WHERE key='duration_ns'), (SELECT"
		" total(dur) FROM (SELECT DISTINCT ts, dur FROM loss WHERE reason='gap')), (SELECT value FROM"
		" recording WHERE key='damaged_blocks'), 100.0 * total(lost) / total(records + lost) FROM"
		" coverage";
	char records[32], lost[32], gap[32];
	double share = 0;
	sqlite3_stmt *q;
	int ret = verdict_worst(db, &s->worst, e);

	if (ret == 0)
		ret = db_query(&q, db, e, sql, "");
	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		if (strcmp(s->worst, "LOSSY") == 0)
			share = sqlite3_column_double(q, 5);
		number_text(records, sizeof(records), sqlite3_column_double(q, 0), "");
		number_text(lost, sizeof(lost), sqlite3_column_double(q, 1), "");
		number_text(gap, sizeof(gap), sqlite3_column_double(q, 3), "ns");
		buf_printf(&s->complete, e, "Recording%s: %s records, %s lost",
			   share > LOSS_LOUD			? " LOSSY"
			   : strcmp(s->worst, "TRUNCATED") == 0 ? " TRUNCATED (its end is missing)"
			   : share > 0				? ""
								: " complete",
			   records, lost);
		if (share > 0)
			buf_printf(&s->complete, e, " (%.*f %%)", share < 0.1 ? 3 : 1, share);
		if (sqlite3_column_int64(q, 4) > 0)
			buf_printf(&s->complete, e, "; damaged blocks skipped: %lld",
				   (long long)sqlite3_column_int64(q, 4));
		if (sqlite3_column_double(q, 2) > 0)
			buf_printf(&s->complete, e, "; obsrec used %.1f %% of one CPU",
				   sqlite3_column_double(q, 2));
		if (sqlite3_column_double(q, 3) > 0)
			buf_printf(&s->complete, e,
				   "; nothing was recorded for %s, between merged recordings", gap);
		ret = buf_printf(&s->complete, e, ".");
	}
	return db_end(q, ret);
}

/* Of the first server: the remedy for functions without names. */
static int read_hint(struct screen *s, sqlite3 *db, s64 finding, struct err *e)
{
	static const char sql[] =
		"SELECT id FROM finding WHERE kind='verdict_unnamed_code' AND subject_kind='server' AND subject=?1 AND"
		" (EXISTS (SELECT 1 FROM finding f JOIN finding_value v ON v.finding=f.id WHERE f.parent=?2 AND"
		" f.kind IN ('pause_cause', 'pause_root') AND (v.name IN ('function', 'computing') OR"
		" v.text='computing')) OR (NOT EXISTS (SELECT 1 FROM finding f WHERE f.parent=?2 AND"
		" f.kind='pause_cause') AND EXISTS (SELECT 1 FROM cause c JOIN finding f ON f.id=c.finding WHERE c.rank=1 AND f.kind IN"
		" ('cause_self', 'cause_queue', 'cause_between'))))";
	s64 id = 0;
	int ret = db_int(db, &id, e, sql, "ii", s->server, finding);

	return ret < 0 || !id ? ret : say_finding(&s->hint, db, id, e);
}

/* Whether analysis causes says why, and whether pauses are there instead. */
static int read_more(struct screen *s, sqlite3 *db, struct err *e)
{
	static const char none[] =
		"SELECT count(*) FROM finding WHERE kind IN ('too_few_units', 'too_few_slow', 'not_slower',"
		" 'no_units') AND CASE subject_kind WHEN 'server' THEN subject=?1 WHEN 'service' THEN subject IN"
		" (SELECT id FROM service WHERE server=?1) WHEN 'process' THEN subject IN (SELECT pid FROM service"
		" WHERE server=?1) ELSE 1 END";
	static const char pauses[] =
		"SELECT count(*) FROM pause WHERE server=?1 AND dur >= 100000000";
	s64 n = 0, paused = 0;
	int ret = db_int(db, &n, e, none, "i", s->server);

	if (ret == 0)
		ret = db_int(db, &paused, e, pauses, "i", s->server);
	s->no_causes = n > 0;
	s->pauses = paused > 0;
	return ret;
}

static int read_without_verdict(struct screen *s, sqlite3 *db, struct err *e)
{
	s64 id = 0;
	int ret = db_int(db, &id, e, "SELECT id FROM finding WHERE kind='verdict_unmatched'", "");

	if (ret == 0 && id)
		return say_finding(&s->problem, db, id, e);
	return ret < 0 ? ret : buf_printf(&s->problem, e, "No system calls were recorded.");
}

int screen_read(struct screen *s, sqlite3 *db, struct err *e)
{
	s64 finding = 0;
	int ret = read_verdict(s, db, &finding, e);

	if (ret == 0 && finding)
		ret = say_finding(&s->problem, db, finding, e);
	else if (ret == 0)
		ret = read_without_verdict(s, db, e);
	if (ret == 0 && finding)
		ret = read_causes(s, db, finding, e);
	if (ret == 0)
		ret = read_which(s, db, e);
	if (ret == 0)
		ret = read_upstream_cause(s, db, finding, e);
	if (ret == 0)
		ret = screen_also(s, db, finding, e);
	if (ret == 0)
		ret = read_hint(s, db, finding, e);
	if (ret == 0)
		ret = read_more(s, db, e);
	if (ret == 0)
		ret = screen_moments(s, db, e);
	if (ret == 0)
		ret = read_range(s, db, e);
	if (ret == 0)
		ret = read_complete(s, db, e);
	return ret < 0 ? ret : screen_others(s, db, e);
}

int screen_next(struct buf *out, const struct screen *s, int i, const char *file, struct err *e)
{
	const char *analysis = s->problems || s->unchanged ? verdict_kinds[s->kind].more : NULL;

	if (analysis && s->no_causes && !strcmp(analysis, "causes"))
		analysis = s->pauses ? "pauses" : NULL;
	if (i == 0 && analysis)
		buf_printf(out, e, "obsanalyze report -a %s ", analysis);
	else if (i == 0)
		buf_printf(out, e, "obsanalyze report -v ");
	else if (i == 1 && s->unchanged)
		buf_printf(out, e, "obsanalyze compare HEALTHY.obs ");
	else if (i == 1 && s->problems)
		buf_printf(out, e, "obsanalyze report --html report.html ");
	else
		return 0;
	buf_fail(out, escape_word(out, file, e));
	return out->failed ? out->failed : 1;
}

void screen_free(struct screen *s)
{
	int i;

	buf_free(&s->title);
	buf_free(&s->range);
	buf_free(&s->problem);
	buf_free(&s->numbers);
	buf_free(&s->complete);
	buf_free(&s->others);
	buf_free(&s->also);
	buf_free(&s->hint);
	for (i = 0; i < SCREEN_CAUSES; i++)
		buf_free(&s->causes[i].text);
	for (i = 0; i < SCREEN_MOMENTS; i++) {
		buf_free(&s->moments[i].what);
		buf_free(&s->moments[i].who);
	}
}
