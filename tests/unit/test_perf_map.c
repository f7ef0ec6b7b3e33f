// SPDX-License-Identifier: GPL-2.0-or-later
/* Perf maps: lines that are added, and how often they are looked for. */
#define _GNU_SOURCE /* O_PATH */
#include "record/pump/records.h"
#include "record/stacks/unwind.h"
#include "tests/lib/unit.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MANY 100000 /* functions of a large map */

static void perf_maps_are_parsed(void **state)
{
	static const char text[] = "1000 10 first\n"
				   "1000 20 second\n"
				   "\n"
				   "zz 10 no number\n"
				   "2000 no size\n"
				   "ffffffffffffffff 10 wraps\n"
				   "3000 8 py::f:/x.py";
	struct perf_map m = { 0 };

	(void)state;
	perf_map_add(&m, strdup(text), strlen(text));
	assert_int_equal(m.n, 3);
	assert_string_equal(perf_map_name(&m, perf_map_find(&m, 0x1005)), "second");
	assert_null(perf_map_find(&m, 0x1020));
	assert_null(perf_map_find(&m, 0xfff));
	assert_string_equal(perf_map_name(&m, perf_map_find(&m, 0x3007)), "py::f:/x.py");
	perf_map_free(&m);
	assert_null(perf_map_find(&m, 0x1005));
}

static void a_map_that_is_written_again_does_not_continue(void **state)
{
	static const char text[] = "1000 10 first\n2000 10 second\n", other[] = "2000 10 secant\n";
	struct perf_map m = { 0 };

	(void)state;
	perf_map_add(&m, strdup(text), strlen(text));
	assert_true(perf_map_continues(&m, text, strlen(text)));
	assert_true(perf_map_continues(&m, "2000 10 second\n", 15));
	assert_false(perf_map_continues(&m, other, strlen(other)));
	assert_true(perf_map_continues(&m, other, 0));
	perf_map_free(&m);
}

/* Cut anywhere, the parts make the same functions in the same order as the whole. */
static void parts_make_the_same_map(void **state)
{
	static const char text[] =
		"3000 10 third\n1000 10 first\n2000 10 second\n"
		"1000 10 again\nnonsense\n4000 10 fourth\n2800 10 late\n500 1 z\n";
	struct perf_map whole = { 0 }, parts;
	size_t cut, last, n = strlen(text);
	u32 i;

	(void)state;
	perf_map_add(&whole, strdup(text), n);
	assert_int_equal(whole.n, 7);
	for (cut = 0; cut <= n; cut++) {
		last = (cut + n) / 2;
		parts = (struct perf_map){ 0 };
		perf_map_add(&parts, strndup(text, cut), cut);
		perf_map_add(&parts, strndup(text + cut, last - cut), last - cut);
		perf_map_add(&parts, strdup(text + last), n - last);
		assert_int_equal(parts.n, whole.n);
		assert_memory_equal(parts.list, whole.list, whole.n * sizeof(*whole.list));
		for (i = 0; i < whole.n; i++)
			assert_string_equal(perf_map_name(&parts, &parts.list[i]),
					    perf_map_name(&whole, &whole.list[i]));
		perf_map_free(&parts);
	}
	perf_map_free(&whole);
}

static struct code_modules modules;
static struct unwinder unwinder;
static struct code_process process;
static char path[64];

