// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of system calls and look-ups in it. Hot paths keep what they looked up. */
#include "syscall.h"

#include <stdio.h>
#include <string.h>

const struct syscall_desc syscalls[] = {
#define SYSCALL(name, x86_64, aarch64, shape, wait) \
	SYSCALL_ON(name, x86_64, aarch64, shape, wait, NONE, NONE, NONE)
#define SYSCALL_ON(name, x86_64, aarch64, shape, wait, class, family, file) \
	{ #name,	  x86_64,	aarch64,	 SHAPE_##shape,     \
	  SYSWAIT_##wait, CALL_##class, FAMILY_##family, IO_##file },
#include "syscalls.def"
#undef SYSCALL
#undef SYSCALL_ON
	{ .name = NULL, .x86_64 = -1, .aarch64 = -1 },
};

#define N_SYSCALLS (sizeof(syscalls) / sizeof(syscalls[0]))

const struct syscall_desc *syscall_find(u8 abi, u32 nr)
{
	const struct syscall_desc *s;

	if ((abi != ABI_X86_64 && abi != ABI_AARCH64) || nr >= SYSCALL_NR_MAX)
		return NULL;
	/* most rows of the table are where their number on x86_64 is */
	if (abi == ABI_X86_64 && nr < N_SYSCALLS && syscalls[nr].x86_64 == (s32)nr)
		return &syscalls[nr];
	for (s = syscalls; s->name; s++)
		if ((abi == ABI_X86_64 ? s->x86_64 : s->aarch64) == (s32)nr)
			return s;
	return NULL;
}

bool syscall_locks_file(const struct syscall_desc *d)
{
	return d->wait == SYSWAIT_LOCK &&
	       (d->family == FAMILY_FCNTL || strcmp(d->name, "flock") == 0);
}

const struct syscall_desc *syscall_by_name(const char *name)
{
	const struct syscall_desc *s;

	for (s = syscalls; s->name; s++)
		if (strcmp(s->name, name) == 0)
			return s;
	return NULL;
}

const char *syscall_name(u8 abi, u32 nr, char *text, size_t size)
{
	static const char *const abis[] = { "x86_64", "i386", "x32", "aarch64", "arm" };
	const struct syscall_desc *s = syscall_find(abi, nr);

	if (s)
		return s->name;
	snprintf(text, size, "%s#%u", abi < sizeof(abis) / sizeof(abis[0]) ? abis[abi] : "abi?",
		 nr);
	return text;
}
