// SPDX-License-Identifier: GPL-2.0-or-later
/* One request and those that it waited for: a line for each, indented below who asked. */
#include "request_text.h"

#include "analyze/base/number.h"
#include "analyze/causes/request/request_hops.h"
#include "analyze/store/finding.h"
#include "analyze/store/state.h"
#include "format/escape.h"
#include "say.h"

#include <stdlib.h>
#include <string.h>

#define AT_WIDTH  10 /* "  1.55 ms" since the arrival of the first */
#define LENGTH	  11
#define MENTIONED 100 /* a part below 1/100 of its interval is not mentioned */

struct page {
	struct buf *out;
	sqlite3 *db;
	s64 start; /* arrival of the first request, on the clock of the tree */
	struct err *e;
};

/* All parts of a critical path of one kind, of one step. */
struct path_sum {
	struct path_part first;
	s64 ns;
};

/* clang-format off */
static const char *const why_not[] = {
	[PATH_NO_PROCESS] = "; no recorded process has the other end of the connection",
	[PATH_NO_REQUEST] = "; its process received no request there at that time",
	[PATH_SEEN] = "; its request is above already",
	[PATH_TOO_DEEP] = "; not followed further",
};
/* clang-format on */

static int put_time(struct page *p, s64 ns, int width)
{
	char text[32];

	number_text(text, sizeof(text), ns, "ns");
	return buf_printf(p->out, p->e, "%*s", width, text);
}

static int put_subject(struct page *p, enum subject_kind kind, s64 id)
{
	struct buf name = { 0 };
	int ret = subject_text(&name, p->db, (struct subject){ kind, id }, p->e);

	if (ret == 0)
		ret = escape_add(p->out, ESCAPE_TEXT, name.data, name.len, p->e);
	buf_free(&name);
	return ret;
}

/* "on CPU 2.1 ms, futex 398 ms": what is worth it, of an interval. */
static int put_states(struct page *p, const s64 *states, s64 whole, s64 rest,
		      const char *rest_label)
{
	const char *before = ": ";
	s64 least = whole / MENTIONED, ns;
	int k, ret = 0;

	for (k = 0; k < N_STATES && ret == 0; k++) {
		ns = k == STATE_run ? rest : states[k];
		if (ns <= 0 || ns < least)
			continue;
		buf_printf(p->out, p->e, "%s%s ", before,
			   k == STATE_run ? rest_label : state_labels[k]);
		ret = put_time(p, ns, 0);
		before = "; ";
	}
	return ret;
}

static s64 sum(const s64 *states)
{
	s64 ret = 0;
	int k;

	for (k = 0; k < N_STATES; k++)
		ret += states[k];
	return ret;
}

/* "   1.55 ms     405 ms  ": when since the arrival, how long, then the tree. */
static int begin_line(struct page *p, const struct step *s, s64 at, s64 dur)
{
	put_time(p, at - p->start, AT_WIDTH);
	put_time(p, dur, LENGTH);
	return buf_printf(p->out, p->e, "  %*s", 2 * s->depth, "");
}

static int put_request(struct page *p, const struct step *s)
{
	const struct row_request *r = &s->request;
	int ret = 0;

	if (s->depth) {
		ret = begin_line(p, s, r->ts - r->queued, r->queued + r->dur);
		if (ret == 0)
			ret = put_subject(p, SUBJECT_request, s->id);
		if (ret == 0)
			ret = buf_printf(p->out, p->e, " to ");
		if (ret == 0)
			ret = put_subject(p, SUBJECT_service, r->service);
		if (ret == 0)
			ret = buf_printf(p->out, p->e, ", request %lld\n", (long long)s->id);
	}
	if (ret == 0 && r->queued) {
		begin_line(p, s, r->ts - r->queued, r->queued);
		buf_printf(p->out, p->e, "  queued");
		put_states(p, s->queue, r->queued, r->queued - sum(s->queue),
			   "other work of its thread");
		ret = buf_printf(p->out, p->e, "\n");
	}
	if (ret == 0)
		ret = begin_line(p, s, r->ts, r->dur);
	if (ret == 0)
		ret = buf_printf(p->out, p->e, "  served by ");
	if (ret == 0)
		ret = put_subject(p, SUBJECT_thread, r->tid);
	if (ret == 0 && r->split == 1)
		ret = put_states(p, s->waits, r->dur, r->dur - sum(s->waits), "on CPU");
	else if (ret == 0)
		ret = buf_printf(p->out, p->e, "; where its time went was not recorded");
	if (ret == 0 && s->of_others)
		ret = buf_printf(p->out, p->e,
				 "; not followed: %lld question%s of threads without a request",
				 (long long)s->of_others, s->of_others == 1 ? "" : "s");
	return ret < 0 ? ret : buf_printf(p->out, p->e, "\n");
}

