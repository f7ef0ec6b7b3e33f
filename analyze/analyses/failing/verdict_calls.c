// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * System calls that failed in requests that failed. An errno that says why (verdict_errnos.c) is
 * the cause if it occurs within half of the failed requests or more, in the thread that served
 * them, and next to never within requests that were answered well. Where threads of a pool do the
 * work, the same is asked of all threads of the process. redis answers MISCONF after it could not
 * write its log, or its child a snapshot: there calls between requests and those of children count.
 */
#include "verdict_errnos.h"
#include "verdict_failing.h"
#include "verdict_place.h"

#include "analyze/base/idmap.h"
#include "analyze/store/db_idmap.h"
#include "analyze/store/request_rows.h"
#include "format/errnos.h"
#include "format/grow.h"
#include "format/syscall.h"

#include <stdlib.h>
#include <string.h>

#define KINDS_MAX  32 /* of call and errno */
#define CALLS_MAX  1000000
#define KINDS_SAID 2
#define MOST	   0.5 /* of the failed requests have it */
#define RARE	   0.1 /* of that share, of the requests that were answered well */

enum scope { OF_THREAD, OF_PROCESS, N_SCOPES };

struct kind {
	u8 abi;
	u32 nr;
	int error;
	double n;
	double with[N_SCOPES][2]; /* requests with it: answered well, failed */
	struct failed_call first, last;
	double children; /* calls of child processes */
	double within;	 /* calls in the time range of the errors */
};

struct failure {
	s64 id, ts; /* thread or process */
	u32 kind;
};

struct calls {
	const struct judged *j;
	s64 parent; /* finding; 0: the errors are not the problem */
	struct kind kinds[KINDS_MAX];
	u32 n_kinds;
	struct idmap pid_of;   /* thread of the server -> its process; negative: a child of it */
	struct idmap services; /* of the server */
	struct failure *of[N_SCOPES];
	size_t n;
	double requests[2]; /* answered well, failed */
};

static struct kind *kind_of(struct calls *c, const struct row_syscall *row)
{
	u32 i;

	for (i = 0; i < c->n_kinds; i++)
		if (c->kinds[i].nr == row->nr && c->kinds[i].abi == row->abi &&
		    c->kinds[i].error == -row->ret)
			return &c->kinds[i];
	if (c->n_kinds == KINDS_MAX)
		return NULL;
	c->kinds[c->n_kinds] = (struct kind){ .nr = (u32)row->nr,
					      .abi = (u8)row->abi,
					      .error = (int)-row->ret,
					      .first = { row->ts, row->tid, row->fd } };
	return &c->kinds[c->n_kinds++];
}

/* A window longer: when a change of errors begins is known by window. */
static bool is_within_errors(const struct judged *j, s64 ts)
{
	return j->more.n > 0 && (double)ts >= j->more.start - j->width &&
	       (double)ts <= j->more.end + j->width;
}

static int take_call(void *arg, s64 rowid, const void *call, struct err *e)
{
	const struct row_syscall *row = call;
	struct calls *c = arg;
	struct kind *k;
	intptr_t pid;

	(void)rowid;
	if (row->ret >= 0 || row->ret < -4095 || c->n >= CALLS_MAX)
		return 0;
	pid = (intptr_t)idmap_get(&c->pid_of, (u64)row->tid);
	if (!pid || !errno_reason((u8)row->abi, (u32)row->nr, (int)-row->ret))
		return 0;
	k = kind_of(c, row);
	if (!k)
		return 0;
	k->last = (struct failed_call){ row->ts, row->tid, row->fd };
	k->n++;
	k->children += pid < 0;
	k->within += is_within_errors(c->j, row->ts);
	if (GROW(c->of[OF_THREAD], c->n, "failed calls", e) < 0 ||
	    GROW(c->of[OF_PROCESS], c->n, "failed calls", e) < 0)
		return ERR_FAIL;
	c->of[OF_THREAD][c->n] = (struct failure){ row->tid, row->ts, (u32)(k - c->kinds) };
	c->of[OF_PROCESS][c->n] = (struct failure){ pid, row->ts, (u32)(k - c->kinds) };
	c->n++;
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct failure *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->ts < y->ts ? -1 : x->ts > y->ts;
}

