/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a laptop has to know of the host: kernel, CPUs, disks, file systems, cgroups. */
#pragma once

#include "accept_queues.h"
#include "cgroup_weights.h"
#include "pressure.h"
#include "record/pump/pump.h"
#include "targets.h"

/* Facts, disks, mounts, cgroups with their containers. */
int host_put(struct pump *p, const struct targets *t, struct err *e);

/* Cgroups as they were some seconds ago: directories of those with a CPU quota, weights. */
struct quotas {
	char **dirs;
	size_t n;
	struct weights weights;
	struct pressures pressures;
	struct accept_queues accepts;
	u64 due; /* when to search again, as records_now */
};
void quotas_free(struct quotas *q);
/* A recording starts without their state. */
void quotas_restart(struct quotas *q);

/*
 * Throttling of cgroups with a CPU quota, and of those of recorded processes, also without one;
 * weights that changed. Once per second.
 */
int host_put_throttles(struct pump *p, const struct targets *t, struct quotas *q, struct err *e);
