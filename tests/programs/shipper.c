// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads and writes files in all ways, and behaves like the log shipper of the DIO paper (Esteves et
 * al., IEEE Access 2023): shipper DIR. It prints each access as "io WRITTEN POSITION BYTES SIZE":
 * the position from lseek(2) before the call, the size from fstat(2) after it. Another process (a
 * child per step) writes, removes and truncates the logs.
 */
#define _GNU_SOURCE
#include "tests/lib/tool.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	SEQUENTIAL = 97, /* reads of BLOCK bytes, after a first one */
	STRIDED = 31,	 /* further ones, one each STRIDE */
	RANDOM = 13,
	APPENDS = 19,
	OVERWRITES = 11,
	BLOCK = 101,
	STRIDE = 4099,
	SPACE = 1 << 20,
	FIRST_LOG = 26, /* bytes of the log that is replaced, as in the paper */
	SECOND_LOG = 16,
	UNREAD = 7,
};

static char bytes[SPACE];
static char log_of_io[1 << 16];
static size_t logged;

static long check(long ret, const char *what)
{
	if (ret < 0)
		die(what);
	return ret;
}

/* Printed at the end: printing is a write, too. */
static void say(const char *fmt, ...)
{
	size_t left = sizeof(log_of_io) - logged;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(log_of_io + logged, left, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= left)
		exit(2);
	logged += n;
}

static void did(int fd, int written, long pos, long n)
{
	struct stat s;

	check(fstat(fd, &s), "fstat");
	say("io %d %ld %ld %ld\n", written, pos, n, (long)s.st_size);
}

static long at(int fd)
{
	return check(lseek(fd, 0, SEEK_CUR), "lseek");
}

static long reads(int fd, size_t n)
{
	long pos = at(fd), ret = check(read(fd, bytes, n), "read");

	did(fd, 0, pos, ret);
	return ret;
}

static void writes(int fd, size_t n)
{
	long pos = at(fd);

	did(fd, 1, pos, check(write(fd, bytes, n), "write"));
}

static int file(const char *name, int flags)
{
	return (int)check(open(name, flags | O_CLOEXEC, 0600), name);
}

/* What readers and writers do to one file of SPACE bytes. */
static void patterns(void)
{
	int fd = file("space", O_CREAT | O_RDWR), i;

	writes(fd, SPACE);
	check(lseek(fd, 0, SEEK_SET), "lseek");
	for (i = 0; i < SEQUENTIAL + 1; i++)
		reads(fd, BLOCK);
	close(fd);
	fd = file("space", O_RDONLY);
	for (i = 0; i < STRIDED + 2; i++) {
		check(lseek(fd, (long)i * STRIDE, SEEK_SET), "lseek");
		reads(fd, BLOCK);
	}
	close(fd);
	fd = file("space", O_RDONLY);
	for (i = 0; i < RANDOM + 1; i++) {
		check(lseek(fd, (long)i * i * STRIDE, SEEK_SET), "lseek");
		reads(fd, BLOCK);
	}
	close(fd);
	fd = file("space", O_RDWR);
	for (i = 0; i < OVERWRITES; i++) {
		long pos = 7 + i * 2L * BLOCK;

		did(fd, 1, pos, check(pwrite(fd, bytes, BLOCK, pos), "pwrite"));
	}
	close(fd);
	fd = file("space", O_WRONLY | O_APPEND);
	for (i = 0; i < APPENDS; i++)
		did(fd, 1, SPACE + (long)i * BLOCK, check(write(fd, bytes, BLOCK), "append"));
	close(fd);
}

