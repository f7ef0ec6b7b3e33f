// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory that slow units had too little of: pages that are read again soon after the kernel
 * reclaimed them, and the cgroup at its limit. It costs reads, and CPU time of who reclaims.
 */
#include "analyze/causes/causes.h"

#include "analyze/store/cgroup_tree.h"

#include <math.h>
#include <stdio.h>

#define MOSTLY	  0.5
#define FOR_LIMIT 1 /* kind of table reclaim */
#define SURE	  3 /* standard errors */

/* Threads that answer the requests of process ?1, or of leader ?2. */
#define ANSWERING_THREADS                                                                             \
	"tid IN (SELECT tid FROM thread WHERE pid=?1 OR pid IN (SELECT pid FROM " ANSWERING_PROCESSES \
	" WHERE leader=?2))"

static s64 leader_of(const struct samples *d)
{
	return d->u->kind == UNIT_REQUEST ? d->u->key : 0;
}

/*
 * The cgroup whose limit made threads of the units reclaim memory: it was stopped at max between
 * the same readings. Path into c->file; *ret_limit: NAN if there is none.
 */
static int find_limited(struct samples *d, struct cause *c, double *ret_limit, s64 *ret_cgroup,
			struct err *e)
{
	static const char sql[] =
		"WITH r AS MATERIALIZED (SELECT ts FROM reclaim WHERE kind=?3 AND ts<?4 AND ts+dur>?5 AND"
		" " ANSWERING_THREADS
		"), m AS MATERIALIZED (SELECT * FROM memory m WHERE cgroup NOT NULL AND max"
		" NOT NULL AND hit_max>0 AND ts<?4 AND ts+dur>?5 AND EXISTS (SELECT 1 FROM r WHERE r.ts"
		" BETWEEN m.ts AND m.ts+m.dur)), " LIMITED_CGROUP("?1");
	struct moment m = samples_around(d);
	sqlite3_stmt *q;
	int ret = db_query(&q, d->db, e, sql, "iiiii", (s64)samples_own(d), leader_of(d),
			   (s64)FOR_LIMIT, m.to, m.from);

	*ret_limit = NAN;
	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		snprintf(c->file, sizeof(c->file), "%s", db_text(q, 0));
		*ret_limit = sqlite3_column_double(q, 1);
		*ret_cgroup = sqlite3_column_int64(q, 2);
	}
	return db_end(q, ret);
}

int cause_memory(struct samples *d, struct cause *c, struct err *e)
{
	static const char sql[] =
		"WITH m AS MATERIALIZED (SELECT * FROM memory WHERE ts<?2 AND ts+dur>?3), whole AS"
		" MATERIALIZED (SELECT min(ts) AS low, max(ts+dur) AS high FROM m) SELECT total(refaults)"
		" AS pages, cgroup, max, (SELECT iif(count(DISTINCT first_cpu)<2, total(swapped_in), 0)"
		" FROM m), (SELECT total(bytes) / 4096 FROM block_io, whole WHERE ts BETWEEN low AND high"
		" AND block_op(op)='read') FROM m WHERE cgroup IS NULL OR max IS NOT NULL AND EXISTS"
		" (SELECT 1 FROM process p JOIN cgroup g ON g.id=p.cgroup WHERE p.pid=?1 AND"
		" " CGROUP_WITHIN(
			"g.path",
			"m.path") ") GROUP BY cgroup HAVING"
				  " count(DISTINCT first_cpu)<2 ORDER BY cgroup IS NULL, pages DESC LIMIT 1";
	struct moment m = samples_around(d);
	int limited = 0;
	double most, limit;
	s64 cgroup;
	sqlite3_stmt *q;
	int ret = db_query(&q, d->db, e, sql, "iii", (s64)samples_own(d), m.to, m.from);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	most = ret > 0 ? MOSTLY * sqlite3_column_double(q, 4) : 0;
	if (ret > 0 && sqlite3_column_double(q, 0) > most) {
		CAUSE_VALUE(c, VALUE_NUMBER, "refaults", sqlite3_column_double(q, 0), "");
		limited = find_limited(d, c, &limit, &cgroup, e);
		if (limited == 0 && !isnan(limit)) {
			CAUSE_VALUE(c, VALUE_TEXT, "limited", c->file);
			CAUSE_VALUE(c, VALUE_NUMBER, "at", limit, "bytes");
		} else if (limited == 0 && sqlite3_column_int64(q, 1)) {
			CAUSE_VALUE(c, VALUE_SUBJECT, "group", cgroup, sqlite3_column_int64(q, 1));
			CAUSE_VALUE(c, VALUE_NUMBER, "limit", sqlite3_column_double(q, 2), "bytes");
		}
	}
	if (ret > 0 && sqlite3_column_double(q, 3) > most)
		CAUSE_VALUE(c, VALUE_NUMBER, "swapped", sqlite3_column_double(q, 3), "");
	ret = db_end(q, ret);
	return limited < 0 ? limited : ret;
}

