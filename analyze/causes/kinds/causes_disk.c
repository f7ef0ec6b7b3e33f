// SPDX-License-Identifier: GPL-2.0-or-later
/* The disk that slow units waited for, and the programs that moved its bytes then. */
#include "analyze/analyses/waits/disk_writer.h"
#include "analyze/causes/causes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMED_LEAST 0.05
#define NAMED_MOST  3
#define MOSTLY	    0.5

struct disk_use {
	s64 dev;
	struct tally bytes;		    /* by process; 0: not known */
	double own, reads, queued, service; /* requests of its own; of these, reads; their times */
};

/* When was waited for the device: moments, joined. Returns how many; NULL in *ret: no memory. */
static size_t waits_for(const struct pieces *direct, const struct pieces *ends, s64 dev,
			struct moment **ret)
{
	const struct pieces *both[] = { direct, ends };
	size_t i, n = 0;
	int k;

	*ret = calloc(direct->n + ends->n + 1, sizeof(**ret));
	for (k = 0; k < 2 && *ret; k++)
		for (i = 0; i < both[k]->n; i++)
			if (both[k]->v[i].state == SPAN_disk && both[k]->v[i].object == dev)
				(*ret)[n++] =
					(struct moment){ both[k]->v[i].from, both[k]->v[i].to };
	return *ret ? moments_join(*ret, n) : 0;
}

/* One request of the device while it was waited for. Only reads and writes move bytes. */
static void take_request(struct samples *d, struct disk_use *use, sqlite3_stmt *q)
{
	u32 tid = sqlite3_column_int64(q, 3);
	u32 pid = tid ? names_of(&d->names, tid).pid : 0;
	double dur = sqlite3_column_double(q, 1), queued = sqlite3_column_double(q, 2);

	tally_add(&use->bytes, pid, sqlite3_column_double(q, 4));
	if (samples_is_own(d, pid)) {
		use->own++;
		use->reads += sqlite3_column_int(q, 5);
		use->queued += queued;
		use->service += dur - queued;
	}
}

static int read_requests(struct samples *d, struct disk_use *use, const struct moment *m, size_t n,
			 struct err *e)
{
	static const char sql[] =
		"SELECT ts, coalesce(dur,0), coalesce(queued,0), tid, bytes, block_op(op)='read'"
		" FROM block_io WHERE dev=? AND ts<=? AND ts+coalesce(dur,0)>=?"
		" AND block_op(op) IN ('read', 'write')";
	sqlite3_stmt *q;
	s64 ts;
	int ret;

	if (!n)
		return 0;
	ret = db_query(&q, d->db, e, sql, "iii", use->dev, m[n - 1].to, m[0].from);
	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		ts = sqlite3_column_int64(q, 0);
		if (moments_touch(m, n, ts, ts + sqlite3_column_int64(q, 1)))
			take_request(d, use, q);
	}
	sqlite3_finalize(q);
	tally_sort(&use->bytes);
	return ret < 0 ? ret : 0;
}

/* ---- programs ---- */

struct program {
	struct who who;
	s64 pid; /* of the one with most bytes; 0: not known */
	double bytes;
	int processes;
	bool own; /* of the units */
};

/* The units' processes are one; others of one name are, too, as their bytes are what is asked. */
static size_t join_programs(struct samples *d, const struct tally *bytes, struct program *list)
{
	struct who w;
	size_t i, k, n = 0;
	bool own;
	s64 pid;

	for (i = 0; i < bytes->n; i++) {
		pid = bytes->of[i].key;
		own = samples_is_own(d, pid);
		w = names_of(&d->names, pid);
		for (k = 0; k < n; k++)
			if (own ? list[k].own
				: pid && list[k].pid && !list[k].own &&
					    strcmp(list[k].who.process, w.process) == 0)
				break;
		if (k == n)
			list[n++] = (struct program){ .who = w, .pid = pid, .own = own };
		list[k].bytes += bytes->of[i].sum;
		list[k].processes++;
	}
	return n;
}

