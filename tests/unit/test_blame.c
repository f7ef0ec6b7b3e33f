// SPDX-License-Identifier: GPL-2.0-or-later
/* compare: which function uses more CPU time per request, and when none is named. */
#include "analyze/render/flame.h"
#include "tests/lib/compared.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#define REQUESTS 1500
#define TICK	 50000 /* ns of CPU time of a sample */

/* main > serve > parse; main > serve > work > grow; the kernel's write. */
#define STACKS                                                                                   \
	"10 0 module id=1 kind=3 path=\"/srv/app\"\n10 0 module id=2 kind=1 path=\"[kernel]\"\n" \
	"10 0 frame id=1 module=1 address=1\n10 0 frame id=2 module=1 address=2\n"               \
	"10 0 frame id=3 module=1 address=3\n10 0 frame id=4 module=1 address=4\n"               \
	"10 0 frame id=5 module=1 address=5\n10 0 frame id=6 module=2 address=6\n"               \
	"10 0 stack id=1 frame=1\n10 0 stack id=2 caller=1 frame=2\n"                            \
	"10 0 stack id=3 caller=2 frame=3\n10 0 stack id=4 caller=2 frame=4\n"                   \
	"10 0 stack id=5 caller=4 frame=5\n10 0 stack id=6 frame=6\n"                            \
	"11 0 symbol frame=1 text=\"main\"\n11 0 symbol frame=2 text=\"serve\"\n"                \
	"11 0 symbol frame=3 text=\"parse\"\n11 0 symbol frame=4 text=\"work\"\n"                \
	"11 0 symbol frame=5 text=\"grow\"\n11 0 symbol frame=6 text=\"vfs_write\"\n"

struct plan {
	int pid;
	s64 period; /* ns between requests */
	int grow;   /* more samples of each request, in grow */
	unsigned int seed;
};

static unsigned int draw(unsigned int *seed, unsigned int below)
{
	*seed = *seed * 1103515245u + 12345u;
	return (*seed >> 8) % below;
}

static void put_sample(struct buf *b, s64 *t, int pid, int stack, int kernel)
{
	buf_printf(b, NULL, "%lld %d sample pid=%d user_stack=%d kernel_stack=%d weight=%d\n",
		   (long long)*t, pid, pid, stack, kernel, TICK);
	*t += TICK;
}

/* Each request runs for 2 to 5 ticks, then for those of grow. */
static void script(struct buf *b, struct plan p)
{
	s64 t, begin = 1000000;
	int i, k, n;

	buf_printf(b, NULL,
		   "@recorder\n2 0 info text=\"targets=%d\"\n"
		   "3 0 info text=\"groups=core,syscalls,sched,cpu\"\n"
		   "4 %d thread pid=%d state=83 comm=\"app\"\n"
		   "5 %d fd pid=%d fd=5 mode=0140000 ino=77 family=2 role=2 sport=80\n" STACKS
		   "1000 0 info text=\"begin=1000\"\n@cpu 0\n",
		   p.pid, p.pid, p.pid, p.pid, p.pid);
	for (i = 0; i < REQUESTS; i++, begin += p.period) {
		t = begin;
		n = 2 + (int)draw(&p.seed, 4);
		buf_printf(b, NULL,
			   "%lld 0 waking target=%d cpu=0\n%lld 0 switch next=%d\n"
			   "%lld %d syscall nr=read fd=5 ret=9 dur=500\n",
			   (long long)t - 1000, p.pid, (long long)t, p.pid, (long long)t + 1000,
			   p.pid);
		t += 2000;
		for (k = 0; k < n; k++)
			put_sample(b, &t, p.pid, 3 + (int)draw(&p.seed, 2),
				   draw(&p.seed, 4) ? 0 : 6);
		for (k = 0; k < p.grow; k++)
			put_sample(b, &t, p.pid, 5, 0);
		buf_printf(b, NULL,
			   "%lld %d syscall nr=write fd=5 count=7 ret=7 dur=500\n"
			   "%lld %d switch next=0 state=1\n",
			   (long long)t, p.pid, (long long)t + 1000, p.pid);
	}
	begin += p.pid;
	buf_printf(b, NULL, "@recorder\n%lld 0 info text=\"stopped=%lld\"\n", (long long)begin,
		   (long long)begin);
}