static int put_peer(struct page *p, const struct row_upstream *u)
{
	s64 fd = 0;
	int ret = db_int(p->db, &fd, p->e,
			 "SELECT rowid FROM fd WHERE pid=?1 AND fd=?2 AND ts <= ?3"
			 " ORDER BY ts DESC LIMIT 1",
			 "iii", u->pid, u->fd, u->ts);

	return ret < 0 ? ret : put_subject(p, SUBJECT_upstream, fd);
}

static int put_question(struct page *p, const struct step *s)
{
	const struct row_upstream *u = &s->question;
	int ret;

	begin_line(p, s, u->ts, u->dur);
	ret = buf_printf(p->out, p->e, "asked ");
	if (ret == 0)
		ret = put_peer(p, u);
	if (ret == 0 && s->end == PATH_FOLLOWED) {
		buf_printf(p->out, p->e, ", network ");
		put_time(p, s->network, 0);
		if (s->translated[0])
			buf_printf(p->out, p->e, "; address translated: there ");
		ret = escape_add(p->out, ESCAPE_TEXT, s->translated, strlen(s->translated), p->e);
	} else if (ret == 0) {
		ret = buf_printf(p->out, p->e, "%s", why_not[s->end]);
	}
	if (ret < 0)
		return ret;
	if (s->others)
		buf_printf(p->out, p->e, "; %d other request%s of its thread %s open", s->others,
			   s->others == 1 ? "" : "s", s->others == 1 ? "was" : "were");
	return buf_printf(p->out, p->e, "\n");
}

/* "there: eth0 sends 12 us, eth1 receives 20 ms, arrival 3 us" */
static int put_hops(struct page *p, const struct step *s, bool back, const struct hop *hops, int n,
		    s64 rest, int against)
{
	int i;

	if (!n)
		return 0;
	begin_line(p, s, hops[0].ts, hops[n - 1].ts - hops[0].ts);
	for (i = 0; i < n; i++) {
		buf_printf(p->out, p->e, "%s", i ? ", " : back ? "  back: " : "  there: ");
		escape_add(p->out, ESCAPE_TEXT, hops[i].device, strlen(hops[i].device), p->e);
		buf_printf(p->out, p->e, "%s", hops[i].sends ? " sends" : " receives");
		if (hops[i].dur >= 0) {
			buf_printf(p->out, p->e, " ");
			put_time(p, hops[i].dur, 0);
		}
	}
	if (rest >= 0) {
		buf_printf(p->out, p->e, ", %s ", back ? "receive" : "arrival");
		put_time(p, rest, 0);
	}
	if (against)
		buf_printf(p->out, p->e, "; %d time%s the order", against,
			   against == 1 ? " contradicts" : "s contradict");
	return buf_printf(p->out, p->e, "\n");
}

static int put_ways(struct page *p, const struct request_tree *t, const struct step *s)
{
	struct request_hops *h = calloc(1, sizeof(*h));
	int ret = h ? request_hops_make(h, p->db, t, s, p->e)
		    : err_set(p->e, ERR_FAIL, "out of memory for hops");

	if (ret == 0)
		ret = put_hops(p, s, false, h->there, h->n_there, h->arrival, h->against_there);
	if (ret == 0)
		ret = put_hops(p, s, true, h->back, h->n_back, h->receive, h->against_back);
	free(h);
	return ret;
}

