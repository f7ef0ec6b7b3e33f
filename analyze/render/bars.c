// SPDX-License-Identifier: GPL-2.0-or-later
/* What the time of a baseline request and of a slow one consists of: two bars and their legend. */
#include "strip.h"
#include "time_part.h"

#include "analyze/base/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REQUESTS_MOST 200000000 /* a bit each */
#define PAUSES_MOST   1000
#define LEGEND_LEAST  0.01 /* of a bar */

struct bar_sums {
	double n, total, off, of[N_TIME_PARTS];
	double queued, queued_off; /* of total, of off: before the read */
};

struct bars {
	sqlite3 *db;
	struct err *e;
	struct bar_sums sums[2]; /* baseline, slow */
	u8 *slow;		 /* a bit for each request.rowid */
	u8 *known;
	s64 n;
	struct {
		s64 from, to;
	} when[PAUSES_MOST];
	int n_when;
	bool pauses; /* when: the pauses */
	bool paused; /* pauses are in the slow time, too: the headline excludes them */
};

static int read_when(struct bars *b, s64 server)
{
	static const char sql[] =
		"SELECT r.start, r.end, v.kind='pauses', v.pauses > 0 FROM verdict_range r JOIN verdict v USING"
		" (rank) WHERE v.subject_kind='server' AND v.subject=?1 AND v.kind IN ('pauses', 'slower',"
		" 'tail') ORDER BY 1 LIMIT ?2";
	sqlite3_stmt *q;
	int ret = db_query(&q, b->db, b->e, sql, "ii", server, (s64)PAUSES_MOST);

	if (ret < 0)
		return ret;
	while (b->n_when < PAUSES_MOST && (ret = db_step(q, b->e)) > 0) {
		b->when[b->n_when].from = sqlite3_column_int64(q, 0);
		b->when[b->n_when++].to = sqlite3_column_int64(q, 1);
		b->pauses = sqlite3_column_int(q, 2);
		b->paused = !b->pauses && sqlite3_column_int(q, 3);
	}
	return db_end(q, ret);
}

/* Pauses: it overlaps one. Slower: it ended during the slow time. */
static bool is_slow(const struct bars *b, s64 arrival, s64 end)
{
	int low = 0, high = b->n_when, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (b->when[mid].to <= (b->pauses ? arrival : end))
			low = mid + 1;
		else
			high = mid;
	}
	return low < b->n_when && b->when[low].from < end;
}

static int read_requests(struct bars *b, s64 server)
{
	static const char sql[] =
		"SELECT rowid, ts - queued, ts + dur, queued FROM request WHERE split AND NOT"
		" lossy AND service IN (SELECT id FROM service WHERE server=?1)";
	sqlite3_stmt *q;
	int ret = db_int(b->db, &b->n, b->e, "SELECT max(rowid) FROM request", "");

	if (ret < 0 || b->n <= 0 || b->n > REQUESTS_MOST)
		return ret;
	b->slow = calloc(1, (size_t)b->n / 8 + 1);
	b->known = calloc(1, (size_t)b->n / 8 + 1);
	if (!b->slow || !b->known)
		return err_set(b->e, ERR_FAIL, "out of memory for requests");
	ret = db_query(&q, b->db, b->e, sql, "i", server);
	if (ret < 0)
		return ret;
	while ((ret = db_step(q, b->e)) > 0) {
		s64 id = sqlite3_column_int64(q, 0), from = sqlite3_column_int64(q, 1);
		s64 to = sqlite3_column_int64(q, 2);
		bool slow = is_slow(b, from, to);

		if (id < 0 || id > b->n)
			continue;
		b->known[id / 8] |= (u8)(1 << (id % 8));
		b->slow[id / 8] |= (u8)(slow << (id % 8));
		b->sums[slow].n++;
		b->sums[slow].total += (double)(to - from);
		b->sums[slow].queued += sqlite3_column_double(q, 3);
	}
	sqlite3_finalize(q);
	return ret;
}

