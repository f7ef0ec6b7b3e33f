// SPDX-License-Identifier: GPL-2.0-or-later
/* The names of glibc that Debian's static libraries of SQLite, zstd and GSL need, for musl. */
#include <string.h>

void *__memcpy_chk(void *to, const void *from, size_t n, size_t room);
void *__memmove_chk(void *to, const void *from, size_t n, size_t room);
void *__memset_chk(void *to, int c, size_t n, size_t room);

void *__memcpy_chk(void *to, const void *from, size_t n, size_t room)
{
	(void)room;
	return memcpy(to, from, n);
}

void *__memmove_chk(void *to, const void *from, size_t n, size_t room)
{
	(void)room;
	return memmove(to, from, n);
}

void *__memset_chk(void *to, int c, size_t n, size_t room)
{
	(void)room;
	return memset(to, c, n);
}
