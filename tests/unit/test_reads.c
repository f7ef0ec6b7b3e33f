// SPDX-License-Identifier: GPL-2.0-or-later
/* causes_reads.c: what reading from a disk costs on a CPU, and what only looks so. */
#include "analyze/causes/causes.h"
#include "tests/lib/loaded.h"
#include "tests/lib/slowed.h"
#include "tests/lib/unit.h"

/* 100 reads 4 kB: for so long it has the CPU in the call, and afterwards. */
static long returned = 4096;

static long reads(struct script *s, long t, long inside, long afterwards)
{
	long slept = t + inside;

	script_line(s, 0, "%ld 100 block_start request=6 dev=0xfe00000 bytes=4096 sector=8",
		    slept - 1000);
	script_line(s, 0, "%ld 100 switch next=0 state=2 flags=2", slept);
	script_line(s, 1, "%ld 0 block_complete request=6 dev=0xfe00000 bytes=4096 sector=8",
		    slept + 499000);
	script_line(s, 1, "%ld 0 waking target=100 cpu=0 context=2", slept + 500000);
	script_line(s, 0, "%ld 0 switch next=100", slept + 501000);
	script_line(s, 0, "%ld 100 syscall nr=read fd=9 dur=%ld ret=%ld", slept + 503000,
		    inside + 503000, returned);
	return slept + 503000 + afterwards;
}

static long reads_dearly(struct script *s, long t)
{
	return reads(s, t, 1500000, 0);
}

static long computes_with_it(struct script *s, long t)
{
	return reads(s, t, 2000, 1500000);
}

/* From the page cache: the same CPU time in the call. */
static long reads_cached(struct script *s, long t)
{
	script_line(s, 0, "%ld 100 syscall nr=read fd=9 dur=1500000 ret=4096", t + 1500000);
	return t + 1500000;
}

/* As reads_dearly on average; the disk takes the same time for all. */
static long reads_unsteadily(struct script *s, long t)
{
	return reads(s, t, t / PERIOD % 2 ? 100000 : 2900000, 0);
}

static long reads_and_computes(struct script *s, long t)
{
	return reads(s, t, 1500000, 1500000);
}

/* To read from a disk takes CPU time; so does what is done with the data, which is no read. */
static void the_cpu_time_of_reads_is_the_disks(void **state)
{
	(void)state;
	first_is(slowed(reads_dearly, 0, "all", NULL), "disk", "server[100]",
		 "contribution > 0.98 AND EXISTS(SELECT 1 FROM finding_value v WHERE"
		 " v.finding=cause.finding AND name='reads_cpu' AND abs(number - 75) < 2)");
	first_is(slowed(computes_with_it, 0, "all", NULL), "self", "server[100]:80",
		 "contribution BETWEEN 0.7 AND 0.8");
	/* most of it was in the page cache: to copy that is no cost of the disk */
	returned = 1 << 20;
	first_is(slowed(reads_dearly, 0, "all", NULL), "self", "server[100]:80",
		 "contribution BETWEEN 0.7 AND 0.8");
	returned = 4096;
	/* the call costs as much without a read, and what is new comes afterwards */
	first_is(halves(reads_cached, reads_and_computes, NULL), "self", "server[100]:80",
		 "contribution > 0.7");
}

/* What counts for the disk is no more certain there than as CPU time: 0.8 % is the disk's own. */
static void moved_shares_keep_their_interval(void **state)
{
	sqlite3 *db = slowed(reads_unsteadily, 0, "all", NULL);

	(void)state;
	is_text(db, "SELECT category FROM cause WHERE rank=1", "disk");
	is_above(db, "SELECT contribution - contribution_low FROM cause WHERE rank=1", 0.012);
	is_number(db, "SELECT contribution <= contribution_high FROM cause WHERE rank=1", 1);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_cpu_time_of_reads_is_the_disks),
		T(moved_shares_keep_their_interval),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
