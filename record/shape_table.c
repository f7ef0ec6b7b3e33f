// SPDX-License-Identifier: GPL-2.0-or-later
/* Which calls make or change descriptors, and which need all their arguments. */
#include "shape_table.h"

#include "format/shapes.h"
#include "format/syscall.h"

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
};

u8 native_abi(void)
{
#if defined(__aarch64__)
	return ABI_AARCH64;
#else
	return ABI_X86_64;
#endif
}

void shape_table_fill(volatile u8 *shapes, size_t n)
{
	const struct syscall_desc *d;
	size_t i;
	s32 nr;

	for (d = syscalls; d->name; d++) {
		nr = native_abi() == ABI_AARCH64 ? d->aarch64 : d->x86_64;
		if (nr < 0 || (size_t)nr >= n)
			continue;
		shapes[nr] = d->shape == SHAPE_FULL ? SHAPE_ARGS : 0;
		for (i = 0; i < sizeof(makers) / sizeof(makers[0]); i++)
			if (strcmp(makers[i].name, d->name) == 0)
				shapes[nr] |= makers[i].source | makers[i].role << FD_ROLE_SHIFT;
	}
}
