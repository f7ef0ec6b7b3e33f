// SPDX-License-Identifier: GPL-2.0-or-later
/* A server in text: its requests, and what can happen to them. */
#include "slowed.h"

#include "analyze/analyses/analysis.h"
#include "analyze/analyses/verdict/verdict.h"
#include "analyze/render/say.h"
#include "loaded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char start[] =
	"@recorder\n"
	"100 0 info text=\"targets=%s\"\n"
	"101 0 info text=\"groups=core,syscalls,sched,block\"\n"
	"102 100 thread pid=100 state=83 comm=\"server\" cmdline=\"server\"\n"
	"103 101 thread pid=100 state=83 comm=\"helper\"\n"
	"104 300 thread pid=100 state=83 comm=\"housekeeper\"\n"
	"105 200 thread pid=200 state=83 comm=\"burner\" cmdline=\"burner\"\n"
	"106 400 thread pid=400 state=83 comm=\"reader\" cmdline=\"reader\"\n"
	"107 500 thread pid=500 parent=2 state=83 comm=\"jbd2/vda1-8\"\n"
	"108 100 fd pid=100 fd=5 mode=0140000 ino=77 family=2 role=2 sport=80 saddr=127.0.0.1\n"
	"109 100 fd pid=100 fd=6 mode=0140000 ino=78 family=2 role=3 dport=9000 daddr=10.0.0.9\n"
	"110 100 fd pid=100 fd=7 mode=0010000 ino=79\n"
	"111 0 disk dev=0xfe00000 name=\"vda\"\n"
	"1000 0 info text=\"begin=1000\"\n";

void script_line(struct script *s, int cpu, const char *fmt, ...)
{
	char text[300];
	struct err e = { 0 };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	assert_int_equal(buf_printf(&s->cpu[cpu], &e, "%s\n", text), 0);
}

void script_request(struct script *s, long t, fault_fn fault)
{
	script_line(s, 0, "%ld 0 waking target=100 cpu=0 context=1 prio=120", t);
	script_line(s, 0, "%ld 0 switch next=100 prio=120", t + 1000);
	script_line(s, 0, "%ld 100 syscall_args nr=epoll_wait arg0=4 dur=1000 ret=1 flags=1",
		    t + 2000);
	script_line(s, 0, "%ld 100 syscall nr=read fd=5 dur=2000 ret=10", t + 5000);
	t += 55000;
	if (fault)
		t = fault(s, t);
	script_line(s, 0, "%ld 100 syscall nr=write fd=5 dur=2000 ret=10", t + 50000);
	script_line(s, 0, "%ld 100 switch next=0 state=1", t + 60000);
}

sqlite3 *script_play(struct script *s, const char *targets, long end, const char *windows)
{
	struct buf all = { 0 };
	struct err e = { 0 };
	sqlite3 *db;
	int i;

	buf_printf(&all, &e, start, targets);
	if (s->facts)
		buf_printf(&all, &e, "%s", s->facts);
	buf_printf(&all, &e, "%ld 0 info text=\"stopped=%ld\"\n", end, end);
	for (i = 0; i < 4; i++)
		if (s->cpu[i].len)
			buf_printf(&all, &e, "@cpu %d\n%s", i, s->cpu[i].data);
	db = changed(loaded_buf(&all), windows);
	if (say_register(db, &e) < 0)
		fail_msg("%s", e.text);
	for (i = 0; i < 4; i++)
		buf_free(&s->cpu[i]);
	return analysed(db, "causes");
}

sqlite3 *halves(fault_fn first, fault_fn second, const char *facts)
{
	struct script s = { .facts = facts };
	long i;

	for (i = 0; i < REQUESTS; i++)
		script_request(&s, BEGIN + i * PERIOD, i < REQUESTS / 2 ? first : second);
	return script_play(&s, "all", BEGIN + REQUESTS * (long)PERIOD, NULL);
}

