// SPDX-License-Identifier: GPL-2.0-or-later
/* Linux's names of errors. */
#include "errnos.h"

#include <stdio.h>

static const struct {
	int number;
	const char *name;
} names[] = {
#define ERRNO(number, name) { number, #name },
#include "errnos.def"
#undef ERRNO
};

const char *errno_name(int error, char *text, size_t size)
{
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].number == error)
			return names[i].name;
	snprintf(text, size, "error %d", error);
	return text;
}
