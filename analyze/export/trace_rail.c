// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace_rail.h"

#include "analyze/base/limits.h"

#include <stdio.h>
#include <stdlib.h>

struct rail *trace_rail(struct trace *t, s64 tid)
{
	struct rail *r = idmap_get(&t->rails, tid);

	if (r)
		return r;
	r = idmap_add(&t->rails, tid, sizeof(*r), TASK_LIMIT, "tracks", t->e);
	if (!r)
		return NULL;
	r->pid = tid;
	*(t->first ? t->last : &t->first) = r;
	t->last = &r->next;
	return r;
}

int trace_track(struct trace *t, struct track *k, enum trace_track_kind kind, s64 pid, s64 tid,
		const char *name, s64 place)
{
	return track_name(&t->w, k, kind, pid, tid, name, place);
}

void trace_name_thread(struct trace *t, struct rail *r, s64 tid, struct track *k)
{
	s64 place = 2 * (tid & 0x3fffffff);
	char name[128];

	if (k->k.named)
		return;
	snprintf(name, sizeof(name), k == &r->states ? "%s[%lld] states" : "%s", r->comm,
		 (long long)tid);
	if (k == &r->states)
		trace_track(t, k, TRACK_LANE, r->pid, STATES_BASE + tid, name, place);
	else
		trace_track(t, k, TRACK_THREAD, r->pid, tid, name, place + 1);
}

struct track *trace_lane(struct trace *t, struct lane_map *map, u64 id, s64 ts, int *ret)
{
	struct lanes *l = lanes_of(map, id, t->e);

	*ret = l ? lanes_take(l, ts, t->e) : -2;
	return *ret < 0 ? NULL : &l->tracks[*ret];
}
