// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * OTLP as JSON: requests as spans of kind SERVER, requests to others as spans of kind CLIENT. One
 * ExportTraceServiceRequest per line, as the file exporter of OpenTelemetry writes them, so memory
 * is bounded. An upstream request belongs to the request of its thread that encloses it; to none if
 * several do.
 */
#include "export.h"

#include "analyze/store/fact.h"
#include "format/escape.h"
#include "format/version.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_SPANS 1000
#define OPEN_MAX   256 /* requests of one thread at a time; with more, parents are not known */

/* Name and attributes of spans; the name is replaced where requests have one. ?1 and ?2: from when
 * to when. */
static const char spans_sql[] =
	"SELECT u.kind, u.row, u.pid, u.tid, u.ts, u.dur, u.queued, u.name, coalesce(p.comm, ''),"
	" coalesce(f.remote, ''), u.sent, u.received, u.lossy FROM"
	" (SELECT 0 AS kind, rowid AS row, pid, tid, ts, dur, coalesce(queued, 0) AS queued,"
	" 'request' AS name, fd, send_bytes AS sent, recv_bytes AS received, lossy FROM request"
	" UNION ALL SELECT 1, rowid, pid, tid, ts, dur, 0, 'upstream', fd, send_bytes, recv_bytes,"
	" lossy FROM upstream) u LEFT JOIN process p ON p.rowid = (SELECT x.rowid FROM process x"
	" WHERE x.pid = u.pid AND x.start <= u.ts ORDER BY x.start DESC LIMIT 1)"
	" LEFT JOIN fd f ON f.rowid = (SELECT x.rowid FROM fd x WHERE x.pid = u.pid AND x.fd = u.fd"
	" AND x.ts <= u.ts ORDER BY x.ts DESC LIMIT 1)"
	" WHERE u.ts <= ?2 AND u.ts + u.dur >= ?1 ORDER BY u.pid, p.rowid, u.tid, u.ts, u.kind";

enum { KIND, ROW, PID, TID, TS, DUR, QUEUED, NAME, COMM, REMOTE, SENT, RECEIVED, LOSSY };

struct otlp {
	struct sink *out;
	struct err *e;
	int failed;
	u64 start; /* of the recording, ns since 1970 */
	u64 id;	   /* upper half of the trace ids */
	char host[256], kernel[128];
	char comm[64];
	s64 pid, tid;
	int spans; /* in the present line */
	struct open_request {
		u64 row, end;
	} open[OPEN_MAX];
	int n_open;
	bool many; /* more than fit */
};

#define ADD(o, ...)                                                                  \
	do {                                                                         \
		if ((o)->failed == 0)                                                \
			(o)->failed = buf_printf(&(o)->out->b, (o)->e, __VA_ARGS__); \
	} while (0)

static void add_string(struct otlp *o, const char *text, size_t n)
{
	ADD(o, "\"");
	if (o->failed == 0)
		o->failed = escape_add(&o->out->b, ESCAPE_JSON, text, n, o->e);
	ADD(o, "\"");
}

static void text_attribute(struct otlp *o, const char *comma, const char *key, const char *text,
			   size_t n)
{
	ADD(o, "%s{\"key\":\"%s\",\"value\":{\"stringValue\":", comma, key);
	add_string(o, text, n);
	ADD(o, "}}");
}

static void number_attribute(struct otlp *o, const char *comma, const char *key, s64 value)
{
	ADD(o, "%s{\"key\":\"%s\",\"value\":{\"intValue\":\"%" PRId64 "\"}}", comma, key,
	    (int64_t)value);
}

static void end_line(struct otlp *o)
{
	if (o->spans)
		ADD(o, "]}]}]}\n");
	o->spans = 0;
	if (o->failed == 0)
		o->failed = sink_more(o->out, o->e);
}

static void begin_line(struct otlp *o)
{
	ADD(o, "{\"resourceSpans\":[{\"resource\":{\"attributes\":[");
	text_attribute(o, "", "service.name", o->comm, strlen(o->comm));
	number_attribute(o, ",", "process.pid", o->pid);
	text_attribute(o, ",", "host.name", o->host, strlen(o->host));
	text_attribute(o, ",", "os.type", "linux", 5);
	text_attribute(o, ",", "os.version", o->kernel, strlen(o->kernel));
	ADD(o,
	    "]},\"scopeSpans\":[{\"scope\":{\"name\":\"obsanalyze\",\"version\":\"%s\"},\"spans\":[",
	    OBS_VERSION);
}

/* "address:port" in two, an address of IPv6 without its brackets. */
static void peer_attributes(struct otlp *o, const char *remote)
{
	const char *colon = strrchr(remote, ':');
	size_t n = colon ? (size_t)(colon - remote) : strlen(remote);
	bool port = colon && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1);

	if (!*remote)
		return;
	n = port ? n : strlen(remote);
	if (port && n > 2 && remote[0] == '[' && remote[n - 1] == ']') {
		remote++;
		n -= 2;
	}
	text_attribute(o, ",", "network.peer.address", remote, n);
	if (port)
		number_attribute(o, ",", "network.peer.port", strtol(colon + 1, NULL, 10));
}

