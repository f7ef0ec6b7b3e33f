// SPDX-License-Identifier: GPL-2.0-or-later
/* What harnesses share. */
#define _GNU_SOURCE /* memfd_create */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int fuzz_file(const void *bytes, size_t n)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET) != 0)
		fuzz_fail("no memory for a file");
	return fd;
}

char *fuzz_text(const u8 *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		fuzz_fail("no memory for a text");
	memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

int fuzz_words(char *text, const char *name, char **words, int max)
{
	int n = 0;

	words[n++] = (char *)name;
	while (text && *text && n + 1 < max)
		words[n++] = strsep(&text, "\n");
	words[n] = NULL;
	return n;
}

void fuzz_fail(const char *what)
{
	fprintf(stderr, "fuzz: %s\n", what);
	abort();
}
