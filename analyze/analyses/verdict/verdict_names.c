// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A change of latency by name of requests. Each name with enough requests is tested for a change of
 * its own; another name is unchanged if the interval of its ratio over the same time range stays
 * below the limit. Where one thread serves all, one name's long requests make every other name
 * wait: then the name whose share of the thread's time rose is named, not the slowest one.
 */
#include "verdict_names.h"

#include "verdict_spent.h"

#include "analyze/store/request_rows.h"

#include <stdlib.h>
#include <string.h>

#define NAMES_MOST 32  /* of a server, those with most requests */
#define NAME_LEAST 30  /* requests of a name: fewer say nothing of it */
#define MOSTLY	   0.5 /* share of a rise that one name explains */
#define EXPLAINED  0.8 /* share of the added time of all, of the names that are named */

struct named {
	s64 id;
	struct judged j;
	bool changed, few;   /* few: too few requests to judge it */
	struct hist in, out; /* latency in the time range, and outside */
	double first;	     /* arrival, of those that end in the first window of the range */
	double occupied[2];  /* of the thread's time, ns: outside the time range, in it */
	double longest;
	double n[2], latency[2],
		queued[2]; /* requests, their total time, and that until the read */
};

struct names {
	struct named *v;
	int n;
};

static int by_id(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static struct named *named_of(const struct names *all, s64 id)
{
	struct named key = { .id = id };

	return bsearch(&key, all->v, (size_t)all->n, sizeof(*all->v), by_id);
}

static void names_free(struct names *all)
{
	int i;

	for (i = 0; i < all->n; i++) {
		hist_free(&all->v[i].in);
		hist_free(&all->v[i].out);
	}
	free(all->v);
}

/* The names of a server; more than one, else there is nothing to compare. */
static int find_names(struct analysis_ctx *c, const struct judged *j, s64 least, struct names *all,
		      struct err *e)
{
	static const char sql[] =
		"SELECT name, sum(exchanges) < ?4 FROM request_stat WHERE name IN (SELECT id FROM request_name WHERE NOT"
		" awaits(protocol, name)) AND service IN (SELECT id FROM service WHERE server=?1) GROUP BY name HAVING"
		" sum(exchanges) >= ?2 ORDER BY sum(exchanges) DESC LIMIT ?3";
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "iiii", j->about.id, least, (s64)NAMES_MOST,
			   (s64)NAME_LEAST);

	if (ret < 0)
		return ret;
	all->v = calloc(NAMES_MOST, sizeof(*all->v));
	ret = all->v ? 0 : err_set(e, ERR_FAIL, "out of memory for names of requests");
	while (ret >= 0 && all->n < NAMES_MOST && (ret = db_step(q, e)) > 0) {
		struct named *one = &all->v[all->n++];

		one->id = sqlite3_column_int64(q, 0);
		one->few = sqlite3_column_int(q, 1);
		one->j.about = j->about;
		one->j.only = one->id;
		one->j.n_windows = j->n_windows;
		one->j.width = j->width;
		one->j.begins = j->begins;
		one->j.ends = j->ends;
		one->j.opened = j->opened;
		one->j.start = one->j.end = one->j.slow = one->j.ratio = one->first = NAN;
	}
	sqlite3_finalize(q);
	qsort(all->v, (size_t)all->n, sizeof(*all->v), by_id);
	return ret < 0 ? ret : 0;
}

static int each_request(struct analysis_ctx *c, const struct judged *j, const struct names *all,
			const char *sql,
			void (*fn)(struct named *, const struct judged *, sqlite3_stmt *),
			struct err *e)
{
	struct named *one;
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "i", j->about.id);

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		one = named_of(all, sqlite3_column_int64(q, 0));
		if (one && !verdict_is_quick(j, one->id, sqlite3_column_int64(q, 5),
					     sqlite3_column_int64(q, 6)))
			fn(one, j, q);
	}
	return db_end(q, ret);
}

#define OF_SERVER                                                                                    \
	" WHERE NOT lossy AND NOT paced AND name IS NOT NULL AND service IN (SELECT id FROM service" \
	" WHERE server=?1)"

static void add_window(struct named *one, const struct judged *j, sqlite3_stmt *q)
{
	double end = sqlite3_column_double(q, 1), took = sqlite3_column_double(q, 2);
	struct verdict_window *at = &one->j.windows[verdict_window_at(j, end)];

	at->n++;
	at->sum += took;
	at->logs += log(took + 1);
}

