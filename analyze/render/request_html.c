// SPDX-License-Identifier: GPL-2.0-or-later
/* The space-time diagram of a request, as SVG made here. */
#include "request_html.h"

#include "analyze/base/number.h"
#include "analyze/store/finding.h"
#include "analyze/store/state.h"
#include "format/escape.h"
#include "html_parts.h"
#include "time_part.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LANES_MAX 40
#define RECTS_MAX 5000
#define LEFT	  10
#define INDENT	  8 /* of a label: a path that goes down at the start passes it */
#define WIDE	  980
#define TOP	  26
#define LANE	  52 /* of which the label is above, the bar in the middle, the path below */
#define BAR	  18
#define BAR_HIGH  14
#define PATH	  40
#define TICKS	  5

struct diagram {
	struct buf *out;
	sqlite3 *db;
	const struct request_tree *t;
	const struct spans *spans;
	struct err *e;
	s64 start, latency;
	s64 lanes[LANES_MAX]; /* threads */
	int n_lanes, rects;
	int others; /* requests of threads without a lane */
};

static double at(const struct diagram *d, s64 ts)
{
	double x = (double)(ts - d->start) / (double)d->latency;

	return LEFT + WIDE * (x < 0 ? 0 : x > 1 ? 1 : x);
}

static int lane_of(const struct diagram *d, s64 tid)
{
	int i = d->n_lanes - 1;

	while (i >= 0 && d->lanes[i] != tid)
		i--;
	return i;
}

static int top_of(int lane)
{
	return TOP + lane * LANE;
}

static int put_subject(struct diagram *d, enum subject_kind kind, s64 id)
{
	struct buf name = { 0 };
	int ret = subject_text(&name, d->db, (struct subject){ kind, id }, d->e);

	if (ret == 0)
		ret = escape_add(d->out, ESCAPE_HTML, name.data, name.len, d->e);
	buf_free(&name);
	return ret;
}

static int put_axis(struct diagram *d)
{
	char text[32];
	double x;
	int i, ret = 0;

	for (i = 0; i <= TICKS && ret == 0; i++) {
		x = LEFT + (double)WIDE * i / TICKS;
		number_text(text, sizeof(text), (double)d->latency * i / TICKS, "ns");
		ret = buf_printf(
			d->out, d->e,
			"<line class=\"grid\" x1=\"%.1f\" y1=\"16\" x2=\"%.1f\" y2=\"%d\"/>"
			"<text x=\"%.1f\" y=\"11\" text-anchor=\"%s\">%s</text>\n",
			x, x, top_of(d->n_lanes), x,
			i == 0	     ? "start"
			: i == TICKS ? "end"
				     : "middle",
			i ? text : "0");
	}
	return ret;
}

static int put_lane(struct diagram *d, const struct step *s, int lane)
{
	const struct host_clock *h = host_of(&d->t->clocks, s->request.pid);
	int ret = buf_printf(d->out, d->e, "<text class=\"lane\" x=\"%d\" y=\"%d\">", LEFT + INDENT,
			     top_of(lane) + 12);

	if (ret == 0 && d->t->clocks.n > 1) {
		escape_add(d->out, ESCAPE_HTML, h->name, strlen(h->name), d->e);
		ret = buf_printf(d->out, d->e, ": ");
	}
	if (ret == 0)
		ret = put_subject(d, SUBJECT_thread, s->request.tid);
	if (ret == 0)
		ret = buf_printf(d->out, d->e, ", ");
	if (ret == 0)
		ret = put_subject(d, SUBJECT_service, s->request.service);
	return ret < 0 ? ret : buf_printf(d->out, d->e, "</text>\n");
}

static int put_rect(struct diagram *d, const char *class, int lane, s64 from, s64 to,
		    const char *says)
{
	char text[32];

	number_text(text, sizeof(text), (double)(to - from), "ns");
	return buf_printf(d->out, d->e,
			  "<rect class=\"%s\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\">"
			  "<title>%s, %s</title></rect>\n",
			  class, at(d, from), top_of(lane) + BAR, at(d, to) - at(d, from), BAR_HIGH,
			  says, text);
}

/* An event loop that polls while it has asked waits for the answer: as table request_wait has it.
 */
