// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Epoll instances: the clock of each, which runs while at least one thread waits for it, and
 * the files registered with it. (Prism charges every registered file with the whole clock, its
 * epoll_file_wait: a thread that could have served the file was idle. It does not say that
 * the file was slow.)
 *
 * Waits are known when they end, in that order. What they cover together is kept as a list of
 * intervals; of those that are far back only the covered time of each window is kept, which
 * is exact for windows that a later wait covers whole.
 */
#include "track_epoll.h"

#include <stdlib.h>
#include <string.h>

#define RECENT	     256     /* intervals of one instance that are kept */
#define MEMBER_LIMIT 1000000 /* registrations */
#define WINDOW_TOTAL 4000000 /* windows of all instances */
#define INSTANCES    20000   /* those beyond have no clock */
#define CTL_ADD	     1
#define CTL_DEL	     2
#define CTL_MOD	     3

struct interval {
	u64 from, to;
};

struct epoll {
	struct interval recent[RECENT]; /* disjoint, in order of time */
	u32 n;
	u32 id;
	u64 horizon; /* older intervals are forgotten */
	u64 first;   /* window of covered[0] */
	u64 n_windows;
	u64 *covered; /* ns, by window */
};

/* A file in an instance. */
struct member {
	u32 epoll, pid, resource;
	s32 fd;
	u64 since; /* 0: before the recording */
};

struct epolls {
	struct idmap instances; /* resource -> struct epoll */
	struct idmap members;	/* resource and descriptor -> struct member */
	u64 n_windows;
};

static struct epolls *own(const struct replay *r)
{
	return r->own[TRACK_epolls];
}

/* *ret becomes NULL if there are too many. */
static int epoll_of(struct replay *r, struct epoll **ret, u32 id, struct err *e)
{
	struct epoll *p;

	*ret = p = idmap_get(&own(r)->instances, id);
	if (p || own(r)->instances.n >= INSTANCES)
		return 0;
	p = idmap_add(&own(r)->instances, id, sizeof(*p), INSTANCES, "epoll instances", e);
	if (!p)
		return ERR_FAIL;
	p->id = id;
	*ret = p;
	return 0;
}

/* Makes room for windows up to last. False: there are too many. */
static bool room(struct replay *r, struct epoll *p, u64 from, u64 last)
{
	u64 n = p->n_windows ? p->n_windows : 16, *grown, more;

	if (!p->n_windows)
		p->first = from;
	if (from < p->first) { /* a wait that began before all known ones */
		more = p->first - from;
		more = more > n ? more : n < p->first ? n : p->first;
		n = p->n_windows + more;
		grown = own(r)->n_windows + n > WINDOW_TOTAL ? NULL : calloc(n, sizeof(*grown));
		if (!grown)
			return false;
		memcpy(grown + more, p->covered, p->n_windows * sizeof(*grown));
		free(p->covered);
		own(r)->n_windows += more;
		p->covered = grown;
		p->n_windows = n;
		p->first -= more;
	}
	if (last - p->first < p->n_windows)
		return true;
	while (n <= last - p->first)
		n *= 2;
	if (own(r)->n_windows + n > WINDOW_TOTAL)
		return false;
	grown = realloc(p->covered, n * sizeof(*grown));
	if (!grown)
		return false;
	memset(grown + p->n_windows, 0, (n - p->n_windows) * sizeof(*grown));
	own(r)->n_windows += n - p->n_windows;
	p->covered = grown;
	p->n_windows = n;
	return true;
}

/* [from, to) is covered now and was not before. */
static void cover(struct replay *r, struct epoll *p, u64 from, u64 to)
{
	u64 at = from, edge;

	if (to <= from || !room(r, p, from / r->step, (to - 1) / r->step))
		return;
	for (; at < to; at = edge) {
		edge = (at / r->step + 1) * r->step;
		edge = edge < to ? edge : to;
		p->covered[at / r->step - p->first] += edge - at;
	}
}

/* The part of a wait before the horizon: it covers windows whole, but for the first and the last.
 */
static void cover_old(struct replay *r, struct epoll *p, u64 from, u64 to)
{
	u64 at = from, edge, *c, free_time;

	if (!room(r, p, from / r->step, (to - 1) / r->step))
		return;
	for (; at < to; at = edge) {
		edge = (at / r->step + 1) * r->step;
		edge = edge < to ? edge : to;
		c = &p->covered[at / r->step - p->first];
		free_time = elapsed(*c, r->step);
		/* what is free lies in the part in proportion to its length */
		*c += edge - at == r->step ? free_time : free_time * (edge - at) / r->step;
	}
}

/* Forgets the older half of the intervals. */
static void forget(struct epoll *p)
{
	p->horizon = p->recent[RECENT / 2 - 1].to;
	memmove(p->recent, p->recent + RECENT / 2, RECENT / 2 * sizeof(*p->recent));
	p->n = RECENT / 2;
}