static bool inside(const struct judged *j, double end)
{
	return end >= j->start && end < j->end;
}

static void add_latency(struct named *one, const struct judged *j, sqlite3_stmt *q)
{
	double end = sqlite3_column_double(q, 1), took = sqlite3_column_double(q, 2);

	hist_add(inside(j, end) ? &one->in : &one->out, took > 0 ? (u64)took : 0);
	/* one that took far longer than the change was not delayed by it alone */
	if (inside(j, end) && end < j->start + j->width && took <= 2 * j->slow)
		one->first = fmin(one->first, end - took);
}

static double added(const struct named *one)
{
	return one->j.slow - one->j.baseline;
}

/* The time range of the largest change becomes that of j. */
static void take_change(struct judged *j, const struct named *one)
{
	j->start = one->j.start;
	j->end = one->j.end;
	j->slow = one->j.slow;
	j->baseline = one->j.baseline;
	j->ratio = one->j.ratio;
	j->ratio_low = one->j.ratio_low;
	j->ratio_high = one->j.ratio_high;
	j->n = one->j.n;
	j->added = fmax(j->added, one->j.added);
	j->ranges = one->j.ranges;
	memcpy(j->range, one->j.range, sizeof(j->range));
}

/* Both changes are about the same time: they share half of the shorter one. */
static bool together(const struct judged *a, const struct judged *b)
{
	double shared = fmin(a->end, b->end) - fmax(a->start, b->start);

	return shared >= 0.5 * fmin(a->end - a->start, b->end - b->start);
}

/*
 * Time that requests took more in a time range than outside it, ns; and each: by the mean, or by
 * the typical one, where a few long ones outside hide that.
 */
static double added_in(const struct judged *j, const struct judged *range, double *ret_each)
{
	double n[2] = { 0 }, sum[2] = { 0 }, logs[2] = { 0 };
	int i, in;

	for (i = 0; i < j->n_windows; i++) {
		in = inside(range, (i + 0.5) * j->width);
		n[in] += j->windows[i].n;
		sum[in] += j->windows[i].sum;
		logs[in] += j->windows[i].logs;
	}
	*ret_each = n[0] > 0 && n[1] > 0 ? fmax(0, fmax(sum[1] / n[1] - sum[0] / n[0],
							exp(logs[1] / n[1]) - exp(logs[0] / n[0])))
					 : 0;
	return n[1] * *ret_each;
}

/*
 * Whether a few names changed in the time range of the largest change, and the others did not:
 * provably, or they have next to nothing of the added time. What other names did at other times
 * does not matter. Nothing need be proved of them where these names have next to all of the time
 * that requests together, also those without a name, took more. Where all together show no change,
 * that of the name is the one to be reported, whatever can be proved of the others.
 */
static bool judge_names(const struct names *all, const struct limits *l, const struct judged *j,
			struct slow_names *ret)
{
	bool together_slow = !isnan(j->slow), alone = !together_slow && !j->counted;
	const struct named *worst = NULL;
	double named, unproved = 0, more, each;
	bool few = true, slow;
	int i, same, rest = 0; /* rest: of which nothing is proved */

	for (i = 0; i < all->n; i++)
		if (all->v[i].changed && (!worst || added(&all->v[i]) > added(worst)))
			worst = &all->v[i];
	if (!worst)
		return false;
	ret->id[ret->n++] = worst->id;
	named = added_in(&worst->j, &worst->j, &each);
	for (i = 0; i < all->n; i++) {
		const struct named *one = &all->v[i];

		if (one == worst || one->few)
			continue;
		same = verdict_same(&one->j, worst->j.start, worst->j.end, l);
		ret->unchanged += same > 0;
		if (same)
			continue;
		more = added_in(&one->j, &worst->j, &each);
		slow = one->changed && together(&one->j, &worst->j) && each >= l->latency;
		if (slow && ret->n < SLOW_NAMES) {
			ret->id[ret->n++] = one->id;
			named += more;
		} else {
			unproved += more;
			few &= !slow;
			rest++;
		}
	}
	few &= named >= EXPLAINED * (named + unproved);
	if (!together_slow || named < EXPLAINED * added_in(j, &worst->j, &each))
		rest = 0;
	return alone || (few && ret->unchanged + rest >= ret->n);
}

/* Whether all its answers are in the time range, or none: it cannot have become slower there. */
static bool on_one_side(const struct named *one, const struct judged *range)
{
	double n[2] = { 0 };
	int i;

	for (i = 0; i < one->j.n_windows; i++)
		n[inside(range, (i + 0.5) * one->j.width)] += one->j.windows[i].n;
	return n[0] <= 0 || n[1] <= 0;
}

