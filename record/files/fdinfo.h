/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel says of a process's file descriptor without a request to its file system. */
#pragma once

#include "format/event.h"

#include <stdbool.h>

struct fdinfo {
	u64 ino;   /* 0: not known, Linux before 5.14 */
	u32 mount; /* mnt_id */
	u32 flags; /* as of open(2) */
};

/* Parses the text of /proc/PID/fdinfo/FD; false if it has no flags. */
bool fdinfo_parse(struct fdinfo *ret, const char *text);

/* Reads it; false if the file descriptor is closed. */
bool fdinfo_read(struct fdinfo *ret, u32 pid, u32 fd);

/* The device of a mount, from a line of /proc/PID/mountinfo. */
bool fdinfo_mount_device(const char *line, u32 mount, u32 *dev);

/* The device of a mount as a process sees it: major << 20 | minor; 0: not mounted there. */
u32 fdinfo_device(u32 pid, u32 mount);