static int put_asking(struct diagram *d, const struct step *s, int lane, s64 from, s64 to)
{
	const struct step *q, *end = d->t->v + d->t->n;
	s64 a, b;
	int ret = 0;

	for (q = s + 1; q < end && q->depth > s->depth && ret == 0; q++) {
		if (q->is_request || q->depth != s->depth + 1)
			continue;
		a = q->question.ts > from ? q->question.ts : from;
		b = q->question.ts + q->question.dur;
		b = b < to ? b : to;
		if (a < b)
			ret = put_rect(d, time_parts[TIME_upstream].class, lane, a, b,
				       state_labels[STATE_client]);
	}
	return ret;
}

/* What its thread did, from the arrival to the answer. */
static int put_request(struct diagram *d, const struct step *s)
{
	const struct row_request *r = &s->request;
	s64 shift = host_of(&d->t->clocks, r->pid)->add, from = r->ts - r->queued, to, end;
	const struct span *p = spans_at(d->spans, r->tid, from - shift);
	int lane = lane_of(d, r->tid), ret;

	if (lane < 0)
		return 0;
	end = r->ts + r->dur;
	ret = put_rect(d, "whole", lane, from, end, "request");
	for (; p && p->ts + shift < end && ret == 0; p = spans_next(d->spans, p)) {
		from = p->ts + shift > r->ts - r->queued ? p->ts + shift : r->ts - r->queued;
		to = p->ts + p->dur + shift < end ? p->ts + p->dur + shift : end;
		if (p->state >= N_STATES || p->state == STATE_unknown || d->rects++ >= RECTS_MAX)
			continue;
		ret = put_rect(d, time_parts[time_part_of(p->state)].class, lane, from, to,
			       state_labels[p->state]);
		if (ret == 0 && p->state == STATE_poll)
			ret = put_asking(d, s, lane, from, to);
	}
	return ret;
}

static int put_arrow(struct diagram *d, int from, s64 sent, int to, s64 received)
{
	bool down = from < to;
	double x1 = at(d, sent), x2 = at(d, received);
	int y1 = top_of(from) + BAR + (down ? BAR_HIGH : 0);
	int y2 = top_of(to) + BAR + (down ? 0 : BAR_HIGH);

	return buf_printf(d->out, d->e,
			  "<line class=\"message\" x1=\"%.2f\" y1=\"%d\" x2=\"%.2f\" y2=\"%d\"/>"
			  "<polygon class=\"head\" points=\"0,0 -8,-3.5 -8,3.5\" "
			  "transform=\"translate(%.2f %d) rotate(%.1f)\"/>\n",
			  x1, y1, x2, y2, x2, y2, atan2(y2 - y1, x2 - x1) * 180 / M_PI);
}

static int put_question(struct diagram *d, const struct step *s)
{
	const struct step *peer = request_tree_peer(d->t, s);
	const struct row_upstream *u = &s->question;
	const struct row_request *r;
	int mine = lane_of(d, u->tid), theirs;

	if (!peer || mine < 0)
		return 0;
	r = &peer->request;
	theirs = lane_of(d, r->tid);
	if (theirs < 0 || theirs == mine)
		return 0;
	put_arrow(d, mine, u->ts, theirs, r->ts - r->queued);
	return put_arrow(d, theirs, r->ts + r->dur, mine, u->ts + u->dur);
}

static int put_path(struct diagram *d, const struct request_path *path)
{
	const struct path_part *part;
	const struct step *s;
	int i, y, lane;

	buf_printf(d->out, d->e, "<polyline class=\"path\" points=\"");
	for (i = 0; i < path->n; i++) {
		part = &path->v[i];
		s = &d->t->v[part->step];
		lane = lane_of(d, s->is_request ? s->request.tid : s->question.tid);
		if (lane < 0 || part->what == PATH_NETWORK)
			continue; /* the line goes from lane to lane there */
		y = top_of(lane) + PATH;
		buf_printf(d->out, d->e, "%.2f,%d %.2f,%d ", at(d, part->ts), y,
			   at(d, part->ts + part->dur), y);
	}
	return buf_printf(d->out, d->e, "\"/>\n");
}

