// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests, latency and pauses over time, as SVG made here: no program, no escapes of others. */
#include "strip.h"

#include "analyze/base/number.h"
#include "analyze/stats/hist.h"
#include "analyze/store/request_rows.h"
#include "say.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BINS	   200
#define BIN_LEAST  20000000 /* ns */
#define RATE_TOP   20	    /* px */
#define RATE_HIGH  60
#define TIME_TOP   102
#define TIME_HIGH  108
#define IDLE_TOP   216
#define IDLE_HIGH  8
#define MARK_TOP   228
#define AXIS	   248
#define HIGH	   254
#define NUMBERED   3
#define BANDS_MOST 200
#define USUAL	   0.95 /* quantile of the rates of bins */

struct strip {
	struct buf *out;
	sqlite3 *db;
	struct err *e;
	s64 server;
	double duration, width; /* ns; of a bin */
	int n;
	struct hist bins[BINS];
	double busy[BINS]; /* ns; of its busiest thread */
	bool switches;
	double top, most, low, high; /* requests/s: drawn, found; log10 of latencies */
};

struct bin_quantile {
	u64 above;
	double value;
};

static void on_bucket(void *arg, u64 low, u64 high, u64 n)
{
	struct bin_quantile *q = arg;

	if (q->value < 0 && n > q->above)
		q->value = (double)(low + high) / 2;
	q->above = n > q->above ? 0 : q->above - n;
}

static double quantile(const struct hist *h, double q)
{
	struct bin_quantile at = { (u64)(q * (double)h->n), -1 };

	if (q >= 1)
		return (double)h->max;
	hist_each(h, on_bucket, &at);
	return at.value < 0 || at.value > (double)h->max ? (double)h->max : at.value;
}

static int by_number(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* A recording may claim times far from its own, which no int holds. */
static int bin_at(const struct strip *s, double ts)
{
	return (int)fmin(fmax(ts / s->width, 0), s->n - 1);
}

static int add_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct strip *s = arg;

	(void)rowid;
	(void)e;
	hist_add(&s->bins[bin_at(s, (double)row->ts + (double)row->dur)],
		 (u64)(row->dur + row->queued));
	return 0;
}

static int read_bins(struct strip *s)
{
	double rates[BINS];
	s64 duration = 0;
	int i, ret = db_int(s->db, &duration, s->e,
			    "SELECT CAST(value AS INTEGER) FROM recording WHERE key='duration_ns'",
			    "");

	s->duration = duration > 0 ? (double)duration : 1;
	s->n = (int)fmin(BINS, fmax(1, floor(s->duration / BIN_LEAST)));
	s->width = s->duration / s->n;
	if (ret == 0)
		ret = requests_each(s->db, 0, "SELECT id FROM service WHERE server=?1", s->server,
				    add_request, s, s->e);
	if (ret < 0)
		return ret;
	s->low = INFINITY;
	for (i = 0; i < s->n; i++) {
		double rate = (double)s->bins[i].n * 1e9 / s->width;

		s->most = fmax(s->most, rate);
		rates[i] = rate;
		if (!s->bins[i].n)
			continue;
		s->low = fmin(s->low, log10(fmax(quantile(&s->bins[i], 0.5), 1)));
		s->high = fmax(s->high, log10(fmax((double)s->bins[i].max, 1)));
	}
	/* what piled up in a pause is answered at once: that peak is cut off */
	qsort(rates, (size_t)s->n, sizeof(rates[0]), by_number);
	s->top = fmin(s->most, 1.5 * rates[(size_t)(USUAL * (s->n - 1))]);
	s->top = s->top > 0 ? s->top : s->most;
	s->low = floor(s->low);
	s->high = fmax(ceil(s->high), s->low + 1);
	return ret;
}

/* Time in which the thread that ran most ran, or waited for a CPU. */
static int read_busy(struct strip *s)
{
	static const char sql[] =
		"SELECT ts, dur FROM thread_state WHERE state IN (state_id('run'), state_id('woken'), state_id('preempted')) AND tid=(SELECT tid FROM thread"
		" WHERE pid IN (SELECT pid FROM service WHERE server=?1) ORDER BY run DESC, tid LIMIT 1)";
	sqlite3_stmt *q;
	int i, ret = db_query(&q, s->db, s->e, sql, "i", s->server);

	while ((ret = db_step(q, s->e)) > 0) {
		double from = sqlite3_column_double(q, 0), to = from + sqlite3_column_double(q, 1);

		s->switches = true;
		for (i = bin_at(s, from); i < s->n && i * s->width < to; i++)
			s->busy[i] +=
				fmax(0, fmin(to, (i + 1) * s->width) - fmax(from, i * s->width));
	}
	sqlite3_finalize(q);
	return ret;
}

