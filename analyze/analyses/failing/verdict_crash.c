// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Processes of a server that a signal ended while requests on their connections had no answer, or
 * right before it began to report errors or to pause. Its parent may send the signal to a process
 * that handles it by an exit, as to a worker that answers for too long. A signal that a process
 * handles or that asks it to end (HUP, INT, QUIT, TERM, ALRM, USR1, USR2, PIPE) is no crash; nor is
 * an exit. Who sent it is in the recording: a process, the kernel for lack of memory, or the
 * process itself by a fault.
 */
#include "verdict_failing.h"

#include "analyze/analyses/verdict/verdict_stuck.h"
#include "analyze/store/signal_names.h"

#include <string.h>

#define SI_KERNEL 128
#define ORDERLY	  "(0, 1, 2, 3, 10, 12, 13, 14, 15)"

/* A process that its parent sends one of these ends, by it or by an exit of its own. */
#define FATAL "(4, 5, 6, 7, 8, 9, 11, 24, 25, 31)"

/* By what the process did: SEGV, BUS, FPE, ILL. */
#define FAULTS "(4, 7, 8, 11)"

#define REST_LEAST    1e9 /* ns, of the recording after the end of a server */
#define LINUX_SIGKILL 9

/* Of rows u of upstream_unanswered: its thread has waited for that answer since, until ?2. */
#define MOSTLY_ASKS                                                                            \
	"(SELECT 2 * total(min(ts + dur, ?2) - max(ts, u.ts)) > ?2 - u.ts FROM thread_state s" \
	" WHERE s.tid=u.tid AND s.state=state_id('client') AND s.ts < ?2 AND s.ts + s.dur > u.ts)"

static int take_crash(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct verdict_crash *x = arg;

	double waiting = sqlite3_column_double(q, 3);

	(void)e;
	x->n += waiting > 0;
	x->faults += waiting > 0 && sqlite3_column_int(q, 4);
	x->ended = fmax(x->ended, sqlite3_column_double(q, 5));
	if (!x->pid || (waiting > 0 && !(x->waiting > 0))) {
		x->pid = sqlite3_column_int64(q, 0);
		x->signal = sqlite3_column_int(q, 1);
		x->ts = sqlite3_column_double(q, 2);
		x->waiting = waiting;
	}
	return 0;
}

int verdict_crash_read(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	/* it answered until then, and its end closed connections */
	static const char was_last[] =
		"SELECT (SELECT max(last_send) BETWEEN ?2 - 1000000000 AND ?2 + 10000000 FROM service WHERE"
		" server=?1) AND EXISTS (SELECT 1 FROM fd WHERE pid=?3 AND role='accepted' AND end BETWEEN ?2 -"
		" 1000000 AND ?2 + 100000000)";
	static const char sql[] =
		"WITH own AS MATERIALIZED (SELECT pid FROM service WHERE server=?1), d AS MATERIALIZED (SELECT o.pid, o.parent,"
		" o.ts FROM process_exit o JOIN signal_sent s ON s.pid=o.pid AND iif(s.sender_pid, s.sender_pid,"
		" s.tid)=o.parent AND s.ts BETWEEN o.ts - ?2 AND o.ts AND s.signal IN (3, 6, 9) WHERE o.pid IN (SELECT"
		" pid FROM own) GROUP BY o.pid, o.ts), x AS MATERIALIZED (SELECT x.pid, x.parent, coalesce(nullif(x.signal, 0), s.signal) AS signal, x.ts, min(s.ts)"
		" AS since FROM process_exit x LEFT JOIN signal_sent s ON s.pid=x.pid AND s.signal IN " FATAL
		" AND iif(s.sender_pid, s.sender_pid, s.tid)=x.parent AND s.ts <= x.ts WHERE (x.signal NOT IN " ORDERLY
		" OR s.signal NOT NULL) AND (x.pid IN (SELECT pid FROM own) OR EXISTS (SELECT 1 FROM d WHERE"
		" d.parent=x.parent AND d.ts BETWEEN x.ts AND x.ts + ?2)) GROUP BY x.pid, x.ts), k AS MATERIALIZED"
		" (SELECT pid, end FROM request_closed WHERE NOT peer AND service IN " SERVICES_OF
		" AND coalesce(name, 0) NOT IN (SELECT id FROM request_name WHERE awaits(protocol, name)))"
		" SELECT x.pid, x.signal, x.ts, count(k.pid), x.signal IN " FAULTS
		" OR (x.signal=6 AND EXISTS (SELECT 1 FROM signal_sent s WHERE s.pid=x.pid AND s.signal=6 AND"
		" s.sender_pid=x.pid)), (SELECT count(*) FROM d WHERE d.parent=x.parent AND d.pid<>x.pid AND d.ts"
		" BETWEEN x.ts AND x.ts + ?2) FROM x LEFT JOIN k ON k.pid=x.pid AND k.end >= coalesce(x.since, x.ts) - 100000000 GROUP BY x.pid, x.ts ORDER BY x.ts, x.pid";

	s64 last = 0;
	int ret = db_each(c->db, e, take_crash, &j->crash, sql, "id", j->about.id, CRASH_ENDS);

	if (ret == 0 && j->crash.pid && j->crash.ts + REST_LEAST < (double)c->duration)
		ret = db_int(c->db, &last, e, was_last, "idi", j->about.id, j->crash.ts,
			     j->crash.pid);
	j->crash.last = last;
	return ret;
}

