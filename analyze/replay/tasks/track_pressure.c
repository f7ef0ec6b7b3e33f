// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * PSI, CPU times and memory, read by the recorder once per second: counters since the host or
 * the cgroup started become what they gained from reading to reading. Direct reclaim, by thread.
 */
#include "analyze/replay/track.h"

#include <stdlib.h>
#include <string.h>

#define READINGS_MAX 100000
#define COUNTERS     12

struct pressure {
	struct idmap readings; /* key_of -> the last reading */
};

/* Of one CPU, cgroup and resource: the last values of its counters. */
struct reading {
	u64 ts;
	u64 v[COUNTERS];
};

enum counted { OF_CPU = 1, OF_PSI, OF_HOST_PSI, OF_HOST, OF_CGROUP };

/*
 * Replaces the last reading by this one. ret_gain has what each of the n counters gained, and
 * ret_since the time of the last reading, 0 if there was none.
 */
static int gained(struct replay *r, u64 key, u64 ts, const u64 *v, int n, s64 *ret_gain,
		  u64 *ret_since, struct err *e)
{
	struct pressure *own = r->own[TRACK_pressure];
	struct reading *last = idmap_get(&own->readings, key);
	int i;

	*ret_since = last ? last->ts : 0;
	if (!last) {
		last = idmap_add(&own->readings, key, sizeof(*last), READINGS_MAX, "readings", e);
		if (!last)
			return ERR_FAIL;
	}
	for (i = 0; i < n; i++)
		ret_gain[i] = (s64)(elapsed(last->v[i], v[i]) & INT64_MAX);
	last->ts = ts;
	memcpy(last->v, v, n * sizeof(*v));
	return 0;
}

/* One number for all that has readings of its own. */
static u64 key_of(enum counted subject, u64 id, u32 item)
{
	return id << 6 | (item & 7) << 3 | subject;
}

static s64 amount(u64 v)
{
	return (s64)(v & INT64_MAX);
}

/* 0 stands for none. */
static s64 or_null(u64 v)
{
	return v ? amount(v) : BULK_NULL;
}

static int pressure_on_cpu(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_cpu_time *ev = rec->event;
	const u64 v[] = { ev->user,   ev->nice, ev->system,  ev->idle,
			  ev->iowait, ev->irq,	ev->softirq, ev->steal };
	struct row_cpu_time *row;
	s64 gain[COUNTERS];
	u64 since;

	if (gained(r, key_of(OF_CPU, ev->cpu, 0), rec->ts, v, 8, gain, &since, e) < 0)
		return ERR_FAIL;
	if (!since)
		return 0;
	row = bulk_add(r->bulk, cpu_time);
	row->ts = replay_time(r, since);
	row->dur = amount(elapsed(since, rec->ts));
	row->cpu = ev->cpu;
	row->user = gain[0];
	row->nice = gain[1];
	row->system = gain[2];
	row->idle = gain[3];
	row->iowait = gain[4];
	row->irq = gain[5];
	row->softirq = gain[6];
	row->steal = gain[7];
	return 0;
}

/* The path of a cgroup, to be freed. */
static char *path_of(const struct record *rec, struct err *e)
{
	char *path = strndup(rec->tail, rec->tail_len);

	if (!path)
		err_set(e, ERR_FAIL, "out of memory for cgroups");
	return path;
}

static int pressure_on_psi(struct replay *r, const struct record *rec, struct err *e)
{
	static const char *const resources[] = { "cpu", "io", "memory" };
	const struct ev_psi *ev = rec->event;
	const u64 v[] = { ev->some, ev->full };
	s64 gain[COUNTERS];
	char *path;
	u64 key, since;
	int ret;

	if (ev->resource >= sizeof(resources) / sizeof(resources[0]))
		return 0;
	key = ev->cgroup ? key_of(OF_PSI, ev->cgroup, ev->resource)
			 : key_of(OF_HOST_PSI, ev->first_cpu, ev->resource);
	if (gained(r, key, rec->ts, v, 2, gain, &since, e) < 0)
		return ERR_FAIL;
	if (!since)
		return 0;
	path = path_of(rec, e);
	if (!path)
		return ERR_FAIL;
	ret = row_put(r->db, psi, e, .ts = replay_time(r, since),
		      .dur = amount(elapsed(since, rec->ts)), .cgroup = or_null(ev->cgroup),
		      .path = *path ? path : NULL, .resource = resources[ev->resource],
		      .some = gain[0], .full = gain[1], .first_cpu = ev->first_cpu);
	free(path);
	return ret;
}