static sqlite3 *compared(struct plan before, struct plan after)
{
	struct buf a = { 0 }, b = { 0 };

	script(&a, before);
	script(&b, after);
	return compared_functions(&a, &b);
}

#define FRAMED "<svg class=\"m\""

/* In the flame graph, the framed function with its shares; NULL: none is. */
static const char *framed(struct buf *out, sqlite3 *db)
{
	struct err e = { 0 };
	const char *at;

	buf_clear(out);
	assert_int_equal(flame_draw(out, db, flame_named("flame-compare"), true, &e), 1);
	at = strstr(out->data, FRAMED);
	at = at ? strstr(at, "<text") : NULL;
	return at ? strchr(at, '>') + 1 : NULL;
}

#define NAMED "SELECT count(*) FROM finding WHERE kind LIKE 'compare_function_%'"
#define COST  "SELECT verdict FROM change WHERE name='CPU per request'"

static void the_function_that_costs_more_is_named(void **state)
{
	sqlite3 *db =
		compared((struct plan){ 100, 1000000, 0, 1 }, (struct plan){ 101, 1000000, 2, 2 });
	struct buf svg = { 0 };
	const char *name;

	(void)state;
	name = framed(&svg, db);
	assert_non_null(name);
	assert_memory_equal(name, "grow: 37 % of after, 0 % of before<", 35);
	assert_null(strstr(name, FRAMED));
	assert_non_null(strstr(svg.data, "Framed: "));
	buf_free(&svg);
	is_text(db, COST, "slower");
	is_text(db, "SELECT path FROM function_change WHERE path IS NOT NULL",
		"serve > work > grow");
	is_number(db, "SELECT before FROM function_change WHERE function='grow'", 0);
	is_within(db, "SELECT diff FROM function_change WHERE function='grow'", 99000, 101000);
	is_within(db, "SELECT low FROM function_change WHERE function='grow'", 90000, 100000);
	is_text(db, "SELECT verdict FROM function_change WHERE function='work'", "more");
	is_text(db, "SELECT verdict FROM function_change WHERE function='parse'", "inconclusive");
	is_number(db, "SELECT kernel FROM function_change WHERE function='vfs_write'", 1);
	is_number(db, NAMED, 1);
	is_text(db, FINDING_VALUE("compare_function_more", "function", "v.text"),
		"serve > work > grow");
	/* what the flame graph draws: all of the CPU time */
	is_within(db, "SELECT sum(after) FROM stack_change", 270000, 280000);
	is_number(db,
		  "SELECT count(*) FROM stack_change c JOIN stack s ON s.id=c.stack JOIN symbol y"
		  " ON y.frame=s.frame WHERE y.name='grow' AND c.after > 99000",
		  1);
	db_close(db);
}

static void the_function_that_costs_less_is_named(void **state)
{
	sqlite3 *db =
		compared((struct plan){ 100, 1000000, 2, 1 }, (struct plan){ 101, 1000000, 0, 2 });

	(void)state;
	is_text(db, COST, "faster");
	is_text(db, "SELECT verdict FROM function_change WHERE path='serve > work > grow'", "less");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='compare_function_less'", 1);
	is_number(db, NAMED, 1);
	db_close(db);
}

/* The same program twice, 20 times; and under half the load: no function is named. */
static void look_alikes_name_no_function(void **state)
{
	struct buf svg = { 0 };
	unsigned int i;

	(void)state;
	for (i = 0; i < 20; i++) {
		sqlite3 *db =
			compared((struct plan){ 100, 1000000, 1, 2 * i },
				 (struct plan){ 101, i % 2 ? 1900000 : 1000000, 1, 2 * i + 1 });

		is_number(db, NAMED, 0);
		assert_null(framed(&svg, db));
		is_number(db, "SELECT count(*) > 3 FROM function_change", 1);
		db_close(db);
	}
	buf_free(&svg);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_function_that_costs_more_is_named),
		cmocka_unit_test(the_function_that_costs_less_is_named),
		cmocka_unit_test(look_alikes_name_no_function),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
