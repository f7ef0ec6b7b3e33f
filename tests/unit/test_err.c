// SPDX-License-Identifier: GPL-2.0-or-later
/* format/err.c, format/buf.c, format/errnos.c, format/syscall.c: small and used everywhere. */
#include "tests/lib/unit.h"

#include "analyze/base/budget.h"
#include "format/buf.h"
#include "format/errnos.h"
#include "format/escape.h"
#include "format/grow.h"
#include "format/syscall.h"

#include <errno.h>

static void err_keeps_code_and_sentence(void **state)
{
	struct err e = { 0 };

	(void)state;
	assert_int_equal(err_set(&e, ERR_VERSION, "needs %d", 7), ERR_VERSION);
	assert_string_equal(e.text, "needs 7");
	assert_int_equal(err_status(&e), 5);
	errno = ENOENT;
	assert_int_equal(err_errno(&e, ERR_FAIL, "cannot open %s", "x"), ERR_FAIL);
	assert_string_equal(e.text, "cannot open x: No such file or directory");
	assert_int_equal(err_set(NULL, ERR_ENV, "unheard"), ERR_ENV);
}

static void err_cuts_long_sentences(void **state)
{
	struct err e = { 0 };
	char big[2000];

	(void)state;
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	err_set(&e, ERR_FAIL, "%s", big);
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
	errno = ENOENT;
	err_errno(&e, ERR_FAIL, "%s", big);
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
}

static void buf_grows_and_terminates(void **state)
{
	struct buf b = { 0 };
	struct err e = { 0 };
	int i;

	(void)state;
	for (i = 0; i < 1000; i++)
		assert_int_equal(buf_printf(&b, &e, "%d,", i), 0);
	assert_int_equal(b.len, 10 * 2 + 90 * 3 + 900 * 4);
	assert_int_equal(b.data[b.len], 0);
	buf_clear(&b);
	assert_int_equal(buf_add(&b, "abc", 3, &e), 0);
	assert_string_equal(b.data, "abc");
	assert_int_equal(buf_reserve(&b, (size_t)2 << 30, &e), ERR_FAIL);
	assert_non_null(strstr(e.text, "refusing"));
	buf_free(&b);
	assert_null(b.data);
}

static void errnos_have_names(void **state)
{
	char text[32];

	(void)state;
	assert_string_equal(errno_name(2, text, sizeof(text)), "ENOENT");
	assert_string_equal(errno_name(11, text, sizeof(text)), "EAGAIN");
	assert_string_equal(errno_name(9999, text, sizeof(text)), "error 9999");
}

static void syscalls_are_found_by_table(void **state)
{
	char text[32];

	(void)state;
	assert_string_equal(syscall_find(ABI_X86_64, 0)->name, "read");
	assert_string_equal(syscall_find(ABI_AARCH64, 63)->name, "read");
	assert_int_equal(syscall_find(ABI_X86_64, 202)->wait, SYSWAIT_FUTEX);
	assert_int_equal(syscall_find(ABI_X86_64, 202)->shape, SHAPE_FULL);
	assert_int_equal(syscall_by_name("fsync")->x86_64, 74);
	assert_null(syscall_by_name("no_such_call"));
	assert_null(syscall_find(ABI_I386, 3));
	assert_null(syscall_find(ABI_X86_64, 100000));
	assert_string_equal(syscall_name(ABI_I386, 3, text, sizeof(text)), "i386#3");
	assert_string_equal(syscall_name(ABI_X86_64, 1, text, sizeof(text)), "write");
}

/* Of several calls in a row only the last is checked. */
static void buf_keeps_the_first_failure(void **state)
{
	struct err e = { 0 }, later = { 0 };
	struct buf b = { 0 };

	(void)state;
	assert_int_equal(buf_add(&b, "abc", 3, &e), 0);
	assert_int_equal(buf_add(&b, "", (size_t)2 << 30, &e), ERR_FAIL);
	assert_non_null(strstr(e.text, "refusing"));
	assert_int_equal(buf_add(&b, "d", 1, &later), ERR_FAIL);
	assert_int_equal(buf_add(&b, "", 0, &later), ERR_FAIL);
	assert_int_equal(buf_printf(&b, &later, "d"), ERR_FAIL);
	assert_int_equal(escape_add(&b, ESCAPE_TEXT, "", 0, &later), ERR_FAIL);
	assert_int_equal(escape_add(&b, ESCAPE_CSV, "d", 1, &later), ERR_FAIL);
	assert_int_equal(escape_word(&b, "d", &later), ERR_FAIL);
	assert_int_equal(buf_reserve(&b, 1, &later), ERR_FAIL);
	assert_string_equal(later.text, "");
	assert_string_equal(b.data, "abc");
	buf_clear(&b);
	assert_int_equal(buf_add(&b, "d", 1, &e), 0);
	assert_string_equal(b.data, "d");
	buf_free(&b);
}

/* No number may stand for two calls of one table. */
static void syscall_numbers_are_unique(void **state)
{
	const struct syscall_desc *a, *b;

	(void)state;
	for (a = syscalls; a->name; a++)
		for (b = a + 1; b->name; b++) {
			assert_false(a->x86_64 >= 0 && a->x86_64 == b->x86_64);
			assert_false(a->aarch64 >= 0 && a->aarch64 == b->aarch64);
			assert_string_not_equal(a->name, b->name);
		}
}

/* What an array was refused, it did not take: it is as large as before. */
static void arrays_keep_to_the_memory_of_a_recording(void **state)
{
	struct block {
		char bytes[1 << 20];
	} *blocks = NULL;
	struct budget b;
	struct err e = { 0 };
	size_t n;

	(void)state;
	budget_start(&b, 0);
	for (n = 0; n < 4096 && GROW(blocks, n, "blocks", &e) == 0; n++)
		;
	grow_asked = NULL;
	free(blocks);
	assert_in_range(n, 64, 2048);
	assert_non_null(strstr(e.text, "out of proportion to its size"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(err_keeps_code_and_sentence), T(err_cuts_long_sentences),
		T(buf_grows_and_terminates),	T(buf_keeps_the_first_failure),
		T(errnos_have_names),		T(syscalls_are_found_by_table),
		T(syscall_numbers_are_unique),	T(arrays_keep_to_the_memory_of_a_recording),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
