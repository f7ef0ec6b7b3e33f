// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * OpenMetrics 1.0 text. A family is a row: its query gives the labels, then the columns that its
 * type needs, in the order that the format asks for: samples of one set of labels together, by
 * time.
 *
 *   gauge, counter   ..., value [, ts]      numbers as they are
 *   seconds          the same, ns           printed as seconds
 *   histogram        ..., high, n, sum      a row a bucket, by high; sum NULL: not known; ns
 *
 * ts is ns since the start of the recording and becomes the time of day; without it a sample
 * is at the end of the recording. Every sample has a time: promtool can then make blocks of it.
 */
#include "export.h"

#include "format/escape.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum shape { GAUGE, COUNTER, COUNTER_NS, GAUGE_NS, HISTOGRAM, INFO };

/* An id that was used twice has its last owner's name. */
#define OWNER "(SELECT pid, comm, max(start) FROM process GROUP BY pid)"
#define BUCKETS(kind, labels, sum, joins)                                                        \
	"SELECT " labels ", l.high, l.n, " sum " FROM latency l " joins " WHERE l.kind = '" kind \
	"' ORDER BY l.subject, l.item, l.high"
#define WINDOWS(column)                                                                                \
	"SELECT v.pid, p.comm, v.name AS service, sum(w." column                                       \
	") OVER (PARTITION BY v.id ORDER BY"                                                           \
	" w.ts) AS value, w.ts + w.dur AS ts FROM request_window w JOIN service v ON v.id = w.service" \
	" LEFT JOIN " OWNER " p USING (pid) ORDER BY v.id, w.ts"
#define SERIES(column)                                                                            \
	"SELECT k.name AS metric, s.tid, t.comm, s.resource, r.kind AS resource_kind, r.name AS"  \
	" resource_name, sum(s.v) OVER (PARTITION BY s.kind, s.tid, s.resource ORDER BY s.ts) AS" \
	" value, s.ts + g.step AS ts FROM (SELECT ts, kind, tid, resource, sum(" column ") AS v"  \
	" FROM series GROUP BY kind, tid, resource, ts) s JOIN series_kind k ON k.id = s.kind"    \
	" LEFT JOIN resource r ON r.id = s.resource LEFT JOIN"                                    \
	" (SELECT tid, comm, max(start) FROM thread GROUP BY tid) t ON t.tid = s.tid"             \
	" JOIN (SELECT CAST(value AS INT) AS step FROM recording WHERE key='step_ns') g"          \
	" ORDER BY s.kind, s.tid, s.resource, s.ts"
#define OVERHEAD(column) \
	"SELECT '" column "' AS part, max(" column ") OVER (ORDER BY ts) AS value, ts FROM overhead"