static int pressure_on_host(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_host_memory *ev = rec->event;
	const u64 v[] = { ev->stalls,	ev->oom_kill,	ev->major_faults, ev->reclaimed,
			  ev->refaults, ev->swapped_in, ev->swapped_out };
	s64 gain[COUNTERS];
	u64 since;

	if (gained(r, key_of(OF_HOST, ev->first_cpu, 0), rec->ts, v, 7, gain, &since, e) < 0)
		return ERR_FAIL;
	if (!since)
		return 0;
	return row_put(r->db, memory, e, .ts = replay_time(r, since),
		       .dur = amount(elapsed(since, rec->ts)), .cgroup = BULK_NULL,
		       .used = amount(elapsed(ev->available, ev->total)),
		       .swap = amount(elapsed(ev->swap_free, ev->swap_total)),
		       .max = amount(ev->total), .high = BULK_NULL, .hit_high = BULK_NULL,
		       .hit_max = gain[0], .oom = BULK_NULL, .oom_kill = gain[1],
		       .major_faults = gain[2], .reclaimed = gain[3], .refaults = gain[4],
		       .swapped_in = gain[5], .swapped_out = gain[6], .first_cpu = ev->first_cpu);
}

static int pressure_on_cgroup(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_cgroup_memory *ev = rec->event;
	const u64 v[] = { ev->hit_high,	    ev->hit_max,   ev->oom,	ev->oom_kill,
			  ev->major_faults, ev->reclaimed, ev->refaults };
	s64 gain[COUNTERS];
	char *path;
	u64 since;
	int ret;

	if (gained(r, key_of(OF_CGROUP, ev->cgroup, 0), rec->ts, v, 7, gain, &since, e) < 0)
		return ERR_FAIL;
	if (!since)
		return 0;
	path = path_of(rec, e);
	if (!path)
		return ERR_FAIL;
	ret = row_put(r->db, memory, e, .ts = replay_time(r, since),
		      .dur = amount(elapsed(since, rec->ts)), .cgroup = amount(ev->cgroup),
		      .path = *path ? path : NULL, .used = amount(ev->current),
		      .swap = amount(ev->swap), .max = or_null(ev->max), .high = or_null(ev->high),
		      .hit_high = gain[0], .hit_max = gain[1], .oom = gain[2], .oom_kill = gain[3],
		      .major_faults = gain[4], .reclaimed = gain[5], .refaults = gain[6],
		      .swapped_in = BULK_NULL, .swapped_out = BULK_NULL, .first_cpu = BULK_NULL);
	free(path);
	return ret;
}

static int pressure_on_reclaim(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_reclaim *ev = rec->event;
	u64 start = elapsed(ev->dur, rec->ts);
	struct row_reclaim *row = bulk_add(r->bulk, reclaim);

	(void)e;
	row->ts = replay_time(r, start);
	row->dur = amount(elapsed(start > r->begin ? start : r->begin, rec->ts));
	row->tid = rec->tid;
	row->kind = ev->kind;
	row->pages = amount(ev->pages);
	return 0;
}

static void pressure_free(void *slot)
{
	struct pressure *own = slot;

	idmap_free_all(&own->readings);
}

static const struct handler handlers[] = {
	{ EV_cpu_time, true, pressure_on_cpu },	    { EV_psi, true, pressure_on_psi },
	{ EV_host_memory, true, pressure_on_host }, { EV_cgroup_memory, true, pressure_on_cgroup },
	{ EV_reclaim, false, pressure_on_reclaim }, { 0 },
};

const struct tracker track_pressure = {
	.name = "pressure",
	.handlers = handlers,
	.of_replay = sizeof(struct pressure),
	.free = pressure_free,
};
