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

bool is_fork(u8 abi, u32 nr)
{
	static const char *const names[] = { "clone", "clone3", "fork", "vfork" };
	const struct syscall_desc *d = syscall_find(abi, nr);
	size_t i;

	for (i = 0; d && i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(d->name, names[i]) == 0)
			return true;
	return false;
}

const struct errno_reason *errno_reason(u8 abi, u32 nr, int error)
{
	size_t i;

	if (error == LINUX_EAGAIN && !is_fork(abi, nr))
		return NULL;
	for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].error == error)
			return &reasons[i];
	return NULL;
}