static const struct family {
	const char *name, *unit, *help;
	enum shape shape;
	const char *sql;
} families[] = {
	{ "obs_recording", "", "what was recorded, and how complete it is", INFO,
	  "SELECT max(value) FILTER (WHERE key='host') AS host,"
	  " max(value) FILTER (WHERE key='kernel') AS kernel,"
	  " max(value) FILTER (WHERE key='uuid') AS uuid,"
	  " (SELECT CASE WHEN total(verdict='LOSSY') THEN 'LOSSY' WHEN total(verdict='TRUNCATED')"
	  " THEN 'TRUNCATED' ELSE 'COMPLETE' END FROM coverage) AS verdict FROM recording" },
	{ "obs_recording_duration_seconds", "seconds", "length of the recording", GAUGE_NS,
	  "SELECT CAST(value AS INT) AS value FROM recording WHERE key='duration_ns'" },
	{ "obs_events", "", "records in the recording", COUNTER,
	  "SELECT grp AS 'group', records AS value FROM coverage" },
	{ "obs_events_lost", "", "events that were lost", COUNTER,
	  "SELECT grp AS 'group', lost AS value FROM coverage" },
	{ "obs_thread_state_seconds", "seconds", "time of each thread in each state", COUNTER_NS,
	  "SELECT t.pid, t.tid, t.comm, s.name AS state, s.ns AS value FROM"
	  " (SELECT tid, pid, comm, max(start) FROM thread GROUP BY tid) t JOIN"
	  " (SELECT s.tid, n.name, sum(s.dur) AS ns FROM thread_state s"
	  " JOIN state n ON n.id = s.state GROUP BY s.tid, s.state) s USING (tid)"
	  " ORDER BY t.tid, s.name" },
	{ "obs_request_receives", "", "receives of services", COUNTER, WINDOWS("recvs") },
	{ "obs_request_sends", "", "sends of services", COUNTER, WINDOWS("sends") },
	{ "obs_requests", "", "requests, or calls of probed functions, that ended", COUNTER,
	  WINDOWS("requests") },
	{ "obs_syscall_duration_seconds", "seconds", "system calls", HISTOGRAM,
	  BUCKETS("syscall",
		  "l.subject AS pid, p.comm, syscall_name(l.item >> 16, l.item & 65535) AS syscall",
		  "s.total",
		  "LEFT JOIN " OWNER " p ON p.pid = l.subject LEFT JOIN syscall_stat s"
		  " ON s.pid = l.subject AND s.abi = l.item >> 16 AND s.nr = (l.item & 65535)") },
	{ "obs_syscall_errors", "", "system calls that failed", COUNTER,
	  "SELECT e.pid, p.comm, syscall_name(e.abi, e.nr) AS syscall, errno_name(e.error) AS"
	  " error, e.n AS value FROM syscall_error e LEFT JOIN " OWNER " p USING (pid)"
	  " ORDER BY e.pid, e.abi, e.nr, e.error" },
	{ "obs_run_queue_seconds", "seconds", "waits for a CPU", HISTOGRAM,
	  BUCKETS("runq", "l.subject AS pid, p.comm", "NULL",
		  "LEFT JOIN " OWNER " p ON p.pid = l.subject") },
	{ "obs_function_duration_seconds", "seconds", "calls of probed functions", HISTOGRAM,
	  BUCKETS("call", "l.subject AS pid, p.comm, s.function, s.id AS site", "NULL",
		  "LEFT JOIN " OWNER " p ON p.pid = l.subject LEFT JOIN site s ON s.id = l.item") },
	{ "obs_block_duration_seconds", "seconds", "block requests", HISTOGRAM,
	  BUCKETS("block",
		  "coalesce(d.name, (l.subject >> 20) || ':' || (l.subject & 1048575)) AS disk,"
		  " block_op(l.item) AS operation",
		  "NULL", "LEFT JOIN disk d ON d.dev = l.subject") },
	{ "obs_series_seconds", "seconds", "time of threads and resources, step by step",
	  COUNTER_NS, SERIES("time") },
	{ "obs_series", "", "events of threads and resources, step by step", COUNTER, SERIES("n") },
	{ "obs_recorder_cpu_seconds", "seconds", "CPU time that obsrec used", COUNTER_NS,
	  OVERHEAD("process") },
	{ "obs_recorder_written_bytes", "bytes", "written to the recording", COUNTER,
	  OVERHEAD("file_bytes") },
	{ "obs_answer", "", "the numbers of obsanalyze report", GAUGE,
	  "SELECT analysis, subject, name, unit, verdict, value FROM metric WHERE abs(value) < 9e999"
	  " GROUP BY analysis, subject, name, unit, verdict" },
};

struct exposition {
	struct sink *out;
	sqlite3 *db;
	s64 begin; /* ns since 1970 */
	s64 end;   /* ns since begin */
	struct err *e;
	struct buf labels, last; /* of this row, and of the one before */
	s64 buckets;		 /* durations counted so far */
	double sum;		 /* NAN: not known */
};

static int add_label(struct buf *b, sqlite3_stmt *s, int i, struct err *e)
{
	const char *text = db_text(s, i);

	buf_printf(b, e, "%s%s=\"", i ? "," : "", sqlite3_column_name(s, i));
	escape_add(b, ESCAPE_LABEL, text, strlen(text), e);
	return buf_add(b, "\"", 1, e);
}

/* Labels are the columns up to value or high. Returns how many there are. */
static int take_labels(struct exposition *x, sqlite3_stmt *s)
{
	struct buf swap = x->last;
	int i, ret = 0;

	x->last = x->labels;
	x->labels = swap;
	buf_clear(&x->labels);
	for (i = 0; i < sqlite3_column_count(s) && ret == 0; i++) {
		const char *name = sqlite3_column_name(s, i);

		if (strcmp(name, "value") == 0 || strcmp(name, "high") == 0)
			break;
		ret = add_label(&x->labels, s, i, x->e);
	}
	if (ret == 0)
		ret = buf_add(&x->labels, "", 1, x->e); /* a NUL, beyond what is printed */
	return ret < 0 ? ret : i;
}

static void put_seconds(struct buf *b, s64 ns, struct err *e)
{
	buf_printf(b, e, "%s%" PRId64 ".%09" PRId64, ns < 0 ? "-" : "",
		   ns < 0 ? -(ns / 1000000000) : ns / 1000000000,
		   ns < 0 ? -(ns % 1000000000) : ns % 1000000000);
}

/* The instant of a sample, and the end of its line. */
static void put_time(struct exposition *x, s64 ts)
{
	buf_add(&x->out->b, " ", 1, x->e);
	put_seconds(&x->out->b, x->begin + ts, x->e);
	buf_add(&x->out->b, "\n", 1, x->e);
}

static void put_value(struct exposition *x, const struct family *f, sqlite3_stmt *s, int i)
{
	struct buf *b = &x->out->b;
	bool timed = i + 1 < sqlite3_column_count(s);

	if (f->shape == INFO)
		buf_add(b, "1", 1, x->e);
	else if (f->shape == GAUGE_NS || f->shape == COUNTER_NS)
		put_seconds(b, sqlite3_column_int64(s, i), x->e);
	else if (sqlite3_column_type(s, i) == SQLITE_FLOAT)
		buf_printf(b, x->e, "%.17g", sqlite3_column_double(s, i));
	else
		buf_printf(b, x->e, "%lld", sqlite3_column_int64(s, i));
	put_time(x, timed ? sqlite3_column_int64(s, i + 1) : x->end);
}

