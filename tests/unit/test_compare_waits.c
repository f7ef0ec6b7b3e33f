// SPDX-License-Identifier: GPL-2.0-or-later
/* compare: where requests wait for longer, and when no function is named. */
#include "analyze/render/flame.h"
#include "tests/lib/compared.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#define REQUESTS 600
#define MS	 1000000L

/* main > serve > lock and main > serve > log: stacks 3 and 4. */
#define STACKS                                                                     \
	"10 0 module id=1 kind=3 path=\"/srv/app\"\n"                              \
	"10 0 frame id=1 module=1 address=1\n10 0 frame id=2 module=1 address=2\n" \
	"10 0 frame id=3 module=1 address=3\n10 0 frame id=4 module=1 address=4\n" \
	"10 0 stack id=1 frame=1\n10 0 stack id=2 caller=1 frame=2\n"              \
	"10 0 stack id=3 caller=2 frame=3\n10 0 stack id=4 caller=2 frame=4\n"     \
	"11 0 symbol frame=1 text=\"main\"\n11 0 symbol frame=2 text=\"serve\"\n"  \
	"11 0 symbol frame=3 text=\"lock\"\n11 0 symbol frame=4 text=\"log\"\n"

struct plan {
	int pid;
	long in_lock, in_log; /* ns of a wait of each request, +- a tenth; 0: it does not wait */
	long idle;	      /* ns between requests, asleep with the stack of lock */
	int threshold;	      /* ms */
	unsigned int seed;
};

static long noisy(unsigned int *seed, long ns)
{
	*seed = *seed * 1103515245u + 12345u;
	return ns * (90 + (*seed >> 8) % 21) / 100;
}

/* The thread sleeps; its stack is recorded if that takes the threshold. */
static void waits(struct buf *b, long *t, const struct plan *p, long ns, int stack)
{
	if (!ns)
		return;
	buf_printf(b, NULL, "%ld %d switch next=0 state=1\n%ld 0 waking target=%d context=1\n", *t,
		   p->pid, *t + ns, p->pid);
	buf_printf(b, NULL, "%ld 0 switch next=%d\n", *t + ns + 1000, p->pid);
	if (ns >= p->threshold * MS)
		buf_printf(b, NULL, "%ld %d offcpu pid=%d dur=%ld user_stack=%d state=1\n",
			   *t + ns + 1000, p->pid, p->pid, ns + 1000, stack);
	*t += ns + 2000;
}

static void script(struct buf *b, struct plan p)
{
	long t = MS;
	int i;

	buf_printf(
		b, NULL,
		"@recorder\n2 0 info text=\"targets=%d\"\n2 0 info text=\"stack_threshold=%ld\"\n"
		"3 0 info text=\"groups=core,syscalls,sched,cpu\"\n"
		"4 %d thread pid=%d state=83 comm=\"app\"\n"
		"5 %d fd pid=%d fd=5 mode=0140000 ino=77 family=2 role=2 sport=80\n" STACKS
		"1000 0 info text=\"begin=1000\"\n@cpu 0\n",
		p.pid, p.threshold * MS, p.pid, p.pid, p.pid, p.pid);
	buf_printf(b, NULL, "%ld 0 switch next=%d\n", t, p.pid);
	for (i = 0; i < REQUESTS; i++) {
		buf_printf(b, NULL, "%ld %d syscall nr=read fd=5 ret=9 dur=500\n", t + 1000, p.pid);
		t += 2000;
		waits(b, &t, &p, noisy(&p.seed, p.in_lock), 3);
		waits(b, &t, &p, noisy(&p.seed, p.in_log), 4);
		t += 100000;
		buf_printf(b, NULL, "%ld %d syscall nr=write fd=5 count=7 ret=7 dur=500\n", t,
			   p.pid);
		t += 1000;
		waits(b, &t, &p, p.idle, 3);
	}
	t += p.pid;
	buf_printf(b, NULL, "@recorder\n%ld 0 info text=\"stopped=%ld\"\n", t, t);
}

static sqlite3 *compared(struct plan before, struct plan after)
{
	struct buf a = { 0 }, b = { 0 };

	script(&a, before);
	script(&b, after);
	return compared_functions(&a, &b);
}

#define NAMED "SELECT count(*) FROM finding WHERE kind LIKE 'compare_waits_%'"

/* Lines of the caption, none of which leaves the picture of 1200 pixels. */
static int caption_lines(const char *svg)
{
	static const char begin[] = "<text class=\"h\"";
	const char *at = svg, *text;
	int n = 0;

	for (; (at = strstr(at, begin)); n++) {
		text = strchr(at, '>') + 1;
		at = strchr(text, '<');
		assert_in_range(at - text, 1, 150);
	}
	return n;
}

static void the_place_of_new_waits_is_named(void **state)
{
	sqlite3 *db = compared((struct plan){ 100, 0, 2 * MS, 20 * MS, 1, 1 },
			       (struct plan){ 101, 3 * MS, 2 * MS, 20 * MS, 1, 2 });
	struct buf svg = { 0 };
	struct err e = { 0 };

	(void)state;
	is_number(db, NAMED, 1);
	is_text(db, FINDING_VALUE("compare_waits_more", "function", "v.text"),
		"main > serve > lock");
	is_within(db, FINDING_VALUE("compare_waits_more", "diff", "v.number"), 2.9 * MS, 3.1 * MS);
	is_number(db, FINDING_VALUE("compare_waits_more", "least", "v.number"), MS);
	is_number(db, "SELECT before FROM function_change WHERE wait AND function='lock'", 0);
	is_text(db, "SELECT verdict FROM function_change WHERE wait AND function='log'",
		"inconclusive");
	assert_int_equal(flame_draw(&svg, db, flame_named("flame-compare-offcpu"), true, &e), 1);
	assert_non_null(strstr(svg.data, ">lock"));
	assert_true(caption_lines(svg.data) == 2);
	buf_free(&svg);
	db_close(db);
	/* and the other way round */
	db = compared((struct plan){ 100, 3 * MS, 2 * MS, 20 * MS, 1, 1 },
		      (struct plan){ 101, 0, 2 * MS, 20 * MS, 1, 2 });
	is_number(db, NAMED, 1);
	is_within(db, FINDING_VALUE("compare_waits_less", "diff", "v.number"), 2.9 * MS, 3.1 * MS);
	db_close(db);
}

/* The same twice; less load, so that it sleeps between requests; stacks of other waits. */
static void look_alikes_name_no_place(void **state)
{
	unsigned int i;
	sqlite3 *db;

	(void)state;
	for (i = 0; i < 6; i++) {
		db = compared(
			(struct plan){ 100, 3 * MS, 2 * MS, 20 * MS, 1, 2 * i },
			(struct plan){ 101, 3 * MS, 2 * MS, (i % 2 ? 60 : 20) * MS, 1, 2 * i + 1 });
		is_number(db, NAMED, 0);
		is_number(db, "SELECT count(*) > 1 FROM function_change WHERE wait", 1);
		db_close(db);
	}
	db = compared((struct plan){ 100, 0, 2 * MS, 20 * MS, 1, 1 },
		      (struct plan){ 101, 3 * MS, 2 * MS, 20 * MS, 2, 2 });
	is_number(db, "SELECT count(*) FROM function_change WHERE wait", 0);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_place_of_new_waits_is_named),
		T(look_alikes_name_no_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
