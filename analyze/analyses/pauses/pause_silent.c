// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A pause until the recording ends that nothing else explains, as where threads of a runtime serve
 * any request: other servers that had answered before, and nothing since it began, to what was
 * asked for most of it, and for longer than any of their answers took. Of connections with other
 * servers, as replicas have them, it is not recorded which request waits for which. What is not
 * read may be there: the thread that read their answers must be in poll for most of the pause, and
 * until its end; of a runtime whose threads serve any request, one of these threads.
 */
#include "pause_root.h"

#include "analyze/analyses/verdict/fd_rows.h"
#include "analyze/base/idmap.h"
#include "analyze/base/limits.h"
#include "analyze/store/columns/columns.h"
#include "analyze/store/db.h"
#include "analyze/store/row_types.h"

#include <stdlib.h>

#define NAMED  2
#define MOSTLY 0.5 /* of the pause: they are asked, and are looked for */
#define LATELY 0.1 /* of the pause, before its end */

struct looks {
	double ns, last; /* in poll */
};

struct asked {
	s64 row;	 /* fd.rowid of a socket to it */
	s64 pid, reader; /* who read its last answer */
	s64 last;	 /* of its answers; 0: none */
	s64 longest, ns; /* of its answers; what is asked waits since the pause began */
	double n, first; /* asked since */
};

struct silent {
	const struct judged_pause *p;
	struct fd_rows fds;
	struct asked *of;      /* by remote */
	struct idmap looks[2]; /* struct looks: by thread; of a runtime's threads, by process */
	const struct asked *found;
	struct buf address[NAMED];
	double servers, n, first, last;
};

static int take_answer(void *arg, s64 rowid, const void *upstream, struct err *e)
{
	const struct row_upstream *row = upstream;
	struct silent *s = arg;
	const struct fd_row *at = fd_rows_at(&s->fds, row->pid, row->fd, row->ts);
	struct asked *a = at && row->ts <= at->end ? &s->of[at->remote] : NULL;

	(void)rowid;
	(void)e;
	if (!a)
		return 0;
	a->longest = row->dur > a->longest ? row->dur : a->longest;
	if (row->ts + row->dur < a->last)
		return 0;
	a->last = row->ts + row->dur;
	a->pid = row->pid;
	a->reader = row->tid;
	return 0;
}

static int take_asked(void *arg, s64 rowid, const void *unanswered, struct err *e)
{
	const struct row_upstream_unanswered *row = unanswered;
	struct silent *s = arg;
	const struct fd_row *at = fd_rows_at(&s->fds, row->pid, row->fd, row->ts);
	struct asked *a = at && row->ts <= at->end ? &s->of[at->remote] : NULL;
	s64 from, to;

	(void)rowid;
	(void)e;
	if (!a || row->datagram || row->pid != a->pid || !a->last || a->last > s->p->start ||
	    row->ts < a->last || row->ts >= s->p->end)
		return 0;
	from = row->ts > s->p->start ? row->ts : s->p->start;
	to = at->end < s->p->end ? at->end : s->p->end;
	a->ns = to - from > a->ns ? to - from : a->ns;
	a->first = a->n > 0 ? fmin(a->first, (double)row->ts) : (double)row->ts;
	a->row = at->row;
	a->n++;
	return 0;
}

static int take_looks(void *arg, sqlite3_stmt *q, struct err *e)
{
	bool runtime = sqlite3_column_int(q, 2);
	u64 id = (u64)sqlite3_column_int64(q, runtime ? 1 : 0);
	struct silent *s = arg;
	struct looks *l = idmap_get(&s->looks[runtime], id);

	if (!l)
		l = idmap_add(&s->looks[runtime], id, sizeof(*l), TASK_LIMIT, "threads in poll", e);
	if (!l)
		return ERR_FAIL;
	l->ns += sqlite3_column_double(q, 3);
	l->last = fmax(l->last, sqlite3_column_double(q, 4));
	return 0;
}

static bool is_looking(const struct silent *s, const struct asked *a)
{
	const double ns = (double)(s->p->end - s->p->start);
	const struct looks *of[] = { idmap_get(&s->looks[0], (u64)a->reader),
				     idmap_get(&s->looks[1], (u64)a->pid) };
	int i;

	for (i = 0; i < 2; i++)
		if (of[i] && of[i]->ns > MOSTLY * ns &&
		    of[i]->last >= (double)s->p->end - LATELY * ns)
			return true;
	return false;
}

