// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Functions by samples of the CPU clock: self is where the clock ticked, total has what the
 * function called, counted once where it calls itself. Intervals are Wilson's for independent
 * samples; samples that follow each other in one long call are not. A sample belongs to the name
 * of the exchange that its thread answered next: of several requests, that of the first.
 */
#include "analysis.h"
#include "analyze/stats/stats.h"
#include "analyze/store/stacks/callstacks.h"

#include <stdlib.h>
#include <string.h>

#define NOTABLE 20 /* samples: fewer are no finding */

static const struct metric metrics[] = {
	{ "self", "%", LOWER_IS_BETTER,
	  "of the samples of the process, request name or thread: the function itself ran" },
	{ "total", "%", LOWER_IS_BETTER, "of these samples: it or a function it called" },
	{ "samples", "", NEITHER_IS_BETTER, "samples with the function innermost, or calling" },
	{ "cpu", "ns", LOWER_IS_BETTER, "CPU time that the total's samples represent" },
	{ 0 },
};

/* What samples are of: groups are those with most samples, each with at least `least`. */
struct scope {
	enum subject_kind kind;
	int functions;	    /* of each group, by self and by total */
	const char *groups; /* rows: id */
	const char
		*stacks; /* of group ?: stacks, samples, their time, without and with cut stacks */
	bool says;	 /* findings */
};

#define STACKS_OF(from)                                                             \
	"SELECT s.user_stack, s.kernel_stack, count(*), sum(s.weight), sum(s.flags" \
	" & 4 > 0), sum(s.flags & 1) FROM sample s " from "=? GROUP BY 1, 2 ORDER BY 1, 2"

static const struct scope processes = {
	SUBJECT_process, 8,
	"SELECT pid FROM sample GROUP BY pid ORDER BY count(*) DESC, pid LIMIT 10",
	STACKS_OF("WHERE s.pid"), true
};

static const struct scope names = {
	SUBJECT_request_name, 5,
	"SELECT r.name FROM sample s JOIN request r ON r.rowid=s.request WHERE r.name IS NOT NULL"
	" GROUP BY r.name HAVING count(*) >= 20 ORDER BY count(*) DESC, r.name LIMIT 8",
	STACKS_OF("JOIN request r ON r.rowid=s.request WHERE r.name"), false
};

/* One thread alone has what its process has. */
static const struct scope threads = {
	SUBJECT_thread, 3,
	"SELECT tid FROM sample WHERE pid IN (SELECT pid FROM sample GROUP BY pid HAVING"
	" count(DISTINCT tid) > 1) GROUP BY tid HAVING count(*) >= 20 ORDER BY count(*) DESC, tid"
	" LIMIT 8",
	STACKS_OF("WHERE s.tid"), false
};

struct usage {
	u32 code;
	double self, total, weight;
	u32 seen; /* number of the stack that counted last */
};

struct profile {
	struct analysis_ctx *c;
	const struct scope *scope;
	struct callstacks stacks;
	struct usage *of; /* by code */
	double n, missing, incomplete;
	u32 stack;
};

static int on_stack(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct profile *p = arg;
	u32 codes[STACK_DEEP], i, n;
	double times = sqlite3_column_double(q, 2);

	(void)e;
	n = callstacks_codes(&p->stacks, sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1),
			     codes);
	if (!n)
		codes[n++] = 0;
	p->stack++;
	p->n += times;
	p->missing += sqlite3_column_double(q, 4);
	p->incomplete += sqlite3_column_double(q, 5);
	for (i = 0; i < n; i++) {
		struct usage *u = &p->of[codes[i]];

		u->self += i ? 0 : times;
		if (u->seen == p->stack)
			continue;
		u->seen = p->stack;
		u->code = codes[i];
		u->total += times;
		u->weight += sqlite3_column_double(q, 3);
	}
	return 0;
}

static int by_self(const void *a, const void *b)
{
	const struct usage *x = a, *y = b;

	if (x->self != y->self)
		return x->self < y->self ? 1 : -1;
	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return x->code < y->code ? -1 : x->code > y->code;
}

static void put_function(struct profile *p, struct subject about, const struct usage *u)
{
	/* in the order of the columns: a narrow table leaves out the last ones */
	struct number numbers[4] = { { "self", 100 * u->self / p->n, NO_INTERVAL, p->n },
				     { "total", 100 * u->total / p->n, NO_INTERVAL, p->n },
				     { "samples", u->total, NO_INTERVAL, p->n },
				     { "cpu", u->weight, NO_INTERVAL, u->total } };
	struct buf text = { 0 };
	int i;

	for (i = 0; i < 2; i++) {
		stats_share(i ? u->total : u->self, p->n, &numbers[i].low, &numbers[i].high);
		numbers[i].low *= 100;
		numbers[i].high *= 100;
	}
	if (p->c->err == 0)
		p->c->err = subject_text(&text, p->c->db, about, p->c->e);
	if (p->c->err == 0)
		p->c->err = buf_printf(&text, p->c->e, "%s %s",
				       about.kind == SUBJECT_request_name ? ":" : "",
				       p->stacks.codes[u->code].name);
	if (p->c->err == 0)
		p->c->err = callstacks_place(&text, &p->stacks.codes[u->code], p->c->e);
	put_all(p->c, about, text.data, numbers, 4);
	buf_free(&text);
}