/* No name became slower in the time range in which all together did. */
static bool all_same(const struct names *all, const struct judged *j, const struct limits *l)
{
	bool others = all->n < NAMES_MOST; /* else there may be more */
	int i, n = 0;

	for (i = 0; i < all->n; i++) {
		int same = all->v[i].few ? -1 : verdict_same(&all->v[i].j, j->start, j->end, l);

		if (!same)
			return false;
		n += same > 0;
		others &= same > 0 || on_one_side(&all->v[i], j);
	}
	return n > 1 || (n && others);
}

static double last_answer(const struct named *one)
{
	int i = one->j.n_windows;

	while (i > 0 && !(one->j.windows[i - 1].n > 0))
		i--;
	return i * one->j.width;
}

int verdict_names(struct analysis_ctx *c, struct judged *j, const struct limits *l,
		  struct slow_names *ret_names, struct err *e)
{
	static const char sql[] =
		"SELECT name, ts + dur, dur + queued, 0, 0, errors, requests FROM request" OF_SERVER;
	struct slow_names found = { 0 };
	struct names all = { 0 };
	struct named *worst;
	int i, is = 0, any = 0, judged = 0, ret = find_names(c, j, 1, &all, e);

	if (ret == 0 && all.n > 1)
		ret = each_request(c, j, &all, sql, add_window, e);
	for (i = 0; i < all.n; i++)
		judged += !all.v[i].few;
	for (i = 0; i < all.n && judged > 1 && ret == 0; i++) {
		if (all.v[i].few)
			continue;
		is = verdict_change(c, &all.v[i].j, l, e);
		ret = is < 0 ? is : 0;
		any += all.v[i].changed = is > 0;
	}
	is = 0;
	if (ret == 0 && !any && all.n > 1 && !isnan(j->slow) && all_same(&all, j, l)) {
		is = NAMES_MIX;
	} else if (ret == 0 && judge_names(&all, l, j, &found)) {
		worst = named_of(&all, found.id[0]);
		worst->j.quick = j->quick; /* lent */
		ret = each_request(c, &worst->j, &all, sql, add_latency, e);
		for (i = 0; i < found.n; i++) {
			found.p99[i] = verdict_quantile(&named_of(&all, found.id[i])->in, 0.99);
			found.last = fmax(found.last, last_answer(named_of(&all, found.id[i])));
		}
		found.p99_base = verdict_quantile(&worst->out, 0.99);
		/* else only its typical requests are slower: no p99 shows it */
		if (found.p99[0] > found.p99_base) {
			is = NAMES_SLOW;
			take_change(j, worst);
			found.first = worst->first;
			*ret_names = found;
		}
	}
	names_free(&all);
	return ret < 0 ? ret : is;
}

/* ---- which name keeps the thread from the others ---- */

static void add_occupied(struct named *one, const struct judged *j, sqlite3_stmt *q)
{
	double ns = sqlite3_column_double(q, 3);
	int in = inside(j, sqlite3_column_double(q, 1));

	one->occupied[in] += ns;
	one->n[in]++;
	one->latency[in] += sqlite3_column_double(q, 2);
	one->queued[in] += sqlite3_column_double(q, 4);
	if (in && ns > one->longest)
		one->longest = ns;
}

static int put_blocker(struct analysis_ctx *c, const struct judged *j, const struct named *one,
		       double length, double rest, struct err *e)
{
	const struct value values[] = {
		VALUE_SUBJECT("name", request_name, one->id),
		VALUE_NUMBER("share", 100 * one->occupied[1] / length, "%"),
		VALUE_NUMBER("before", 100 * one->occupied[0] / rest, "%"),
		VALUE_NUMBER("n", one->n[1], ""),
		VALUE_NUMBER("longest", one->longest, "ns"),
		{ 0 },
	};
	const struct finding f = {
		FINDING_verdict_blocker,
		PROBLEM,
		OBSERVED,
		j->about,
		"SELECT name, sum(dur) FROM request GROUP BY name ORDER BY 2 DESC",
		values,
		j->finding,
	};

	return finding_put(c->db, c->analysis->name, &f, NULL, e);
}

/* The requests of other names than the blocker's: outside the time range, and in it. */
struct others {
	const struct judged *j;
	const struct names *all;
	const struct named *blocker;
	struct spent side[2];
};

