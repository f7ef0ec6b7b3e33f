/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files as a process sees them: in its own mount namespace and below its own root. */
#ifndef OBS_ROOTDIR_H
#define OBS_ROOTDIR_H

#include "format/event.h"

/* The root of a process; 0: of this host. A descriptor, or -1 with errno. */
int rootdir_open(u32 pid);

/*
 * Opens the file at an absolute path below a root, for reading. Links stay below that root,
 * so what stands inside a container cannot point out of it. -1 with errno.
 */
int rootdir_file(int root, const char *path);

#endif
