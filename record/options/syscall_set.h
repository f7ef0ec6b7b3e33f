/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which system calls --syscalls means: names, globs and the classes of syscall_sets.def. */
#pragma once

#include "format/err.h"
#include "format/syscall.h"

#include <stdbool.h>

#define SYSCALL_BITMAP_WORDS (SYSCALL_NR_MAX / 64)

struct syscall_class {
	const char *name;
	const char *doc;
	const char *members; /* names and globs, divided by blanks */
};

/* All classes, ended by one without a name. */
extern const struct syscall_class syscall_classes[];

bool syscall_class_has(const struct syscall_class *class, const char *name);

/* The table of system calls of the machine that obsrec was built for. */
u8 syscall_own_abi(void);

/*
 * Reads "read,write,net,!futex,epoll_*": each word adds, one with ! in front takes away; a list
 * that begins with ! begins with all. "all" is a class too. Bit nr % 64 of word nr / 64 stands
 * for call nr of the abi. ERR_FAIL names a word that means nothing, or says that nothing is left.
 */
int syscall_set(u64 ret[SYSCALL_BITMAP_WORDS], u8 abi, const char *text, struct err *e);

bool syscall_set_has(const u64 set[SYSCALL_BITMAP_WORDS], u32 nr);
