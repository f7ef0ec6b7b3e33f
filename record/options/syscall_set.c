// SPDX-License-Identifier: GPL-2.0-or-later
/* Sets of system calls, from words to bits. */
#include "syscall_set.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#define WORD_MAX 64

const struct syscall_class syscall_classes[] = {
	{ "all", "every system call", "*" },
#define SYSCALL_SET(name, doc, members) { #name, doc, members },
#include "syscall_sets.def"
#undef SYSCALL_SET
	{ 0 },
};

u8 syscall_own_abi(void)
{
#if defined(__aarch64__)
	return ABI_AARCH64;
#else
	return ABI_X86_64;
#endif
}

bool syscall_class_has(const struct syscall_class *class, const char *name)
{
	const char *p = class->members;
	char glob[WORD_MAX];
	size_t n;

	for (; *p; p += n + strspn(p + n, " ")) {
		n = strcspn(p, " ");
		if (n >= sizeof(glob))
			continue;
		memcpy(glob, p, n);
		glob[n] = '\0';
		if (fnmatch(glob, name, 0) == 0)
			return true;
	}
	return false;
}

/* True if a word means this call. The classes time and sync hold the calls of these names. */
static bool word_means(const char *word, const char *name, const struct syscall_class *class)
{
	return class ? syscall_class_has(class, name) : fnmatch(word, name, 0) == 0;
}

static const struct syscall_class *class_by_name(const char *word)
{
	const struct syscall_class *c;

	for (c = syscall_classes; c->name; c++)
		if (strcmp(c->name, word) == 0)
			return c;
	return NULL;
}

/* Returns how many calls the word means, in any table. */
static int apply(u64 set[SYSCALL_BITMAP_WORDS], u8 abi, const char *word, bool take)
{
	const struct syscall_class *class = class_by_name(word);
	const struct syscall_desc *s;
	int n = 0;
	s32 nr;

	for (s = syscalls; s->name; s++) {
		if (!word_means(word, s->name, class))
			continue;
		n++;
		nr = abi == ABI_AARCH64 ? s->aarch64 : s->x86_64;
		if (nr < 0 || nr >= SYSCALL_NR_MAX)
			continue;
		if (take)
			set[nr / 64] &= ~(1ull << nr % 64);
		else
			set[nr / 64] |= 1ull << nr % 64;
	}
	return n;
}

int syscall_set(u64 ret[SYSCALL_BITMAP_WORDS], u8 abi, const char *text, struct err *e)
{
	const char *p = text;
	char word[WORD_MAX];
	u64 any = 0;
	bool take;
	size_t n;
	int i;

	memset(ret, text[0] == '!' ? 0xff : 0, SYSCALL_BITMAP_WORDS * sizeof(*ret));
	for (;; p += n + 1) {
		take = *p == '!';
		p += take;
		n = strcspn(p, ",");
		snprintf(word, sizeof(word), "%.*s", (int)n, p);
		if (n == 0 || n >= sizeof(word) || apply(ret, abi, word, take) == 0)
			return err_set(
				e, ERR_FAIL,
				"--syscalls: no system call or class %.40s; obsrec list syscalls lists them",
				n ? word : "without a name");
		if (!p[n])
			break;
	}
	for (i = 0; i < SYSCALL_BITMAP_WORDS; i++)
		any |= ret[i];
	return any ? 0 : err_set(e, ERR_FAIL, "--syscalls %.60s selects no system call", text);
}

bool syscall_set_has(const u64 set[SYSCALL_BITMAP_WORDS], u32 nr)
{
	return nr < SYSCALL_NR_MAX && set[nr / 64] >> nr % 64 & 1;
}
