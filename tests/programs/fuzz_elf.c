// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuzz_elf FILE ROUNDS: the file's bytes are changed at random, most in its headers and tables,
 * and all functions are looked for: no crash, no hang, and nothing lies after the
 * end of the file. The seed is fixed. The sanitizers do the rest.
 */
#define _GNU_SOURCE /* memfd_create */
#include "record/functions/elfsym.h"
#include "record/functions/pattern.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define IMAGE_MAX (4u << 20)
#define SECONDS	  10 /* for one file, at most */

static u64 seed = 88172645463325252ull;

static u64 next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

/* Where something of interest may lie: headers, and what the section headers name. */
static size_t choose_place(const u8 *image, size_t size)
{
	Elf64_Ehdr eh;
	Elf64_Shdr sh;
	u64 at;

	memcpy(&eh, image, sizeof(eh));
	if (next() % 4 == 0)
		return next() % (next() % 2 ? 64 : 1024) % size;
	if (next() % 4 == 0)
		return next() % size;
	if (!eh.e_shoff || !eh.e_shnum || eh.e_shoff > size)
		return next() % size;
	at = eh.e_shoff + next() % eh.e_shnum * sizeof(sh);
	if (next() % 2 || at + sizeof(sh) > size)
		return (at + next() % sizeof(sh)) % size;
	memcpy(&sh, image + at, sizeof(sh));
	return sh.sh_size ? (sh.sh_offset + next() % sh.sh_size) % size : at % size;
}

static void spoil(u8 *image, size_t size)
{
	static const u8 hostile[] = { 0, 1, 0x7f, 0x80, 0xff };
	int i, n = 1 + next() % 8;
	size_t at, k, run;

	for (i = 0; i < n; i++) {
		at = choose_place(image, size);
		run = next() % 4 ? 1 : 1 + next() % 8;
		for (k = at; k < at + run && k < size; k++)
			image[k] = next() % 2 ? hostile[next() % sizeof(hostile)] : next();
	}
}

struct seen {
	struct names names;
	struct pattern pattern;
	u64 size, n;
};

static int visit(void *arg, const struct elfsym *sym, struct err *e)
{
	struct seen *s = arg;

	names_make(&s->names, sym->name);
	pattern_fits(&s->pattern, sym, &s->names);
	s->n += strlen(sym->version) + strlen(sym->file) + 1;
	if (sym->offset >= s->size)
		return err_set(e, ERR_DAMAGED, "offset %llu", (unsigned long long)sym->offset);
	return 0;
}

/* Returns 1 if the image was taken for an ELF file, 0 if not, negative if what came is wrong. */
static int round_of(struct seen *s, const u8 *image, size_t size, const char *path, int root)
{
	int fd = memfd_create("image", MFD_CLOEXEC), ret;
	struct elfsyms all;
	struct elffile f;
	struct err e = { 0 };

	if (fd < 0 || write(fd, image, size) != (ssize_t)size)
		exit(2);
	s->size = size;
	if (elffile_open(&f, fd, path, &e) < 0)
		return 0;
	ret = elfsym_each(&f, NULL, root, &all, visit, s, &e);
	elffile_close(&f);
	if (ret < 0)
		printf("not ok %s\n", e.text);
	return ret < 0 ? ret : 1;
}

int main(int argc, char **argv)
{
	static u8 image[IMAGE_MAX], spoilt[IMAGE_MAX];
	static struct seen s;
	int fd = argc == 3 ? open(argv[1], O_RDONLY) : -1, root = open("/", O_PATH | O_DIRECTORY),
	    i, r, sound = 0;
	ssize_t size = fd < 0 ? 0 : read(fd, image, sizeof(image));
	char path[PATH_MAX];
	struct err e = { 0 };

	if (size < 64 || !realpath(argv[1], path) ||
	    pattern_read(&s.pattern, "x*.c:*a*[b]*@*", &e) < 0)
		return 2;
	if (round_of(&s, image, size, path, root) != 1 || !s.n)
		return 2;
	for (i = 0; i < strtol(argv[2], NULL, 10); i++) {
		size_t n = next() % 16 ? (size_t)size : 64 + next() % (size - 64);

		memcpy(spoilt, image, size);
		spoil(spoilt, n);
		alarm(SECONDS);
		r = round_of(&s, spoilt, n, path, root);
		if (r < 0)
			return 1;
		sound += r;
	}
	printf("ok %d changed copies of %s, %d of them still ELF files\n", i, argv[1], sound);
	pattern_free(&s.pattern);
	return sound > 0 ? 0 : 1;
}
