/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Containers, told by the names that runtimes give to control groups; their own names are
 * read from the files in which docker, podman and the kubelet keep them.
 */
#ifndef OBS_CONTAINERS_H
#define OBS_CONTAINERS_H

#include <stdbool.h>

struct container {
	const char *runtime; /* docker, podman, ... */
	char id[65];
	char name[128]; /* "-": the host does not tell it */
};

/* The container that a control group belongs to directly; false: none. path as in /proc/PID/cgroup.
 */
bool container_of_cgroup(struct container *ret, const char *path);

/* True if text is the container's name, its id, or a beginning of the id (4 characters or more). */
bool container_is(const struct container *c, const char *text);

#endif
