/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whom to record: the threads that exist, found by process, name or cgroup. */
#pragma once

#include "cgroups.h"
#include "comm_glob.h"
#include "record/options/options.h"

struct probes;

struct targets {
	const struct options *options;
	struct comm_glob comm;
	struct cgroups cgroups;
	struct target_cgroup {
		char dir[PATH_MAX];
		const struct cgroup_mount *mount;
	} * groups; /* of --cgroup and --container */
	int n_groups;
};

/* Looks up what the options name. options must stay. */
int targets_find(struct targets *ret, const struct options *o, struct err *e);

/*
 * Marks all threads that are targets now; those that they make are marked by the kernel side.
 * Threads that have left a cgroup are not unmarked. first: a process that
 * does not exist is an error.
 */
int targets_mark(const struct targets *t, struct probes *probes, bool first, struct err *e);

void targets_free(struct targets *t);
