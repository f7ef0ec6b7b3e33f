// SPDX-License-Identifier: GPL-2.0-or-later
#include "verdict_errnos.h"

#include "format/errnos.h"
#include "format/syscall.h"

#include <string.h>

static const struct errno_reason reasons[] = {
	{ LINUX_EMFILE, "too many open files", "limit of the process: RLIMIT_NOFILE" },
	{ LINUX_ENFILE, "too many open files in system", "limit of the host: fs.file-max" },
	{ LINUX_ENOSPC, "no space left on device", NULL },
	{ LINUX_EDQUOT, "disk quota exceeded", NULL },
	{ LINUX_EROFS, "read-only file system", NULL },
	{ LINUX_EIO, "input/output error", NULL },
	{ LINUX_EFBIG, "file too large", "RLIMIT_FSIZE, or of the file system" },
	{ LINUX_ESTALE, "stale file handle", NULL },
	{ LINUX_ENOMEM, "cannot allocate memory", NULL },
	{ LINUX_ENOBUFS, "no buffer space available", NULL },
	{ LINUX_EAGAIN, "resource temporarily unavailable",
	  "pids.max of the cgroup, or RLIMIT_NPROC" },
};

static const struct errno_reason watches = { LINUX_EMFILE, "too many open files",
					     "limit of the user: fs.inotify.max_user_instances" };

static const struct errno_reason backlog = { LINUX_EAGAIN, "resource temporarily unavailable",
					     "the accept queue of the unix socket is full" };

static bool is_one_of(u8 abi, u32 nr, const char *const *names)
{
	const struct syscall_desc *d = syscall_find(abi, nr);

	for (; d && *names; names++)
		if (strcmp(d->name, *names) == 0)
			return true;
	return false;
}

bool is_fork(u8 abi, u32 nr)
{
	static const char *const names[] = { "clone", "clone3", "fork", "vfork", NULL };

	return is_one_of(abi, nr, names);
}

bool is_connect(u8 abi, u32 nr)
{
	static const char *const names[] = { "connect", NULL };

	return is_one_of(abi, nr, names);
}

/* They have a limit of their own, and the same errno. */
static bool is_watch(u8 abi, u32 nr)
{
	static const char *const names[] = { "inotify_init", "inotify_init1", NULL };

	return is_one_of(abi, nr, names);
}

bool is_open_files(u8 abi, u32 nr, int error)
{
	return error == LINUX_EMFILE && !is_watch(abi, nr);
}

const struct errno_reason *errno_reason(u8 abi, u32 nr, int error)
{
	size_t i;

	if (error == LINUX_EAGAIN && is_connect(abi, nr))
		return &backlog;
	if (error == LINUX_EAGAIN && !is_fork(abi, nr))
		return NULL;
	if (error == LINUX_EMFILE && is_watch(abi, nr))
		return &watches;
	for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].error == error)
			return &reasons[i];
	return NULL;
}
