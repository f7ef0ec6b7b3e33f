// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread that waits since before the recording makes no call that says for what: what futex(2)
 * waits for stands in /proc/PID/task/TID/syscall, the holder in the memory of the process, as
 * bpf/syscalls.bpf.c reads it of later waits.
 */
#define _GNU_SOURCE /* memfd_create */
#include "held.h"

#include "format/linux_abi.h"
#include "record/files/procfs.h"
#include "record/probes/shape_table.h"
#include "record/pump/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STATUS_MAX 4096

u32 held_own(const char *status)
{
	const char *line = strstr(status, "\nNSpid:");
	const char *end = line ? strchr(line + 1, '\n') : NULL, *last;

	if (!end)
		return 0;
	for (last = end; last > line && last[-1] != '\t' && last[-1] != ' '; last--)
		;
	return (u32)strtoul(last, NULL, 10);
}

bool held_parse(struct ev_futex_wait *ret, u64 *ret_at, const char *text, int nr_futex)
{
	unsigned long long address, op, value;
	bool pi;
	int nr;

	*ret_at = 0;
	if (sscanf(text, "%d %llx %llx %llx", &nr, &address, &op, &value) != 4 || nr != nr_futex)
		return false;
	ret->address = address;
	ret->op = op & LINUX_FUTEX_MASK;
	ret->value = (u32)value;
	pi = ret->op == LINUX_FUTEX_LOCK_PI || ret->op == LINUX_FUTEX_LOCK_PI2;
	if (pi) {
		*ret_at = address;
		return true;
	}
	if (ret->op != LINUX_FUTEX_WAIT && ret->op != LINUX_FUTEX_WAIT_BITSET)
		return false;
	if (ret->value & LINUX_FUTEX_WAITERS)
		ret->holder = ret->value & LINUX_FUTEX_TID_MASK;
	else if (ret->value == LOCK_CONTENDED)
		*ret_at = address + LOCK_OWNER;
	else
		return false;
	return true;
}

/* In the worker: 4 bytes of memory. */
static int copy_word(int fd, u64 address, struct err *e)
{
	int to = memfd_create("obsrec", MFD_CLOEXEC);
	u32 word;

	(void)e;
	if (to >= 0 && pread(fd, &word, sizeof(word), (off_t)address) == sizeof(word) &&
	    write(to, &word, sizeof(word)) == sizeof(word))
		return to;
	if (to >= 0)
		close(to);
	return -1;
}

/* A process may be stuck in its memory map, or its memory belong to a file system that is. */
static void read_word(struct safe_files *files, unsigned int pid, u64 address, u32 *ret)
{
	struct safe_copy copy;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/mem", pid);
	if (safe_parts(files, -1, path, copy_word, address, &copy) < 0)
		return;
	if (copy.image >= 0 && pread(copy.image, ret, sizeof(*ret), 0) != sizeof(*ret))
		*ret = 0;
	if (copy.image >= 0)
		close(copy.image);
	if (copy.parked >= 0)
		close(copy.parked);
}

/* It may have got the lock since: then it is no longer in this call. */
static bool still_there(const char *path, const char *before)
{
	char text[256];

	return procfs_read(path, text, sizeof(text)) > 0 && strcmp(text, before) == 0;
}

int held_take(struct pump *p, struct safe_files *files, unsigned int pid, unsigned int tid,
	      struct err *e)
{
	struct ev_futex_wait ev = {
		.h = { .type = EV_futex_wait, .tid = tid, .ts = records_now() }
	};
	char path[96], text[256], status[STATUS_MAX];
	u64 at;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/syscall", pid, tid);
	if (procfs_read(path, text, sizeof(text)) <= 0 ||
	    !held_parse(&ev, &at, text, shape_table_number("futex")))
		return 0;
	if (at)
		read_word(files, pid, at, &ev.holder);
	ev.holder &= LINUX_FUTEX_TID_MASK;
	if (!still_there(path, text))
		return 0;
	snprintf(path, sizeof(path), "/proc/%u/task/%u/status", pid, tid);
	if (procfs_read(path, status, sizeof(status)) <= 0)
		return 0;
	ev.own = held_own(status);
	return records_put(p, &ev, sizeof(ev), NULL, e);
}
