// SPDX-License-Identifier: GPL-2.0-or-later
/* Which calls make or change descriptors, and which need all their arguments. */
#include "shape_table.h"

#include "format/shapes.h"
#include "format/syscall.h"
#include "syscall_set.h"

#include <string.h>

static const struct {
	const char *name;
	u8 source;
	enum fd_role role;
} makers[] = {
	{ "open", FD_RETURNED, ROLE_UNKNOWN },
	{ "openat", FD_RETURNED, ROLE_UNKNOWN },
	{ "openat2", FD_RETURNED, ROLE_UNKNOWN },
	{ "creat", FD_RETURNED, ROLE_UNKNOWN },
	{ "socket", FD_RETURNED, ROLE_UNKNOWN },
	{ "socketpair", FD_PAIR_ARG3, ROLE_UNKNOWN },
	{ "accept", FD_RETURNED, ROLE_ACCEPTED },
	{ "accept4", FD_RETURNED, ROLE_ACCEPTED },
	{ "connect", FD_ARG0, ROLE_CONNECTED },
	{ "bind", FD_ARG0, ROLE_BOUND },
	{ "listen", FD_ARG0, ROLE_LISTENING },
	{ "pipe", FD_PAIR_ARG0, ROLE_UNKNOWN },
	{ "pipe2", FD_PAIR_ARG0, ROLE_UNKNOWN },
	{ "dup", FD_RETURNED, ROLE_UNKNOWN },
	{ "dup2", FD_RETURNED, ROLE_UNKNOWN },
	{ "dup3", FD_RETURNED, ROLE_UNKNOWN },
	{ "fcntl", FD_DUPLICATED, ROLE_UNKNOWN },
	{ "eventfd", FD_RETURNED, ROLE_UNKNOWN },
	{ "eventfd2", FD_RETURNED, ROLE_UNKNOWN },
	{ "epoll_create", FD_RETURNED, ROLE_UNKNOWN },
	{ "epoll_create1", FD_RETURNED, ROLE_UNKNOWN },
	{ "timerfd_create", FD_RETURNED, ROLE_UNKNOWN },
	{ "signalfd", FD_RETURNED, ROLE_UNKNOWN },
	{ "signalfd4", FD_RETURNED, ROLE_UNKNOWN },
	{ "memfd_create", FD_RETURNED, ROLE_UNKNOWN },
	{ "inotify_init", FD_RETURNED, ROLE_UNKNOWN },
	{ "inotify_init1", FD_RETURNED, ROLE_UNKNOWN },
	{ "io_uring_setup", FD_RETURNED, ROLE_UNKNOWN },
	{ "pidfd_open", FD_RETURNED, ROLE_UNKNOWN },
	{ "pidfd_getfd", FD_RETURNED, ROLE_UNKNOWN },
	{ "open_by_handle_at", FD_RETURNED, ROLE_UNKNOWN },
	{ "userfaultfd", FD_RETURNED, ROLE_UNKNOWN },
	{ "fanotify_init", FD_RETURNED, ROLE_UNKNOWN },
	{ "perf_event_open", FD_RETURNED, ROLE_UNKNOWN },
	{ "memfd_secret", FD_RETURNED, ROLE_UNKNOWN },
};

static const struct {
	const char *name;
	u8 form;
} namers[] = {
	{ "open", PATH_0 | PATH_OPENS | PATH_FLAGS },
	{ "openat", PATH_1 | PATH_OPENS | PATH_FLAGS },
	{ "openat2", PATH_1 | PATH_OPENS | PATH_HOW },
	{ "creat", PATH_0 | PATH_OPENS },
	{ "unlink", PATH_0 },
	{ "unlinkat", PATH_1 },
	{ "rmdir", PATH_0 },
	{ "mkdir", PATH_0 },
	{ "mkdirat", PATH_1 },
	{ "mknod", PATH_0 },
	{ "mknodat", PATH_1 },
	{ "truncate", PATH_0 | PATH_SIZE },
	{ "ftruncate", PATH_FD | PATH_SIZE },
	{ "rename", PATHS_0_1 },
	{ "renameat", PATHS_1_3 },
	{ "renameat2", PATHS_1_3 },
	{ "link", PATHS_0_1 },
	{ "linkat", PATHS_1_3 },
	{ "symlink", PATHS_0_1 },
	{ "symlinkat", PATHS_0_2 },
	{ "chdir", PATH_0 | PATH_DIRECTORY },
	{ "fchdir", PATH_FD | PATH_DIRECTORY },
};

static const char *const pollers[] = { "poll", "ppoll" };

static s32 number_of(const struct syscall_desc *d)
{
	return syscall_own_abi() == ABI_AARCH64 ? d->aarch64 : d->x86_64;
}

s32 shape_table_number(const char *name)
{
	const struct syscall_desc *d = syscall_by_name(name);

	return d ? number_of(d) : -1;
}

void path_table_fill(volatile u8 *paths, size_t n)
{
	size_t i;
	s32 nr;

	for (i = 0; i < sizeof(namers) / sizeof(namers[0]); i++) {
		nr = shape_table_number(namers[i].name);
		if (nr >= 0 && (size_t)nr < n)
			paths[nr] = namers[i].form;
	}
}

void shape_table_fill(volatile u8 *shapes, size_t n)
{
	const struct syscall_desc *d;
	size_t i;
	s32 nr;

	for (d = syscalls; d->name; d++) {
		nr = number_of(d);
		if (nr < 0 || (size_t)nr >= n)
			continue;
		shapes[nr] = d->shape == SHAPE_FULL ? SHAPE_ARGS : 0;
		for (i = 0; i < sizeof(makers) / sizeof(makers[0]); i++)
			if (strcmp(makers[i].name, d->name) == 0)
				shapes[nr] |= makers[i].source | makers[i].role << FD_ROLE_SHIFT;
		for (i = 0; i < sizeof(pollers) / sizeof(pollers[0]); i++)
			if (strcmp(pollers[i], d->name) == 0)
				shapes[nr] |= SHAPE_POLLS;
	}
}
