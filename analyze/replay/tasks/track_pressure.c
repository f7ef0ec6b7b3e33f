// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * PSI, CPU times and memory, read by the recorder once per second: counters since the host or
 * the cgroup began become what they gained from reading to reading. Direct reclaim, by thread.
 */
#include "track_pressure.h"

#include <stdlib.h>
#include <string.h>

#define READINGS_MAX 100000
#define COUNTERS     12

/* Of one CPU, cgroup and resource: the last values of its counters. */
struct reading {
	u64 ts;
	u64 v[COUNTERS];
};

enum subject { SUBJECT_CPU = 1, SUBJECT_PSI, SUBJECT_HOST_PSI, SUBJECT_HOST, SUBJECT_CGROUP };

/*
 * Replaces the last reading by this one. ret_gain has what each of the n counters gained, and
 * ret_since the time of the last reading, 0 if there was none.
 */
static int gained(struct replay *r, u64 key, u64 ts, const u64 *v, int n, s64 *ret_gain,
		  u64 *ret_since, struct err *e)
{
	struct reading *last = idmap_get(&r->readings, key);
	int i;

	*ret_since = last ? last->ts : 0;
	if (!last) {
		last = calloc(1, sizeof(*last));
		if (!last)
			return err_set(e, ERR_FAIL, "out of memory for readings");
		if (idmap_put(&r->readings, key, last, READINGS_MAX, e) < 0) {
			free(last);
			return ERR_FAIL;
		}
	}
	for (i = 0; i < n; i++)
		ret_gain[i] = (s64)(elapsed(last->v[i], v[i]) & INT64_MAX);
	last->ts = ts;
	memcpy(last->v, v, n * sizeof(*v));
	return 0;
}

/* One number for all that has readings of its own. */
static u64 key_of(enum subject subject, u64 id, u32 item)
{
	return id << 6 | (item & 7) << 3 | subject;
}

static s64 amount(u64 v)
{
	return (s64)(v & INT64_MAX);
}

int pressure_on_cpu(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_cpu_time *ev = rec->event;
	const u64 v[] = { ev->user,   ev->nice, ev->system,  ev->idle,
			  ev->iowait, ev->irq,	ev->softirq, ev->steal };
	s64 gain[COUNTERS], *row;
	u64 since;

	if (gained(r, key_of(SUBJECT_CPU, ev->cpu, 0), rec->ts, v, 8, gain, &since, e) < 0)
		return ERR_FAIL;
	if (!since)
		return 0;
	row = bulk_row(r->bulk, TABLE_cpu_time);
	row[0] = replay_time(r, since);
	row[1] = amount(elapsed(since, rec->ts));
	row[2] = ev->cpu;
	memcpy(row + 3, gain, 8 * sizeof(*gain));
	return 0;
}

int pressure_on_psi(struct replay *r, const struct record *rec, struct err *e)
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
	key = ev->cgroup ? key_of(SUBJECT_PSI, ev->cgroup, ev->resource)
			 : key_of(SUBJECT_HOST_PSI, ev->first_cpu, ev->resource);
	if (gained(r, key, rec->ts, v, 2, gain, &since, e) < 0)
		return ERR_FAIL;
	if (!since)
		return 0;
	path = strndup(rec->tail, rec->tail_len);
	if (!path)
		return err_set(e, ERR_FAIL, "out of memory for cgroups");
	ret = db_run(r->db, e, "INSERT INTO psi VALUES(?,?,nullif(?,0),nullif(?,''),?,?,?,?)",
		     "iiissiii", replay_time(r, since), amount(elapsed(since, rec->ts)),
		     amount(ev->cgroup), path, resources[ev->resource], gain[0], gain[1],
		     (s64)ev->first_cpu);
	free(path);
	return ret;
}

int pressure_on_host(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_host_memory *ev = rec->event;
	const u64 v[] = { ev->stalls,	ev->oom_kill,	ev->major_faults, ev->reclaimed,
			  ev->refaults, ev->swapped_in, ev->swapped_out };
	s64 gain[COUNTERS];
	u64 since;

	if (gained(r, key_of(SUBJECT_HOST, ev->first_cpu, 0), rec->ts, v, 7, gain, &since, e) < 0)
		return ERR_FAIL;
	if (!since)
		return 0;
	return db_run(
		r->db, e,
		"INSERT INTO memory(ts,dur,used,swap,max,hit_max,oom_kill,major_faults,"
		"reclaimed,refaults,swapped_in,swapped_out,first_cpu) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)",
		"iiiiiiiiiiiii", replay_time(r, since), amount(elapsed(since, rec->ts)),
		amount(elapsed(ev->available, ev->total)),
		amount(elapsed(ev->swap_free, ev->swap_total)), amount(ev->total), gain[0], gain[1],
		gain[2], gain[3], gain[4], gain[5], gain[6], (s64)ev->first_cpu);
}

int pressure_on_cgroup(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_cgroup_memory *ev = rec->event;
	const u64 v[] = { ev->hit_high,	    ev->hit_max,   ev->oom,	ev->oom_kill,
			  ev->major_faults, ev->reclaimed, ev->refaults };
	s64 gain[COUNTERS];
	char *path;
	u64 since;
	int ret;

	if (gained(r, key_of(SUBJECT_CGROUP, ev->cgroup, 0), rec->ts, v, 7, gain, &since, e) < 0)
		return ERR_FAIL;
	if (!since)
		return 0;
	path = strndup(rec->tail, rec->tail_len);
	if (!path)
		return err_set(e, ERR_FAIL, "out of memory for cgroups");
	ret = db_run(
		r->db, e,
		"INSERT INTO memory(ts,dur,cgroup,path,used,swap,max,high,hit_high,hit_max,oom,"
		"oom_kill,major_faults,reclaimed,refaults) VALUES(?,?,?,nullif(?,''),?,?,"
		"nullif(?,0),nullif(?,0),?,?,?,?,?,?,?)",
		"iiisiiiiiiiiiii", replay_time(r, since), amount(elapsed(since, rec->ts)),
		amount(ev->cgroup), path, amount(ev->current), amount(ev->swap), amount(ev->max),
		amount(ev->high), gain[0], gain[1], gain[2], gain[3], gain[4], gain[5], gain[6]);
	free(path);
	return ret;
}

int pressure_on_reclaim(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_reclaim *ev = rec->event;
	u64 start = elapsed(ev->dur, rec->ts);
	s64 *row;

	(void)e;
	row = bulk_row(r->bulk, TABLE_reclaim);
	row[0] = replay_time(r, start);
	row[1] = amount(elapsed(start > r->begin ? start : r->begin, rec->ts));
	row[2] = rec->tid;
	row[3] = ev->kind;
	row[4] = amount(ev->pages);
	return 0;
}

void pressure_free(struct replay *r)
{
	struct reading *last;
	size_t at = 0;

	while ((last = idmap_each(&r->readings, &at)))
		free(last);
	idmap_free(&r->readings);
}
