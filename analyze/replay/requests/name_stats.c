// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of request_stat. */
#include "name_stats.h"

#include "analyze/replay/latency_rows.h"

#include <stdlib.h>

#define TIMED_MAX 1024 /* requests of one head that count in a histogram */

void name_stat_add(struct name_stat *s, u32 n, u64 ts)
{
	s->first = s->requests ? s->first : ts;
	s->last = ts;
	s->requests += n;
}

void name_stat_time(struct name_stat *s, const struct request *q, u64 arrival, u32 n)
{
	u64 dur = elapsed(arrival, q->last_send);
	u32 i;

	for (i = 0; i < n && i < TIMED_MAX; i++)
		hist_add(&s->latency, dur);
	s->sum += dur * n;
	s->max = dur > s->max ? dur : s->max;
	s->queued += elapsed(arrival, q->first_recv) * n;
	s->served += elapsed(q->first_recv > arrival ? q->first_recv : arrival, q->last_send) * n;
}

static int stat_row(void *arg, void *value, struct err *e)
{
	const struct name_stat *s = value;
	struct replay *r = arg;
	int ret;

	if (!s->requests && !s->exchanges && !s->errors) /* statements named them all */
		return 0;
	ret = row_put(r->db, request_stat, e, .service = s->service, .name = s->name,
		      .requests = s->requests & INT64_MAX, .exchanges = s->exchanges,
		      .kernel = s->kernel, .lossy = s->lossy, .errors = s->errors,
		      .latency = s->sum & INT64_MAX, .max = s->max & INT64_MAX,
		      .queued = s->queued & INT64_MAX, .served = s->served & INT64_MAX,
		      .cpu = s->cpu & INT64_MAX, .wait = s->wait & INT64_MAX, .split = s->split,
		      .recv_bytes = s->recv_bytes & INT64_MAX,
		      .send_bytes = s->send_bytes & INT64_MAX, .first = replay_time(r, s->first),
		      .last = replay_time(r, s->last));

	return ret < 0 ? ret : latency_rows(r, "name", s->service, s->name, &s->latency, e);
}

int name_stats_put(struct replay *r, const struct idmap *stats, struct err *e)
{
	return idmap_in_order(stats, stat_row, r, e);
}

void name_stats_free(struct idmap *stats)
{
	struct name_stat *s;
	size_t at = 0;

	while ((s = idmap_each(stats, &at))) {
		hist_free(&s->latency);
		free(s);
	}
	idmap_free(stats);
}