static void put_findings(struct profile *p, struct subject about, const struct usage *top)
{
	double low, high;
	const struct value said[] = {
		VALUE_NUMBER("missing", 100 * p->missing / p->n, "%"),
		VALUE_NUMBER("incomplete", 100 * p->incomplete / p->n, "%"),
		VALUE_NUMBER("n", p->n, ""),
		{ 0 },
	};
	const struct finding stacks = {
		.kind = FINDING_profile_stacks, .evidence = OBSERVED, .about = about, .values = said
	};

	stats_share(top->self, p->n, &low, &high);
	if (p->n >= NOTABLE) {
		const struct value values[] = {
			VALUE_INTERVAL("share", 100 * top->self / p->n, 100 * low, 100 * high, "%"),
			VALUE_TEXT("function", p->stacks.codes[top->code].name),
			VALUE_NUMBER("n", p->n, ""),
			{ 0 },
		};
		const struct finding f = { .kind = FINDING_profile_top,
					   .evidence = OBSERVED,
					   .about = about,
					   .values = values };

		add_finding(p->c, &f);
	}
	if (p->missing + p->incomplete > 0)
		add_finding(p->c, &stacks);
}

static int on_group(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct profile *p = arg;
	struct subject about = { p->scope->kind, sqlite3_column_int64(q, 0) };
	u32 n = p->stacks.n_codes + 1, i;

	memset(p->of, 0, n * sizeof(*p->of));
	p->n = p->missing = p->incomplete = p->stack = 0;
	each_row(p->c, on_stack, p, p->scope->stacks, "i", about.id);
	if (p->c->err < 0 || p->n <= 0)
		return p->c->err;
	qsort(p->of, n, sizeof(*p->of), by_self);
	for (i = 0; i < n && i < (u32)p->scope->functions && p->of[i].total > 0; i++)
		put_function(p, about, &p->of[i]);
	if (p->scope->says)
		put_findings(p, about, &p->of[0]);
	(void)e;
	return p->c->err;
}

/* scopes: ended by NULL. */
static int run_scopes(struct analysis_ctx *c, const struct scope *const *scopes, struct err *e)
{
	struct profile p = { .c = c };

	c->err = callstacks_load(&p.stacks, c->db, e);
	p.of = calloc((size_t)p.stacks.n_codes + 1, sizeof(*p.of));
	if (c->err == 0 && !p.of)
		c->err = err_set(e, ERR_FAIL, "out of memory for functions");
	for (; c->err == 0 && p.stacks.codes && *scopes; scopes++) {
		p.scope = *scopes;
		each_row(c, on_group, &p, p.scope->groups, "");
	}
	free(p.of);
	callstacks_free(&p.stacks);
	return c->err;
}

/* A fact of this recording, or of one that it was merged of ("2.code_lost"). */
static void put_unseen(struct analysis_ctx *c, const char *fact, enum finding_kind kind)
{
	if (c->err == 0 && query_number(c,
					"SELECT count(*) FROM recording WHERE key=?1 OR key GLOB"
					" '[0-9]*.' || ?1",
					"s", fact) > 0)
		add_limit(c, kind);
}

static int run(struct analysis_ctx *c, struct err *e)
{
	static const struct scope *const scopes[] = { &processes, NULL };

	if (run_scopes(c, scopes, e) == 0 &&
	    query_number(c, "SELECT count(*) FROM sample", "") <= 0)
		add_limit(c, FINDING_no_samples);
	put_unseen(c, "code_unwatched", FINDING_code_unwatched);
	put_unseen(c, "code_lost", FINDING_code_lost);
	return c->err;
}

static int run_parts(struct analysis_ctx *c, struct err *e)
{
	static const struct scope *const scopes[] = { &names, &threads, NULL };

	return run_scopes(c, scopes, e);
}

const struct analysis analysis_profile = {
	.name = "profile",
	.doc = "Which functions used the CPU",
	.needs = "cpu",
	.metrics = metrics,
	.rows = 16,
	.run = run,
};

const struct analysis analysis_profile_parts = {
	.name = "profile_parts",
	.doc = "Which functions used the CPU, by request name and by thread",
	.needs = "cpu",
	.metrics = metrics,
	.rows = 16,
	.run = run_parts,
};
