// SPDX-License-Identifier: GPL-2.0-or-later
/* The line about other servers than the first: problems by name, the rest by number. */
#include "screen.h"

#include "say.h"

/* A thread of this server, v, is named as what the first one waits for: no other problem. */
#define IS_OFFENDER                                                                                 \
	"(subject_kind='server' AND EXISTS (SELECT 1 FROM verdict w JOIN finding f ON f.parent="    \
	"w.finding AND f.kind='pause_worker' JOIN finding_value x ON x.finding=f.id AND"            \
	" x.name='worker' JOIN thread t ON t.tid=x.id JOIN service s ON s.pid=t.pid WHERE w.rank=1" \
	" AND s.server=v.subject))"

/* "redis:6379 (GET slower since 10:02:03.120)" */
static int add_other(struct screen *s, sqlite3 *db, sqlite3_stmt *q, struct err *e)
{
	struct subject of = { subject_kind_of(db_text(q, 0)), sqlite3_column_int64(q, 1) };
	const char *name = db_text(q, 4);
	double start = sqlite3_column_double(q, 3);
	int ret = subject_text(&s->others, db, of, e);

	if (ret == 0)
		ret = buf_printf(&s->others, e, " (%s%s%s", name, *name ? " " : "", db_text(q, 2));
	if (ret == 0 && start > 0)
		ret = buf_printf(&s->others, e, " since ");
	if (ret == 0 && start > 0)
		ret = say_number(&s->others, db, start, "at", e);
	return ret < 0 ? ret : buf_printf(&s->others, e, ")");
}

/* How many others of each verdict: those that are named are no more among them. */
static int count_others(struct screen *s, sqlite3 *db, s64 named, struct err *e)
{
	static const struct {
		const char *status, *text;
	} of[] = {
		{ "problem", " with a problem" },
		{ "none", " without a problem" },
		{ "unchanged", " without a change" },
		{ "unknown", " that cannot be judged" },
	};
	bool any = named > 0, first = true;
	size_t i;
	s64 n;
	int ret = 0;

	for (i = 0; i < sizeof(of) / sizeof(of[0]) && ret == 0; i++) {
		n = 0;
		ret = db_int(
			db, &n, e,
			"SELECT count(*) FROM verdict v WHERE rank > 1 AND status=?1 AND NOT " IS_OFFENDER,
			"s", of[i].status);
		n -= i == 0 ? named : 0;
		if (ret == 0 && n > 0) {
			ret = buf_printf(&s->others, e, "%s%lld%s%s%s", any ? "; " : "",
					 (long long)n, first ? " more server" : "",
					 first && n > 1 ? "s" : "", of[i].text);
			any = true;
			first = false;
		}
	}
	return ret;
}

int screen_others(struct screen *s, sqlite3 *db, struct err *e)
{
	s64 n = 0, named = 0;
	sqlite3_stmt *q;
	int ret = db_int(db, &n, e,
			 "SELECT count(*) FROM verdict v WHERE rank > 1 AND NOT " IS_OFFENDER, "");

	if (ret < 0 || !n)
		return ret;
	ret = db_query(
		&q, db, e,
		"SELECT subject_kind, subject, kind, start, (SELECT n.name FROM finding_value x"
		" JOIN request_name n ON n.id=x.id WHERE x.finding=v.finding AND x.name='name' AND"
		" x.kind='request_name') FROM verdict v WHERE rank > 1 AND status='problem' AND NOT " IS_OFFENDER
		" ORDER"
		" BY rank LIMIT ?1",
		"i", (s64)SCREEN_OTHERS);
	if (ret < 0)
		return ret;
	while (ret == 0 && (ret = db_step(q, e)) > 0) {
		ret = buf_printf(&s->others, e, named++ ? ", " : "Problems of other servers: ");
		if (ret == 0)
			ret = add_other(s, db, q, e);
	}
	ret = db_end(q, ret);
	if (ret == 0)
		ret = count_others(s, db, named, e);
	return ret < 0 ? ret : buf_printf(&s->others, e, " (-a verdict).");
}

#define SAID_ANYWAY                                                                            \
	"'verdict_accept', 'verdict_nagle_always', 'verdict_nagle_left', 'verdict_just_then'," \
	" 'verdict_new_name'"

/* Connections that the kernel dropped are in no request, and the way of answers is in no latency:
 * they are said next to any problem, as more errors are that harm less. */
int screen_also(struct screen *s, sqlite3 *db, s64 finding, struct err *e)
{
	static const char sql[] =
		"SELECT sentence(f.id) FROM finding f WHERE (kind IN (" SAID_ANYWAY ") OR"
		" (?3 AND kind IN ('verdict_cut', 'verdict_cut_own', 'verdict_errors', 'verdict_errors_name')))"
		" AND id<>?2 AND subject_kind='server' AND subject=?1 ORDER BY id";
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, sql, "iii", s->server, finding, (s64)s->problems);

	if (ret < 0)
		return ret;
	while (ret >= 0 && (ret = db_step(q, e)) > 0)
		ret = buf_printf(&s->also, e, "%s%s", s->also.len ? " " : "", db_text(q, 0));
	return db_end(q, ret);
}
