// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of call_stat, call_state, call_defect and latency. */
#include "call_stats.h"

#include "analyze/base/limits.h"
#include "analyze/replay/latency_rows.h"

#include <stdlib.h>

struct call_stat *call_stat_of(struct idmap *stats, u32 site, struct err *e)
{
	struct call_stat *s = idmap_get(stats, site);

	if (s)
		return s;
	s = idmap_add(stats, site, sizeof(*s), STAT_LIMIT, "calls", e);
	if (!s)
		return NULL;
	s->site = site;
	return s;
}

/* Where the time went, state by state; calls that were never in a state have 0 of it. */
static int state_rows(struct replay *r, const struct call_stat *s, struct err *e)
{
	const struct hist *h;
	int i, ret = 0;

	for (i = 0; i < N_STATES && ret == 0; i++) {
		h = &s->states[i];
		if (!h->n)
			continue;
		ret = row_put(r->db, call_state, e, .site = s->site, .state = i, .n = h->n,
			      .total = h->sum & INT64_MAX,
			      .exclusive = elapsed(s->inner[i], h->sum) & INT64_MAX,
			      .longest = h->max & INT64_MAX);
		if (ret == 0 && s->n - s->moved > h->n)
			ret = row_put(r->db, latency, e, .kind = "call_state", .subject = s->site,
				      .item = i, .low = 0, .high = 1, .n = s->n - s->moved - h->n);
		if (ret == 0)
			ret = latency_rows(r, "call_state", s->site, i, h, e);
	}
	return ret;
}

static s64 longest_of(const struct call_stat *s)
{
	u64 longest = s->latency.max > s->timed_longest ? s->latency.max : s->timed_longest;

	return longest & INT64_MAX;
}

static int stat_rows(void *arg, void *value, struct err *e)
{
	const struct call_stat *s = value;
	struct replay *r = arg;
	int ret = 0;

	if (s->open || s->unmatched || s->abandoned || s->nested || s->reused || s->forgotten ||
	    s->keyless || s->unreadable || s->cut)
		ret = row_put(r->db, call_defect, e, .site = s->site, .open = s->open,
			      .unmatched = s->unmatched, .abandoned = s->abandoned,
			      .oldest = s->oldest & INT64_MAX, .nested = s->nested,
			      .reused = s->reused, .forgotten = s->forgotten, .keyless = s->keyless,
			      .unreadable = s->unreadable, .cut = s->cut);
	if (ret == 0)
		ret = row_put(r->db, call_stat, e, .site = s->site, .n = s->n,
			      .excluded = s->excluded, .recursive = s->recursive,
			      .total = s->total & INT64_MAX, .exclusive = s->exclusive & INT64_MAX,
			      .longest = longest_of(s), .split = s->split, .entries = s->entries,
			      .counted = s->counted & INT64_MAX, .timed = s->timed & INT64_MAX,
			      .timed_total = s->timed_total & INT64_MAX,
			      .timed_cpu = s->timed_cpu & INT64_MAX, .moved = s->moved,
			      .moved_total = s->moved_total & INT64_MAX);
	if (ret == 0)
		ret = latency_rows(r, "call", 0, s->site, &s->latency, e);
	if (ret == 0)
		ret = latency_rows(r, "call_cpu", 0, s->site, &s->on_cpu, e);
	return ret < 0 ? ret : state_rows(r, s, e);
}

int call_stats_put(struct replay *r, const struct idmap *stats, struct err *e)
{
	return idmap_in_order(stats, stat_rows, r, e);
}

void call_stats_free(struct idmap *stats)
{
	struct call_stat *s;
	size_t at = 0;
	int i;

	while ((s = idmap_each(stats, &at))) {
		hist_free(&s->latency);
		hist_free(&s->on_cpu);
		for (i = 0; i < N_STATES; i++)
			hist_free(&s->states[i]);
		free(s);
	}
	idmap_free(stats);
}