/* What is known of the signal: its sender, and what it was for. */
struct sent {
	s64 tid, pid;
	double ts;
	int code;
	bool known;
	struct buf sender, group;
	double limit;
};

static int take_sent(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct sent *s = arg;

	s->known = true;
	s->tid = sqlite3_column_int64(q, 0);
	s->code = sqlite3_column_int(q, 1);
	s->pid = sqlite3_column_int64(q, 2);
	s->ts = sqlite3_column_double(q, 4);
	return *db_text(q, 3) ? buf_printf(&s->sender, e, "%s%s[%lld]",
					   sqlite3_column_int(q, 5) ? "its parent " : "",
					   db_text(q, 3), (long long)(s->pid ? s->pid : s->tid))
			      : 0;
}

static int take_group(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct sent *s = arg;

	s->limit = db_number(q, 1);
	return *db_text(q, 0) ? buf_printf(&s->group, e, "cgroup %s", db_text(q, 0))
			      : buf_printf(&s->group, e, "the host");
}

static int read_sent(struct analysis_ctx *c, const struct verdict_crash *x, struct sent *s,
		     struct err *e)
{
	static const char sql[] =
		"SELECT s.tid, s.code, coalesce(nullif(s.sender_pid, 0), (SELECT pid FROM thread t WHERE"
		" t.tid=s.tid LIMIT 1), 0), coalesce(nullif(s.sender, ''), (SELECT comm FROM thread t WHERE"
		" t.tid=s.tid LIMIT 1), ''), s.ts, EXISTS (SELECT 1 FROM process_exit x WHERE x.pid=?1 AND"
		" x.parent=iif(s.sender_pid, s.sender_pid, s.tid)) FROM signal_sent s WHERE s.pid=?1 AND s.signal=?2 AND s.ts <= ?3 +"
		" 1000000 ORDER BY s.ts DESC LIMIT 1";
	static const char oom[] =
		"SELECT path, max FROM memory WHERE oom_kill > 0 AND ts <= ?1 AND ts + dur + 1000000000 >= ?1 ORDER"
		" BY length(coalesce(path, '')) DESC LIMIT 1";
	int ret = db_each(c->db, e, take_sent, s, sql, "iid", x->pid, (s64)x->signal, x->ts);

	if (ret == 0 && s->code == SI_KERNEL && x->signal == LINUX_SIGKILL)
		ret = db_each(c->db, e, take_group, s, oom, "d", x->ts);
	return ret;
}

/* What it was asked and did when the signal came. */
struct doomed {
	s64 name; /* of a request that got no answer; 0: not known */
	struct buf upstream;
	double waited;	 /* ns, for an answer of it */
	const char *did; /* for most of the time since it read that request; NULL: not known */
	double share;
};

static int take_upstream(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct doomed *d = arg;

	d->waited = sqlite3_column_double(q, 1);
	return buf_printf(&d->upstream, e, "%s", db_text(q, 0));
}

