// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which requests became slower, of the name that added most time: those of some processes of the
 * server, a few that need far more CPU time, or all because they, or their answers, are larger.
 * Compared are requests of this one name in the slow time ranges and outside, from their read on:
 * by medians, for a range begins and ends in a window. Late is what takes longer than p99 outside,
 * by the limits of latency. The CPU time of a request is known if its thread had no other one.
 */
#include "verdict_names.h"

#include "analyze/base/limits.h"
#include "analyze/store/request_rows.h"
#include "analyze/store/row_types.h"
#include "format/grow.h"

#include <stdlib.h>

#define MOSTLY 0.5

struct one {
	s64 rowid, name, pid, tid, ts;
	double took, waits, in, out;	  /* out of an answer that reports an error: NAN */
	double disks, disk, wakes, woken; /* waits for a disk, and run-queue waits after sleeps */
	bool about, counts, alone;
};

struct name_sum {
	s64 id; /* 0: requests without a name */
	double n[2], took[2];
};

struct which {
	const struct judged *j;
	const struct limits *l;
	struct one *v;
	size_t n;
	struct idmap names; /* name + 1 -> struct name_sum */
	s64 name;
	double *sorted; /* room for n */
};

static int add_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct which *w = arg;
	s64 id = row->name == BULK_NULL ? 0 : row->name;
	struct one one = { .rowid = rowid,
			   .name = id,
			   .pid = row->pid,
			   .tid = row->tid,
			   .ts = row->ts,
			   .alone = row->receiver == BULK_NULL || row->receiver == row->tid,
			   .took = (double)row->dur,
			   .in = (double)row->recv_bytes,
			   .out = row->errors > 0 ? NAN : (double)row->send_bytes };
	struct name_sum *s;
	int i;

	one.counts = row->split && !w->j->names;
	for (i = 0; row->split && w->j->names && i < w->j->names->n; i++)
		one.counts |= w->j->names->id[i] == id;
	one.about = verdict_is_about(w->j, row->ts - row->queued, row->ts + row->dur, row->name);
	if (GROW(w->v, w->n, "requests", e) < 0)
		return ERR_FAIL;
	w->v[w->n++] = one;
	if (!one.counts)
		return 0;
	s = idmap_get(&w->names, (u64)id + 1);
	if (!s)
		s = idmap_add(&w->names, (u64)id + 1, sizeof(*s), TASK_LIMIT, "names", e);
	if (!s)
		return ERR_FAIL;
	s->id = id;
	s->n[one.about]++;
	s->took[one.about] += one.took;
	return 0;
}

static int by_thread(const void *a, const void *b)
{
	const struct one *x = a, *y = b;

	return x->tid != y->tid ? (x->tid < y->tid ? -1 : 1) : (x->ts > y->ts) - (x->ts < y->ts);
}

static int by_row(const void *a, const void *b)
{
	const struct one *x = a, *y = b;

	return (x->rowid > y->rowid) - (x->rowid < y->rowid);
}

static void find_alone(struct which *w)
{
	double until = 0;
	size_t i;

	qsort(w->v, w->n, sizeof(*w->v), by_thread);
	for (i = 0; i < w->n; i++) {
		struct one *r = &w->v[i];
		double end = (double)r->ts + r->took;

		until = i && r[-1].tid == r->tid ? until : 0;
		r->alone &= (double)r->ts >= until &&
			    (i + 1 == w->n || r[1].tid != r->tid || (double)r[1].ts >= end);
		until = fmax(until, end);
	}
	qsort(w->v, w->n, sizeof(*w->v), by_row);
}

/* Keeps the requests of the name that added most time. */
static bool choose_name(struct which *w)
{
	double most = 0, added;
	struct name_sum *s;
	size_t at = 0, i, n = 0;

	while ((s = idmap_each(&w->names, &at))) {
		if (s->n[0] < DUE_ANSWERS || s->n[1] < DUE_ANSWERS)
			continue;
		added = s->took[1] - s->n[1] * s->took[0] / s->n[0];
		if (added > most) {
			most = added;
			w->name = s->id;
		}
	}
	for (i = 0; i < w->n; i++)
		if (w->v[i].counts && w->v[i].name == w->name)
			w->v[n++] = w->v[i];
	w->n = n;
	return most > 0;
}

static double took_of(const struct one *r)
{
	return r->took;
}

static double in_of(const struct one *r)
{
	return r->in;
}

static double out_of(const struct one *r)
{
	return r->out;
}

