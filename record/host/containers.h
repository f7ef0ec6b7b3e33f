/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Containers, found by the names that runtimes give to cgroups; their own names are
 * read from the files in which docker, podman and the kubelet keep them.
 */
#pragma once

#include "podman.h"
#include "record/files/safe_open.h"

#include <stdbool.h>

struct container {
	const char *runtime; /* docker, podman, ... */
	char id[65];
	char name[128]; /* "-": the host does not tell it */
};

/* What is kept while cgroups are walked. All zero at first. */
struct container_files {
	struct safe_files safe;
	struct podman podman;
};
void container_files_end(struct container_files *f);

/*
 * The container that a cgroup belongs to directly; false: none. dir is its directory, path as in
 * /proc/PID/cgroup. A name counts only if the file that has it belongs to root or to the user who
 * made the cgroup, and root's names only for cgroups that root made.
 */
bool container_of_cgroup(struct container *ret, const char *dir, const char *path,
			 struct container_files *files);

/* True if text is the container's name, its id, or a beginning of the id (4 characters or more). */
bool container_is(const struct container *c, const char *text);
