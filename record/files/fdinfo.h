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

/* What the kernel charges for a BPF map of ours, in bytes; 0: it does not say. */
u64 fdinfo_map_bytes(int fd);

/* Parses the text of /proc/PID/fdinfo/FD; false if it has no flags. */
bool fdinfo_parse(struct fdinfo *ret, const char *text);

/* Reads it; false if the file descriptor is closed. */
bool fdinfo_read(struct fdinfo *ret, u32 pid, u32 fd);

/* Mount and device of a line of /proc/PID/mountinfo; false: it is none. Pure: for tests. */
bool fdinfo_parse_mount(const char *line, u32 *mount, u32 *dev);

/* What a walk of processes has read of their mounts. All zero at first. */
struct fdinfo_mounts {
	u32 *device; /* by mount */
	u32 pid;     /* whose mounts were read last */
};

/*
 * The device of a mount as a process sees it: major << 20 | minor; 0: not mounted there, or not
 * where it was looked for first.
 */
u32 fdinfo_device(struct fdinfo_mounts *m, u32 pid, u32 mount);

void fdinfo_forget(struct fdinfo_mounts *m);