static double cpu_of(const struct one *r)
{
	return fmax(r->took - r->waits, 0);
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Of the requests from..to-1, in the time ranges or outside. */
static double quantile(const struct which *w, size_t from, size_t to, bool about,
		       double (*of)(const struct one *), double q, double *ret_n)
{
	size_t i, n = 0;

	for (i = from; i < to; i++)
		if (w->v[i].about == about && !isnan(of(&w->v[i])))
			w->sorted[n++] = of(&w->v[i]);
	qsort(w->sorted, n, sizeof(*w->sorted), by_value);
	if (ret_n)
		*ret_n = (double)n;
	return n ? w->sorted[(size_t)(q * (double)(n - 1))] : NAN;
}

static double median(const struct which *w, bool about, double (*of)(const struct one *))
{
	return quantile(w, 0, w->n, about, of, 0.5, NULL);
}

static double mean(const struct which *w, size_t from, size_t to, bool about)
{
	double n = 0, sum = 0;
	size_t i;

	for (i = from; i < to; i++)
		if (w->v[i].about == about) {
			sum += w->v[i].took;
			n++;
		}
	return sum / n;
}

static int put(struct analysis_ctx *c, const struct which *w, enum finding_kind kind,
	       const struct value *values, struct err *e)
{
	const struct finding f = {
		.kind = kind,
		.severity = WARNING,
		.evidence = OBSERVED,
		.about = w->j->about,
		.sql = "SELECT pid, name, dur, recv_bytes, send_bytes FROM request",
		.values = values
	};

	return finding_put(c->db, c->analysis->name, &f, NULL, e);
}

/* ---- processes ---- */

static int by_process(const void *a, const void *b)
{
	const struct one *x = a, *y = b;

	return x->pid != y->pid ? (x->pid < y->pid ? -1 : 1)
				: (x->rowid > y->rowid) - (x->rowid < y->rowid);
}

/*
 * 1: one of several that serve requests of the name at that time, that was not slow before or did
 * not exist. The others have no long ones among their short ones either: their mean is as before.
 */
static int say_process(struct analysis_ctx *c, struct which *w, struct err *e)
{
	double bound = verdict_late_bound(median(w, false, took_of), w->l);
	double of_mean = verdict_late_bound(mean(w, 0, w->n, false), w->l);
	double n, now, before, slow = 0, of = 0, took = NAN, usual = 0, usually = NAN;
	s64 pid = 0, start = 0;
	size_t i, k;
	int ret;

	qsort(w->v, w->n, sizeof(*w->v), by_process);
	for (i = 0; i < w->n; i = k) {
		for (k = i; k < w->n && w->v[k].pid == w->v[i].pid; k++)
			;
		before = quantile(w, i, k, false, took_of, 0.5, NULL);
		now = quantile(w, i, k, true, took_of, 0.5, &n);
		of += n >= DUE_ANSWERS;
		if (n < DUE_ANSWERS)
			continue;
		if (now < bound && mean(w, i, k, true) < of_mean) {
			usual = fmax(usual, now);
			continue;
		}
		slow++;
		pid = w->v[i].pid;
		took = now;
		usually = before;
	}
	if (slow != 1 || of < 2 || took < bound)
		return 0;
	ret = db_int(c->db, &start, e, "SELECT coalesce(max(start), 0) FROM process WHERE pid=?1",
		     "i", pid);
	const struct value values[] = {
		VALUE_SUBJECT("process", process, pid),
		VALUE_NUMBER("of", of, ""),
		VALUE_NUMBER("start", start > 0 ? (double)start : NAN, "at"),
		VALUE_MAYBE("name", request_name, w->name),
		VALUE_NUMBER("took", took, "ns"),
		VALUE_NUMBER("usual", usual, "ns"),
		{ 0 },
	};

	if (ret < 0 || !(start > 0 || usually < bound))
		return ret;
	ret = put(c, w, FINDING_verdict_process, values, e);
	return ret < 0 ? ret : 1;
}

/* ---- few of them, by their CPU time ---- */

static int add_wait(void *arg, s64 rowid, const void *wait, struct err *e)
{
	const struct row_request_wait *row = wait;
	const struct which *w = arg;
	size_t low = 0, high = w->n, mid;

	(void)rowid;
	(void)e;
	while (low < high) {
		mid = (low + high) / 2;
		if (w->v[mid].rowid < row->request)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == w->n || w->v[low].rowid != row->request || row->state <= STATE_run)
		return 0;
	w->v[low].waits += (double)row->dur;
	if (row->state == STATE_disk) {
		w->v[low].disks++;
		w->v[low].disk += (double)row->dur;
	} else if (row->state == STATE_woken) {
		w->v[low].wakes++;
		w->v[low].woken += (double)row->dur;
	}
	return 0;
}

static int say_few(struct analysis_ctx *c, const struct which *w, struct err *e)
{
	double late = verdict_late_bound(quantile(w, 0, w->n, false, cpu_of, 0.99, NULL), w->l);
	double n[2] = { 0 }, of[2] = { 0 }, cpu[2] = { 0 }, late_cpu[2] = { 0 };
	double rest, usual;
	size_t i;

	for (i = 0; i < w->n; i++) {
		const struct one *r = &w->v[i];
		bool is = cpu_of(r) > late;

		if (is && !r->alone)
			return 0;
		of[r->about]++;
		n[r->about] += is;
		cpu[r->about] += cpu_of(r);
		late_cpu[r->about] += is ? cpu_of(r) : 0;
	}
	rest = (cpu[1] - late_cpu[1]) / (of[1] - n[1]);
	usual = (cpu[0] - late_cpu[0]) / (of[0] - n[0]);
	if (!(late_cpu[1] > MOSTLY * cpu[1]) || n[1] > MOSTLY * of[1] ||
	    n[1] * of[0] < w->l->factor * n[0] * of[1] || rest >= verdict_late_bound(usual, w->l))
		return 0;
	const struct value values[] = {
		VALUE_NUMBER("n", n[1], ""),
		VALUE_NUMBER("of", of[1], ""),
		VALUE_MAYBE("name", request_name, w->name),
		VALUE_NUMBER("each", late_cpu[1] / n[1], "ns"),
		VALUE_NUMBER("part", 100 * late_cpu[1] / cpu[1], "%"),
		VALUE_NUMBER("rest", rest, "ns"),
		VALUE_NUMBER("usual", usual, "ns"),
		{ 0 },
	};

	return put(c, w, FINDING_verdict_few_dear, values, e);
}

/* ---- waits for a disk ---- */

/* More of them than otherwise, by which most time was added. */
static int say_disk(struct analysis_ctx *c, const struct which *w, struct err *e)
{
	double n[2] = { 0 }, took[2] = { 0 }, disks[2] = { 0 }, disk = 0, wakes = 0, woken = 0;
	double further, each, added;
	size_t i;

	for (i = 0; i < w->n; i++) {
		const struct one *r = &w->v[i];

		n[r->about]++;
		took[r->about] += r->took;
		disks[r->about] += r->disks;
		disk += r->about ? r->disk : 0;
		wakes += r->about ? r->wakes : 0;
		woken += r->about ? r->woken : 0;
	}
	further = disks[1] / n[1] - disks[0] / n[0];
	each = disk / disks[1] + (wakes > 0 ? woken / wakes : 0);
	added = took[1] / n[1] - took[0] / n[0];
	if (!(disks[1] > 0) || disks[1] / n[1] < w->l->factor * disks[0] / n[0] ||
	    further * each < MOSTLY * added)
		return 0;
	const struct value values[] = {
		VALUE_MAYBE("name", request_name, w->name),
		VALUE_NUMBER("n", disks[1] / n[1], ""),
		VALUE_NUMBER("before", disks[0] / n[0], ""),
		VALUE_NUMBER("part", fmin(100, 100 * further * each / added), "%"),
		{ 0 },
	};

	return put(c, w, FINDING_verdict_disk_waits, values, e);
}

/* ---- bytes ---- */

static int say_larger(struct analysis_ctx *c, const struct which *w, struct err *e)
{
	double in = median(w, true, in_of), in_before = median(w, false, in_of);
	double out = median(w, true, out_of), out_before = median(w, false, out_of);
	bool answers = out * in_before > in * out_before;
	double now = answers ? out : in, before = answers ? out_before : in_before;
	const struct value values[] = {
		VALUE_TEXT("what", answers ? "answers" : "requests"),
		VALUE_MAYBE("name", request_name, w->name),
		VALUE_NUMBER("ratio", now / before, "x"),
		VALUE_NUMBER("now", now, "bytes"),
		VALUE_NUMBER("before", before, "bytes"),
		{ 0 },
	};

	if (!(before > 0) || now < w->l->factor * before ||
	    median(w, true, took_of) < verdict_late_bound(median(w, false, took_of), w->l))
		return 0;
	return put(c, w, FINDING_verdict_larger, values, e);
}

int verdict_which(struct analysis_ctx *c, const struct judged *j, const struct limits *l,
		  struct err *e)
{
	static const u32 set = COLUMN_OF(request, pid) | COLUMN_OF(request, split) |
			       COLUMN_OF(request, tid) | COLUMN_OF(request, receiver) |
			       COLUMN_OF(request, recv_bytes) | COLUMN_OF(request, send_bytes) |
			       COLUMN_OF(request, errors);
	struct which w = { .j = j, .l = l };
	int ret = 0;

	ret = requests_each(c->db, set, "SELECT id FROM service WHERE server=?1", j->about.id,
			    add_request, &w, e);
	if (ret < 0)
		goto out;
	find_alone(&w);
	if (!choose_name(&w))
		goto out;
	w.sorted = calloc(w.n, sizeof(*w.sorted));
	ret = w.sorted ? rows_each(c->db, TABLE_request_wait, COLUMNS_ALL, add_wait, &w, e)
		       : err_set(e, ERR_FAIL, "out of memory for requests");
	if (ret == 0)
		ret = say_process(c, &w, e);
	if (ret == 0) /* else they are those of the process */
		ret = say_few(c, &w, e);
	if (ret >= 0)
		ret = say_disk(c, &w, e);
	if (ret == 0)
		ret = say_larger(c, &w, e);
out:
	idmap_free_all(&w.names);
	free(w.sorted);
	free(w.v);
	return ret < 0 ? ret : 0;
}
