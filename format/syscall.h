/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names and properties of system calls, by number and table (syscalls.def). */
#ifndef OBS_SYSCALL_H
#define OBS_SYSCALL_H

#include "event.h"

#include <stddef.h>

#define SYSCALL_NR_MAX 1024 /* numbers are below this */

enum syscall_shape { SHAPE_SHORT, SHAPE_FULL };

enum syscall_wait {
	SYSWAIT_OTHER,
	SYSWAIT_FD,
	SYSWAIT_FUTEX,
	SYSWAIT_POLL,
	SYSWAIT_SLEEP,
	SYSWAIT_CHILD,
	SYSWAIT_LOCK,
	SYSWAIT_PIPE,
};

struct syscall_desc {
	const char *name;
	s32 x86_64;  /* number, or -1 */
	s32 aarch64; /* number, or -1 */
	enum syscall_shape shape;
	enum syscall_wait wait;
};

/* The call with this number in this table; NULL if it has no name here. */
const struct syscall_desc *syscall_find(u8 abi, u32 nr);

/* By name; NULL if there is none. */
const struct syscall_desc *syscall_by_name(const char *name);

/* A name for every number: the call's, or "i386#123". Writes into text when there is none. */
const char *syscall_name(u8 abi, u32 nr, char *text, size_t size);

/* All of them, ended by one with a NULL name. */
extern const struct syscall_desc syscalls[];

#endif