/* Each call that takes a position, or has it in memory. */
static void calls(void)
{
	struct iovec two[2] = { { bytes, 3 }, { bytes + 3, 4 } };
	int fd = file("calls", O_CREAT | O_RDWR), to = file("copy", O_CREAT | O_RDWR);
	int end = file("calls", O_WRONLY | O_APPEND);
	struct stat s;
	off_t pos = 5, from = 11;
	off64_t out = 23;

	writes(fd, 1009);
	did(fd, 0, 17, check(pread(fd, bytes, 19, 17), "pread"));
	did(fd, 0, 1000, check(pread(fd, bytes, 100, 1000), "pread at the end"));
	did(fd, 0, 2000, check(pread(fd, bytes, 100, 2000), "pread past the end"));
	did(fd, 0, 29, check(preadv(fd, two, 2, 29), "preadv"));
	did(fd, 1, 31, check(pwritev(fd, two, 2, 31), "pwritev"));
	check(lseek(fd, 37, SEEK_SET), "lseek");
	did(fd, 0, 37, check(readv(fd, two, 2), "readv"));
	did(fd, 1, 44, check(writev(fd, two, 2), "writev"));
	check(fstat(end, &s), "fstat");
	did(end, 1, s.st_size, check(pwrite(end, bytes, 41, 3), "pwrite to the end"));
	/* two records each; of a copy that of its target comes first */
	did(fd, 0, 5, check(sendfile(to, fd, &pos, 43), "sendfile"));
	did(to, 1, 0, 43);
	check(copy_file_range(fd, &from, to, &out, 13, 0), "copy_file_range");
	did(to, 1, 23, 13);
	did(fd, 0, 11, 13);
	check(lseek(fd, 2003, SEEK_SET), "lseek");
	writes(fd, 3); /* leaves a hole */
	close(fd);
	close(to);
	close(end);
}

/* The application that writes the log: a process per step. remove: an older log first. */
static void app(const char *name, int n, int flags)
{
	pid_t child = (pid_t)check(fork(), "fork");
	int fd, status;

	if (!child) {
		if (flags & O_EXCL)
			unlink(name);
		fd = file(name, O_WRONLY | O_CREAT | O_APPEND | flags);
		if (n && write(fd, bytes, n) != n)
			die("write");
		_exit(0);
	}
	check(waitpid(child, &status, 0), "waitpid");
	if (status)
		exit(1);
}

/* Opens a log by its name and goes on at the position that it remembers for that name. */
static void ship(const char *name, long *remembered)
{
	int fd = file(name, O_RDONLY);

	check(lseek(fd, *remembered, SEEK_SET), "lseek");
	while (reads(fd, 4096))
		;
	*remembered = at(fd);
	close(fd);
}

/* The paper's case: the second log is skipped. The repaired shipper starts again from 0. */
static void replaced(const char *name, int repaired)
{
	long remembered = 0;

	app(name, FIRST_LOG, 0);
	ship(name, &remembered);
	app(name, SECOND_LOG, O_EXCL);
	remembered = repaired ? 0 : remembered;
	ship(name, &remembered);
}

/* It goes on at its position, or starts again. unread: written just before the truncation. */
static void truncated(const char *name, int repaired, int unread)
{
	int fd;

	app(name, BLOCK, 0);
	fd = file(name, O_RDONLY);
	while (reads(fd, 4096))
		;
	if (unread)
		app(name, unread, 0);
	app(name, SECOND_LOG, O_TRUNC);
	if (repaired)
		check(lseek(fd, 0, SEEK_SET), "lseek");
	reads(fd, 4096);
	close(fd);
}

/* Rotation by rename: the old log is read to its end, then the new one from its start. */
static void rotated(void)
{
	long remembered = 0;
	int fd;

	app("rotated", BLOCK, 0);
	fd = file("rotated", O_RDONLY);
	while (reads(fd, 4096))
		;
	check(rename("rotated", "rotated.1"), "rename");
	app("rotated.1", UNREAD, 0);
	app("rotated", SECOND_LOG, 0);
	while (reads(fd, 4096))
		;
	close(fd);
	ship("rotated", &remembered);
}

int main(int argc, char **argv)
{
	if (argc != 2 || chdir(argv[1]) < 0)
		die("usage: shipper DIR");
	patterns();
	calls();
	replaced("lost", 0);
	replaced("found", 1);
	truncated("passed", 0, 0);
	truncated("cut", 1, UNREAD);
	truncated("again", 1, 0);
	rotated();
	say("sequential=%d strided=%d random=%d appends=%d overwrites=%d block=%d\n", SEQUENTIAL,
	    STRIDED, RANDOM, APPENDS, OVERWRITES, BLOCK);
	say("first=%d second=%d unread=%d\n", FIRST_LOG, SECOND_LOG, UNREAD);
	printf("%s", log_of_io);
	return 0;
}
