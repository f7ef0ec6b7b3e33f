// SPDX-License-Identifier: GPL-2.0-or-later
/* Which calls make or change descriptors, and which need all their arguments. */
#include "shape_table.h"

#include "format/shapes.h"
#include "format/syscall.h"
#include "record/options/syscall_set.h"

/* What a table says of a call. */
struct call_bits {
	const char *name;
	u8 bits;
};

static const struct call_bits shapes_of[] = {
	{ "open", FD_RETURNED },
	{ "openat", FD_RETURNED },
	{ "openat2", FD_RETURNED },
	{ "creat", FD_RETURNED },
	{ "socket", FD_RETURNED },
	{ "socketpair", FD_PAIR_ARG3 },
	{ "accept", FD_RETURNED | ROLE_ACCEPTED << FD_ROLE_SHIFT },
	{ "accept4", FD_RETURNED | ROLE_ACCEPTED << FD_ROLE_SHIFT },
	{ "connect", FD_ARG0 | ROLE_CONNECTED << FD_ROLE_SHIFT },
	{ "bind", FD_ARG0 | ROLE_BOUND << FD_ROLE_SHIFT },
	{ "listen", FD_ARG0 | ROLE_LISTENING << FD_ROLE_SHIFT },
	{ "pipe", FD_PAIR_ARG0 },
	{ "pipe2", FD_PAIR_ARG0 },
	{ "dup", FD_RETURNED },
	{ "dup2", FD_RETURNED },
	{ "dup3", FD_RETURNED },
	{ "fcntl", FD_DUPLICATED },
	{ "eventfd", FD_RETURNED },
	{ "eventfd2", FD_RETURNED },
	{ "epoll_create", FD_RETURNED },
	{ "epoll_create1", FD_RETURNED },
	{ "timerfd_create", FD_RETURNED },
	{ "signalfd", FD_RETURNED },
	{ "signalfd4", FD_RETURNED },
	{ "memfd_create", FD_RETURNED },
	{ "inotify_init", FD_RETURNED },
	{ "inotify_init1", FD_RETURNED },
	{ "io_uring_setup", FD_RETURNED },
	{ "pidfd_open", FD_RETURNED },
	{ "pidfd_getfd", FD_RETURNED },
	{ "open_by_handle_at", FD_RETURNED },
	{ "userfaultfd", FD_RETURNED },
	{ "fanotify_init", FD_RETURNED },
	{ "perf_event_open", FD_RETURNED },
	{ "memfd_secret", FD_RETURNED },
	{ "poll", SHAPE_POLLS },
	{ "ppoll", SHAPE_POLLS },
};

static const struct call_bits moves_of[] = {
	{ "read", MOVE_RECEIVES },
	{ "readv", MOVE_RECEIVES | MOVE_VECTOR },
	{ "recvfrom", MOVE_RECEIVES | MOVE_FLAGS | MOVE_PEER },
	{ "recvmsg", MOVE_RECEIVES | MOVE_MESSAGE | MOVE_FLAGS | MOVE_PEER },
	{ "write", MOVE_SENDS },
	{ "writev", MOVE_SENDS | MOVE_VECTOR },
	{ "sendto", MOVE_SENDS | MOVE_PEER },
	{ "sendmsg", MOVE_SENDS | MOVE_MESSAGE | MOVE_PEER },
	{ "recvmmsg", MOVE_FLAGS | MOVE_PEER | MOVE_MANY },
	{ "sendmmsg", MOVE_PEER | MOVE_MANY },
};

static const struct call_bits paths_of[] = {
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

/* Where calls have the position; read, write, readv and writev use that of the open file. */
static const struct call_bits positions_of[] = {
	{ "pread64", POS_AT },
	{ "pwrite64", POS_AT },
	{ "readv", POS_VECTOR },
	{ "writev", POS_VECTOR },
	{ "preadv", POS_AT | POS_VECTOR },
	{ "pwritev", POS_AT | POS_VECTOR },
	{ "preadv2", POS_AT | POS_VECTOR | POS_FLAGS },
	{ "pwritev2", POS_AT | POS_VECTOR | POS_FLAGS },
};

static const u8 file_calls[] = {
	[IO_READ] = POS_READS,
	[IO_WRITE] = POS_WRITES,
	[IO_SENDFILE] = POS_WRITES | POS_SENDS,
	[IO_COPY] = POS_READS | POS_COPIES,
};

static s32 number_of(const struct syscall_desc *d)
{
	return syscall_own_abi() == ABI_AARCH64 ? d->aarch64 : d->x86_64;
}

s32 shape_table_number(const char *name)
{
	const struct syscall_desc *d = syscall_by_name(name);

	return d ? number_of(d) : -1;
}

static void add_bits(volatile u8 *table, size_t n, const struct call_bits *of, size_t n_of)
{
	size_t i;
	s32 nr;

	for (i = 0; i < n_of; i++) {
		nr = shape_table_number(of[i].name);
		if (nr >= 0 && (size_t)nr < n)
			table[nr] |= of[i].bits;
	}
}

#define ADD_BITS(table, n, of) add_bits(table, n, of, sizeof(of) / sizeof((of)[0]))

void path_table_fill(volatile u8 *paths, size_t n)
{
	ADD_BITS(paths, n, paths_of);
}

void move_table_fill(volatile u8 *moves, size_t n)
{
	ADD_BITS(moves, n, moves_of);
}

void io_table_fill(volatile u8 *ios, size_t n)
{
	const struct syscall_desc *d;
	s32 nr;

	for (d = syscalls; d->name; d++) {
		nr = number_of(d);
		if (nr >= 0 && (size_t)nr < n)
			ios[nr] |= file_calls[d->file];
	}
	ADD_BITS(ios, n, positions_of);
}

void shape_table_fill(volatile u8 *shapes, size_t n)
{
	const struct syscall_desc *d;
	s32 nr;

	for (d = syscalls; d->name; d++) {
		nr = number_of(d);
		if (nr >= 0 && (size_t)nr < n && d->shape == SHAPE_FULL)
			shapes[nr] |= SHAPE_ARGS;
	}
	ADD_BITS(shapes, n, shapes_of);
}