int epolls_wait(struct replay *r, u32 id, u64 begin, u64 end, struct err *e)
{
	struct epoll *p = NULL;
	u64 from = elapsed(r->begin, begin), to = elapsed(r->begin, end < r->end ? end : r->end);
	u64 at, start;
	u32 i;

	if (id && epoll_of(r, &p, id, e) < 0)
		return ERR_FAIL;
	if (!p)
		return 0;
	if (from < p->horizon) {
		at = to < p->horizon ? to : p->horizon;
		if (at > from)
			cover_old(r, p, from, at);
		from = at;
	}
	if (to <= from)
		return 0;
	for (i = p->n; i > 0 && p->recent[i - 1].to >= from; i--) /* those that it touches */
		;
	start = i < p->n && p->recent[i].from < from ? p->recent[i].from : from;
	at = from;
	for (u32 k = i; k < p->n; k++) {
		cover(r, p, at, p->recent[k].from < to ? p->recent[k].from : to);
		at = p->recent[k].to > at ? p->recent[k].to : at;
	}
	cover(r, p, at, to);
	at = p->n > i && p->recent[p->n - 1].to > to ? p->recent[p->n - 1].to : to;
	if (i == RECENT) {
		forget(p);
		i = p->n;
	}
	p->recent[i] = (struct interval){ start, at };
	p->n = i + 1;
	return 0;
}

static void member_row(struct replay *r, const struct member *m, s64 end)
{
	struct row_epoll_file *row = bulk_add(r->bulk, epoll_file);

	row->epoll = m->epoll;
	row->pid = m->pid;
	row->fd = m->fd;
	row->resource = m->resource;
	row->ts = m->since ? replay_time(r, m->since) : 0;
	row->end = end;
}

int epolls_ctl(struct replay *r, const struct process *p, u32 id, u32 op, s32 fd, u32 resource,
	       u64 ts, struct err *e)
{
	u64 key = (u64)id << 32 | (u32)fd;
	struct epoll *instance;
	struct member *m;

	if (!id || op < CTL_ADD || op > CTL_MOD)
		return 0;
	if (epoll_of(r, &instance, id, e) < 0)
		return ERR_FAIL;
	m = idmap_get(&own(r)->members, key);
	if (m && op == CTL_MOD)
		return 0;
	if (!m)
		m = calloc(1, sizeof(*m));
	else if (op == CTL_ADD) /* the number is used again: closing had taken the old file out */
		member_row(r, m, replay_time(r, ts));
	if (!m)
		return err_set(e, ERR_FAIL, "out of memory for epoll instances");
	if (op == CTL_DEL && !m->epoll) /* it was there before the recording */
		*m = (struct member){ id, p->pid, resource, fd, 0 };
	if (op == CTL_DEL) {
		member_row(r, m, replay_time(r, ts));
		idmap_take(&own(r)->members, key);
		free(m);
		return 0;
	}
	*m = (struct member){ id, p->pid, resource, fd, op == CTL_ADD ? ts : 0 };
	return idmap_put(&own(r)->members, key, m, MEMBER_LIMIT, e);
}

static void clock_rows(struct replay *r, const struct epoll *p)
{
	struct row_series *row;
	u64 i;

	for (i = 0; i < p->n_windows; i++) {
		if (!p->covered[i])
			continue;
		row = bulk_add(r->bulk, series);
		row->ts = (s64)((p->first + i) * r->step);
		row->kind = SERIES_epoll_clock;
		row->tid = 0;
		row->resource = p->id;
		row->time = p->covered[i];
		row->n = row->refused = row->timeouts = 0;
	}
}

static int epolls_finish(struct replay *r, struct err *e)
{
	const struct idmap *members = &own(r)->members, *instances = &own(r)->instances;
	struct idmap_slot *m = idmap_sorted(members, e), *p = idmap_sorted(instances, e);
	int ret = m && p ? 0 : ERR_FAIL;
	size_t i;

	for (i = 0; i < members->n && ret == 0; i++)
		member_row(r, m[i].value, BULK_NULL);
	for (i = 0; i < instances->n && ret == 0; i++)
		clock_rows(r, p[i].value);
	free(m);
	free(p);
	return ret;
}

static void epolls_free(void *slot)
{
	struct epolls *all = slot;
	struct epoll *p;
	size_t at = 0;

	while ((p = idmap_each(&all->instances, &at))) {
		free(p->covered);
		free(p);
	}
	idmap_free_all(&all->members);
	idmap_free(&all->instances);
}

const struct tracker track_epolls = {
	.name = "epolls",
	.of_replay = sizeof(struct epolls),
	.finish = epolls_finish,
	.free = epolls_free,
};
