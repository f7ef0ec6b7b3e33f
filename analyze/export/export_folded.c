// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Folded stacks: "frame;frame;frame ns" a line. Of threads: process, thread, what kind of time,
 * why, in which call, woken by whom. Of probed calls: process, the functions, the state.
 */
#include "export.h"

#include "analyze/base/idmap.h"
#include "analyze/base/limits.h"
#include "analyze/store/fact.h"
#include "analyze/store/state.h"
#include "format/escape.h"

#include <stdlib.h>
#include <string.h>

#define NODES_MAX 200000 /* different stacks; what is deeper then counts for its caller */

static int add_frame(struct buf *b, const char *text, struct err *e)
{
	return escape_add(b, ESCAPE_FOLDED, text ? text : "?", text ? strlen(text) : 1, e);
}

/* The format has no place for a verdict: what is not complete stands under a frame of that name. */
static int add_root(struct buf *b, const char *verdict, struct err *e)
{
	return strcmp(verdict, "COMPLETE") == 0 ? 0 : buf_printf(b, e, "%s recording;", verdict);
}

/* ---- threads ---- */

static const char thread_sql[] =
	/* an id that was used twice: its last owner's name */
	"WITH named AS (SELECT tid, pid, comm || '[' || tid || ']' AS name, max(start)"
	" FROM thread GROUP BY tid),"
	" owner AS (SELECT pid, comm || '[' || pid || ']' AS name, max(start) FROM process"
	" GROUP BY pid)"
	" SELECT coalesce(o.name, 'process ' || n.pid), coalesce(n.name, '[' || s.tid || ']'),"
	" CASE WHEN NOT t.off THEN 'on CPU' WHEN t.category='runq'"
	" THEN 'run queue' ELSE 'off CPU' END, CASE WHEN t.off THEN t.name END,"
	" c.name, CASE WHEN s.waker THEN 'woken by ' || coalesce(w.name, '[' || s.waker || ']')"
	" WHEN s.context THEN 'woken by an interrupt' END, s.ns"
	" FROM (SELECT tid, state, nr, nullif(waker, 0) AS waker, context > 0 AS context,"
	" sum(dur) AS ns FROM thread_state GROUP BY 1, 2, 3, 4, 5) s"
	" JOIN state t ON t.id = s.state LEFT JOIN named n ON n.tid = s.tid"
	" LEFT JOIN owner o ON o.pid = n.pid LEFT JOIN named w ON w.tid = s.waker"
	" LEFT JOIN (SELECT nr, min(name) AS name FROM syscall_name GROUP BY nr) c ON c.nr = s.nr"
	" WHERE s.ns > 0 ORDER BY 1, 2, 3, 4, 5, 6";

static int add_stack(struct buf *b, sqlite3_stmt *s, const char *verdict, struct err *e)
{
	int i, frames = 0, last = sqlite3_column_count(s) - 1;
	int ret = add_root(b, verdict, e);

	for (i = 0; i < last && ret == 0; i++) {
		if (sqlite3_column_type(s, i) == SQLITE_NULL)
			continue;
		ret = frames++ ? buf_add(b, ";", 1, e) : 0;
		if (ret == 0)
			ret = add_frame(b, db_text_or(s, i, NULL), e);
	}
	return ret < 0 ? ret : buf_printf(b, e, " %lld\n", sqlite3_column_int64(s, last));
}

int export_folded(struct sink *out, sqlite3 *db, const struct export_part *part, struct err *e)
{
	sqlite3_stmt *s = NULL;
	char verdict[16];
	s64 any = 0;
	int ret = coverage_verdict(verdict, sizeof(verdict), db, e);

	(void)part;
	if (ret == 0)
		ret = db_int(db, &any, e,
			     "SELECT EXISTS (SELECT 1 FROM thread_state WHERE dur > 0)", "");
	if (ret == 0 && !any)
		ret = err_set(e, ERR_FAIL,
			      "the recording does not show where threads' time went: it has no "
			      "switches (group sched)");
	if (ret == 0)
		ret = db_query(&s, db, e, thread_sql, "");
	while (ret == 0 && (ret = db_step(s, e)) > 0) {
		ret = add_stack(&out->b, s, verdict, e);
		if (ret == 0)
			ret = sink_more(out, e);
	}
	return db_end(s, ret);
}

/* ---- probed calls ---- */

/* A stack of functions: its last one, and the stack below. */
struct node {
	u32 parent; /* 0: a process */
	u32 site;   /* or pid */
	s64 ns[N_STATES];
};

struct open_call {
	s64 end;
	u32 node;
};

struct stacks {
	struct node *nodes; /* [0] is not used */
	u32 n, cap;
	struct idmap index; /* (parent, site or pid) -> number */
	struct open_call *open;
	u32 depth, room;
};

static int node_of(struct stacks *st, u32 parent, u32 site, u32 *ret, struct err *e)
{
	u64 key = (u64)parent << 32 | site;
	uintptr_t known = (uintptr_t)idmap_get(&st->index, key);
	struct node *grown;
	u32 cap = st->cap ? 2 * st->cap : 64;

	*ret = known ? (u32)known : parent;
	if (known || (st->n >= NODES_MAX && parent))
		return 0;
	if (st->n + 1 >= st->cap) {
		grown = realloc(st->nodes, cap * sizeof(*grown));
		if (!grown)
			return err_set(e, ERR_FAIL, "out of memory for stacks");
		st->nodes = grown;
		st->cap = cap;
	}
	st->nodes[++st->n] = (struct node){ .parent = parent, .site = site };
	*ret = st->n;
	return idmap_put(&st->index, key, (void *)(uintptr_t)st->n, NODES_MAX + TASK_LIMIT, e);
}