/* Waits for a device, and their time, of a mean unit. */
struct waiting {
	double n, ns;
};

static struct waiting waiting_of(const struct pieces *p, s64 dev)
{
	struct waiting w = { 0 };
	size_t i;

	for (i = 0; i < p->n; i++) {
		const struct piece *x = &p->v[i];

		if (x->state != SPAN_disk || x->object != dev)
			continue;
		w.n += x->weight;
		w.ns += x->weight * (x->to - x->from);
	}
	return w;
}

/*
 * The share of the added waits that are more waits than before, each for a write of its own. Others
 * that use the disk make waits longer, not more; or they make more reads, of what they drove out of
 * the cache. Without a baseline there is no before.
 */
static double more_writes(struct samples *d, const struct disk_use *use,
			  const struct pieces *direct, size_t moments)
{
	struct waiting slow = waiting_of(direct, use->dev), before;
	struct pieces baseline = { 0 };
	double mean;

	samples_pieces(d, true, CATEGORY_disk, &baseline);
	before = waiting_of(&baseline, use->dev);
	pieces_free(&baseline);
	if (!d->n_baseline || slow.ns <= before.ns ||
	    use->own - use->reads < MOSTLY * (double)moments)
		return 0;
	mean = before.n > 0 ? before.ns / before.n : slow.ns / slow.n;
	return fmin(1, (slow.n - before.n) * mean / (slow.ns - before.ns));
}

static int by_bytes(const void *a, const void *b)
{
	const struct program *x = a, *y = b;

	return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

/* Where the kernel moved most, whose bytes they were. */
static int name_writer(struct samples *d, s64 dev, struct cause *c, struct err *e)
{
	struct disk_writer w;

	if (c->offender.kind == SUBJECT_none)
		return 0;
	if (disk_writer_read(&w, d->db, dev, c->offender.id, e) < 0)
		return ERR_FAIL;
	if (!w.pid)
		return 0;
	CAUSE_VALUE(c, VALUE_SUBJECT, "writer", process, w.pid);
	CAUSE_VALUE(c, VALUE_NUMBER, "written", w.bytes, "bytes");
	CAUSE_VALUE(c, VALUE_NUMBER, "all", w.all, "bytes");
	c->offender = (struct subject){ SUBJECT_process, w.pid };
	c->own = samples_is_own(d, w.pid);
	return 0;
}

static int name_users(struct samples *d, const struct disk_use *use, struct cause *c, struct err *e)
{
	struct program *list = calloc(use->bytes.n + 1, sizeof(*list));
	size_t i, n;
	int named = 0;

	if (!list)
		return err_set(e, ERR_FAIL, "out of memory for programs");
	n = join_programs(d, &use->bytes, list);
	qsort(list, n, sizeof(*list), by_bytes);
	for (i = 0; i < n && named < NAMED_MOST; i++) {
		double part = list[i].bytes / use->bytes.total;
		struct subject s = { list[i].processes > 1 ? SUBJECT_program : SUBJECT_process,
				     list[i].pid };

		if (part < NAMED_LEAST || !list[i].pid)
			continue;
		cause_value(c, (struct value){ .name = "user",
					       .of = s,
					       .number = 100 * part,
					       .unit = "%",
					       .low = NAN,
					       .high = NAN });
		named++;
		if (c->offender.kind != SUBJECT_none)
			continue;
		c->offender = s;
		c->part = part;
		c->own = list[i].own;
	}
	free(list);
	return name_writer(d, use->dev, c, e);
}

/* ---- its own requests ---- */

/* What its reads missed in the page cache. */
static int say_cache(struct samples *d, struct cause *c, struct err *e)
{
	static const char sql[] =
		"SELECT total(missed + fault_misses) FROM page_use WHERE pid=?1"
		" OR pid IN (SELECT pid FROM " ANSWERING_PROCESSES " WHERE leader=?2)";
	struct cause_child *child;
	sqlite3_stmt *q;
	double pages = 0;
	int ret = db_query(&q, d->db, e, sql, "ii", (s64)samples_own(d),
			   d->u->kind == UNIT_REQUEST ? d->u->key : (s64)0);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0)
		pages = sqlite3_column_double(q, 0);
	sqlite3_finalize(q);
	if (pages > 0) {
		child = cause_child(c, FINDING_cause_pages, OBSERVED);
		CHILD_VALUE(child, VALUE_NUMBER, "pages", pages, "");
	}
	return ret < 0 ? ret : 0;
}