static int add_other(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct others *o = arg;
	const struct named *one = named_of(o->all, row->name);

	(void)e;
	if (one && one != o->blocker)
		spent_take(&o->side[inside(o->j, (double)(row->ts + row->dur))], rowid, row);
	return 0;
}

/* Whether other programs had the CPU for most of what was added: then no name kept it. */
static int queued_for_cpu(struct analysis_ctx *c, struct others *o, bool *ret_runq, struct err *e)
{
	struct spent *in = &o->side[1], *out = &o->side[0];
	s64 server = o->j->about.id;
	int ret = spent_begin(in, c->db, e);

	if (ret == 0)
		ret = spent_begin(out, c->db, e);
	if (ret == 0)
		ret = requests_each(c->db, COLUMN_OF(request, split) | COLUMN_OF(request, recvs),
				    "SELECT id FROM service WHERE server=?1", server, add_other, o,
				    e);
	if (ret == 0)
		ret = spent_read(in, c->db, server, o->j->start, o->j->end, e);
	if (ret == 0)
		ret = spent_read(out, c->db, server, 0, (double)c->duration, e);
	*ret_runq = ret == 0 && in->in[IN_runq] / in->n - out->in[IN_runq] / out->n >
					MOSTLY * (in->total / in->n - out->total / out->n);
	spent_free(in);
	spent_free(out);
	return ret;
}

/* Of the wait of the others, what they waited for requests of this name. */
static int waited_for(struct analysis_ctx *c, const struct judged *j, const struct names *all,
		      const struct named *one, double *ret_ns, struct err *e)
{
	struct idmap judged = { 0 };
	int i, ret = 0;

	for (i = 0; i < all->n && ret == 0; i++)
		ret = idmap_put(&judged, (u64)all->v[i].id, &all->v[i], NAMES_MOST, e);
	if (ret == 0)
		ret = verdict_waited_for(c, j, &judged, one->id, ret_ns, e);
	idmap_free(&judged);
	return ret;
}

/* Time that its own requests take more. */
static double own_rise(const struct named *one)
{
	return one->n[0] > 0 ? one->latency[1] - one->latency[0] / one->n[0] * one->n[1] : 0;
}

/* The name for which the others waited, in all longer than it became slower itself. */
int verdict_blocker(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	static const char sql[] =
		"SELECT name, ts + dur, dur + queued, occupied, queued, errors, requests FROM " OCCUPYING
			OF_SERVER;
	double length = j->end - j->start, rest = (double)c->duration - length, rise, rises = 0;
	double waits[2] = { 0 }, n[2] = { 0 };
	struct named *most = NULL;
	struct names all = { 0 };
	double most_rise = 0, for_it = 0;
	int i, k, ret = find_names(c, j, NAME_LEAST, &all, e);

	if (ret == 0 && all.n > 1 && length > 0 && rest > 0)
		ret = each_request(c, j, &all, sql, add_occupied, e);
	for (i = 0; i < all.n && ret == 0; i++) {
		rise = all.v[i].occupied[1] / length - all.v[i].occupied[0] / rest;
		rises += fmax(rise, 0);
		if (rise > most_rise) {
			most_rise = rise;
			most = &all.v[i];
		}
	}
	/* what the others wait until they are read must be most of what was added: a thread that
	 * waits for an upstream reads them at once */
	for (i = 0; i < all.n; i++)
		for (k = 0; k < 2 && &all.v[i] != most; k++) {
			waits[k] += all.v[i].queued[k];
			n[k] += all.v[i].n[k];
		}
	if (ret == 0 && most && most_rise > MOSTLY * rises && n[0] > 0 && n[1] > 0) {
		double added = 0, waited = waits[1] / n[1] - waits[0] / n[0];
		struct others o = { .j = j, .all = &all, .blocker = most };
		bool runq = false;

		for (i = 0; i < all.n; i++)
			if (&all.v[i] != most)
				added += all.v[i].latency[1] / n[1] - all.v[i].latency[0] / n[0];
		/* none waits longer than all of them occupy the threads */
		if (added > 0 && waited > MOSTLY * added && most->occupied[1] >= waited &&
		    waited * n[1] > own_rise(most))
			ret = queued_for_cpu(c, &o, &runq, e);
		else
			runq = true;
		if (ret == 0 && !runq)
			ret = waited_for(c, j, &all, most, &for_it, e);
		if (ret == 0 && !runq && for_it > MOSTLY * waits[1])
			ret = put_blocker(c, j, most, length, rest, e);
	}
	names_free(&all);
	return ret;
}
