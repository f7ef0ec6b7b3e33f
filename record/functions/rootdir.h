/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files as a process sees them: in its own mount namespace and below its own root. */
#pragma once

#include "record/files/safe_open.h"

#include <limits.h>
#include <stdbool.h>

/* The root of a process; 0: of this host. A descriptor, or -1 with errno. */
int rootdir_open(struct safe_files *files, u32 pid);

/* True if paths mean to a process what they mean to us: the same mounts, and the same root. */
bool rootdir_is_ours(u32 pid);

/* The path of an open file or place without links; false if it is deleted. */
bool rootdir_path(int fd, char ret[PATH_MAX]);
