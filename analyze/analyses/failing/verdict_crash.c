// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Processes of a server that a signal ended while requests on their connections had no answer, or
 * right before it began to report errors or to pause. A signal that a process handles or that asks
 * it to end (HUP, INT, QUIT, TERM, ALRM, USR1, USR2, PIPE) is no crash; nor is an exit. Who sent it
 * is in the recording: a process, the kernel for lack of memory, or the process itself by a fault.
 */
#include "verdict_failing.h"

#include <string.h>

#define SI_KERNEL 128
#define ORDERLY	  "(0, 1, 2, 3, 10, 12, 13, 14, 15)"

#define REST_LEAST    1e9 /* ns, of the recording after the end of a server */
#define LINUX_SIGKILL 9

static const struct {
	int number;
	const char *name;
} signals[] = {
	{ 4, "SIGILL" },  { 5, "SIGTRAP" },  { 6, "SIGABRT" },	{ 7, "SIGBUS" },   { 8, "SIGFPE" },
	{ 9, "SIGKILL" }, { 11, "SIGSEGV" }, { 24, "SIGXCPU" }, { 25, "SIGXFSZ" }, { 31, "SIGSYS" },
};

static int take_crash(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct verdict_crash *x = arg;

	double waiting = sqlite3_column_double(q, 3);

	(void)e;
	x->n += waiting > 0;
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
		"WITH x AS MATERIALIZED (SELECT pid, signal, ts FROM process_exit WHERE signal NOT IN " ORDERLY
		" AND pid IN (SELECT pid FROM service WHERE server=?1)), k AS MATERIALIZED (SELECT pid, end FROM"
		" request_closed WHERE NOT peer AND service IN " SERVICES_OF
		" AND coalesce(name, 0) NOT IN (SELECT id FROM request_name WHERE awaits(protocol, name)))"
		" SELECT x.pid, x.signal, x.ts, count(k.pid) FROM x LEFT JOIN k ON k.pid=x.pid AND k.end >= x.ts -"
		" 100000000 GROUP BY x.pid, x.ts ORDER BY x.ts, x.pid";

	s64 last = 0;
	int ret = db_each(c->db, e, take_crash, &j->crash, sql, "i", j->about.id);

	if (ret == 0 && j->crash.pid && j->crash.ts + REST_LEAST < (double)c->duration)
		ret = db_int(c->db, &last, e, was_last, "idi", j->about.id, j->crash.ts,
			     j->crash.pid);
	j->crash.last = last;
	return ret;
}

/* What is known of the signal: its sender, and what it was for. */
struct sent {
	s64 tid, pid;
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
	return *db_text(q, 3) ? buf_printf(&s->sender, e, "%s[%lld]", db_text(q, 3),
					   (long long)(s->pid ? s->pid : s->tid))
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
		" t.tid=s.tid LIMIT 1), '') FROM signal_sent s WHERE s.pid=?1 AND s.signal=?2 AND s.ts <= ?3 +"
		" 1000000 ORDER BY s.ts DESC LIMIT 1";
	static const char oom[] =
		"SELECT path, max FROM memory WHERE oom_kill > 0 AND ts <= ?1 AND ts + dur + 1000000000 >= ?1 ORDER"
		" BY length(coalesce(path, '')) DESC LIMIT 1";
	int ret = db_each(c->db, e, take_sent, s, sql, "iid", x->pid, (s64)x->signal, x->ts);

	if (ret == 0 && s->code == SI_KERNEL && x->signal == LINUX_SIGKILL)
		ret = db_each(c->db, e, take_group, s, oom, "d", x->ts);
	return ret;
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

	return failing || (then && j->crash.ts <= j->end && j->crash.ts >= j->start - 1e9);
}

int verdict_crash_say(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	const struct verdict_crash *x = &j->crash;
	const char *signal = "a signal", *fault;
	struct sent s = { .limit = NAN };
	size_t i;
	int ret;

	if (!x->pid || (x->n < 1 && !is_why(j)))
		return 0;
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal = signals[i].number == x->signal ? signals[i].name : signal;
	ret = read_sent(c, x, &s, e);
	fault = fault_of(x, &s);
	if (ret == 0) {
		const struct value values[] = {
			VALUE_SUBJECT("process", process, x->pid),
			VALUE_TEXT("signal", signal),
			VALUE_NUMBER("at", x->ts, "at"),
			VALUE_TEXT("fault", fault),
			VALUE_TEXT("sender",
				   !fault && !s.group.len && s.sender.len ? s.sender.data : NULL),
			VALUE_TEXT("group", s.group.len ? s.group.data : NULL),
			VALUE_NUMBER("limit", s.group.len ? s.limit : NAN, "bytes"),
			VALUE_NUMBER("n", x->waiting > 0 ? x->waiting : NAN, ""),
			VALUE_NUMBER("more", x->n > 1 ? x->n - 1 : NAN, ""),
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
	buf_free(&s.sender);
	buf_free(&s.group);
	return ret;
}
