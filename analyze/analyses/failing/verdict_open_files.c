// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * At the limit of open files: which of them are most of what a process opened and did not close.
 * Next to pauses, slow requests or a full accept queue, the calls that failed for it, where accept
 * is one of them and left connections waiting (verdict_unserved.c).
 */
#include "verdict_errnos.h"
#include "verdict_failing.h"

#include <math.h>
#include <string.h>

#define GROUP(role) (strcmp(group, role) == 0)

/*
 * Inherited ones at or above the limit, which is of their numbers, take no place below it.
 * Those with an upstream, the clients', each file, and the rest by kind: what grew most.
 */
static const char sql[] =
	"WITH m AS MATERIALIZED (SELECT (SELECT files_limit FROM process WHERE pid=?1 AND start <= ?2"
	" ORDER BY start DESC LIMIT 1) AS most), f AS MATERIALIZED (SELECT rowid AS id, kind, path, iif(role IN ('connected', 'accepted'),"
	" role, '') AS role, iif(role='connected', coalesce(nullif(remote, ''), path), '') AS remote,"
	" ts <= ?2 AND coalesce(end, ?2 + 1) > ?2 AS kept, ts <= 0 AND coalesce(end, 1) > 0 AS before"
	" FROM fd, m WHERE pid=?1 AND fd >= 0 AND (ts > 0 OR fd < coalesce(most, fd + 1))) SELECT role, max(id), iif(role='' AND kind='file', path, ''), kind,"
	" sum(kept), sum(before), (SELECT sum(kept) FROM f), (SELECT most FROM m)"
	" FROM f GROUP BY 1, remote, 3, kind HAVING sum(kept) > 0 ORDER BY sum(kept) - sum(before) DESC, sum(kept) DESC LIMIT 1";

static int put(struct analysis_ctx *c, const struct judged *j, s64 pid, sqlite3_stmt *q,
	       struct err *e)
{
	const char *group = db_text(q, 0), *file = db_text(q, 2);
	double n = sqlite3_column_double(q, 4), all = sqlite3_column_double(q, 6);
	double limit = all > db_number(q, 7) ? NAN : db_number(q, 7);
	bool to = GROUP("connected"), from = GROUP("accepted"), path = !to && !from && *file;
	const struct value values[] = {
		VALUE_SUBJECT("process", process, pid),
		VALUE_NUMBER("all", all, ""),
		/* of the start: unless it was changed since */
		VALUE_NUMBER("limit", limit, ""),
		VALUE_NUMBER("upstreams", to ? n : NAN, ""),
		VALUE_MAYBE("upstream", upstream, to ? sqlite3_column_int64(q, 1) : 0),
		VALUE_NUMBER("clients", from ? n : NAN, ""),
		VALUE_NUMBER("same", path ? n : NAN, ""),
		VALUE_TEXT("file", path ? file : NULL),
		VALUE_NUMBER("others", to || from || path ? NAN : n, ""),
		VALUE_TEXT("kind", to || from || path ? NULL : db_text(q, 3)),
		VALUE_NUMBER("before", sqlite3_column_double(q, 5), ""),
		{ 0 },
	};
	const struct finding f = {
		FINDING_verdict_open_files, PROBLEM, OBSERVED,	 j->about,
		"SELECT * FROM fd",	    values,  j->finding,
	};

	return finding_put(c->db, c->analysis->name, &f, NULL, e);
}

int verdict_open_files_say(struct analysis_ctx *c, const struct judged *j, s64 pid, s64 ts,
			   struct err *e)
{
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "ii", pid, ts);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0)
		ret = put(c, j, pid, q, e);
	return db_end(q, ret);
}

/* Connections waited for accept then; that each failed call alone delays no request is ordinary. */
static bool is_short(const struct judged *j)
{
	const struct verdict_unserved *u = &j->unserved;

	if (!is_open_files(u->call & 0xff, (u32)(u->call >> 8), (int)u->error) || u->accepted)
		return false;
	if (u->alone > 0 && j->kind == VERDICT_accept && u->alone < j->accept.end)
		return true;
	return u->n > 0 && !(u->start > j->end) && !(u->end < j->start);
}

struct short_calls {
	struct buf name[2];
	double n[2], first, last;
	int kinds;
};

static int on_calls(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct short_calls *s = arg;
	int i = s->kinds++;

	s->last = fmax(s->last, sqlite3_column_double(q, 2));
	s->first = i ? fmin(s->first, sqlite3_column_double(q, 3)) : sqlite3_column_double(q, 3);
	s->n[i] = sqlite3_column_double(q, 1);
	return buf_printf(&s->name[i], e, "%s", db_text(q, 0));
}

static int put_calls(struct analysis_ctx *c, const struct judged *j, s64 pid,
		     const struct short_calls *s, struct err *e)
{
	const struct verdict_unserved *u = &j->unserved;
	bool lasts = u->alone > 0 || s->last + j->width + 1e9 >= (double)c->duration;
	const struct value values[] = {
		VALUE_SUBJECT("process", process, pid),
		VALUE_NUMBER("start", s->first, "at"),
		VALUE_NUMBER("end", lasts ? NAN : s->last, "at"),
		VALUE_TEXT("call", s->name[0].data),
		VALUE_NUMBER("n", s->n[0], ""),
		VALUE_TEXT("second", s->kinds > 1 ? s->name[1].data : NULL),
		VALUE_NUMBER("second_n", s->kinds > 1 ? s->n[1] : NAN, ""),
		VALUE_NUMBER("alone", u->alone > 0 ? u->alone : NAN, "at"),
		{ 0 },
	};
	const struct finding f = { FINDING_verdict_open_limit,
				   PROBLEM,
				   OBSERVED,
				   j->about,
				   "SELECT * FROM syscall WHERE ret=-24",
				   values,
				   j->finding };

	return finding_put(c->db, c->analysis->name, &f, NULL, e);
}

int verdict_open_limit_say(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	static const char calls[] =
		"SELECT n.name, count(*), max(s.ts), min(s.ts) FROM syscall s JOIN syscall_name n USING(abi, nr) WHERE"
		" s.ret=-24 AND n.name NOT LIKE 'inotify_init%' AND s.tid IN (SELECT tid FROM thread WHERE pid=?1)"
		" GROUP BY 1 ORDER BY n.name NOT LIKE 'accept%', 2 DESC, 1 LIMIT 2";
	struct short_calls s = { 0 };
	s64 pid = 0;
	int ret;

	if (j->status != STATUS_PROBLEM || !is_short(j))
		return 0;
	ret = db_int(c->db, &pid, e, "SELECT pid FROM thread WHERE tid=?1", "i", j->unserved.tid);
	if (ret == 0)
		ret = db_each(c->db, e, on_calls, &s, calls, "i", pid);
	if (ret == 0 && s.kinds)
		ret = put_calls(c, j, pid, &s, e);
	if (ret == 0 && s.kinds)
		ret = verdict_open_files_say(c, j, pid, (s64)s.first, e);
	buf_free(&s.name[0]);
	buf_free(&s.name[1]);
	return ret;
}
