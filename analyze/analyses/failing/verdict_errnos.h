/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Failures of system calls that can be why a request fails. */
#pragma once

#include "format/event.h"

#include <stdbool.h>

/* What an errno means, in the kernel's words, and which limit it is of; NULL: none. */
struct errno_reason {
	int error;
	const char *meaning, *limit;
};

/*
 * NULL: an ordinary answer, as EAGAIN, EINTR or ENOENT: no reason. EAGAIN of a call that makes a
 * thread or process is one, and of connect: as connect(2) has it, of unix sockets.
 */
const struct errno_reason *errno_reason(u8 abi, u32 nr, int error);

/* It failed for the limit of open files of its process. */
bool is_open_files(u8 abi, u32 nr, int error);

/* A call that makes a thread or process. */
bool is_fork(u8 abi, u32 nr);

bool is_connect(u8 abi, u32 nr);

/* SQL: the errnos above, of table syscall_error x with syscall_name n. */
#define IS_REASON                                                                             \
	"(x.error IN (5, 12, 23, 24, 27, 28, 30, 105, 116, 122) OR (x.error=11 AND n.name IN" \
	" ('clone', 'clone3', 'connect', 'fork', 'vfork')))"
