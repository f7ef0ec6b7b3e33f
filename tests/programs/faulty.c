// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A library to preload: calls of another program fail. FAULT=WHAT:N, or WHAT:N+ for the N-th call
 * and all later ones. WHAT is one of
 *
 * - alloc: malloc, calloc or realloc returns NULL;
 * - short: a write writes half of its bytes, and later ones fail with ENOSPC if N has a +;
 * - ENOSPC, EIO: a write, truncation or sync fails;
 * - EINTR: every N-th read, write or open is interrupted.
 *
 * FAULT_COUNT=FILE gets the number of allocations and of writes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static enum { NONE, ALLOC, SHORT, NOSPACE, IO, INTERRUPT } what;
static long at;
static int again;
static atomic_long allocations, writes, others;
static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);

__attribute__((constructor)) static void start(void)
{
	static const char *const names[] = { "none", "alloc", "short", "ENOSPC", "EIO", "EINTR" };
	const char *fault = getenv("FAULT");
	int i;

	unsetenv("LD_PRELOAD");
	for (i = 1; fault && i < 6; i++) {
		size_t n = strlen(names[i]);

		if (strncmp(fault, names[i], n) != 0 || fault[n] != ':')
			continue;
		at = strtol(fault + n + 1, NULL, 10);
		again = fault[strlen(fault) - 1] == '+';
		what = i;
	}
}

__attribute__((destructor)) static void finish(void)
{
	const char *to = getenv("FAULT_COUNT");
	char line[64];
	int fd, n;

	what = NONE;
	if (!to)
		return;
	fd = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	n = snprintf(line, sizeof(line), "%ld %ld\n", atomic_load(&allocations),
		     atomic_load(&writes));
	if (fd >= 0 && write(fd, line, n) == n)
		close(fd);
}

static int hit(atomic_long *count)
{
	long n = atomic_fetch_add(count, 1) + 1;

	return again ? n >= at : n == at;
}

static int no_memory(void)
{
	if (!hit(&allocations) || what != ALLOC)
		return 0;
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t n)
{
	if (!next_malloc)
		next_malloc = dlsym(RTLD_NEXT, "malloc");
	return no_memory() ? NULL : next_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	if (!next_calloc)
		next_calloc = dlsym(RTLD_NEXT, "calloc");
	return no_memory() ? NULL : next_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	if (!next_realloc)
		next_realloc = dlsym(RTLD_NEXT, "realloc");
	return no_memory() ? NULL : next_realloc(p, n);
}

static int interrupted(void)
{
	if (what != INTERRUPT || atomic_fetch_add(&others, 1) % at != at - 1)
		return 0;
	errno = EINTR;
	return 1;
}

/* The error of this write, or 0; *n bytes are to be written. */
static int unwritable(size_t *n)
{
	int now = hit(&writes), first = atomic_load(&writes) == at;

	if (interrupted())
		return 1;
	if (!now || what < SHORT || what > IO)
		return 0;
	if (what == SHORT && first && *n > 1) {
		*n /= 2;
		return 0;
	}
	if (what == SHORT && !again)
		return 0;
	errno = what == IO ? EIO : ENOSPC;
	return 1;
}

ssize_t write(int fd, const void *data, size_t n)
{
	return fd != 2 && unwritable(&n) ? -1 : syscall(SYS_write, fd, data, n);
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t offset)
{
	return unwritable(&n) ? -1 : syscall(SYS_pwrite64, fd, data, n, offset);
}

ssize_t pwrite64(int fd, const void *data, size_t n, off_t offset)
{
	return pwrite(fd, data, n, offset);
}

int ftruncate(int fd, off_t size)
{
	size_t n = 0;

	return unwritable(&n) ? -1 : syscall(SYS_ftruncate, fd, size);
}

int ftruncate64(int fd, off_t size)
{
	return ftruncate(fd, size);
}

int fsync(int fd)
{
	size_t n = 0;

	return unwritable(&n) ? -1 : syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
	size_t n = 0;

	return unwritable(&n) ? -1 : syscall(SYS_fdatasync, fd);
}

ssize_t read(int fd, void *to, size_t n)
{
	return interrupted() ? -1 : syscall(SYS_read, fd, to, n);
}

ssize_t pread(int fd, void *to, size_t n, off_t offset)
{
	return interrupted() ? -1 : syscall(SYS_pread64, fd, to, n, offset);
}

ssize_t pread64(int fd, void *to, size_t n, off_t offset)
{
	return pread(fd, to, n, offset);
}

int open(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = va_arg(args, mode_t);
	va_end(args);
	return interrupted() ? -1 : syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = va_arg(args, mode_t);
	va_end(args);
	return open(path, flags, mode);
}