static int say_own(struct samples *d, const struct disk_use *use, struct cause *c, struct err *e)
{
	struct cause_child *child = cause_child(c, FINDING_cause_own_io, OBSERVED);

	CHILD_VALUE(child, VALUE_NUMBER, "n", use->own, "");
	CHILD_VALUE(child, VALUE_NUMBER, "reads", use->reads, "");
	CHILD_VALUE(child, VALUE_NUMBER, "queued", use->queued / use->own, "ns");
	CHILD_VALUE(child, VALUE_NUMBER, "service", use->service / use->own, "ns");
	if (2 * use->reads < use->own)
		return 0;
	return cause_memory(d, c, e) < 0 ? ERR_FAIL : say_cache(d, c, e);
}

/* The device with most of the waiting; -1: not known. */
static s64 device_of(const struct pieces *direct, const struct pieces *ends)
{
	const struct pieces *both[] = { direct, ends };
	struct tally devices = { 0 };
	size_t i;
	s64 dev;
	int k;

	for (k = 0; k < 2; k++)
		for (i = 0; i < both[k]->n; i++)
			if (both[k]->v[i].state == SPAN_disk)
				tally_add(&devices, both[k]->v[i].object,
					  both[k]->v[i].weight *
						  (both[k]->v[i].to - both[k]->v[i].from));
	tally_sort(&devices);
	dev = devices.n ? devices.of[0].key : -1;
	tally_free(&devices);
	return dev;
}

int cause_disk(struct samples *d, const struct ranking *r, struct cause *c, struct err *e)
{
	const struct pieces *ends = &r->ends;
	struct pieces direct = { 0 };
	struct disk_use use = { 0 };
	struct moment *m = NULL;
	size_t n = 0;
	double part;
	int ret = 0;

	c->kind = "disk";
	c->finding = FINDING_cause_disk;
	if (r->reads > 0)
		CAUSE_VALUE(c, VALUE_NUMBER, "reads_cpu", 100 * r->reads, "%");
	c->evidence = OBSERVED; /* in_iowait, or a request of its own was in flight */
	samples_pieces(d, false, CATEGORY_disk, &direct);
	use.dev = device_of(&direct, ends);
	if (use.dev < 0) {
		cause_child(c, FINDING_caveat_device, OBSERVED);
		goto out;
	}
	c->object = (struct subject){ SUBJECT_disk, use.dev };
	n = waits_for(&direct, ends, use.dev, &m);
	ret = m ? read_requests(d, &use, m, n, e) : err_set(e, ERR_FAIL, "out of memory for waits");
	part = ret == 0 ? more_writes(d, &use, &direct, n) : 0;
	if (part > MOSTLY) {
		CAUSE_VALUE(c, VALUE_NUMBER, "writes", use.own - use.reads, "");
		c->offender = (struct subject){ SUBJECT_process, samples_own(d) };
		c->part = part;
		c->own = true;
	}
	if (ret == 0 && use.bytes.total > 0)
		ret = name_users(d, &use, c, e);
	if (ret == 0 && use.own > 0)
		ret = say_own(d, &use, c, e);
	if (ret == 0 && !d->everything)
		cause_child(c, FINDING_caveat_others, OBSERVED);
	if (c->offender.kind != SUBJECT_none && !c->own)
		c->evidence = OVERLAP;
out:
	tally_free(&use.bytes);
	pieces_free(&direct);
	free(m);
	return ret;
}