/* A thread that was idle has no request: what it waited for is not said. */
static int read_doomed(struct analysis_ctx *c, const struct verdict_crash *x, double ts,
		       struct doomed *d, struct err *e)
{
	static const char asked[] =
		"SELECT f.remote, ?2 - u.ts FROM upstream_unanswered u JOIN fd f ON f.pid=u.pid AND f.fd=u.fd AND"
		" f.ts <= u.ts AND coalesce(f.end, ?2) >= ?2 WHERE u.pid=?1 AND NOT u.datagram AND u.ts < ?2 AND"
		" f.remote<>'' AND " MOSTLY_ASKS " ORDER BY u.ts LIMIT 1";
	static const char request[] =
		"SELECT tid, read, coalesce(name, 0) FROM request_closed WHERE pid=?1 AND read < ?2 AND end >= ?2 AND NOT"
		" peer ORDER BY read LIMIT 1";
	sqlite3_stmt *q;
	s64 tid = 0, read = 0;
	int ret = db_each(c->db, e, take_upstream, d, asked, "id", x->pid, ts);

	if (ret == 0)
		ret = db_query(&q, c->db, e, request, "id", x->pid, ts);
	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		tid = sqlite3_column_int64(q, 0);
		read = sqlite3_column_int64(q, 1);
		d->name = sqlite3_column_int64(q, 2);
	}
	ret = db_end(q, ret);
	return ret < 0 || !tid || d->upstream.len
		       ? ret
		       : verdict_did(&d->did, &d->share, c->db, tid, read, (s64)ts, e);
}

static const char *fault_of(const struct verdict_crash *x, const struct sent *s)
{
	if (!s->known || s->group.len)
		return NULL;
	if (s->code == SI_KERNEL)
		return x->signal == LINUX_SIGKILL ? "sent by the kernel, as for lack of memory"
						  : "sent by the kernel";
	if (s->code > 0)
		return "a fault of its own";
	return s->pid == x->pid ? "sent by itself" : NULL;
}

/* It is why: the problem is requests without an answer, or begins about then. */
static bool is_why(const struct judged *j)
{
	bool failing = j->kind == VERDICT_unanswered || j->kind == VERDICT_ended;
	bool then = j->kind == VERDICT_errors || j->kind == VERDICT_pauses;

	return failing || (then && j->crash.ts <= j->end && j->crash.ts >= j->start - 1e9) ||
	       (j->kind == VERDICT_slower && verdict_crash_before(j, j->start, j->end));
}

int verdict_crash_say(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	const struct verdict_crash *x = &j->crash;
	const char *signal = signal_name(x->signal), *fault;
	struct sent s = { .limit = NAN, .ts = x->ts };
	struct doomed d = { .waited = NAN, .share = NAN };
	int ret;

	if (!x->pid || (x->n < 1 && !is_why(j)))
		return 0;
	ret = read_sent(c, x, &s, e);
	if (ret == 0)
		ret = read_doomed(c, x, s.ts, &d, e);
	fault = fault_of(x, &s);
	if (ret == 0) {
		const struct value values[] = {
			VALUE_SUBJECT("process", process, x->pid),
			VALUE_TEXT("signal", signal ? signal : "a signal"),
			VALUE_NUMBER("at", x->ts, "at"),
			VALUE_TEXT("fault", fault),
			VALUE_TEXT("sender",
				   !fault && !s.group.len && s.sender.len ? s.sender.data : NULL),
			VALUE_TEXT("group", s.group.len ? s.group.data : NULL),
			VALUE_NUMBER("limit", s.group.len ? s.limit : NAN, "bytes"),
			VALUE_NUMBER("wait", d.waited, "ns"),
			VALUE_TEXT("upstream", d.upstream.len ? d.upstream.data : NULL),
			VALUE_TEXT("did", d.did),
			VALUE_NUMBER("did_share", d.did ? d.share : NAN, "%"),
			VALUE_NUMBER("n", x->waiting > 0 ? x->waiting : NAN, ""),
			VALUE_MAYBE("name", request_name, x->waiting == 1 ? d.name : 0),
			VALUE_NUMBER("more", x->n > 1 ? x->n - 1 : NAN, ""),
			VALUE_NUMBER("ended", x->ended > 0 ? x->ended : NAN, ""),
			{ 0 },
		};
		const struct finding f = { FINDING_verdict_killed,
					   is_why(j) ? PROBLEM : WARNING,
					   OBSERVED,
					   j->about,
					   "SELECT * FROM process_exit WHERE signal > 0",
					   values,
					   is_why(j) ? j->finding : 0 };

		ret = finding_put(c->db, c->analysis->name, &f, NULL, e);
	}
	buf_free(&d.upstream);
	buf_free(&s.sender);
	buf_free(&s.group);
	return ret;
}
