// SPDX-License-Identifier: GPL-2.0-or-later
/* A binary: its symbol tables, names and patterns, source lines; also as obsanalyze reads it. */
#define _GNU_SOURCE /* O_PATH */
#include "fuzz.h"

#include "analyze/transform/elf_image.h"
#include "record/functions/elfparts.h"
#include "record/functions/elfsym.h"
#include "record/functions/pattern.h"
#include "record/stacks/code_names.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ADDRESSES 64

struct seen {
	struct names names;
	struct pattern pattern;
	size_t size;
};

static int by_address(const void *a, const void *b)
{
	const struct code_name *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static int visit(void *arg, const struct elfsym *sym, struct err *e)
{
	struct seen *s = arg;

	names_make(&s->names, sym->name);
	pattern_fits(&s->pattern, sym, &s->names);
	if (sym->offset >= s->size)
		fuzz_fail("a function outside the file");
	(void)e;
	return 0;
}

/* Addresses all over the file. */
static void find_names(const struct elffile *f, int fd, size_t size)
{
	struct code_name list[ADDRESSES] = { 0 };
	struct code_names names = { list, ADDRESSES, CODE_NAMES_WORK };
	struct elf_image image;
	u32 i;

	for (i = 0; i < ADDRESSES; i++)
		list[i].address = 0x400000 * (i & 1) + size * i / ADDRESSES;
	qsort(list, ADDRESSES, sizeof(*list), by_address);
	if (f)
		code_names_elf(list, ADDRESSES, f, -1);
	else if (elf_image_open(&image, fd))
		elf_image_names(&image, &names, ELF_BUILD_ID);
	for (i = 0; i < ADDRESSES; i++)
		code_name_free(&list[i]);
}

/* As obsrec -u reads it. */
static void find_in_copy(const u8 *data, size_t size, int root, struct seen *s)
{
	int fd = fuzz_file(data, size), copy;
	struct elfsyms all;
	struct elffile f;
	struct err e = { 0 };

	copy = elfparts_symbols(fd, ELFPARTS_SYMBOLS_MAX, &e);
	close(fd);
	if (copy < 0 || elffile_from_parts(&f, copy, "/fuzz/binary", &e) < 0)
		return;
	elfsym_each(&f, NULL, root, &all, visit, s, &e);
	elffile_close(&f);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static int root = -1;
	static struct seen s;
	struct elfsyms all;
	struct elffile f;
	struct err e = { 0 };
	int fd;

	if (root < 0) {
		root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
		pattern_read(&s.pattern, "x*.c:*a*[b]*@*", &e);
	}
	s.size = size;
	fd = fuzz_file(data, size);
	find_names(NULL, fd, size);
	close(fd);
	if (elffile_open(&f, fuzz_file(data, size), "/fuzz/binary", &e) < 0)
		return 0;
	find_names(&f, -1, size);
	elfsym_each(&f, NULL, root, &all, visit, &s, &e);
	elffile_close(&f);
	find_in_copy(data, size, root, &s);
	return 0;
}