sqlite3 *slowed(fault_fn fault, int every, const char *targets, const char *facts)
{
	struct script s = { .facts = facts };
	long i;

	for (i = 0; i < REQUESTS; i++)
		script_request(&s, BEGIN + i * PERIOD,
			       (every ? i % every == every - 1 : i >= REQUESTS / 2) ? fault : NULL);
	return script_play(&s, targets, BEGIN + REQUESTS * (long)PERIOD, NULL);
}

/* ---- the faults ---- */

void script_timer(struct script *s, int cpu, int tid, long t)
{
	script_line(s, cpu, "%ld 0 waking target=%d cpu=%d context=2", t, tid, cpu);
	script_line(s, cpu, "%ld 0 switch next=%d", t + 1000, tid);
}

void script_wake(struct script *s, int cpu, int tid, long t)
{
	script_line(s, cpu, "%ld %d waking target=100 cpu=0", t, tid);
	script_line(s, cpu, "%ld %d syscall_args nr=futex arg0=0x1000 arg1=0x81 ret=1 dur=3000",
		    t + 2000, tid);
}

void script_resume(struct script *s, long on, long end, long dur)
{
	script_line(s, 0, "%ld 0 switch next=100", on);
	script_line(s, 0, "%ld 100 syscall_args nr=futex arg0=0x1000 arg1=0x80 dur=%ld", end, dur);
}

/* 100 waits for a lock; 300 sleeps 2 ms in nanosleep, then wakes it from FUTEX_WAKE. */
long held_lock(struct script *s, long t)
{
	script_line(s, 0, "%ld 100 switch next=0 state=1", t);
	script_timer(s, 1, 300, t + 2000000);
	script_line(s, 1, "%ld 300 syscall_args nr=nanosleep dur=4985000", t + 2003000);
	script_wake(s, 1, 300, t + 2010000);
	script_line(s, 1, "%ld 300 switch next=0 state=1", t + 2020000);
	script_resume(s, t + 2013000, t + 2015000, 2020000);
	script_line(s, 0, "%ld 100 syscall_args nr=futex arg0=0x1000 arg1=0x81 dur=1000",
		    t + 2030000);
	return t + 2030000;
}

/* The same, but 300 waits in fsync: for its journal, which 500 ends, or for the disk itself. */
static long held_in_fsync(struct script *s, long t, bool disk)
{
	script_line(s, 0, "%ld 100 switch next=0 state=1", t);
	script_timer(s, 1, 300, t + 1000);
	script_line(s, 1, "%ld 300 syscall_args nr=nanosleep dur=1000000", t + 3000);
	script_line(s, 1, "%ld 300 switch next=0 state=2%s", t + 9000, disk ? " flags=2" : "");
	script_line(s, disk ? 1 : 2, "%ld %d waking target=300 cpu=1%s", t + 2000000,
		    disk ? 0 : 500, disk ? " context=2" : "");
	script_line(s, 1, "%ld 0 switch next=300", t + 2001000);
	script_line(s, 1, "%ld 300 syscall nr=fsync fd=9 dur=1995000", t + 2003000);
	script_wake(s, 1, 300, t + 2010000);
	script_line(s, 1, "%ld 300 switch next=0 state=1", t + 2020000);
	script_resume(s, t + 2013000, t + 2015000, 2020000);
	script_line(s, 0, "%ld 100 syscall_args nr=futex arg0=0x1000 arg1=0x81 dur=1000",
		    t + 2030000);
	return t + 2030000;
}

long held_fsync(struct script *s, long t)
{
	return held_in_fsync(s, t, false);
}

long held_for_disk(struct script *s, long t)
{
	return held_in_fsync(s, t, true);
}

