// SPDX-License-Identifier: GPL-2.0-or-later
/* The counters of the BPF programs, as records. */
#include "counts.h"

#include "format/schema.h"

#include <string.h>

u64 counts_lost(const struct cpu_counts *c)
{
	u64 lost = 0;
	int g;

	for (g = 0; g < GROUP_MAX; g++)
		lost += c->group[g].lost_full + c->group[g].lost_other;
	return lost;
}

struct totals counts_totals(const struct cpu_counts *list, int n_cpus)
{
	struct totals t = { 0 };
	int cpu, g;

	for (cpu = 0; cpu < n_cpus; cpu++) {
		const struct group_counts *c = list[cpu].group;

		for (g = 0; g < GROUP_MAX; g++)
			t.records += c[g].emitted;
		t.events += c[GROUP_syscalls].emitted - c[GROUP_syscalls].nostate;
		t.lost += counts_lost(&list[cpu]);
	}
	t.events += t.records;
	return t;
}

int counts_add(struct cpu_counts *written, const struct cpu_counts *c, u32 cpu, u64 ts,
	       struct buf *records, struct err *e)
{
	struct ev_counters ev;
	int g, ret = 0;

	for (g = 0; g < GROUP_MAX && ret == 0; g++) {
		if (memcmp(&written->group[g], &c->group[g], sizeof(c->group[g])) == 0)
			continue;
		ev = (struct ev_counters){
			.h = { ts, 0, EV_counters, sizeof(ev) },
			.seen = c->group[g].seen,
			.emitted = c->group[g].emitted,
			.lost_full = c->group[g].lost_full,
			.lost_other = c->group[g].lost_other,
			.self = c->group[g].self,
			.filtered = c->group[g].filtered,
			.nostate = c->group[g].nostate,
			.counted = c->group[g].counted,
			.cpu = cpu,
			.group = g,
		};
		written->group[g] = c->group[g];
		ret = buf_add(records, &ev, sizeof(ev), e);
	}
	return ret;
}

u32 counts_groups(const struct buf *records)
{
	const struct schema *own = schema_own();
	const struct ev_header *h;
	u32 groups = 0;
	size_t at;

	for (at = 0; at + sizeof(*h) <= records->len; at += h->size) {
		h = (const struct ev_header *)(records->data + at);
		if (h->type < SCHEMA_EVENT_MAX && own->by_id[h->type])
			groups |= 1u << own->by_id[h->type]->group;
		if (h->size < sizeof(*h))
			break; /* block_encode refuses it with a sentence */
	}
	return groups;
}