static void write_map(const char *mode, const char *text)
{
	FILE *f = fopen(path, mode);

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static bool has(u64 address, const char *name)
{
	const struct perf_function *f = perf_map_find(&process.perf, address);

	return f && strcmp(perf_map_name(&process.perf, f), name) == 0;
}

static int map_begins(void **state)
{
	(void)state;
	process = (struct code_process){ .pid = getpid() };
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	memset(&unwinder, 0, sizeof(unwinder));
	return !code_modules_start(&modules) || !unwinder_start(&unwinder, &modules);
}

static int map_ends(void **state)
{
	(void)state;
	unlink(path);
	code_process_free(&unwinder, &process);
	unwinder_free(&unwinder);
	code_modules_free(&modules);
	return 0;
}

/* A look after the pause; what looks took before does not count. */
static void look(void)
{
	process.perf_next = unwinder.perf_next = 0;
	assert_true(unwinder_perf_again(&unwinder, &process));
}

/* What is read again is less than this. */
#define REST "8000 10 a_name_of_more_than_sixty_four_bytes_as_those_of_cpp_templates_often_are\n"

static void a_map_that_grows_is_read_soon(void **state)
{
	u64 before = records_now();

	(void)state;
	write_map("w", "1000 10 first\n" REST);
	look();
	assert_true(has(0x1000, "first"));
	assert_int_equal(process.perf_pause, 10000000);
	assert_true(process.perf_next >= before + process.perf_pause);
	process.perf_next += 3600000000000;
	assert_false(unwinder_perf_again(&unwinder, &process));
	write_map("r+", "1000 10 other\n");
	write_map("a", "2000 10 second\n");
	look();
	assert_true(has(0x2000, "second"));
	assert_true(has(0x1000, "first")); /* only what was added is read */
	write_map("w", "3000 10 later\n" REST REST REST);
	look();
	assert_true(has(0x3000, "later"));
	assert_false(has(0x1000, "first"));
	assert_int_equal(process.perf_pause, 10000000);
}

static void a_map_that_does_not_grow_is_seldom_looked_at(void **state)
{
	static const int pauses[] = { 10, 20, 40, 80, 160, 200, 200 };
	u64 bytes = 0;
	u32 i;

	(void)state;
	write_map("w", "1000 10 first\n2000 10 without an end");
	for (i = 0; i < sizeof(pauses) / sizeof(*pauses); i++) {
		look();
		assert_int_equal(process.perf_pause, pauses[i] * 1000000);
		bytes = i ? bytes : process.perf.bytes;
		assert_int_equal(process.perf.bytes, bytes);
		write_map("r+", "1000 10 other\n");
	}
	assert_true(has(0x1000, "first"));
	write_map("a", "\n3000 10 third\n");
	look();
	assert_true(has(0x3000, "third"));
	assert_int_equal(process.perf.n, 3);
	assert_int_equal(process.perf_pause, 10000000);
}

/* Without what was saved before, looks have a twentieth of the time; the last one may end later. */
static void a_large_map_that_grows_does_not_take_the_thread(void **state)
{
	u64 begin, before, took = 0, last = 0, all;
	int i, round;
	FILE *f = fopen(path, "w");

	(void)state;
	for (i = 0; i < MANY; i++)
		fprintf(f, "%x 10 function number %d of a large map\n", i * 16, i);
	fclose(f);
	for (round = 0; round < 5; round++) { /* of the machine's time, others can take a part */
		took = last = 0;
		begin = records_now();
		unwinder.perf_next = begin;
		while ((all = records_now() - begin) < 400000000) {
			write_map("a", "1 10 one more\n");
			before = records_now();
			if (!unwinder_perf_again(&unwinder, &process))
				continue;
			took += last;
			last = records_now() - before;
		}
		if (took <= all / 15)
			break;
	}
	assert_true(round < 5);
	assert_true(process.perf.n >= MANY);
	assert_true(has(0x20, "function number 2 of a large map"));
}

static void a_map_without_room_is_not_read(void **state)
{
	(void)state;
	write_map("w", "1000 10 first\n");
	assert_int_equal(truncate(path, 33 << 20), 0);
	look();
	assert_true(process.perf.large);
	assert_false(has(0x1000, "first"));
}

/* Files of processes are opened by it (Linux 5.6); QEMU's emulation of processes may lack it. */
static bool has_openat2(void)
{
	struct open_how how = { .flags = O_PATH };
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof(how));

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int main(void)
{
	const struct CMUnitTest of_text[] = {
		cmocka_unit_test(perf_maps_are_parsed),
		cmocka_unit_test(a_map_that_is_written_again_does_not_continue),
		cmocka_unit_test(parts_make_the_same_map),
	};
	const struct CMUnitTest of_files[] = {
		cmocka_unit_test_setup_teardown(a_map_that_grows_is_read_soon, map_begins,
						map_ends),
		cmocka_unit_test_setup_teardown(a_map_that_does_not_grow_is_seldom_looked_at,
						map_begins, map_ends),
		cmocka_unit_test_setup_teardown(a_large_map_that_grows_does_not_take_the_thread,
						map_begins, map_ends),
		cmocka_unit_test_setup_teardown(a_map_without_room_is_not_read, map_begins,
						map_ends),
	};
	int failed = cmocka_run_group_tests(of_text, NULL, NULL);

	return has_openat2() ? failed + cmocka_run_group_tests(of_files, NULL, NULL) : failed;
}