static int put_sample(struct exposition *x, const struct family *f, sqlite3_stmt *s)
{
	static const char *const suffixes[] = {
		[GAUGE] = "",	  [GAUGE_NS] = "", [COUNTER] = "_total", [COUNTER_NS] = "_total",
		[INFO] = "_info",
	};
	int n = take_labels(x, s);

	if (n < 0)
		return n;
	buf_printf(&x->out->b, x->e, "%s%s{%s} ", f->name, suffixes[f->shape], x->labels.data);
	put_value(x, f, s, n);
	return x->out->b.failed;
}

/* The last bucket of a histogram holds all; its count and sum follow. */
static int end_histogram(struct exposition *x, const struct family *f, const char *labels)
{
	struct buf *b = &x->out->b;

	if (!x->buckets)
		return 0;
	buf_printf(b, x->e, "%s_bucket{%s,le=\"+Inf\"} %" PRId64, f->name, labels, x->buckets);
	put_time(x, x->end);
	if (!isnan(x->sum)) {
		buf_printf(b, x->e, "%s_count{%s} %" PRId64, f->name, labels, x->buckets);
		put_time(x, x->end);
		buf_printf(b, x->e, "%s_sum{%s} ", f->name, labels);
		put_seconds(b, (s64)x->sum, x->e);
		put_time(x, x->end);
	}
	x->buckets = 0;
	return b->failed;
}

static int put_bucket(struct exposition *x, const struct family *f, sqlite3_stmt *s)
{
	int n = take_labels(x, s), ret = n < 0 ? n : 0;
	char le[40];

	if (ret == 0 && x->last.data && strcmp(x->last.data, x->labels.data) != 0)
		ret = end_histogram(x, f, x->last.data);
	if (ret < 0)
		return ret;
	/* whole ns: what is below high is at most high - 1 */
	snprintf(le, sizeof(le), "%.12g", (double)(sqlite3_column_int64(s, n) - 1) / 1e9);
	x->buckets += sqlite3_column_int64(s, n + 1);
	x->sum = sqlite3_column_type(s, n + 2) == SQLITE_NULL ? NAN
							      : sqlite3_column_double(s, n + 2);
	buf_printf(&x->out->b, x->e, "%s_bucket{%s,le=\"%s%s\"} %" PRId64, f->name, x->labels.data,
		   le, strpbrk(le, ".e") ? "" : ".0", x->buckets);
	put_time(x, x->end);
	return x->out->b.failed;
}

static int put_family(struct exposition *x, const struct family *f)
{
	static const char *const types[] = {
		[GAUGE] = "gauge",	  [GAUGE_NS] = "gauge",	     [COUNTER] = "counter",
		[COUNTER_NS] = "counter", [HISTOGRAM] = "histogram", [INFO] = "info",
	};
	struct buf *b = &x->out->b;
	sqlite3_stmt *s;
	int ret;

	buf_printf(b, x->e, "# TYPE %s %s\n", f->name, types[f->shape]);
	if (*f->unit)
		buf_printf(b, x->e, "# UNIT %s %s\n", f->name, f->unit);
	ret = buf_printf(b, x->e, "# HELP %s %s\n", f->name, f->help);
	if (ret == 0)
		ret = db_query(&s, x->db, x->e, f->sql, "");
	if (ret < 0)
		return ret;
	buf_free(&x->labels);
	buf_free(&x->last);
	while (ret == 0 && (ret = db_step(s, x->e)) > 0) {
		ret = f->shape == HISTOGRAM ? put_bucket(x, f, s) : put_sample(x, f, s);
		if (ret == 0)
			ret = sink_more(x->out, x->e);
	}
	if (ret == 0 && f->shape == HISTOGRAM)
		ret = end_histogram(x, f, x->labels.data);
	sqlite3_finalize(s);
	return ret;
}

int export_openmetrics(struct sink *out, sqlite3 *db, const struct export_part *part, struct err *e)
{
	struct exposition x = { .out = out, .db = db, .e = e };
	size_t i;
	/* the start of the recording by the clock of the host, to the millisecond */
	int ret = db_int(db, &x.begin, e,
			 "SELECT CAST(strftime('%s', value) AS INT) * 1000000000 +"
			 " CAST(substr(value, 21, 3) AS INT) * 1000000"
			 " FROM recording WHERE key='start'",
			 "");

	(void)part;
	if (ret == 0)
		ret = db_int(db, &x.end, e, "SELECT value FROM recording WHERE key='duration_ns'",
			     "");
	for (i = 0; i < sizeof(families) / sizeof(families[0]) && ret == 0; i++)
		ret = put_family(&x, &families[i]);
	if (ret == 0)
		ret = buf_printf(&out->b, e, "# EOF\n");
	buf_free(&x.labels);
	buf_free(&x.last);
	return ret < 0 ? ret : 0;
}