static double percent(const struct strip *s, double ns)
{
	return fmin(100, fmax(0, 100 * ns / s->duration));
}

/* A drawing whose x is bins, stretched to the width; its y is px. */
static void open_panel(struct strip *s, int top, int high)
{
	buf_printf(s->out, s->e,
		   "<svg x=\"0\" y=\"%d\" width=\"100%%\" height=\"%d\" viewBox=\"0 0 %d %d\" "
		   "preserveAspectRatio=\"none\">",
		   top, high, s->n, high);
}

static void put_rate(struct strip *s)
{
	int i;

	open_panel(s, RATE_TOP, RATE_HIGH);
	buf_printf(s->out, s->e, "<path class=\"area\" d=\"M0,%d", RATE_HIGH);
	for (i = 0; i < s->n; i++) {
		double rate = (double)s->bins[i].n * 1e9 / s->width;

		buf_printf(s->out, s->e, "V%.1fH%d", RATE_HIGH - RATE_HIGH * rate / fmax(s->top, 1),
			   i + 1);
	}
	buf_printf(s->out, s->e, "V%dZ\"/></svg>\n", RATE_HIGH);
}

static double latency_y(const struct strip *s, double ns)
{
	return TIME_HIGH - TIME_HIGH * (log10(fmax(ns, 1)) - s->low) / (s->high - s->low);
}

/* A line of one quantile; bins without requests interrupt it. */
static void put_line(struct strip *s, const char *class, double q)
{
	bool pen = false;
	int i;

	buf_printf(s->out, s->e, "<path class=\"line %s\" d=\"", class);
	for (i = 0; i < s->n; i++) {
		double y;

		if (!s->bins[i].n) {
			pen = false;
			continue;
		}
		y = latency_y(s, quantile(&s->bins[i], q));
		if (!pen)
			buf_printf(s->out, s->e, "M%d,%.1f", i, y);
		buf_printf(s->out, s->e, "V%.1fH%d", y, i + 1);
		pen = true;
	}
	buf_printf(s->out, s->e, "\"/>");
}

static void put_latency(struct strip *s)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	char text[32];
	double decade;

	open_panel(s, TIME_TOP, TIME_HIGH);
	put_line(s, "max", 1);
	put_line(s, "p99", 0.99);
	put_line(s, "p50", 0.5);
	buf_printf(s->out, s->e, "</svg>\n");
	for (decade = s->low; decade <= s->high; decade++) {
		double y = TIME_TOP + latency_y(s, pow(10, decade));
		int k = (int)decade < 0 ? 0 : (int)decade > 11 ? 11 : (int)decade;

		snprintf(text, sizeof(text), "%d %s", (int)pow(10, k % 3), units[k / 3]);
		buf_printf(s->out, s->e,
			   "<line class=\"grid\" x1=\"0\" x2=\"100%%\" y1=\"%.1f\" y2=\"%.1f\"/>"
			   "<text x=\"2\" y=\"%.1f\">%s</text>",
			   y, y, y - 2, text);
	}
}

static void put_idle(struct strip *s)
{
	int i;

	if (!s->switches)
		return;
	open_panel(s, IDLE_TOP, IDLE_HIGH);
	for (i = 0; i < s->n; i++)
		buf_printf(s->out, s->e,
			   "<rect class=\"busy\" x=\"%d\" y=\"0\" width=\"1.05\" height=\"%d\" "
			   "fill-opacity=\"%.2f\"/>",
			   i, IDLE_HIGH, fmin(1, s->busy[i] / s->width));
	buf_printf(s->out, s->e, "</svg>\n");
}

static void put_band(struct strip *s, const char *class, double from, double to, int top, int high,
		     const char *fill)
{
	double x = percent(s, from), width = fmax(percent(s, to) - x, 0.25);

	buf_printf(s->out, s->e,
		   "<rect class=\"%s\" x=\"%.3f%%\" y=\"%d\" width=\"%.3f%%\" height=\"%d\"%s/>",
		   class, x, top, width, high, fill);
}

static void put_pauses(struct strip *s)
{
	static const char sql[] =
		"SELECT ts, ts + dur FROM pause WHERE server=?1 AND counts ORDER BY id"
		" LIMIT ?2";
	sqlite3_stmt *q;
	int n = 0, ret;

	db_query(&q, s->db, s->e, sql, "ii", s->server, (s64)BANDS_MOST);
	while ((ret = db_step(q, s->e)) > 0) {
		double from = sqlite3_column_double(q, 0), to = sqlite3_column_double(q, 1);

		put_band(s, "pause", from, to, RATE_TOP, TIME_TOP + TIME_HIGH - RATE_TOP, "");
		if (++n <= NUMBERED)
			buf_printf(s->out, s->e,
				   "<text class=\"number\" x=\"%.3f%%\" y=\"%d\" "
				   "text-anchor=\"middle\">%d</text>\n",
				   percent(s, (from + to) / 2), RATE_TOP + 13, n);
	}
	buf_fail(s->out, db_end(q, ret));
}

