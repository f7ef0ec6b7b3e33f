/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a laptop has to know of the host: kernel, CPUs, disks, file systems, control groups. */
#ifndef OBS_HOST_H
#define OBS_HOST_H

#include "pump.h"
#include "targets.h"

/* Facts, disks, mounts, control groups with their containers. */
int host_put(struct pump *p, const struct targets *t, struct err *e);

/* Directories of control groups with a CPU quota, as they were some seconds ago. */
struct quotas {
	char **dirs;
	size_t n;
	u64 due; /* when to search again, as made_now */
};
void quotas_free(struct quotas *q);

/* How those control groups fare that have a CPU quota. Once a second. */
int host_put_throttles(struct pump *p, const struct targets *t, struct quotas *q, struct err *e);

#endif