/* The request that a request to others is a part of; 0: none, or not known. */
static u64 parent_of(const struct otlp *o, u64 end)
{
	u64 row = 0;
	int i;

	if (o->many)
		return 0;
	for (i = 0; i < o->n_open; i++) {
		if (o->open[i].end < end)
			continue;
		if (row)
			return 0;
		row = o->open[i].row;
	}
	return row;
}

/* Keeps what is open at ts; a new request is one more. */
static void keep_open(struct otlp *o, u64 ts, bool request, u64 row, u64 end)
{
	int i, n = 0;

	for (i = 0; i < o->n_open; i++)
		if (o->open[i].end >= ts)
			o->open[n++] = o->open[i];
	o->n_open = n;
	if (!n)
		o->many = false;
	if (request && n < OPEN_MAX)
		o->open[o->n_open++] = (struct open_request){ row, end };
	else if (request)
		o->many = true;
}

/* Another process: another line. Another thread: nothing is open. */
static void follow(struct otlp *o, sqlite3_stmt *s)
{
	s64 pid = sqlite3_column_int64(s, PID), tid = sqlite3_column_int64(s, TID);
	const char *comm = db_text(s, COMM);

	if (o->spans == LINE_SPANS || pid != o->pid ||
	    strncmp(comm, o->comm, sizeof(o->comm) - 1) != 0)
		end_line(o);
	if (pid != o->pid || tid != o->tid) {
		o->n_open = 0;
		o->many = false;
	}
	o->pid = pid;
	o->tid = tid;
	snprintf(o->comm, sizeof(o->comm), "%s", comm);
	if (!o->spans)
		begin_line(o);
}

static int put_span(void *arg, sqlite3_stmt *s, struct err *e)
{
	struct otlp *o = arg;
	bool upstream = sqlite3_column_int(s, KIND);
	u64 row = sqlite3_column_int64(s, ROW), ts = sqlite3_column_int64(s, TS);
	u64 end = ts + (u64)sqlite3_column_int64(s, DUR), id = row << 1 | upstream, parent;
	s64 queued = sqlite3_column_int64(s, QUEUED);

	(void)e;
	follow(o, s);
	keep_open(o, ts, !upstream, row, end);
	parent = upstream ? parent_of(o, end) : 0;
	/* a trace is a request with its requests to others; ids are numbers of rows and never zero
	 */
	ADD(o, "%s{\"traceId\":\"%016" PRIx64 "%016" PRIx64 "\",\"spanId\":\"%016" PRIx64 "\"",
	    o->spans++ ? "," : "", (uint64_t)o->id, (uint64_t)(parent ? parent << 1 : id),
	    (uint64_t)id);
	if (parent)
		ADD(o, ",\"parentSpanId\":\"%016" PRIx64 "\"", (uint64_t)(parent << 1));
	ADD(o, ",\"name\":");
	add_string(o, db_text(s, NAME), strlen(db_text(s, NAME)));
	ADD(o,
	    ",\"kind\":%d,\"startTimeUnixNano\":\"%" PRIu64 "\",\"endTimeUnixNano\":\"%" PRIu64
	    "\"",
	    upstream ? 3 : 2, (uint64_t)(o->start + ts - (u64)queued), (uint64_t)(o->start + end));
	ADD(o, ",\"attributes\":[");
	number_attribute(o, "", "thread.id", o->tid);
	peer_attributes(o, db_text(s, REMOTE));
	if (!upstream)
		number_attribute(o, ",", "obs.queued_ns", queued);
	number_attribute(o, ",", "obs.sent_bytes", sqlite3_column_int64(s, SENT));
	number_attribute(o, ",", "obs.received_bytes", sqlite3_column_int64(s, RECEIVED));
	if (sqlite3_column_int(s, LOSSY))
		ADD(o, ",{\"key\":\"obs.lossy\",\"value\":{\"boolValue\":true}}");
	ADD(o, "]}");
	if (o->failed == 0)
		o->failed = sink_more(o->out, o->e);
	return o->failed;
}

static int read_facts(struct otlp *o, sqlite3 *db)
{
	char uuid[64];
	s64 start = 0;
	int ret = fact_text(o->host, sizeof(o->host), db, "host", o->e);

	if (ret == 0)
		ret = fact_text(o->kernel, sizeof(o->kernel), db, "kernel", o->e);
	if (ret == 0)
		ret = fact_text(uuid, sizeof(uuid), db, "uuid", o->e);
	if (ret == 0)
		ret = fact_number(&start, db, "start_realtime_ns", o->e);
	if (ret == 0 && start <= 0)
		ret = err_set(o->e, ERR_FAIL,
			      "the recording has no reading of the wall clock, which spans need");
	uuid[16] = '\0'; /* its first half is enough to distinguish recordings */
	o->id = strtoull(uuid, NULL, 16);
	o->start = start;
	o->pid = o->tid = -1;
	return ret;
}

int export_otlp(struct sink *out, sqlite3 *db, const struct export_part *part, struct err *e)
{
	struct otlp o = { .out = out, .e = e };
	int ret = read_facts(&o, db);

	if (ret == 0)
		ret = db_each(db, e, put_span, &o, spans_sql, "ii", part->from, part->to);
	if (ret == 0 && o.failed == 0)
		end_line(&o);
	return ret < 0 ? ret : o.failed < 0 ? o.failed : 0;
}
