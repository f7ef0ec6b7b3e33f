/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files as a process sees them: in its own mount namespace and below its own root. */
#pragma once

#include "format/event.h"

#include <limits.h>
#include <stdbool.h>

/* The root of a process; 0: of this host. A descriptor, or -1 with errno. */
int rootdir_open(u32 pid);

/*
 * Opens the regular file at an absolute path below a root, for reading; root -1: any path of this
 * host. Links stay below that root, so a container's link cannot point out of it. -1 with errno as
 * of safe_open.
 */
int rootdir_file(int root, const char *path);

/* True if paths mean to a process what they mean to us: the same mounts, and the same root. */
bool rootdir_is_ours(u32 pid);

/* The path of an open file without links; false if it is deleted. */
bool rootdir_path(int fd, char ret[PATH_MAX]);