/* "Clock of db: corrected by +0.007021334 s +-21.3 us (n = 118 messages)" */
static int put_clock(struct page *p, const struct host_clock *h)
{
	buf_printf(p->out, p->e, "Clock of ");
	escape_add(p->out, ESCAPE_TEXT, h->name, strlen(h->name), p->e);
	if (!h->known)
		return buf_printf(p->out, p->e,
				  ": by wall clocks, which may be wrong; no connection has the same"
				  " addresses on both hosts\n");
	buf_printf(p->out, p->e, ": corrected by %+.9f s +-", (double)h->add / 1e9);
	put_time(p, h->error, 0);
	buf_printf(p->out, p->e, " (n = %lld messages", (long long)h->messages);
	if (h->against) {
		buf_printf(p->out, p->e, "; %lld contradict the others, from ",
			   (long long)h->against);
		say_number(p->out, p->db, (double)h->against_from, "at", p->e);
		buf_printf(p->out, p->e, " to ");
		say_number(p->out, p->db, (double)h->against_to, "at", p->e);
	}
	if (h->others)
		buf_printf(p->out, p->e, "; of %d alignments the one nearest to the wall clocks",
			   h->others + 1);
	return buf_printf(p->out, p->e, ")\n");
}

static int put_clocks(struct page *p, const struct request_tree *t)
{
	int i, ret = 0;

	for (i = 1; i < t->clocks.n && ret == 0; i++)
		ret = put_clock(p, &t->clocks.v[i]);
	return ret;
}

/* Answers of these are parts of the path as a whole. */
static int put_not_followed(struct page *p, const struct request_tree *t)
{
	int i, questions = 0, not = 0;

	for (i = 0; i < t->n; i++) {
		questions += !t->v[i].is_request;
		not += !t->v[i].is_request && t->v[i].end != PATH_FOLLOWED;
	}
	return !not ? 0
		    : buf_printf(p->out, p->e, "Not followed: %d of %d question%s.\n", not,
				 questions, questions == 1 ? "" : "s");
}

static int by_time(const void *a, const void *b)
{
	const struct path_sum *x = a, *y = b;

	return x->ns != y->ns ? (x->ns < y->ns ? 1 : -1)
			      : (x->first.ts > y->first.ts) - (x->first.ts < y->first.ts);
}

static int sum_path(struct path_sum *sums, const struct request_path *path)
{
	const struct path_part *part;
	int i, k, n = 0;

	for (i = 0; i < path->n; i++) {
		part = &path->v[i];
		for (k = 0; k < n; k++)
			if (sums[k].first.what == part->what && sums[k].first.step == part->step &&
			    sums[k].first.state == part->state)
				break;
		if (k == n)
			sums[n++].first = *part;
		sums[k].ns += part->dur;
	}
	qsort(sums, n, sizeof(*sums), by_time);
	return n;
}

static int put_sum(struct page *p, const struct request_tree *t, const struct path_sum *sum,
		   s64 latency)
{
	static const char *const words[] = { [PATH_QUEUE] = "queued: ",
					     [PATH_STATE] = "",
					     [PATH_NETWORK] = "network to ",
					     [PATH_PEER] = "answer of " };
	const struct path_part *part = &sum->first;
	const struct step *s = &t->v[part->step];
	bool work = part->what == PATH_QUEUE && part->state == STATE_run;
	int ret;

	put_time(p, sum->ns, AT_WIDTH);
	ret = buf_printf(p->out, p->e, "%6.1f %%  %s", 100.0 * sum->ns / latency,
			 words[part->what]);
	if (ret == 0 && s->is_request)
		ret = buf_printf(p->out, p->e, "%s, ",
				 work ? "other work of its thread" : state_labels[part->state]);
	return ret < 0	       ? ret
	       : s->is_request ? put_subject(p, SUBJECT_service, s->request.service)
			       : put_peer(p, &s->question);
}