long handed_over(struct script *s, long t)
{
	script_line(s, 0, "%ld 100 waking target=101 cpu=1", t - 5000);
	script_line(s, 0, "%ld 100 syscall_args nr=futex arg0=0x2000 arg1=0x81 ret=1 dur=1000",
		    t - 4500);
	script_line(s, 1, "%ld 0 switch next=101", t - 4000);
	script_line(s, 1, "%ld 101 syscall_args nr=futex arg0=0x2000 arg1=0x80 dur=1000000",
		    t - 3000);
	script_line(s, 0, "%ld 100 switch next=0 state=1", t);
	script_line(s, 1, "%ld 101 waking target=100 cpu=0", t + 2000000);
	script_line(s, 1, "%ld 101 syscall_args nr=futex arg0=0x3000 arg1=0x81 ret=1 dur=3000",
		    t + 2002000);
	script_line(s, 1, "%ld 101 switch next=0 state=1", t + 2020000);
	script_line(s, 0, "%ld 0 switch next=100", t + 2003000);
	script_line(s, 0, "%ld 100 syscall_args nr=futex arg0=0x3000 arg1=0x80 dur=2010000",
		    t + 2005000);
	return t + 2005000;
}

/* Woken three times in vain by 101, each time asleep again after 5 us; 300 lets it go on. */
long woken_in_vain(struct script *s, long t)
{
	int i;

	script_line(s, 0, "%ld 100 switch next=0 state=1", t);
	script_timer(s, 1, 101, t + 1000);
	for (i = 1; i <= 3; i++) {
		script_wake(s, 1, 101, t + i * 500000);
		script_resume(s, t + i * 500000 + 3000, t + i * 500000 + 4000, 505000);
		script_line(s, 0, "%ld 100 switch next=0 state=1", t + i * 500000 + 8000);
	}
	script_line(s, 1, "%ld 101 switch next=0 state=1", t + 1600000);
	script_timer(s, 1, 300, t + 1990000);
	script_wake(s, 1, 300, t + 2000000);
	script_line(s, 1, "%ld 300 switch next=0 state=1", t + 2020000);
	script_resume(s, t + 2003000, t + 2005000, 500000);
	script_line(s, 0, "%ld 100 syscall_args nr=futex arg0=0x1000 arg1=0x81 dur=1000",
		    t + 2007000);
	return t + 2010000;
}

long preempted(struct script *s, long t)
{
	script_line(s, 0, "%ld 100 switch next=200 flags=1 prio=120", t);
	script_line(s, 0, "%ld 200 switch next=100 flags=1 prio=120", t + 2000000);
	return t + 2000000;
}

long preempted_by_two(struct script *s, long t)
{
	script_line(s, 0, "%ld 100 switch next=200 flags=1 prio=120", t);
	script_line(s, 0, "%ld 400 switch next=100 flags=1 prio=120", t + 2000000);
	return t + 2000000;
}

/* Runnable, while its CPU is idle: a quota. */
long throttled(struct script *s, long t)
{
	script_line(s, 0, "%ld 100 switch next=0 prio=120", t);
	script_line(s, 0, "%ld 0 switch next=100 prio=120", t + 3000000);
	return t + 3000000;
}

/* Its own read of 4 kB, after 1 MB of 200. */
long slow_disk(struct script *s, long t)
{
	long request = 1;

	request += 2;
	script_line(s, 1,
		    "%ld 200 block_start request=%ld dev=0xfe00000 bytes=1048576 sector=4096 op=1",
		    t - 1000, request);
	script_line(s, 1,
		    "%ld 200 block_issue request=%ld dev=0xfe00000 bytes=1048576 sector=4096 op=1",
		    t - 500, request);
	script_line(s, 0, "%ld 100 block_start request=%ld dev=0xfe00000 bytes=4096 sector=8",
		    t - 400, request + 1);
	script_line(s, 0, "%ld 100 switch next=0 state=2 flags=2", t);
	script_line(s, 1,
		    "%ld 0 block_complete request=%ld dev=0xfe00000 bytes=1048576 sector=4096",
		    t + 1800000, request);
	script_line(s, 1, "%ld 0 block_issue request=%ld dev=0xfe00000 bytes=4096 sector=8",
		    t + 1800500, request + 1);
	script_line(s, 1, "%ld 0 block_complete request=%ld dev=0xfe00000 bytes=4096 sector=8",
		    t + 1999000, request + 1);
	script_line(s, 1, "%ld 0 waking target=100 cpu=0 context=2", t + 2000000);
	script_line(s, 0, "%ld 0 switch next=100", t + 2001000);
	script_line(s, 0, "%ld 100 syscall_args nr=pread64 arg0=9 dur=2010000 ret=4096",
		    t + 2003000);
	return t + 2003000;
}

