// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ELF files of 32 and 64 bits and of both byte orders. The recorder reads those of its machine's
 * byte order and refuses others with one sentence; obsanalyze reads all: recordings travel.
 */
#include "analyze/transform/elf_image.h"
#include "record/functions/elffile.h"
#include "record/stacks/code_names.h"
#include "tests/lib/unit.h"

#define FUNCTION 0x1000
#define TEXTS	 "\0answer\0.note\0.symtab\0.strtab"

struct image {
	u8 at[1024];
	u32 n;
	bool wide, big;
};

static void put(struct image *m, u64 v, u32 bytes)
{
	u32 i;

	for (i = 0; i < bytes; i++)
		m->at[m->n++] = (u8)(v >> 8 * (m->big ? bytes - 1 - i : i));
}

static void word(struct image *m, u64 v)
{
	put(m, v, m->wide ? 8 : 4);
}

static void section(struct image *m, u32 name, u32 type, u32 offset, u32 size, u32 link, u32 row)
{
	put(m, name, 4);
	put(m, type, 4);
	word(m, 0);
	word(m, 0);
	word(m, offset);
	word(m, size);
	put(m, link, 4);
	put(m, 1, 4);
	word(m, 4);
	word(m, row);
}

/* One function "answer" and a build-id of four bytes. */
static void build(struct image *m)
{
	u32 header = m->wide ? 64 : 52, symbol = m->wide ? 24 : 16, note = header,
	    table = note + 20;
	u32 texts = table + 2 * symbol, sections = (texts + sizeof(TEXTS) + 7) & ~7u;

	memcpy(m->at,
	       "\x7f"
	       "ELF",
	       4);
	m->at[4] = m->wide ? 2 : 1;
	m->at[5] = m->big ? 2 : 1;
	m->at[6] = 1;
	m->n = 16;
	put(m, 3, 2);		    /* a shared object */
	put(m, m->big ? 22 : 3, 2); /* S390, or i386 */
	put(m, 1, 4);
	word(m, 0);
	word(m, 0);
	word(m, sections);
	put(m, 0, 4);
	put(m, header, 2);
	put(m, 0, 2);
	put(m, 0, 2);
	put(m, m->wide ? 64 : 40, 2);
	put(m, 4, 2);
	put(m, 3, 2);
	put(m, 4, 4);
	put(m, 4, 4);
	put(m, 3, 4);
	memcpy(m->at + m->n, "GNU\0\xaa\xbb\xcc\xdd", 8);
	m->n = table + symbol;
	put(m, 1, 4);
	if (m->wide) {
		put(m, 0x12, 1); /* a global function */
		put(m, 0, 1);
		put(m, 1, 2);
	}
	word(m, FUNCTION);
	word(m, 16);
	if (!m->wide) {
		put(m, 0x12, 1);
		put(m, 0, 1);
		put(m, 1, 2);
	}
	memcpy(m->at + texts, TEXTS, sizeof(TEXTS));
	m->n = sections;
	section(m, 0, 0, 0, 0, 0, 0);
	section(m, 8, 7, note, 20, 0, 0);
	section(m, 14, 2, table, 2 * symbol, 3, symbol);
	section(m, 22, 3, texts, sizeof(TEXTS), 0, 0);
}

static int file_of(const struct image *m)
{
	FILE *f = tmpfile();
	int fd;

	assert_non_null(f);
	assert_int_equal(fwrite(m->at, 1, m->n, f), m->n);
	assert_int_equal(fflush(f), 0);
	fd = dup(fileno(f));
	fclose(f);
	assert_true(fd >= 0);
	return fd;
}

static void has_the_name(struct code_name *found)
{
	assert_non_null(found->name);
	assert_string_equal(found->name, "answer");
	assert_int_equal(found->start, FUNCTION);
	assert_int_equal(found->size, 16);
	code_name_free(found);
}

static void obsanalyze_reads(bool wide, bool big)
{
	struct code_name one = { .address = FUNCTION + 8 };
	struct code_names names = { &one, 1, CODE_NAMES_WORK };
	struct image m = { .wide = wide, .big = big };
	struct elf_image f;
	int fd;

	build(&m);
	fd = file_of(&m);
	assert_true(elf_image_open(&f, fd));
	assert_memory_equal(f.build_id, "\xaa\xbb\xcc\xdd", 5);
	assert_true(elf_image_is_full(&f));
	elf_image_names(&f, &names, ELF_BUILD_ID);
	has_the_name(&one);
	close(fd);
}

static void debug_files_of_any_machine_give_names(void **state)
{
	(void)state;
	obsanalyze_reads(false, false);
	obsanalyze_reads(false, true);
	obsanalyze_reads(true, false);
	obsanalyze_reads(true, true);
}

static void the_recorder_reads_32_bits(void **state)
{
	struct image m = { .big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ };
	struct code_name one = { .address = FUNCTION + 8 };
	struct elffile f;
	struct err e = { 0 };

	(void)state;
	build(&m);
	assert_int_equal(elffile_open(&f, file_of(&m), "/lib/old.so", &e), 0);
	assert_int_equal(f.build_id_size, 4);
	code_names_elf(&one, 1, &f, -1);
	has_the_name(&one);
	elffile_close(&f);
}

static void the_recorder_refuses_the_other_byte_order(void **state)
{
	struct elffile f;
	struct err e = { 0 };
	int wide;

	(void)state;
	for (wide = 0; wide < 2; wide++) {
		struct image m = { .wide = wide, .big = __BYTE_ORDER__ != __ORDER_BIG_ENDIAN__ };

		build(&m);
		assert_int_equal(elffile_open(&f, file_of(&m), "/lib/far.so", &e), ERR_FAIL);
		assert_string_equal(
			e.text, "/lib/far.so is not an ELF program or library that can be read: "
				"its byte order is not that of this machine");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(debug_files_of_any_machine_give_names),
		cmocka_unit_test(the_recorder_reads_32_bits),
		cmocka_unit_test(the_recorder_refuses_the_other_byte_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