static int put_path(struct page *p, const struct request_tree *t, const struct request_path *path)
{
	s64 latency = t->v[0].request.queued + t->v[0].request.dur, rest = latency;
	struct path_sum *sums = calloc(path->n ? path->n : 1, sizeof(*sums));
	int i, n, ret = sums ? 0 : err_set(p->e, ERR_FAIL, "out of memory for a path");

	if (ret < 0 || latency <= 0)
		goto out;
	n = sum_path(sums, path);
	ret = buf_printf(p->out, p->e, "\nCritical path:\n");
	for (i = 0; i < n && sums[i].ns >= latency / MENTIONED && ret == 0; i++) {
		rest -= sums[i].ns;
		ret = put_sum(p, t, &sums[i], latency);
		if (ret == 0)
			ret = buf_printf(p->out, p->e, "\n");
	}
	if (ret == 0 && rest > 0)
		ret = put_time(p, rest, AT_WIDTH);
	if (ret == 0 && rest > 0)
		ret = buf_printf(p->out, p->e, "%6.1f %%  other parts\n", 100.0 * rest / latency);
out:
	free(sums);
	return ret;
}

static int put_longest(struct page *p, const struct request_tree *t)
{
	static const char *const kinds[] = {
		[PART_NONE] = "nothing",    [PART_QUEUE] = "queued for ",
		[PART_CPU] = "on CPU, ",    [PART_WAIT] = "",
		[PART_PEER] = "answer of ", [PART_NETWORK] = "network to ",
	};
	struct part part = request_tree_longest(t);
	const struct step *s = &t->v[part.step];
	s64 whole = t->v[0].request.queued + t->v[0].request.dur;
	int ret;

	ret = buf_printf(p->out, p->e, "\nLongest part: %s", kinds[part.kind]);
	if (ret == 0 && part.kind == PART_WAIT)
		ret = buf_printf(p->out, p->e, "%s, ", state_labels[part.state]);
	if (ret == 0 && !s->is_request)
		ret = put_peer(p, &s->question);
	else if (ret == 0)
		ret = put_subject(p, SUBJECT_service, s->request.service);
	if (ret < 0)
		return ret;
	buf_printf(p->out, p->e, ": ");
	put_time(p, part.ns, 0);
	return buf_printf(p->out, p->e, ", %.0f %% of the latency.\n",
			  whole > 0 ? 100.0 * part.ns / whole : 0.0);
}

int request_text(struct buf *out, sqlite3 *db, const struct request_tree *t,
		 const struct request_path *path, struct err *e)
{
	const struct row_request *r = &t->v[0].request;
	struct page p = { out, db, r->ts - r->queued, e };
	int i, ret = put_subject(&p, SUBJECT_request, t->v[0].id);

	if (ret == 0)
		ret = buf_printf(out, e, " to ");
	if (ret == 0)
		ret = put_subject(&p, SUBJECT_service, r->service);
	if (ret == 0)
		ret = buf_printf(out, e, ", request %lld\n", (long long)t->v[0].id);
	if (ret == 0)
		ret = say_number(out, db, p.start, "at", e);
	if (ret == 0)
		ret = buf_printf(out, e, ": arrival%s; latency ",
				 r->arrival_is ? "" : " (estimate)");
	if (ret == 0)
		ret = put_time(&p, r->queued + r->dur, 0);
	if (ret == 0)
		ret = buf_printf(out, e, "%s\n",
				 r->lossy ? "; events were lost while it lasted" : "");
	if (ret == 0)
		ret = put_clocks(&p, t);
	if (ret == 0)
		ret = buf_printf(out, e, "\n%*s%*s\n", AT_WIDTH, "after", LENGTH, "time");
	for (i = 0; i < t->n && ret == 0; i++) {
		ret = t->v[i].is_request ? put_request(&p, &t->v[i]) : put_question(&p, &t->v[i]);
		if (ret == 0 && !t->v[i].is_request)
			ret = put_ways(&p, t, &t->v[i]);
	}
	if (ret == 0 && t->cut)
		ret = buf_printf(out, e, "More than %d steps: the rest is left out.\n",
				 TREE_STEPS_MAX);
	if (ret == 0)
		ret = put_not_followed(&p, t);
	if (ret == 0)
		ret = put_path(&p, t, path);
	return ret < 0 ? ret : put_longest(&p, t);
}
