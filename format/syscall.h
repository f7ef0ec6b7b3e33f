/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names and properties of system calls, by number and table (syscalls.def). */
#pragma once

#include "event.h"

#include <stdbool.h>
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

/* Which series the waits of a call count in. */
enum call_class {
	CALL_NONE,
	CALL_READ,
	CALL_WRITE,
	CALL_ACCEPT,
	CALL_CONNECT,
	CALL_FUTEX,
	CALL_FUTEX_WAIT,
	CALL_FUTEX_WAKE,
	CALL_FUTEX_WAITV,   /* in no series: its futexes are in memory */
	CALL_EPOLL,	    /* timeout in ms: the fourth argument */
	CALL_EPOLL_POINTER, /* timeout in memory */
	CALL_POLL,	    /* timeout in ms: the third argument */
	CALL_POLL_POINTER,
	CALL_EPOLL_CTL,
};

/* What a call does with its descriptor; _MANY return a number of messages. */
enum syscall_family {
	FAMILY_NONE,
	FAMILY_RECV,
	FAMILY_SEND,
	FAMILY_RECV_MANY,
	FAMILY_SEND_MANY,
	FAMILY_CLOSE,
	FAMILY_CLOSE_RANGE,
	FAMILY_FCNTL,
	FAMILY_FCHDIR,
	FAMILY_AFFINITY, /* of no descriptor: it binds a thread to CPUs */
	FAMILY_EPOLL,
	FAMILY_POLL,
};

/* How a call moves bytes of regular files; SENDFILE and COPY write into a second one. */
enum syscall_file { IO_NONE, IO_READ, IO_WRITE, IO_SENDFILE, IO_COPY };

struct syscall_desc {
	const char *name;
	s32 x86_64;  /* number, or -1 */
	s32 aarch64; /* number, or -1 */
	enum syscall_shape shape;
	enum syscall_wait wait;
	enum call_class class;
	enum syscall_family family;
	enum syscall_file file;
};

/* The call with this number in this table; NULL if it has no name here. */
const struct syscall_desc *syscall_find(u8 abi, u32 nr);

/* flock, fcntl: it may lock a file. */
bool syscall_locks_file(const struct syscall_desc *d);

/* By name; NULL if there is none. */
const struct syscall_desc *syscall_by_name(const char *name);

/* A name for every number: the call's, or "i386#123". Writes into text when there is none. */
const char *syscall_name(u8 abi, u32 nr, char *text, size_t size);

/* All of them, ended by one with a NULL name. */
extern const struct syscall_desc syscalls[];
