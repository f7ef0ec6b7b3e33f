/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cgroups of the host. Threads carry the number of one group: that of the hierarchy
 * which hands out CPU time, version 1 or 2. A group's number is its directory's inode.
 */
#pragma once

#include "format/err.h"
#include "format/event.h"

#include <limits.h>
#include <stdbool.h>

#define CGROUP_MOUNTS 32

struct cgroups {
	struct cgroup_mount {
		char *path;    /* where it is mounted */
		u32 hierarchy; /* as in /proc/cgroups; 0: version 2 */
		bool version2;
	} mounts[CGROUP_MOUNTS];
	int n_mounts;
	const struct cgroup_mount *cpu;	   /* NULL: none is mounted */
	const struct cgroup_mount *memory; /* the same, of version 1 only */
};

/* What is mounted; a host without cgroups has none. */
int cgroups_find(struct cgroups *ret, struct err *e);
void cgroups_free(struct cgroups *c);

/*
 * The directory of a group that the user named: a directory, or a path as /proc/PID/cgroup
 * shows it. dir has PATH_MAX bytes.
 */
int cgroups_lookup(const struct cgroups *c, const char *name, char *dir,
		   const struct cgroup_mount **ret_mount, struct err *e);

/* The same for a container, by its id, a beginning of it, or its name. */
int cgroups_container(const struct cgroups *c, const char *name, char *dir,
		      const struct cgroup_mount **ret_mount, struct err *e);

/* The group's number; 0 if there is no such directory. */
u64 cgroups_id(const char *dir);

/*
 * The path in the line of a hierarchy (0: version 2) of /proc/PID/cgroup; NULL: there is none. Cuts
 * text into lines. Pure: for tests.
 */
const char *cgroups_path(char *text, u32 hierarchy);

/* The number of the group that a thread lives on; 0: not known. */
u64 cgroups_of(const struct cgroups *c, u32 pid, u32 tid);

/*
 * Calls fn for dir and all below it. path is relative to the mount point. Users can make as many as
 * they like: a pending signal to stop ends the walk, without a failure.
 */
typedef int (*cgroup_fn)(void *arg, const char *dir, const char *path, struct err *e);
int cgroups_walk(const struct cgroup_mount *m, const char *dir, cgroup_fn fn, void *arg,
		 struct err *e);