/* ---- reclaim as time on a CPU ---- */

/* Reclaims of the threads that answer, by block. */
struct reclaims {
	s64 block;
	double n[UNIT_BLOCKS], ns[UNIT_BLOCKS];
};

static int take_reclaim(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct reclaims *r = arg;
	s64 b = sqlite3_column_int64(q, 0) / r->block;

	(void)e;
	b = b < 0 ? 0 : b < UNIT_BLOCKS ? b : UNIT_BLOCKS - 1;
	r->n[b]++;
	r->ns[b] += sqlite3_column_double(q, 1);
	return 0;
}

/* Mean of the blocks on one side, and its squared standard error; false: too few. */
static bool mean_of(const double v[UNIT_BLOCKS], const bool of[UNIT_BLOCKS], double *ret_mean,
		    double *ret_error)
{
	double n = 0, sum = 0, squares = 0;
	int b;

	for (b = 0; b < UNIT_BLOCKS; b++) {
		n += of[b];
		sum += of[b] ? v[b] : 0;
		squares += of[b] ? v[b] * v[b] : 0;
	}
	if (n < 2)
		return false;
	*ret_mean = sum / n;
	*ret_error = fmax(squares - sum * sum / n, 0) / (n - 1) / n;
	return true;
}

/* Of values by block: is the mean of the slow ones surely more? */
static bool is_more(const double v[UNIT_BLOCKS], const struct comparison *m)
{
	double slow, usual, slow_error, usual_error;

	return mean_of(v, m->is_slow, &slow, &slow_error) &&
	       mean_of(v, m->is_usual, &usual, &usual_error) &&
	       slow - usual > SURE * sqrt(slow_error + usual_error);
}

static int take_pages(void *arg, sqlite3_stmt *q, struct err *e)
{
	double *pages = arg;

	(void)e;
	pages[0] = sqlite3_column_double(q, 0);
	pages[1] = sqlite3_column_double(q, 1);
	return 0;
}

static int put_reclaims(struct samples *d, const struct reclaims *r, double limit, s64 cgroup,
			struct cause *c, struct err *e)
{
	static const char sql[] =
		"SELECT total(refaults), total(major_faults) FROM memory WHERE cgroup=?1 AND ts<?2 AND ts+dur>?3";
	const struct comparison *m = d->cmp;
	double n = 0, ns = 0, before = 0, pages[2] = { 0 };
	struct cause_child *child;
	int b, ret = db_each(d->db, e, take_pages, pages, sql, "iii", cgroup, m->when.to,
			     m->when.from);

	if (ret < 0)
		return ret;
	for (b = 0; b < UNIT_BLOCKS; b++) {
		n += m->is_slow[b] ? r->n[b] : 0;
		ns += m->is_slow[b] ? r->ns[b] : 0;
		before += m->is_usual[b] ? r->n[b] : 0;
	}
	child = cause_child(c, FINDING_cause_limit, OBSERVED);
	CHILD_VALUE(child, VALUE_TEXT, "limited", c->file);
	CHILD_VALUE(child, VALUE_NUMBER, "at", limit, "bytes");
	CHILD_VALUE(child, VALUE_NUMBER, "n", n, "");
	CHILD_VALUE(child, VALUE_NUMBER, "time", ns, "ns");
	CHILD_VALUE(child, VALUE_NUMBER, "usual", before, "");
	if (pages[0] > 0)
		CHILD_VALUE(child, VALUE_NUMBER, "refaults", pages[0], "");
	if (pages[1] > 0)
		CHILD_VALUE(child, VALUE_NUMBER, "faults", pages[1], "");
	return 0;
}

int cause_limit(struct samples *d, struct cause *c, bool *ret_said, struct err *e)
{
	static const char sql[] =
		"SELECT ts, dur FROM reclaim WHERE kind=?3 AND " ANSWERING_THREADS;
	const struct comparison *m = d->cmp;
	struct reclaims r = { .block = d->u->block };
	double limit;
	s64 cgroup = 0;
	int ret;

	if (*ret_said || r.block <= 0 || (m->basis != BASIS_CHANGE && m->basis != BASIS_GIVEN))
		return 0;
	ret = db_each(d->db, e, take_reclaim, &r, sql, "iii", (s64)samples_own(d), leader_of(d),
		      (s64)FOR_LIMIT);
	/* a group that is always at its limit, as one full of files is, reclaims as much in both */
	if (ret < 0 || (!is_more(r.ns, m) && !is_more(r.n, m)))
		return ret;
	ret = find_limited(d, c, &limit, &cgroup, e);
	*ret_said = ret == 0 && !isnan(limit);
	return *ret_said ? put_reclaims(d, &r, limit, cgroup, c, e) : ret;
}