static int read_waits(struct bars *b)
{
	sqlite3_stmt *q;
	int ret = db_query(
		&q, b->db, b->e,
		"SELECT request, state, dur, 0 FROM request_wait UNION ALL SELECT request, state, dur, 1"
		" FROM request_queue",
		"");

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, b->e)) > 0) {
		s64 id = sqlite3_column_int64(q, 0);
		struct bar_sums *s;

		if (id < 0 || id > b->n || !(b->known[id / 8] & 1 << (id % 8)))
			continue;
		s = &b->sums[b->slow[id / 8] >> (id % 8) & 1];
		s->of[time_part_of(sqlite3_column_int64(q, 1))] += sqlite3_column_double(q, 2);
		s->off += sqlite3_column_double(q, 2);
		if (sqlite3_column_int(q, 3))
			s->queued_off += sqlite3_column_double(q, 2);
	}
	sqlite3_finalize(q);
	return ret;
}

/* The CPU ran for the request, or before the read for others. */
static void split_cpu(struct bar_sums *s)
{
	double earlier = fmax(s->queued - s->queued_off, 0);

	s->of[TIME_queue] += earlier;
	s->of[TIME_cpu] += fmax(s->total - s->off - earlier, 0);
}

static int put_bar(struct buf *out, const struct bars *b, bool slow)
{
	const struct bar_sums *s = &b->sums[slow];
	char length[32], n[32];
	double x = 0;
	int i;

	number_text(length, sizeof(length), s->total / s->n, "ns");
	number_text(n, sizeof(n), s->n, "");
	buf_printf(
		out, b->e,
		"<p class=\"bar\">%s request%s: %s (n = %s)</p>\n<svg class=\"bar\" width=\"100%%\" "
		"height=\"18\" role=\"img\" aria-labelledby=\"bar-%d\"><title id=\"bar-%d\">Time of "
		"a %s request by state</title>",
		slow ? "Slow" : "Baseline", slow && b->paused ? ", pauses included" : "", length, n,
		slow, slow, slow ? "slow" : "baseline");
	for (i = 0; i < N_TIME_PARTS; i++) {
		double width = 100 * s->of[i] / fmax(s->total, 1);

		if (width <= 0)
			continue;
		buf_printf(
			out, b->e,
			"<rect class=\"%s\" x=\"%.2f%%\" y=\"0\" width=\"%.2f%%\" height=\"18\"/>",
			time_parts[i].class, x, fmin(width, 100 - x));
		x = fmin(x + width, 100);
	}
	return buf_printf(out, b->e, "</svg>\n");
}

static int put_legend(struct buf *out, const struct bars *b)
{
	const struct bar_sums *base = &b->sums[0], *slow = &b->sums[1];
	double best = 0;
	char was[32], is[32];
	int i, most = 0;

	buf_printf(out, b->e, "<ul class=\"legend\">");
	for (i = 0; i < N_TIME_PARTS; i++) {
		double d = slow->of[i] / slow->n - base->of[i] / base->n;

		most = d > best ? i : most;
		best = fmax(best, d);
	}
	for (i = 0; i < N_TIME_PARTS; i++) {
		if (base->of[i] < LEGEND_LEAST * base->total &&
		    slow->of[i] < LEGEND_LEAST * slow->total)
			continue;
		number_text(was, sizeof(was), base->of[i] / base->n, "ns");
		number_text(is, sizeof(is), slow->of[i] / slow->n, "ns");
		buf_printf(out, b->e, "<li%s><span class=\"key %s\"></span> %s: %s to %s</li>\n",
			   i == most ? " class=\"most\"" : "", time_parts[i].class,
			   time_parts[i].label, was, is);
	}
	return buf_printf(out, b->e, "</ul>\n");
}

int bars_html(struct buf *out, sqlite3 *db, s64 server, struct err *e)
{
	struct bars *b = calloc(1, sizeof(*b));
	int k, ret;

	if (!b)
		return err_set(e, ERR_FAIL, "out of memory for bars");
	b->db = db;
	b->e = e;
	ret = read_when(b, server);
	if (ret == 0 && b->n_when)
		ret = read_requests(b, server);
	if (ret == 0 && b->sums[0].n > 0 && b->sums[1].n > 0)
		ret = read_waits(b);
	if (ret == 0 && b->sums[0].n > 0 && b->sums[1].n > 0) {
		for (k = 0; k < 2; k++)
			split_cpu(&b->sums[k]);
		ret = put_bar(out, b, false);
		if (ret == 0)
			ret = put_bar(out, b, true);
		if (ret == 0)
			ret = put_legend(out, b) < 0 ? ERR_FAIL : 1;
	}
	free(b->slow);
	free(b->known);
	free(b);
	return ret;
}
