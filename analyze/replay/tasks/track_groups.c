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
	ret = row_put(r->db, cgroup, e, .id = id & INT64_MAX, .path = path);
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
	struct row_throttle *row;

	if (last) {
		row = bulk_add(r->bulk, throttle);
		row->ts = replay_time(r, last->h.ts);
		row->dur = elapsed(last->h.ts, rec->ts);
		row->cgroup = ev->cgroup & INT64_MAX;
		row->periods = elapsed(last->periods, ev->periods);
		row->throttled = elapsed(last->throttled, ev->throttled);
		row->time = elapsed(last->time, ev->time) & INT64_MAX;
		row->quota = ev->quota & INT64_MAX;
		row->period = ev->period & INT64_MAX;
	} else {
		last = idmap_add(&own->throttles, ev->cgroup, sizeof(*last), GROUPS_MAX,
				 "control groups", e);
		if (!last)
			return ERR_FAIL;
	}
	*last = *ev;
	last->h.ts = rec->ts;
	return 0;
}

static void groups_free(void *slot)
{
	struct groups *own = slot;

	idmap_free_all(&own->throttles);
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