/* ---- requests ---- */

/* Kinds of failures of a thread or process in a time range, as bits. */
static u32 kinds_in(const struct calls *c, enum scope scope, s64 id, s64 from, s64 to)
{
	const struct failure key = { id, from, 0 };
	size_t low = 0, high = c->n, mid;
	u32 bits = 0;

	while (low < high) {
		mid = (low + high) / 2;
		if (by_time(&c->of[scope][mid], &key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < c->n && c->of[scope][low].id == id && c->of[scope][low].ts <= to; low++)
		bits |= 1u << c->of[scope][low].kind;
	return bits;
}

static void take(struct calls *c, s64 tid, s64 pid, s64 from, s64 to, bool failed)
{
	const s64 ids[] = { [OF_THREAD] = tid, [OF_PROCESS] = pid };
	u32 bits, k;
	int scope;

	c->requests[failed]++;
	for (scope = 0; scope < N_SCOPES; scope++) {
		bits = kinds_in(c, scope, ids[scope], from, to);
		for (k = 0; bits && k < c->n_kinds; k++)
			c->kinds[k].with[scope][failed] += bits >> k & 1;
	}
}

static int take_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct calls *c = arg;

	(void)rowid;
	(void)e;
	if (!row->lossy && idmap_get(&c->services, (u64)row->service))
		take(c, row->tid, row->pid, row->ts, row->ts + row->dur, row->errors > 0);
	return 0;
}

static int take_closed(void *arg, sqlite3_stmt *q, struct err *e)
{
	(void)e;
	take(arg, sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1),
	     sqlite3_column_int64(q, 2), sqlite3_column_int64(q, 3), true);
	return 0;
}

static int read_requests(struct analysis_ctx *a, struct calls *c, struct err *e)
{
	int ret = rows_each(a->db, TABLE_request,
			    COLUMN_OF(request, ts) | COLUMN_OF(request, dur) |
				    COLUMN_OF(request, tid) | COLUMN_OF(request, pid) |
				    COLUMN_OF(request, errors) | COLUMN_OF(request, lossy) |
				    COLUMN_OF(request, service),
			    take_request, c, e);

	return ret < 0 ? ret
		       : db_each(a->db, e, take_closed, c,
				 "SELECT tid, pid, read, end FROM " CLOSED_OF
				 " WHERE read NOT NULL",
				 "id", c->j->about.id,
				 c->j->crash.n > 0 ? c->j->crash.ts : (double)INT64_MAX);
}

/* ---- which is the cause ---- */

/*
 * Errors of wrong requests have other reasons: of all errors, as many count as are the server's
 * own, where some are.
 */
static double failed_of(const struct calls *c)
{
	double own = c->j->always.n + c->j->closed.n;

	return own > 0 && own < c->requests[1] ? own : c->requests[1];
}

static bool is_cause(const struct calls *c, const struct kind *k, enum scope scope)
{
	double failed = failed_of(c), bad = failed > 0 ? fmin(1, k->with[scope][1] / failed) : 0;
	double good = c->requests[0] > 0 ? k->with[scope][0] / c->requests[0] : 0;

	return bad >= MOST && good <= RARE * bad;
}

/*
 * With many requests at one time in one process, a call of a pool's thread is within all of them.
 * Only in the time range of the errors, and as many as half of them or more: they belong together.
 */
static bool is_of_range(const struct calls *c, const struct kind *k)
{
	return k->within >= MOST * c->j->more.n && k->n - k->within <= RARE * k->within;
}

/* Of a file or file system; else of the process, or the host. */
static bool has_place(int error)
{
	return error == LINUX_ENOSPC || error == LINUX_EDQUOT || error == LINUX_EROFS ||
	       error == LINUX_EIO || error == LINUX_EFBIG || error == LINUX_ESTALE;
}