/* A call's own time is its time without that of the calls inside it. */
static int on_call(struct stacks *st, sqlite3_stmt *s, bool same_thread, struct err *e)
{
	s64 ts = sqlite3_column_int64(s, 0), end = ts + sqlite3_column_int64(s, 1);
	struct open_call *grown;
	u32 node, below = 0;
	int i, ret;

	while (st->depth && (!same_thread || st->open[st->depth - 1].end <= ts))
		st->depth--;
	if (st->depth)
		below = st->open[st->depth - 1].node;
	ret = below ? 0 : node_of(st, 0, (u32)sqlite3_column_int64(s, 3), &below, e);
	if (ret == 0)
		ret = node_of(st, below, (u32)sqlite3_column_int64(s, 4), &node, e);
	if (ret < 0)
		return ret;
	for (i = 0; i < N_STATES; i++) {
		s64 ns = sqlite3_column_int64(s, 5 + i);

		st->nodes[node].ns[i] += ns;
		if (st->depth)
			st->nodes[below].ns[i] -= ns;
	}
	if (st->depth == st->room) {
		grown = realloc(st->open, (2 * (size_t)st->room + 16) * sizeof(*grown));
		if (!grown)
			return err_set(e, ERR_FAIL, "out of memory for stacks");
		st->open = grown;
		st->room = 2 * st->room + 16;
	}
	st->open[st->depth++] = (struct open_call){ end, node };
	return 0;
}

static int gather(struct stacks *st, sqlite3 *db, struct err *e)
{
	static const char sql[] =
		"SELECT c.ts, c.dur, c.tid, (SELECT pid FROM thread t"
		" WHERE t.tid = c.tid ORDER BY start DESC LIMIT 1), c.site"
#define STATE(id, name, ...) ", c." #name
#include "analyze/store/waits.def"
#undef STATE
		" FROM call c WHERE c.dur IS NOT NULL AND c.end_tid IS NULL ORDER BY c.tid, c.ts, c.depth";
	sqlite3_stmt *s;
	s64 tid, last = -1;
	int ret = db_query(&s, db, e, sql, "");

	if (ret < 0)
		return ret;
	while (ret == 0 && (ret = db_step(s, e)) > 0) {
		tid = sqlite3_column_int64(s, 2);
		ret = on_call(st, s, tid == last, e);
		last = tid;
	}
	sqlite3_finalize(s);
	return ret;
}

/* The frames from the process down; a stack as deep as recursion made it. */
static int add_frames(struct buf *b, const struct stacks *st, u32 node, sqlite3_stmt *site,
		      sqlite3_stmt *owner, struct err *e)
{
	const struct node *n = &st->nodes[node];
	sqlite3_stmt *s = n->parent ? site : owner;
	int ret = n->parent ? add_frames(b, st, n->parent, site, owner, e) : 0;

	if (ret < 0)
		return ret;
	sqlite3_reset(s);
	sqlite3_bind_int64(s, 1, n->site);
	ret = db_step(s, e);
	if (ret >= 0)
		ret = add_frame(b, ret ? db_text_or(s, 0, NULL) : NULL, e);
	return ret < 0 ? ret : buf_add(b, ";", 1, e);
}

static int put_node(struct sink *out, const struct stacks *st, u32 node, const char *verdict,
		    sqlite3_stmt *site, sqlite3_stmt *owner, struct err *e)
{
	static const char *const names[] = {
#define STATE(id, name, ...) [id] = #name,
#include "analyze/store/waits.def"
#undef STATE
	};
	int i, ret = 0;

	for (i = 0; i < N_STATES && ret == 0; i++) {
		if (st->nodes[node].ns[i] <= 0)
			continue;
		ret = add_root(&out->b, verdict, e);
		if (ret == 0)
			ret = add_frames(&out->b, st, node, site, owner, e);
		if (ret == 0)
			ret = buf_printf(&out->b, e, "%s %lld\n", names[i],
					 (long long)st->nodes[node].ns[i]);
		if (ret == 0)
			ret = sink_more(out, e);
	}
	return ret;
}

int export_folded_calls(struct sink *out, sqlite3 *db, const struct export_part *part,
			struct err *e)
{
	struct stacks st = { 0 };
	sqlite3_stmt *site = NULL, *owner = NULL;
	char verdict[16];
	u32 i;
	int ret = coverage_verdict(verdict, sizeof(verdict), db, e);

	(void)part;
	if (ret == 0)
		ret = gather(&st, db, e);
	if (ret == 0 && !st.n)
		ret = err_set(e, ERR_FAIL,
			      "the recording has no calls of functions: record them with "
			      "obsrec -u FILE:FUNCTION");
	if (ret == 0)
		ret = db_query(&site, db, e, "SELECT function FROM site WHERE id=?", "");
	if (ret == 0)
		ret = db_query(&owner, db, e,
			       "SELECT comm || '[' || pid || ']' FROM process WHERE pid=?"
			       " ORDER BY start DESC",
			       "");
	for (i = 1; i <= st.n && ret == 0; i++)
		ret = put_node(out, &st, i, verdict, site, owner, e);
	sqlite3_finalize(site);
	sqlite3_finalize(owner);
	idmap_free(&st.index);
	free(st.nodes);
	free(st.open);
	return ret < 0 ? ret : 0;
}
