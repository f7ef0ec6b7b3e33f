/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Control groups: which one a thread is in, and whether it is a target (--cgroup). */
#pragma once

#define LEVELS_MAX 16 /* deeper groups are looked for this far up */

const volatile bool cpu_is_v1 = false;	 /* the CPU controller is in a hierarchy of version 1 */
const volatile u32 cpu_hierarchy = 0;	 /* hierarchy whose numbers threads carry */
const volatile bool by_cgroup = false;	 /* targets are control groups */
const volatile u32 cgroup_hierarchy = 0; /* their hierarchy; 0: version 2 */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, u64);
	__type(value, u8);
} target_cgroups SEC(".maps");

/* The group whose CPU share the thread lives on. */
static __always_inline u64 cgroup_of(struct task_struct *t)
{
	struct css_set *set = BPF_CORE_READ(t, cgroups);
	struct cgroup_subsys_state *css = NULL;
	u32 cpu;

	if (!cpu_is_v1)
		return BPF_CORE_READ(set, dfl_cgrp, kn, id);
	cpu = bpf_core_enum_value(enum cgroup_subsys_id, cpu_cgrp_id);
	bpf_core_read(&css, sizeof(css), &set->subsys[cpu & 15]);
	return BPF_CORE_READ(css, cgroup, kn, id);
}

/* True if the group is in the hierarchy that cgroup_of reads. */
static __always_inline bool cgroup_counts(struct cgroup *g)
{
	return (u32)BPF_CORE_READ(g, root, hierarchy_id) == cpu_hierarchy;
}

/* True if the group, or one above it, is a target. */
static __always_inline bool cgroup_wanted(struct cgroup *g)
{
	u64 id;
	int i;

	if ((u32)BPF_CORE_READ(g, root, hierarchy_id) != cgroup_hierarchy)
		return false;
	for (i = 0; i < LEVELS_MAX && g; i++) {
		id = BPF_CORE_READ(g, kn, id);
		if (bpf_map_lookup_elem(&target_cgroups, &id))
			return true;
		g = BPF_CORE_READ(g, self.parent, cgroup);
	}
	return false;
}
