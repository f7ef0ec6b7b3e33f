// SPDX-License-Identifier: GPL-2.0-or-later
/* format/schema.c: own descriptors, the text of a schema block, projection. */
#include "tests/lib/unit.h"

#include "format/schema.h"

static void own_schema_matches_the_structs(void **state)
{
	const struct schema *s = schema_own();
	const struct event_desc *ev = schema_event(s, "syscall");

	(void)state;
	assert_int_equal(ev->id, EV_syscall);
	assert_int_equal(ev->size, sizeof(struct ev_syscall));
	assert_int_equal(event_field(ev, "nr")->offset, offsetof(struct ev_syscall, nr));
	assert_int_equal(event_field(ev, "nr")->kind, KIND_SYSCALL);
	assert_int_equal(schema_event(s, "fd")->size, sizeof(struct ev_fd));
	assert_string_equal(schema_event(s, "fd")->tail, "path");
	assert_string_equal(s->groups[GROUP_sched].name, "sched");
	assert_null(schema_event(s, "no_such_event"));
}

static void text_survives_the_round_trip(void **state)
{
	struct buf a = { 0 }, b = { 0 };
	struct schema *s = NULL;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(schema_write(schema_own(), &a, &e), 0);
	assert_int_equal(schema_parse(&s, a.data, a.len, &e), 0);
	assert_int_equal(schema_write(s, &b, &e), 0);
	assert_int_equal(a.len, b.len);
	assert_memory_equal(a.data, b.data, a.len);
	schema_free(s);
	buf_free(&a);
	buf_free(&b);
}

#define HEAD "obsrec-schema 1\ngroup\t2\tsyscalls\tdoc\n"

static void damaged_text_is_refused(void **state)
{
	static const struct {
		const char *text, *sentence;
	} bad[] = {
		{ "", "" },
		{ "something else\n", "it is no schema" },
		{ HEAD "event\t32\tsyscall\tsyscalls\tdoc", "the last line is cut" },
		{ HEAD "event\t32\tSysCall\tsyscalls\tdoc\n", "a name of its own" },
		{ HEAD "event\t0\tx\tsyscalls\tdoc\n", "a number of its own" },
		{ HEAD "event\t1024\tx\tsyscalls\tdoc\n", "a number of its own" },
		{ HEAD "event\t5\tx\tsyscalls\td\nevent\t5\ty\tsyscalls\td\n",
		  "a number of its own" },
		{ HEAD "event\t5\tx\tnowhere\tdoc\n", "belongs to no group" },
		{ HEAD "field\tu64\ta\tNS\tdoc\n", "where none can be" },
		{ HEAD "event\t5\tx\tsyscalls\td\nfield\tu128\ta\tNS\td\n", "unknown type" },
		{ HEAD "event\t5\tx\tsyscalls\td\nfield\tu32\ta\tNS\td\n", "groups of 8" },
		{ HEAD "event\t5\tx\tsyscalls\td\nfield\tu64\ta\tNS\td\nfield\tu64\ta\tNS\td\n",
		  "a name of its own" },
		{ HEAD "nonsense\t1\n", "an unknown item" },
		{ HEAD "event\t5\tx\n", "wrong number of words" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct schema *s = NULL;
		struct err e = { 0 };

		assert_int_equal(schema_parse(&s, bad[i].text, strlen(bad[i].text), &e),
				 ERR_DAMAGED);
		assert_non_null(strstr(e.text, bad[i].sentence));
	}
}

/* A file whose syscall event has other widths, another order, an unknown field and a missing one.
 */
static void other_layouts_are_projected(void **state)
{
	static const char text[] = HEAD "event\t32\tsyscall\tsyscalls\tdoc\n"
					"field\tu16\tnr\tSYSCALL\td\nfield\tu16\tnews\tCOUNT\td\n"
					"field\tu32\tdur\tNS\td\n"
					"field\ts32\tret\tRET\td\nfield\tu32\tmore\tCOUNT\td\n"
					"event\t900\tunheard\tsyscalls\td\n";
	const u8 record[32] = {
		0xe8, 3,    0,	  0,	0,    0,    0,	0, /* ts 1000 */
		7,    0,    0,	  0,	32,   0,    32, 0, /* tid 7, type 32, size 32 */
		202,  0,    9,	  9,	0x10, 0x27, 0,	0, /* nr, news, dur 10000 */
		0xf5, 0xff, 0xff, 0xff, 1,    2,    3,	4
	}; /* ret -11, more */
	const struct ev_syscall *ev;
	struct schema *s = NULL;
	u64 scratch[EV_SIZE_MAX / 8];
	struct err e = { 0 };

	(void)state;
	assert_int_equal(schema_parse(&s, text, sizeof(text) - 1, &e), 0);
	ev = schema_project(s, EV_syscall, record, scratch);
	assert_non_null(ev);
	assert_ptr_not_equal(ev, record);
	assert_int_equal(ev->h.ts, 1000);
	assert_int_equal(ev->h.tid, 7);
	assert_int_equal(ev->nr, 202);
	assert_int_equal(ev->dur, 10000);
	assert_int_equal(ev->ret, -11);
	assert_int_equal(ev->count, 0);
	assert_null(schema_project(s, 900, record, scratch));
	assert_null(schema_project(s, EV_switch, record, scratch));
	schema_free(s);
}

static void tails_end_at_nul_or_record(void **state)
{
	const struct event_desc *ev = schema_event(schema_own(), "info");
	u8 record[32] = { 0 };
	size_t n;

	(void)state;
	memcpy(record + 16, "key=value", 9);
	assert_memory_equal(event_tail(ev, record, 32, &n), "key=value", 9);
	assert_int_equal(n, 9);
	memset(record + 16, 'x', 16);
	event_tail(ev, record, 32, &n);
	assert_int_equal(n, 16);
	event_tail(ev, record, 16, &n);
	assert_int_equal(n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(own_schema_matches_the_structs), T(text_survives_the_round_trip),
		T(damaged_text_is_refused),	   T(other_layouts_are_projected),
		T(tails_end_at_nul_or_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