/* It, or its child, could not write its data: redis says so. */
static bool is_misconf(const struct calls *c, const struct kind *k)
{
	const char *code = verdict_error_code(c->j);

	return code && strcmp(code, "MISCONF") == 0 && (k->children > 0 || has_place(k->error));
}

/* A socket that was not connected has no address: that of all others of unix, if it is one. */
static int read_address(struct buf *out, sqlite3 *db, const struct kind *k, struct err *e)
{
	static const char sql[] =
		"SELECT max(path) FROM fd WHERE pid=(SELECT pid FROM thread WHERE tid=?1 LIMIT 1) AND"
		" role='connected' AND path GLOB '[/@]*' HAVING count(DISTINCT path)=1";

	return is_connect(k->abi, k->nr) && k->error == LINUX_EAGAIN
		       ? db_add_text(out, db, e, sql, "i", k->first.tid)
		       : 0;
}

static int put_kind(struct analysis_ctx *a, const struct calls *c, const struct kind *k,
		    enum scope scope, bool contrast, struct err *e)
{
	const struct errno_reason *reason = errno_reason(k->abi, k->nr, k->error);
	double good = c->requests[0] > 0 ? k->with[scope][0] / c->requests[0] : NAN;
	bool full = k->error == LINUX_ENOSPC || k->error == LINUX_EDQUOT;
	struct failed_place p = { 0 };
	struct buf address = { 0 };
	char call[64], error[32];
	int ret = read_address(&address, a->db, k, e);

	if (ret == 0 && has_place(k->error))
		ret = failed_place_read(&p, a->db, &k->first, &k->last, full, e);
	const struct value values[] = {
		VALUE_TEXT("call", syscall_name(k->abi, k->nr, call, sizeof(call))),
		VALUE_TEXT(p.several ? "such" : "path", p.path.len ? p.path.data : NULL),
		VALUE_TEXT("address", address.len ? address.data : NULL),
		VALUE_TEXT("filesystem", p.filesystem.len ? p.filesystem.data : NULL),
		VALUE_NUMBER("n", k->n, ""),
		VALUE_TEXT("errno", errno_name(k->error, error, sizeof(error))),
		VALUE_TEXT("meaning", reason ? reason->meaning : ""),
		VALUE_TEXT("limit", reason ? reason->limit : NULL),
		VALUE_MAYBE("thread", thread, scope == OF_THREAD ? (s64)0 : k->first.tid),
		VALUE_NUMBER("bad",
			     contrast ? 100 * fmin(1, k->with[scope][1] / failed_of(c)) : NAN, "%"),
		VALUE_NUMBER("good", contrast ? 100 * good : NAN, "%"),
		VALUE_MAYBE("writer", process, p.writer),
		VALUE_NUMBER("written", p.bytes, "bytes"),
		VALUE_NUMBER("all", p.of, "bytes"),
		VALUE_TEXT("file", p.written.len ? p.written.data : NULL),
		{ 0 },
	};
	const struct finding f = { FINDING_verdict_calls,
				   PROBLEM,
				   scope == OF_THREAD ? OBSERVED : OVERLAP,
				   c->j->about,
				   "SELECT * FROM syscall_error",
				   values,
				   c->parent };

	ret = ret < 0 ? ret : finding_put(a->db, a->analysis->name, &f, NULL, e);
	failed_place_free(&p);
	buf_free(&address);
	return ret;
}

/* After the failed call that was said: what fills the limit of open files. */
static int put_open_files(struct analysis_ctx *a, const struct calls *c, const struct kind *k,
			  struct err *e)
{
	s64 pid = k && is_open_files(k->abi, k->nr, k->error)
			  ? (intptr_t)idmap_get(&c->pid_of, (u64)k->first.tid)
			  : 0;

	return pid > 0 ? verdict_open_files_say(a, c->j, pid, k->first.ts, e) : 0;
}

