/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The weights by which cgroups share CPU time, recorded when new or changed. */
#pragma once

#include "cgroups.h"
#include "record/pump/pump.h"

struct weights {
	struct weight {
		u64 cgroup;
		u32 weight;
	} * recorded, *found; /* by the search before, sorted; by the present one */
	size_t n_recorded, n_found;
};

/* The search comes to a group: dir, which is path below the mount. */
int cgroup_weights_look(struct weights *w, struct pump *p, const struct cgroup_mount *m,
			const char *dir, const char *path, struct err *e);
/* The search is over. */
void cgroup_weights_looked(struct weights *w);
/* cpu.weight or cpu.shares as the kernel's weight of threads; 0: there is none. */
u32 cgroup_weights_parse(const char *text, bool version2);
void cgroup_weights_free(struct weights *w);