static void put_losses(struct strip *s)
{
	static const char sql[] =
		"SELECT min(ts), max(ts + dur) FROM loss WHERE n > 0 AND reason<>'unlocated'"
		" GROUP BY CAST(ts * 200.0 / ?1 AS INTEGER) LIMIT 400";
	sqlite3_stmt *q;
	int ret;

	db_query(&q, s->db, s->e, sql, "d", s->duration);
	while ((ret = db_step(q, s->e)) > 0)
		put_band(s, "loss", sqlite3_column_double(q, 0), sqlite3_column_double(q, 1),
			 RATE_TOP, TIME_TOP + TIME_HIGH - RATE_TOP, " fill=\"url(#strip-hatch)\"");
	buf_fail(s->out, db_end(q, ret));
}

/* Below: the time that is slow, the rest is the baseline. */
static void put_marks(struct strip *s)
{
	static const char sql[] =
		"SELECT r.start, r.end FROM verdict v JOIN verdict_range r USING (rank) WHERE"
		" subject_kind='server' AND subject=?1 AND kind IN ('slower', 'tail')";
	sqlite3_stmt *q;
	int n = 0, ret;

	db_query(&q, s->db, s->e, sql, "i", s->server);
	while ((ret = db_step(q, s->e)) > 0) {
		if (!n++)
			put_band(s, "base", 0, s->duration, MARK_TOP, 4, "");
		put_band(s, "slow", sqlite3_column_double(q, 0), sqlite3_column_double(q, 1),
			 MARK_TOP, 4, "");
	}
	buf_fail(s->out, db_end(q, ret));
}

static void put_axis(struct strip *s)
{
	static const char *const anchors[] = { "start", "middle", "middle", "end" };
	static const double at[] = { 0, 1.0 / 3, 2.0 / 3, 1 };
	struct buf text = { 0 };
	char rate[32];
	int i;

	for (i = 0; i < 4; i++) {
		buf_clear(&text);
		if (buf_fail(s->out, say_number(&text, s->db, at[i] * s->duration, "at", s->e)) < 0)
			break;
		buf_printf(s->out, s->e,
			   "<text x=\"%.2f%%\" y=\"%d\" text-anchor=\"%s\">%.10s</text>",
			   100 * at[i], AXIS, anchors[i], text.data);
	}
	buf_free(&text);
	number_text(rate, sizeof(rate), s->most, "");
	buf_printf(s->out, s->e,
		   "<text x=\"2\" y=\"12\">requests/s (max %s)</text>"
		   "<text x=\"100%%\" y=\"%d\" text-anchor=\"end\">latency</text>",
		   rate, TIME_TOP - 4);
}

static void draw(struct strip *s)
{
	buf_printf(
		s->out, s->e,
		"<svg class=\"strip\" width=\"100%%\" height=\"%d\" role=\"img\" "
		"aria-labelledby=\"strip-title\"><title id=\"strip-title\">Requests per second and "
		"latency over time, pauses shaded</title><defs><pattern id=\"strip-hatch\" width=\"6\" "
		"height=\"6\" patternUnits=\"userSpaceOnUse\"><path class=\"line hatch\" "
		"d=\"M0,6L6,0\"/></pattern></defs>\n",
		HIGH);
	put_rate(s);
	put_pauses(s);
	put_losses(s);
	put_latency(s);
	put_idle(s);
	put_marks(s);
	put_axis(s);
	buf_printf(s->out, s->e, "</svg>\n");
}

int strip_svg(struct buf *out, sqlite3 *db, s64 server, struct err *e)
{
	struct strip *s = calloc(1, sizeof(*s));
	int i, ret;

	if (!s)
		return err_set(e, ERR_FAIL, "out of memory for the strip");
	s->out = out;
	s->db = db;
	s->e = e;
	s->server = server;
	ret = read_bins(s);
	if (ret == 0 && s->top > 0)
		ret = read_busy(s);
	if (ret == 0 && s->top > 0) {
		draw(s);
		ret = out->failed ? out->failed : 1;
	}
	for (i = 0; i < BINS; i++)
		hist_free(&s->bins[i]);
	free(s);
	return ret;
}
