// SPDX-License-Identifier: GPL-2.0-or-later
/* format/go_table.c: functions of stripped Go programs, in each version of the table. */
#include "format/go_table.h"
#include "tests/lib/unit.h"

#include <stdlib.h>
#include <string.h>

#define TEXT 0x401000
#define ROOM 512

enum { AT_FUNCTIONS = 128, AT_NAMES = 256, AT_DESCRIPTIONS = 320 };

/* Three functions of 16, 32 and 64 bytes: main.a, main.b and main.c. */
struct made {
	u8 *bytes; /* as large as it is, so that a read beyond it is seen */
	bool big;
	u32 magic, word, entry;
};

static void put(const struct made *m, u64 at, u32 bytes, u64 value)
{
	u32 i;

	for (i = 0; i < bytes; i++)
		m->bytes[at + (m->big ? bytes - 1 - i : i)] = (u8)(value >> 8 * i);
}

static void put_function(const struct made *m, int i, u64 start)
{
	bool old = m->magic == 0xfffffffb, narrow = m->entry != m->word;
	u64 text = narrow ? TEXT : 0, base = old ? 0 : AT_FUNCTIONS;
	u64 at = AT_FUNCTIONS + 2 * m->entry * (u64)i, description = AT_DESCRIPTIONS + 16 * (u64)i;
	u64 name = AT_NAMES + 1 + 8 * (u64)i;

	put(m, at, m->entry, start - text);
	if (i == 3)
		return;
	put(m, at + m->entry, m->entry, description - base);
	put(m, description, m->entry, start - text);
	put(m, description + m->entry, 4, name - (old ? 0 : AT_NAMES));
	m->bytes[name - 1] = 0;
	memcpy(m->bytes + name, "main.a", 7);
	m->bytes[name + 5] = (u8)('a' + i);
}

static void make(struct made *m)
{
	static const u64 starts[] = { TEXT, TEXT + 16, TEXT + 48, TEXT + 112 };
	static const u32 oldest[] = { 3 };
	static const u32 middle[] = { 3, 0, AT_NAMES, 0, 0, 0, AT_FUNCTIONS };
	static const u32 newest[] = { 3, 0, TEXT, AT_NAMES, 0, 0, 0, AT_FUNCTIONS };
	const u32 *fields = m->magic == 0xfffffffb   ? oldest
			    : m->magic == 0xfffffffa ? middle
						     : newest;
	u32 i, n = m->magic == 0xfffffffb ? 1 : m->magic == 0xfffffffa ? 7 : 8;

	m->bytes = calloc(1, ROOM);
	assert_non_null(m->bytes);
	put(m, 0, 4, m->magic);
	m->bytes[6] = 1;
	m->bytes[7] = (u8)m->word;
	for (i = 0; i < n; i++)
		put(m, 8 + i * m->word, m->word, fields[i]);
	for (i = 0; i < 4; i++)
		put_function(m, (int)i, starts[i]);
	/* of the oldest, entries begin after the number of functions */
	if (n == 1)
		memmove(m->bytes + 8 + m->word, m->bytes + AT_FUNCTIONS, AT_NAMES - AT_FUNCTIONS);
}

static void found(const struct made *m, size_t n, const char *a, const char *c)
{
	struct code_name list[] = { { .address = TEXT - 1 },
				    { .address = TEXT + 15 },
				    { .address = TEXT + 111 },
				    { .address = TEXT + 112 } };
	struct code_names names = { list, 4, CODE_NAMES_WORK };
	u8 *cut = malloc(n ? n : 1);
	int i;

	assert_non_null(cut);
	memcpy(cut, m->bytes, n);
	go_table_find(&names, cut, n, m->big);
	free(cut);
	assert_null(list[0].name);
	assert_null(list[3].name);
	assert_string_equal(list[1].name ? list[1].name : "", a);
	assert_string_equal(list[2].name ? list[2].name : "", c);
	if (*c) {
		assert_int_equal(list[2].start, TEXT + 48);
		assert_int_equal(list[2].size, 64);
		assert_int_equal(list[2].source, NAME_GO);
	}
	for (i = 0; i < 4; i++)
		code_name_free(&list[i]);
}

static void each_version_has_its_functions(void **state)
{
	struct made all[] = {
		{ NULL, false, 0xfffffffb, 8, 8 }, { NULL, true, 0xfffffffb, 4, 4 },
		{ NULL, false, 0xfffffffa, 8, 8 }, { NULL, true, 0xfffffffa, 4, 4 },
		{ NULL, false, 0xfffffff0, 8, 4 }, { NULL, false, 0xfffffff1, 8, 4 },
		{ NULL, true, 0xfffffff1, 8, 4 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		make(&all[i]);
		found(&all[i], ROOM, "main.a", "main.c");
		free(all[i].bytes);
	}
}

/* Without the address of the code, of another kind, cut off anywhere, with places beyond its end.
 */
static void what_is_wrong_has_none(void **state)
{
	struct made m = { NULL, false, 0xfffffff1, 8, 4 };
	size_t n;
	int i;

	(void)state;
	make(&m);
	for (n = 0; n < ROOM; n++) {
		struct code_name list[] = { { .address = TEXT + 111 } };
		struct code_names names = { list, 1, CODE_NAMES_WORK };
		u8 *cut = malloc(n ? n : 1);

		assert_non_null(cut);
		memcpy(cut, m.bytes, n);
		go_table_find(&names, cut, n, false);
		free(cut);
		code_name_free(&list[0]);
	}
	put(&m, 8 + 2 * 8, 8, 0);
	found(&m, ROOM, "", "");
	put(&m, 8 + 2 * 8, 8, TEXT);
	put(&m, AT_FUNCTIONS + 2 * 4 * 2 + 4, 4, 0xfffffff0);
	found(&m, ROOM, "main.a", "");
	put(&m, 8, 8, UINT64_MAX);
	found(&m, ROOM, "", "");
	put(&m, 8, 8, 3);
	for (i = 3; i < 8; i++) {
		put(&m, 8 + (u64)i * 8, 8, UINT64_MAX - 3);
		if (i == 3 || i == 7)
			found(&m, ROOM, "", "");
	}
	put(&m, 0, 4, 0xfffffff2);
	found(&m, ROOM, "", "");
	free(m.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_version_has_its_functions),
		cmocka_unit_test(what_is_wrong_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