static bool is_silent(const struct silent *s, const struct asked *a)
{
	return a->n > 0 && a->ns > a->longest &&
	       (double)a->ns > MOSTLY * (double)(s->p->end - s->p->start) && is_looking(s, a);
}

static int by_first(const void *a, const void *b)
{
	const struct asked *x = a, *y = b;

	return x->first != y->first ? (x->first > y->first) - (x->first < y->first)
				    : (x->row > y->row) - (x->row < y->row);
}

static int add(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct silent *s = arg;
	const struct asked *a = s->found;
	int at = (int)s->servers++;

	s->first = at ? fmin(s->first, a->first) : a->first;
	s->last = fmax(s->last, (double)a->last);
	s->n += a->n;
	return at < NAMED ? buf_printf(&s->address[at], e, "%s", db_text(q, 0)) : 0;
}

static int find(struct analysis_ctx *c, struct silent *s, struct err *e)
{
	static const char remote[] = "SELECT remote FROM fd WHERE rowid=?1 AND remote<>''";
	size_t i;
	int ret = 0;

	qsort(s->of, s->fds.n + 1, sizeof(*s->of), by_first);
	for (i = 0; i <= s->fds.n && ret >= 0; i++) {
		const struct asked *a = &s->of[i];

		if (!is_silent(s, a))
			continue;
		s->found = a;
		ret = db_each(c->db, e, add, s, remote, "i", a->row);
	}
	return ret;
}

static int read_silent(struct analysis_ctx *c, s64 server, struct silent *s, struct err *e)
{
	static const char looks[] =
		"SELECT s.tid, t.pid, coalesce(t.green, 0), total(min(s.ts + s.dur, ?3) - max(s.ts, ?2)), max(s.ts + s.dur)"
		" FROM thread_state s CROSS JOIN thread t ON t.tid=s.tid WHERE s.state=state_id('poll') AND s.ts < ?3"
		" AND s.ts + s.dur > ?2 AND t.pid IN (SELECT pid FROM service WHERE server=?1) GROUP BY s.tid";
	int ret = fd_rows_read(&s->fds, c->db, server, "connected", e);

	if (ret < 0 || !s->fds.n)
		return ret;
	s->of = calloc(s->fds.n + 1, sizeof(*s->of));
	if (!s->of)
		return err_set(e, ERR_FAIL, "out of memory for the pause");
	ret = rows_each(c->db, TABLE_upstream, COLUMNS_ALL, take_answer, s, e);
	if (ret >= 0)
		ret = rows_each(c->db, TABLE_upstream_unanswered, COLUMNS_ALL, take_asked, s, e);
	if (ret >= 0)
		ret = db_each(c->db, e, take_looks, s, looks, "iii", server, s->p->start,
			      s->p->end);
	return ret < 0 ? ret : find(c, s, e);
}

static int put(struct analysis_ctx *c, const struct judged *j, const struct silent *s,
	       struct err *e)
{
	const struct value values[] = {
		VALUE_NUMBER("n", s->n, ""),
		VALUE_TEXT("address", s->address[0].data),
		VALUE_TEXT("second", s->servers > 1 ? s->address[1].data : NULL),
		VALUE_NUMBER("others", s->servers > NAMED ? s->servers - NAMED : NAN, ""),
		VALUE_NUMBER("first", s->first, "at"),
		VALUE_NUMBER("last", s->last, "at"),
		{ 0 },
	};
	const struct finding f = { FINDING_pause_silent,
				   PROBLEM,
				   OVERLAP,
				   j->about,
				   "SELECT * FROM upstream_unanswered",
				   values,
				   j->finding };

	return finding_put(c->db, c->analysis->name, &f, NULL, e);
}

int pause_silent_put(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	struct silent s = { .p = judged_longest(j) };
	s64 said = 0;
	int i, ret;

	if (!s.p || s.p->end < c->duration || j->about.kind != SUBJECT_server)
		return 0;
	ret = db_int(c->db, &said, e, "SELECT count(*) FROM finding WHERE parent=?1 AND parent > 0",
		     "i", j->finding);
	if (ret == 0 && !said)
		ret = read_silent(c, j->about.id, &s, e);
	if (ret >= 0 && s.servers > 0)
		ret = put(c, j, &s, e);
	for (i = 0; i < NAMED; i++)
		buf_free(&s.address[i]);
	for (i = 0; i < 2; i++)
		idmap_free_all(&s.looks[i]);
	fd_rows_free(&s.fds);
	free(s.of);
	return ret < 0 ? ret : 0;
}