long slow_peer(struct script *s, long t)
{
	script_line(s, 0, "%ld 100 syscall nr=write fd=6 dur=2000 ret=20", t - 2000);
	script_line(s, 0, "%ld 100 switch next=0 state=1", t);
	script_line(s, 1, "%ld 0 waking target=100 cpu=0 context=1", t + 2000000);
	script_line(s, 0, "%ld 0 switch next=100", t + 2001000);
	script_line(s, 0, "%ld 100 syscall nr=read fd=6 dur=2005000 ret=30", t + 2005000);
	return t + 2005000;
}

long full_pipe(struct script *s, long t)
{
	script_line(s, 0, "%ld 100 switch next=0 state=1", t);
	script_timer(s, 1, 400, t + 1990000);
	script_line(s, 1, "%ld 400 syscall_args nr=nanosleep dur=4975000", t + 1992000);
	script_line(s, 1, "%ld 400 waking target=100 cpu=0", t + 2000000);
	script_line(s, 1, "%ld 400 syscall nr=read fd=0 dur=3000 ret=4096", t + 2002000);
	script_line(s, 1, "%ld 400 switch next=0 state=1", t + 2020000);
	script_line(s, 0, "%ld 0 switch next=100", t + 2003000);
	script_line(s, 0, "%ld 100 syscall nr=write fd=7 dur=2010000 ret=4096", t + 2005000);
	return t + 2005000;
}

long computes(struct script *s, long t)
{
	(void)s;
	return t + 2000000;
}

long of_all_kinds(struct script *s, long t)
{
	/* a sixth each: computing 0.5 ms, a lock, ... each below a fifth */
	static const fault_fn parts[] = { held_lock, slow_disk, slow_peer,
					  full_pipe, preempted, computes };
	static int next;

	return parts[next++ % 6](s, t);
}

void first_is(sqlite3 *db, const char *kind, const char *offender, const char *cond)
{
	struct buf name = { 0 };
	struct err e = { 0 };
	char sql[1000];
	sqlite3_stmt *q;

	snprintf(
		sql, sizeof(sql),
		"SELECT kind, offender_kind, offender, %s, sentence(finding) || coalesce((SELECT"
		" group_concat(sentence(f.id), ' ') FROM finding f WHERE f.parent=cause.finding), '')"
		" FROM cause WHERE rank=1",
		cond ? cond : "1");
	if (db_query(&q, db, &e, sql, "") < 0)
		fail_msg("%s", e.text);
	if (db_step(q, &e) <= 0) {
		sqlite3_finalize(q);
		db_query(&q, db, &e, "SELECT group_concat(sentence(id)) FROM finding", "");
		db_step(q, &e);
		fail_msg("no cause: %s", sqlite3_column_text(q, 0));
	}
	subject_text(&name, db,
		     (struct subject){ subject_kind_of((const char *)sqlite3_column_text(q, 1)),
				       sqlite3_column_int64(q, 2) },
		     &e);
	if (strcmp((const char *)sqlite3_column_text(q, 0), kind) != 0 ||
	    (offender && strcmp(name.data ? name.data : "", offender) != 0) ||
	    !sqlite3_column_int(q, 3))
		fail_msg("not %s by %s with %s: %s by %s: %s", kind, offender ? offender : "any",
			 cond ? cond : "anything", sqlite3_column_text(q, 0), name.data,
			 sqlite3_column_text(q, 4));
	sqlite3_finalize(q);
	buf_free(&name);
	db_close(db);
}
