// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * verify: is the recording whole, and does its own accounting hold? Every block is
 * decoded; for each CPU and group, seen = emitted + lost + suppressed, and exactly
 * the emitted records are found.
 */
#include "analyze/base/counted.h"
#include "analyze/base/idmap.h"
#include "analyze/base/progress.h"
#include "analyze/transform/excerpt.h"
#include "cmd.h"
#include "format/recording.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct config {
	struct filter filter; /* first: its options look for it there */
	double fail_on_loss;  /* percent; negative: never */
};

static int set_fail_on_loss(void *config, const char *arg, struct err *e)
{
	char *end;
	double v = strtod(arg, &end);

	if (end == arg || *end || !(v >= 0 && v <= 100))
		return err_set(e, ERR_FAIL, "--fail-on-loss needs a percentage, not %.40s", arg);
	((struct config *)config)->fail_on_loss = v;
	return 0;
}

static const struct opt opts[] = {
	{ "fail-on-loss", 0, "PERCENT",
	  "exit with status 4 if more than this share of events was lost", set_fail_on_loss },
	FILTER_OPTS,
	JOBS_OPT,
	{ 0 },
};

extern const struct command command_verify;

struct cpu {
	u32 id;
	struct ev_counters base[GROUP_MAX];
	struct ev_counters last[GROUP_MAX];
	u64 records[GROUP_MAX];
};

struct totals {
	u64 seen, emitted, lost_full, lost_other, self, filtered, nostate, counted, records, missed;
};

struct audit {
	bool cut_out; /* of a longer run: its counters go on from a base, and were read under way */
	struct idmap cpus; /* id -> struct cpu */
	struct totals group[GROUP_MAX];
	u64 wrong;    /* sums that do not agree */
	bool locates; /* the recorder records when programs were missed */
};

static struct cpu *cpu_of(struct audit *a, u32 id, struct err *e)
{
	struct cpu *c = idmap_get(&a->cpus, id);

	if (c)
		return c;
	c = idmap_add(&a->cpus, id, sizeof(*c), STREAM_MAX, "ids", e);
	if (!c)
		return NULL;
	c->id = id;
	return c;
}

static int take(struct audit *a, const struct record *rec, struct err *e)
{
	const struct ev_counters *ev = rec->event;
	struct cpu *c;
	u32 stream;

	if (rec->type == EV_program && rec->event) {
		const struct ev_program *p = rec->event;

		if (!a->locates) /* an older recorder, which did not look when that was */
			a->group[p->group % GROUP_MAX].missed += p->missed;
	}
	if (rec->type == EV_missed && rec->event) {
		const struct ev_missed *m = rec->event;

		a->group[m->group % GROUP_MAX].missed += m->count;
	}
	if (rec->type == EV_info && rec->tail_len > 7 && memcmp(rec->tail, "flight=", 7) == 0)
		a->cut_out = true;
	if (rec->type == EV_counters && ev) {
		c = cpu_of(a, ev->cpu, e);
		if (c && ev->group < GROUP_MAX && rec->stream == STREAM_RECORDER)
			c->base[ev->group] = *ev;
		if (c && ev->group < GROUP_MAX && ev->seen >= c->last[ev->group].seen)
			c->last[ev->group] = *ev;
	} else {
		stream = counted_on(rec);
		if (stream == STREAM_RECORDER)
			return 0;
		c = cpu_of(a, stream, e);
		if (c)
			c->records[rec->desc->group]++;
	}
	return c ? 0 : ERR_FAIL;
}

static void check_cpu(struct audit *a, const struct cpu *c, const struct schema *s, bool complete)
{
	int g;

	for (g = GROUP_core; g < GROUP_MAX; g++) {
		const struct ev_counters *k = &c->last[g], *b = &c->base[g];
		u64 sum = k->emitted + k->lost_full + k->lost_other + k->self + k->filtered +
			  k->counted;

		/* a cut recording has counters from within, when events were under way */
		if (complete && k->seen != sum && ++a->wrong)
			printf("CPU %u, group %s: %llu events seen, but %llu emitted, counted, "
			       "lost or suppressed\n",
			       c->id, s->groups[g].name, (unsigned long long)k->seen,
			       (unsigned long long)sum);
		if (complete && k->emitted != c->records[g] && ++a->wrong)
			printf("CPU %u, group %s: %llu records emitted, but %llu found\n", c->id,
			       s->groups[g].name, (unsigned long long)k->emitted,
			       (unsigned long long)c->records[g]);
		a->group[g].seen += k->seen - b->seen;
		a->group[g].emitted += k->emitted - b->emitted;
		a->group[g].lost_full += k->lost_full - b->lost_full;
		a->group[g].lost_other += k->lost_other - b->lost_other;
		a->group[g].self += k->self - b->self;
		a->group[g].filtered += k->filtered - b->filtered;
		a->group[g].nostate += k->nostate - b->nostate;
		a->group[g].counted += k->counted - b->counted;
		a->group[g].records += c->records[g];
	}
}

static void print_groups(const struct audit *a, const struct schema *s, bool complete)
{
	int g;

	printf("%-10s %-9s %12s %12s %12s %12s %10s\n", "group", "verdict", "records", "lost full",
	       "lost other", "suppressed", "no begin");
	for (g = GROUP_core; g < GROUP_MAX; g++) {
		const struct totals *t = &a->group[g];
		u64 lost = t->lost_full + t->lost_other + t->missed;

		if (!s->groups[g].name[0] || (!t->seen && !t->records))
			continue;
		printf("%-10s %-9s %12llu %12llu %12llu %12llu %10llu\n", s->groups[g].name,
		       lost	  ? "LOSSY"
		       : complete ? "COMPLETE"
				  : "TRUNCATED",
		       (unsigned long long)t->records, (unsigned long long)t->lost_full,
		       (unsigned long long)(t->lost_other + t->missed),
		       (unsigned long long)(t->self + t->filtered), (unsigned long long)t->nostate);
	}
}