static int say(struct analysis_ctx *a, const struct calls *c, struct err *e)
{
	const struct kind *misconf = NULL, *first = NULL;
	int said = 0, ret = 0, scope;
	u32 i;

	for (scope = 0; scope < N_SCOPES && !said; scope++)
		for (i = 0; i < c->n_kinds && said < KINDS_SAID && ret == 0; i++)
			if (is_cause(c, &c->kinds[i], scope)) {
				ret = put_kind(a, c, &c->kinds[i], scope, true, e);
				first = first ? first : &c->kinds[i];
				said++;
			}
	for (i = 0; i < c->n_kinds && !said && c->j->more.n > 0 && ret == 0; i++)
		if (is_of_range(c, &c->kinds[i])) {
			ret = put_kind(a, c, &c->kinds[i], OF_PROCESS, false, e);
			first = &c->kinds[i];
			said++;
		}
	for (i = 0; i < c->n_kinds; i++)
		if (is_misconf(c, &c->kinds[i]) && (!misconf || c->kinds[i].n > misconf->n))
			misconf = &c->kinds[i];
	if (ret == 0 && c->parent)
		ret = put_open_files(a, c, first, e);
	return ret == 0 && !said && misconf ? put_kind(a, c, misconf, OF_PROCESS, false, e) : ret;
}

static int read_calls(struct analysis_ctx *a, struct calls *c, struct err *e)
{
	static const char any[] =
		"SELECT count(*) FROM syscall_error x JOIN syscall_name n USING(abi, nr) WHERE " IS_REASON;
	static const char threads[] =
		"WITH s AS MATERIALIZED (SELECT pid FROM service WHERE server=?1) SELECT tid, -pid FROM thread WHERE"
		" pid IN (SELECT pid FROM process WHERE parent IN (SELECT pid FROM s)) AND pid NOT IN (SELECT pid"
		" FROM s) UNION ALL SELECT tid, pid FROM thread WHERE pid IN (SELECT pid FROM s)";
	s64 n = 0, server = c->j->about.id;
	int ret = db_int(a->db, &n, e, any, "");

	if (ret < 0 || !n)
		return ret;
	ret = db_each(a->db, e, db_idmap, &c->pid_of, threads, "i", server);
	if (ret == 0)
		ret = db_each(a->db, e, db_idmap, &c->services,
			      "SELECT id FROM service WHERE server=?1", "i", server);
	if (ret == 0)
		ret = rows_each(a->db, TABLE_syscall, COLUMNS_ALL, take_call, c, e);
	if (ret < 0 || !c->n)
		return ret < 0 ? ret : 0;
	qsort(c->of[OF_THREAD], c->n, sizeof(**c->of), by_time);
	qsort(c->of[OF_PROCESS], c->n, sizeof(**c->of), by_time);
	return read_requests(a, c, e);
}

static void free_calls(struct calls *c)
{
	free(c->of[OF_THREAD]);
	free(c->of[OF_PROCESS]);
	idmap_free(&c->pid_of);
	idmap_free(&c->services);
}

int verdict_calls_explain(struct analysis_ctx *a, const struct judged *j, bool *ret_explain,
			  struct err *e)
{
	struct calls c = { .j = j };
	int ret = read_calls(a, &c, e);
	u32 i;

	*ret_explain = false;
	for (i = 0; i < c.n_kinds && ret >= 0; i++)
		*ret_explain |= is_cause(&c, &c.kinds[i], OF_THREAD) ||
				is_cause(&c, &c.kinds[i], OF_PROCESS) ||
				is_of_range(&c, &c.kinds[i]);
	free_calls(&c);
	return ret < 0 ? ret : 0;
}

int verdict_calls_say(struct analysis_ctx *a, const struct judged *j, s64 parent, struct err *e)
{
	struct calls c = { .j = j, .parent = parent };
	int ret = read_calls(a, &c, e);

	if (ret >= 0 && c.n)
		ret = say(a, &c, e);
	free_calls(&c);
	return ret < 0 ? ret : 0;
}
