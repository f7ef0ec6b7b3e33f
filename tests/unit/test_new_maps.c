// SPDX-License-Identifier: GPL-2.0-or-later
/* New mappings, in a ring as the kernel writes it. */
#include "record/stacks/new_maps.h"
#include "tests/lib/unit.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096
#define SIZE 16384

struct fixture {
	u8 memory[PAGE + SIZE];
	struct new_maps_ring ring;
	struct new_maps maps;
	char seen[500]; /* "pid start-end path@ts;", "lost@ts;" */
};

static struct fixture *fixture(u64 at)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->ring =
		(struct new_maps_ring){ .control = (void *)f->memory, .page = PAGE, .size = SIZE };
	f->maps = (struct new_maps){ .list = &f->ring, .n = 1 };
	f->ring.control->data_head = f->ring.control->data_tail = at;
	return f;
}

static void write_ring(struct fixture *f, const void *data, size_t n)
{
	const u8 *byte = data;

	while (n--)
		f->memory[PAGE + f->ring.control->data_head++ % SIZE] = *byte++;
}

/* A record of this type; path NULL: without one. */
static void write_record(struct fixture *f, u32 type, u32 pid, u64 start, const char *path, u64 ts)
{
	size_t n = path ? (strlen(path) + 8) / 8 * 8 : 0;
	struct perf_event_header h = { .type = type, .size = sizeof(h) + 64 + n + sizeof(ts) };
	u32 ids[2] = { pid, pid }, dev[2] = { 8, 1 }, last[2] = { 5, 2 };
	u64 where[3] = { start, 0x1000, 0x2000 }, file[2] = { 77, 3 };
	char text[200] = "";

	snprintf(text, sizeof(text), "%s", path ? path : "");
	write_ring(f, &h, sizeof(h));
	write_ring(f, ids, sizeof(ids));
	write_ring(f, where, sizeof(where));
	write_ring(f, dev, sizeof(dev));
	write_ring(f, file, sizeof(file));
	write_ring(f, last, sizeof(last));
	write_ring(f, text, n);
	write_ring(f, &ts, sizeof(ts));
}

static void see(void *arg, u64 ts, u32 pid, const struct code_map *map)
{
	struct fixture *f = arg;
	size_t n = strlen(f->seen);

	if (!pid)
		snprintf(f->seen + n, sizeof(f->seen) - n, "lost@%llu;", (unsigned long long)ts);
	else
		snprintf(f->seen + n, sizeof(f->seen) - n, "%u %llx-%llx+%llx %llu:%x %s@%llu;",
			 pid, (unsigned long long)map->start, (unsigned long long)map->end,
			 (unsigned long long)map->offset, (unsigned long long)map->ino, map->dev,
			 map->path, (unsigned long long)ts);
}

static void assert_seen(struct fixture *f, const char *expected)
{
	f->seen[0] = '\0';
	new_maps_read(&f->maps, see, f);
	assert_string_equal(f->seen, expected);
	assert_int_equal(f->ring.control->data_tail, f->ring.control->data_head);
}

static void mappings_are_read_once(void **state)
{
	struct fixture *f = fixture(0);

	(void)state;
	assert_seen(f, "");
	write_record(f, PERF_RECORD_MMAP2, 7, 0x10000, "/lib/longer.so", 100);
	write_record(f, PERF_RECORD_MMAP2, 8, 0x20000, "/a", 200);
	assert_seen(f, "7 10000-11000+2000 77:800001 /lib/longer.so@100;"
		       "8 20000-21000+2000 77:800001 /a@200;");
	assert_seen(f, "");
	assert_int_equal(f->maps.lost, 0);
	free(f);
}

static void a_record_goes_round_the_end_of_the_ring(void **state)
{
	struct fixture *f = fixture(5 * SIZE - 80);

	(void)state;
	write_record(f, PERF_RECORD_MMAP2, 7, 0x10000, "/lib/x.so", 100);
	assert_seen(f, "7 10000-11000+2000 77:800001 /lib/x.so@100;");
	free(f);
}

