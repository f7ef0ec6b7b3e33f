// SPDX-License-Identifier: GPL-2.0-or-later
/* Control groups: their names, their containers, and what their CPU quotas did. */
#include "analyze/replay/track.h"

#include <stdlib.h>
#include <string.h>

#define GROUPS_MAX 100000 /* with a quota */

struct groups {
	struct idmap throttles; /* control group -> its last reading */
};

static int put_group(struct replay *r, u64 id, const struct record *rec, struct err *e)
{
	char *path = strndup(rec->tail, rec->tail_len);
	int ret;

	if (!path)
		return err_set(e, ERR_FAIL, "out of memory for control groups");
	ret = db_run(r->db, e, "INSERT INTO cgroup VALUES(?,?,NULL)", "is", (s64)(id & INT64_MAX),
		     path);
	free(path);
	return ret;
}

static int groups_on_cgroup(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_cgroup *ev = rec->event;

	return put_group(r, ev->id, rec, e);
}

static int groups_on_cgroup_made(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_cgroup_made *ev = rec->event;

	return put_group(r, ev->id, rec, e);
}

static int groups_on_container(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_container *ev = rec->event;
	char *text = strndup(rec->tail, rec->tail_len);
	int ret;

	if (!text)
		return err_set(e, ERR_FAIL, "out of memory for control groups");
	ret = db_run(r->db, e, "UPDATE cgroup SET container=? WHERE id=?", "si", text,
		     (s64)(ev->cgroup & INT64_MAX));
	free(text);
	return ret;
}

/* Counters run from the group's own begin: what counts is what they gained between two readings. */
static int groups_on_throttle(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_throttle *ev = rec->event;
	struct groups *own = r->own[TRACK_groups];
	struct ev_throttle *last = idmap_get(&own->throttles, ev->cgroup);
	s64 *row;

	if (last) {
		row = bulk_row(r->bulk, TABLE_throttle);
		row[0] = replay_time(r, last->h.ts);
		row[1] = elapsed(last->h.ts, rec->ts);
		row[2] = ev->cgroup & INT64_MAX;
		row[3] = elapsed(last->periods, ev->periods);
		row[4] = elapsed(last->throttled, ev->throttled);
		row[5] = elapsed(last->time, ev->time) & INT64_MAX;
		row[6] = ev->quota & INT64_MAX;
		row[7] = ev->period & INT64_MAX;
	} else {
		last = calloc(1, sizeof(*last));
		if (!last)
			return err_set(e, ERR_FAIL, "out of memory for control groups");
		if (idmap_put(&own->throttles, ev->cgroup, last, GROUPS_MAX, e) < 0) {
			free(last);
			return ERR_FAIL;
		}
	}
	*last = *ev;
	last->h.ts = rec->ts;
	return 0;
}

static void groups_free(void *slot)
{
	struct groups *own = slot;
	struct ev_throttle *last;
	size_t at = 0;

	while ((last = idmap_each(&own->throttles, &at)))
		free(last);
	idmap_free(&own->throttles);
}

static const struct handler handlers[] = {
	{ EV_cgroup, true, groups_on_cgroup },
	{ EV_container, true, groups_on_container },
	{ EV_throttle, true, groups_on_throttle },
	{ EV_cgroup_made, false, groups_on_cgroup_made },
	{ 0 },
};

const struct tracker track_groups = {
	.name = "groups",
	.handlers = handlers,
	.of_replay = sizeof(struct groups),
	.free = groups_free,
};