/* Over all lines; a thread may have several requests. */
static int put_lanes(struct diagram *d)
{
	const struct step *s;
	int i, lane, done = 0, ret = 0;

	for (i = 0; i < d->t->n && ret == 0; i++) {
		s = &d->t->v[i];
		lane = s->is_request ? lane_of(d, s->request.tid) : -1;
		if (lane == done) {
			ret = put_lane(d, s, lane);
			done++;
		}
	}
	return ret;
}

static int put_steps(struct diagram *d)
{
	const struct step *s;
	int i, ret = 0;

	for (i = 0; i < d->t->n && ret == 0; i++) {
		s = &d->t->v[i];
		if (s->is_request)
			ret = put_request(d, s);
	}
	for (i = 0; i < d->t->n && ret == 0; i++) {
		s = &d->t->v[i];
		if (!s->is_request)
			ret = put_question(d, s);
	}
	return ret;
}

static int put_legend(struct diagram *d)
{
	int i;

	buf_printf(d->out, d->e,
		   "</svg></div>\n<figcaption>Lanes are threads; time runs from the arrival "
		   "to the answer. Colours:");
	for (i = 0; i < N_TIME_PARTS; i++)
		buf_printf(d->out, d->e, " <span class=\"key %s\"></span> %s", time_parts[i].class,
			   time_parts[i].label);
	buf_printf(d->out, d->e, ". Arrows: requests and answers. Thick line: critical path.");
	if (d->others || d->rects > RECTS_MAX)
		buf_printf(d->out, d->e, " Not drawn: %d requests of other threads, %d states.",
			   d->others, d->rects > RECTS_MAX ? d->rects - RECTS_MAX : 0);
	return buf_printf(d->out, d->e, "</figcaption></figure>\n");
}

static int put_svg(struct diagram *d, const struct request_path *path)
{
	const struct step *s;
	int i, high, ret = 0;

	for (i = 0; i < d->t->n; i++) {
		s = &d->t->v[i];
		if (!s->is_request || lane_of(d, s->request.tid) >= 0)
			continue;
		if (d->n_lanes < LANES_MAX)
			d->lanes[d->n_lanes++] = s->request.tid;
		else
			d->others++;
	}
	high = top_of(d->n_lanes) + 4;
	ret = buf_printf(
		d->out, d->e,
		"<figure id=\"diagram\"><div class=\"wide\" role=\"region\" tabindex=\"0\" "
		"aria-label=\"Diagram\">\n<svg class=\"spacetime\" viewBox=\"0 0 1000 %d\" "
		"role=\"img\" aria-label=\"Space-time diagram of the request\">\n",
		high);
	if (ret == 0)
		ret = put_axis(d);
	if (ret == 0)
		ret = put_steps(d);
	if (ret == 0)
		ret = put_path(d, path);
	if (ret == 0)
		ret = put_lanes(d);
	if (ret == 0)
		ret = put_legend(d);
	return ret;
}

/* Line by line: escaping is for text within one. */
static int put_text(struct buf *out, const struct buf *text, struct err *e)
{
	const char *line = text->data, *end = text->data + text->len, *stop;

	buf_printf(out, e, "<section id=\"verdict\"><pre>");
	for (; line < end; line = stop + 1) {
		stop = memchr(line, '\n', end - line);
		stop = stop ? stop : end;
		escape_add(out, ESCAPE_HTML, line, stop - line, e);
		buf_printf(out, e, "\n");
	}
	return buf_printf(out, e, "</pre></section>\n");
}

int request_html(struct buf *out, sqlite3 *db, const char *name, const struct request_tree *t,
		 const struct request_path *path, const struct spans *s, const struct buf *text,
		 struct err *e)
{
	const struct row_request *r = &t->v[0].request;
	struct diagram d = { .out = out,
			     .db = db,
			     .t = t,
			     .spans = s,
			     .e = e,
			     .start = r->ts - r->queued,
			     .latency = r->queued + r->dur };
	int ret = html_head(out, name, "request", "One request of ", e);

	if (ret == 0 && d.latency > 0)
		ret = put_svg(&d, path);
	if (ret == 0)
		ret = put_text(out, text, e);
	return ret < 0 ? ret : buf_printf(out, e, "</main>\n</body>\n</html>\n");
}