static void what_may_be_lost_is_said(void **state)
{
	struct fixture *f = fixture(0);
	int i;

	(void)state;
	write_record(f, PERF_RECORD_LOST, 0, 0, NULL, 300);
	write_record(f, PERF_RECORD_COMM, 7, 0, NULL, 350);
	assert_seen(f, "lost@350;");
	assert_int_equal(f->maps.lost, 1);
	/* full: the next one may not have fitted, which its record would say */
	for (i = 0; f->ring.control->data_head - f->ring.control->data_tail < SIZE - 4400; i++)
		write_record(f, PERF_RECORD_COMM, 7, 0, NULL, 400 + i);
	f->seen[0] = '\0';
	new_maps_read(&f->maps, see, f);
	assert_non_null(strstr(f->seen, "lost@"));
	assert_int_equal(f->maps.lost, 1);
	free(f);
}

/* A size that cannot be: the rest is not read. */
static void a_record_without_size_ends_the_reading(void **state)
{
	static const u16 sizes[] = { 0, 8, 15, 4000 };
	struct perf_event_header h = { .type = PERF_RECORD_MMAP2 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct fixture *f = fixture(0);

		h.size = sizes[i];
		write_ring(f, &h, sizeof(h));
		write_record(f, PERF_RECORD_MMAP2, 7, 0x10000, "/x", 100);
		assert_seen(f, "lost@0;");
		assert_int_equal(f->maps.lost, 1);
		free(f);
	}
}

/* What the kernel says of a new mapping. */
static void code_in_place_of_other_code_is_noticed(void **state)
{
	static const char text[] = "1000-2000 r-xp 00001000 fe:01 77   /bin/x\n"
				   "6000-7000 rwxp 00000000 00:00 0 \n";
	const u32 dev = 0xfe << 20 | 1;
	struct code_maps m;

	(void)state;
	assert_true(code_maps_parse(&m, strdup(text)));
#define REPLACED_BY(from, to, at, file, of, by)                     \
	code_maps_replaced(&m, &(struct code_map){ .start = (from), \
						   .end = (to),     \
						   .offset = (at),  \
						   .ino = (file),   \
						   .dev = (of),     \
						   .path = (by) })
#define REPLACED(from, to, at, file, of) REPLACED_BY(from, to, at, file, of, "/bin/x")
	assert_true(REPLACED(0x1000, 0x2000, 0x1000, 78, dev));
	assert_true(REPLACED(0x1000, 0x2000, 0x1000, 77, dev + 1));
	assert_true(REPLACED(0x1f00, 0x3000, 0x2000, 77, dev)); /* another part of it */
	assert_true(REPLACED(0, 0x10000, 0, 0, 0));
	assert_true(REPLACED(0x6800, 0x6900, 0, 77, dev));
	/* the file was removed, and the next one has its number */
	assert_true(REPLACED_BY(0x1000, 0x2000, 0x1000, 77, dev, "/bin/y"));
	assert_true(REPLACED_BY(0x1000, 0x2000, 0x1000, 77, dev, "/bin/"));
	assert_true(REPLACED_BY(0x1000, 0x2000, 0x1000, 77, dev, "/bin/x.new"));
	assert_false(REPLACED_BY(0x1000, 0x2000, 0x1000, 77, dev, "/bin/x (deleted)"));
	/* in a root of its own; a path that the kernel could not say */
	assert_false(REPLACED_BY(0x1000, 0x2000, 0x1000, 77, dev, "/srv/jail/bin/x"));
	assert_false(REPLACED_BY(0x1000, 0x2000, 0x1000, 77, dev, "//toolong"));
	assert_false(REPLACED_BY(0x1000, 0x2000, 0x1000, 77, dev, "/bin/x\ny"));
	assert_false(REPLACED_BY(0x6800, 0x6900, 0, 0, 0, "//anon"));
	/* the same again, generated code again, where no code was */
	assert_false(REPLACED(0x1000, 0x2000, 0x1000, 77, dev));
	assert_false(REPLACED(0x1800, 0x3000, 0x1800, 77, dev));
	assert_false(REPLACED(0x6800, 0x6900, 0, 0, 0));
	assert_false(REPLACED(0x2000, 0x6000, 0, 78, dev));
#undef REPLACED
#undef REPLACED_BY
	code_maps_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_in_place_of_other_code_is_noticed),
		cmocka_unit_test(mappings_are_read_once),
		cmocka_unit_test(a_record_goes_round_the_end_of_the_ring),
		cmocka_unit_test(what_may_be_lost_is_said),
		cmocka_unit_test(a_record_without_size_ends_the_reading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