/* Events that a CPU had lost before the recording begins, in flight mode. */
static u64 lost_before(const struct audit *a, u32 id)
{
	const struct cpu *c = idmap_get(&a->cpus, id);
	u64 lost = 0;
	int g;

	for (g = 0; c && g < GROUP_MAX; g++)
		lost += c->base[g].lost_full + c->base[g].lost_other;
	return lost;
}

/* Where events were lost: the blocks in which a CPU's counter of losses grew. */
static int print_losses(const struct audit *a, const struct reader *r, struct err *e)
{
	const struct recording_state *st = reader_state(r);
	const struct block_info *b;
	struct idmap last = { 0 };
	size_t i, n;
	u64 before;
	int ret = 0;

	b = reader_blocks(r, &n);
	for (i = 0; i < n && ret == 0; i++) {
		if (b[i].stream == STREAM_RECORDER || !b[i].lost)
			continue;
		before = (uintptr_t)idmap_get(&last, b[i].stream);
		before = before ? before : lost_before(a, b[i].stream);
		if (b[i].lost > before)
			printf("CPU %u lost %llu events up to %.3f s\n", b[i].stream,
			       (unsigned long long)(b[i].lost - before),
			       b[i].ts_max > st->ts_min ? (b[i].ts_max - st->ts_min) / 1e9 : 0);
		ret = idmap_put(&last, b[i].stream, (void *)(uintptr_t)b[i].lost, STREAM_MAX, e);
	}
	idmap_free(&last);
	return ret;
}

/* The last lines: what is wrong with the file, and the exit status. */
static int conclude(const struct audit *a, const struct reader *r, const struct config *c)
{
	const struct recording_state *st = reader_state(r);
	u64 seen = 0, lost = 0;
	double share;
	int g;

	for (g = 0; g < GROUP_MAX; g++) {
		seen += a->group[g].seen + a->group[g].missed;
		lost += a->group[g].lost_full + a->group[g].lost_other + a->group[g].missed;
	}
	share = seen ? 100.0 * lost / seen : 0;
	if (a->cut_out)
		printf("This is a part of a longer run: its sums cannot be checked against the "
		       "counters of the kernel side; that blocks are contiguous was checked.\n");
	if (!st->complete && st->sound)
		printf("The recording is not complete: it was repaired.\n");
	else if (!st->complete)
		printf("The recording is truncated: it has no index; %llu bytes belong to no complete block.\n",
		       (unsigned long long)st->ignored);
	if (st->damaged > st->duplicates)
		printf("%llu of %llu blocks are damaged and were skipped.\n",
		       (unsigned long long)(st->damaged - st->duplicates),
		       (unsigned long long)st->blocks);
	if (st->duplicates)
		printf("%llu blocks are copies of blocks in the same file: each was read once.\n",
		       (unsigned long long)st->duplicates);
	if (st->gaps)
		printf("%llu times blocks of a CPU are not contiguous: parts of the recording are missing.\n",
		       (unsigned long long)st->gaps);
	printf("%s: %llu records in %llu blocks, %llu events lost (%.3f %%).\n",
	       st->damaged || st->gaps || a->wrong ? "DAMAGED"
	       : lost				   ? "LOSSY"
	       : !st->complete			   ? "TRUNCATED"
						   : "COMPLETE",
	       (unsigned long long)st->records, (unsigned long long)st->blocks,
	       (unsigned long long)lost, share);
	if (!st->complete || st->damaged || st->gaps || a->wrong)
		return -ERR_DAMAGED;
	return c->fail_on_loss >= 0 && share > c->fail_on_loss ? -ERR_LOSS : 0;
}

static int audit_all(struct audit *a, struct reader *r, const struct config *c, struct err *e)
{
	struct record rec;
	size_t at = 0;
	struct cpu *cpu;
	struct progress p;
	bool whole;
	int ret;

	a->locates = reader_schema(r)->by_id[EV_missed];
	progress_show(&p, "verifying", "records");
	reader_watch(r, progress_tick, &p);
	reader_ahead(r, c->filter.cpus);
	while ((ret = reader_next(r, &rec, e)) > 0) {
		ret = take(a, &rec, e);
		if (ret < 0)
			break;
	}
	progress_end(&p);
	if (ret < 0)
		return ret;
	whole = reader_state(r)->complete && !reader_state(r)->damaged && !a->cut_out;
	while ((cpu = idmap_each(&a->cpus, &at)))
		check_cpu(a, cpu, reader_schema(r), whole);
	print_groups(a, reader_schema(r), reader_state(r)->complete);
	ret = print_losses(a, r, e);
	return ret < 0 ? ret : conclude(a, r, c);
}

static int run(int argc, char **argv, struct err *e)
{
	struct config c = { .fail_on_loss = -1 };
	struct audit a = { 0 };
	struct reader *r;
	bool damaged;
	int first = cmd_words(&command_verify, &c, argc, argv, 1, 1, e), ret = first;

	if (ret >= 0)
		ret = excerpt_reader(&r, &damaged, argv[first], &c.filter, e);
	if (ret < 0)
		return ret;
	ret = audit_all(&a, r, &c, e);
	if (ret == 0 && damaged) /* what was missing of the whole is not seen in a part */
		ret = cmd_damaged(argv[first]);
	idmap_free_all(&a.cpus);
	reader_free(r);
	return ret;
}

const struct command command_verify = {
	.name = "verify",
	.words = "RECORDING",
	.doc = "check that a recording is complete, and locate losses",
	.opts = opts,
	.run = run,
};
