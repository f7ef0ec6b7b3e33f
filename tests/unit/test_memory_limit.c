// SPDX-License-Identifier: GPL-2.0-or-later
/* Which cgroup is at its memory limit, and what only looks so. */
#include "tests/lib/slowed.h"
#include "tests/lib/unit.h"

#define LIMITED                                                                        \
	"(SELECT group_concat(coalesce(text, CAST(number AS INT))) FROM finding_value" \
	" v WHERE v.finding=cause.finding AND name IN ('limited', 'at'))"

static long reclaims(struct script *s, long t, int tid, int kind)
{
	t = slow_disk(s, t);
	script_line(s, tid == 100 ? 0 : 1, "%ld %d reclaim dur=1000 pages=32 kind=%d", t + 5000,
		    tid, kind);
	return t + 6000;
}

static long reclaims_for_group(struct script *s, long t)
{
	return reclaims(s, t, 100, 1);
}

static long reclaims_for_host(struct script *s, long t)
{
	return reclaims(s, t, 100, 0);
}

static long another_reclaims(struct script *s, long t)
{
	return reclaims(s, t, 200, 1);
}

/* The kernel counts when a cgroup was stopped at its limit, and who reclaimed for it. */
static void a_memory_limit_is_named(void **state)
{
	/* hits: of /a, and of /b; the process is in a cgroup of this path */
#define GROUPS(path, a, b)                                                                      \
	"112 0 cgroup id=7 path=\"" path "\"\n114 100 thread pid=100 state=83 cgroup=7 "        \
	"comm=\"server\"\n115 0 host_memory total=1000 refaults=7\n"                            \
	"116 0 cgroup_memory cgroup=8 current=4000 max=4096 hit_max=3 refaults=1 path=\"/a\"\n" \
	"117 0 cgroup_memory cgroup=9 current=4000 max=8192 hit_max=3 refaults=1 path=\"/b\"\n" \
	"1300000000 0 host_memory total=1000 refaults=1007\n"                                   \
	"1300000001 0 cgroup_memory cgroup=8 current=4000 max=4096 hit_max=" #a                 \
	" refaults=301 path=\"/a\"\n"                                                           \
	"1300000002 0 cgroup_memory cgroup=9 current=4000 max=8192 hit_max=" #b                 \
	" refaults=301 path=\"/b\"\n"
	static const char within[] = GROUPS("/a/web", 903, 903), only[] = GROUPS("/", 3, 903),
			  both[] = GROUPS("/", 903, 903), none[] = GROUPS("/a/web", 3, 3);

	(void)state;
	first_is(slowed(reclaims_for_group, 0, "all", within), "disk", "burner[200]",
		 LIMITED " = '/a,4096'");
	/* known by its cgroup of another hierarchy */
	first_is(slowed(reclaims_for_group, 0, "all", only), "disk", "burner[200]",
		 LIMITED " = '/b,8192'");
	first_is(slowed(reclaims_for_group, 0, "all", both), "disk", "burner[200]",
		 LIMITED " IS NULL");
	/* the host has little; a limit that nothing was stopped at */
	first_is(slowed(reclaims_for_host, 0, "all", none), "disk", "burner[200]",
		 LIMITED " IS NULL");
	first_is(slowed(reclaims_for_host, 0, "all", within), "disk", "burner[200]",
		 LIMITED " IS NULL");
	first_is(slowed(reclaims_for_group, 0, "all", none), "disk", "burner[200]",
		 LIMITED " IS NULL");
	/* its threads reclaim nothing */
	first_is(slowed(slow_disk, 0, "all", within), "disk", "burner[200]", LIMITED " IS NULL");
	first_is(slowed(another_reclaims, 0, "all", within), "disk", "burner[200]",
		 LIMITED " IS NULL");
#undef GROUPS
}

/* A group at its limit from the start, as one that is full of files, or only later. */
#define LIMIT                                                                                   \
	"112 0 cgroup id=7 path=\"/a/web\"\n114 100 thread pid=100 state=83 cgroup=7 "          \
	"comm=\"server\"\n"                                                                     \
	"116 0 cgroup_memory cgroup=8 current=4000 max=4096 hit_max=3 refaults=1 path=\"/a\"\n" \
	"1300000001 0 cgroup_memory cgroup=8 current=4000 max=4096 hit_max=903 refaults=301"    \
	" path=\"/a\"\n"

static long reclaims_at_once(struct script *s, long t)
{
	script_line(s, 0, "%ld 100 reclaim dur=1000000 pages=32 kind=1", t + 1000000);
	return t + 1001000;
}

static long reclaims_and_computes(struct script *s, long t)
{
	return computes(s, reclaims_at_once(s, t));
}

/* Time on a CPU has a reason where the threads reclaim more than before. */
static void reclaim_for_a_limit_is_said_of_cpu_time(void **state)
{
	(void)state;
	first_is(slowed(reclaims_and_computes, 0, "all", LIMIT), "self", "server[100]:80",
		 CHILD("cause_limit", "v.name='limited' AND v.text='/a'"));
	first_is(slowed(reclaims_and_computes, 0, "all", LIMIT), "self", "server[100]:80",
		 CHILD("cause_limit", "v.name='n' AND v.number BETWEEN 110 AND 121"));
	/* as much before: it is full of files, and that is usual */
	first_is(halves(reclaims_at_once, reclaims_and_computes, LIMIT), "self", "server[100]:80",
		 "NOT " CHILD("cause_limit", "1"));
	/* it computes, and reclaims nothing */
	first_is(slowed(computes, 0, "all", LIMIT), "self", "server[100]:80",
		 "NOT " CHILD("cause_limit", "1"));
	/* no group was stopped at a limit */
	first_is(slowed(reclaims_and_computes, 0, "all", NULL), "self", "server[100]:80",
		 "NOT " CHILD("cause_limit", "1"));
}

static long reclaims_and_waits(struct script *s, long t)
{
	return preempted(s, reclaims_at_once(s, t));
}

/* Each page that is read again is a sleep, and a wait for a CPU after it. */
static void reclaim_for_a_limit_is_said_of_waits_for_a_cpu(void **state)
{
	(void)state;
	first_is(slowed(reclaims_and_waits, 0, "all", LIMIT), "cpu_contender", "burner[200]",
		 CHILD("cause_limit", "v.name='limited' AND v.text='/a'"));
	first_is(halves(reclaims_at_once, reclaims_and_waits, LIMIT), "cpu_contender",
		 "burner[200]", "NOT " CHILD("cause_limit", "1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = { T(a_memory_limit_is_named),
					    T(reclaim_for_a_limit_is_said_of_cpu_time),
					    T(reclaim_for_a_limit_is_said_of_waits_for_a_cpu) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
