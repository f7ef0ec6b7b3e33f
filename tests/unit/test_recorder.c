// SPDX-License-Identifier: GPL-2.0-or-later
/* record/: ring.c, snapshot.c, sockets.c, options.c, counts.c: what needs no kernel. */
#define _GNU_SOURCE /* unshare */
#include "tests/lib/unit.h"

#include "format/opt.h"
#include "record/functions/elfsym.h"
#include "record/host/cgroup_weights.h"
#include "record/host/lock_list.h"
#include "record/host/snapshot.h"
#include "record/host/sockets.h"
#include "record/options/options.h"
#include "record/process/seccomp.h"
#include "record/pump/counts.h"
#include "record/pump/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void put_head(u8 *at, u32 head)
{
	memcpy(at, &head, 4);
}

static void stock_rings_are_taken_up_to_busy_records(void **state)
{
	static u64 memory[128 / 8 + 2];
	u8 *data = (u8 *)(memory + 2), taken[128];
	struct ring r = { .size = 128, .head = memory, .tail = memory + 1, .data = data };

	(void)state;
	memory[0] = 128;
	put_head(data, 16);
	memset(data + 8, 'a', 16);
	put_head(data + 24, 1u << 30 | 12); /* discarded; takes 16: rounded up */
	put_head(data + 48, 1u << 31 | 8);
	assert_int_equal(ring_take(&r, taken, 7), 0);
	assert_int_equal(ring_take(&r, taken, 40), 24); /* not even a part of the second */
	assert_int_equal(ring_take(&r, taken + 24, 104), 24);
	assert_int_equal(ring_take(&r, taken, 104), 0);
	assert_int_equal(memory[1], 48);
	assert_int_equal(ring_strip(&r, taken, 48), 16);
	assert_memory_equal(taken, "aaaaaaaaaaaaaaaa", 16);
	put_head(data + 48, 8);
	put_head(data + 64, 1u << 31);
	assert_int_equal(ring_take(&r, taken, 128), 16);
	assert_int_equal(r.high_water, 128);
}

static void put_record(struct ring *r, u8 *at, u32 size, u32 flags)
{
	struct ev_header h = { .ts = size, .tid = 7, .type = 3, .size = size | flags };

	*(u64 *)r->head += size;
	memset(at, 0xff, size); /* as if each byte could be taken for a mark */
	memcpy(at, &h, sizeof(h));
}

/* bpf/ring.bpf.h: no record wraps, no stale byte is ever a mark. */
static void own_rings_are_taken_and_cleared(void **state)
{
	static u64 stretch[(RING_DATA + 4096 + RING_SLACK) / 8];
	u8 taken[8192], *data = (u8 *)stretch + RING_DATA;
	struct ring r;

	(void)state;
	assert_int_equal(ring_stretch(4096), sizeof(stretch));
	ring_open_own(&r, stretch, 4096);
	put_record(&r, data, 4000, 0);
	put_record(&r, data + 4000, 48, 1); /* being filled */
	put_record(&r, data + 4048, 24, 0);
	assert_int_equal(ring_take(&r, taken, 3992), 0);
	assert_int_equal(ring_take(&r, taken, sizeof(taken)), 4000);
	assert_int_equal(ring_take(&r, taken, sizeof(taken)), 0);
	data[4000 + 14] &= ~1;
	put_record(&r, data + 4072, 64, 0); /* crosses the end by 40 bytes */
	put_record(&r, data + 40, 32, 0);
	assert_int_equal(ring_take(&r, taken, sizeof(taken)), 48 + 24 + 64);
	assert_int_equal(ring_take(&r, taken, sizeof(taken)), 32);
	assert_int_equal(ring_strip(&r, taken, 32), 32);
	*(u64 *)r.head += 100 * 8; /* reserved, nothing written: whatever was there is gone */
	assert_int_equal(ring_take(&r, taken, sizeof(taken)), 0);
	assert_int_equal(ring_fill(&r), 800);
	while (data < (u8 *)(stretch + sizeof(stretch) / 8))
		assert_int_equal(*data++, 0);
}

static void names_are_near_or_far(void **state)
{
	(void)state;
	assert_int_equal(elfsym_distance("malloc", "malloc", 9), 0);
	assert_int_equal(elfsym_distance("malloc", "mallow", 9), 1);
	assert_int_equal(elfsym_distance("kitten", "sitting", 9), 3);
	assert_int_equal(elfsym_distance("", "abc", 9), 3);
	assert_int_equal(elfsym_distance("abcdef", "uvwxyz", 4), 4);
}

static void stat_lines_are_parsed(void **state)
{
	struct ev_thread ev = { 0 };

	(void)state;
	assert_int_equal(
		snapshot_parse_stat(&ev,
				    "42 (a) b) c) S 7 42 42 0 -1 4194560 1 0 0 0 3 4 0 0 20 0 "
				    "1 0 500 1000 2",
				    100),
		0);
	assert_string_equal(ev.comm, "a) b) c");
	assert_int_equal(ev.state, 'S');
	assert_int_equal(ev.parent, 7);
	assert_int_equal(ev.start, 5000000000ull);
	assert_int_equal(snapshot_parse_stat(&ev, "42 no brackets", 100), ERR_FAIL);
	assert_int_equal(snapshot_parse_stat(&ev, "42 (x) S", 100), ERR_FAIL);
}

static void lines_of_the_list_of_locks_are_parsed(void **state)
{
	static const char *const others[] = { "", "1: LEASE  ACTIVE    READ  12 fe:00:9 0 EOF",
					      "1: OFDLCK ADVISORY  WRITE -1 fe:00:9 0 EOF",
					      "1: POSIX  ADVISORY  WRITE 12 fe:00:9 x EOF",
					      "1: POSIX  ADVISORY  WRITE 12 fe:00:9 0" };
	struct ev_file_lock ev;
	u32 holder = 7;
	size_t i;

	(void)state;
	assert_true(lock_list_parse(&ev, "1: POSIX  ADVISORY  WRITE 12 fe:01:98 4 9\n", &holder));
	assert_int_equal(ev.pid, 12);
	assert_int_equal(ev.dev, 0xfe << 20 | 1);
	assert_int_equal(ev.ino, 98);
	assert_int_equal(ev.from, 4);
	assert_int_equal(ev.to, 9);
	assert_int_equal(ev.holder, 0);
	assert_int_equal(ev.flags, FILE_LOCK_WRITE);
	assert_true(
		lock_list_parse(&ev, "1: -> POSIX  ADVISORY  READ 13 fe:01:98 0 EOF\n", &holder));
	assert_int_equal(ev.pid, 13);
	assert_int_equal(ev.to, INT64_MAX);
	assert_int_equal(ev.holder, 12);
	assert_int_equal(ev.flags, 0);
	assert_true(lock_list_parse(&ev, "2: FLOCK  ADVISORY  WRITE 14 fe:01:98 0 EOF\n", &holder));
	assert_int_equal(ev.flags, FILE_LOCK_WRITE | FILE_LOCK_FLOCK);
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(lock_list_parse(&ev, others[i], &holder));
	/* whom it waits for is not known */
	assert_false(lock_list_parse(&ev, "1: OFDLCK ADVISORY  WRITE -1 fe:00:9 0 EOF", &holder));
	assert_false(lock_list_parse(&ev, "1: -> POSIX  ADVISORY  READ 13 fe:00:9 0 EOF", &holder));
}

static void the_limit_of_open_files_is_parsed(void **state)
{
	static const char head[] =
		"Limit                     Soft Limit   Hard Limit   Units\n"
		"Max processes             95837        95837        processes\n";
	char text[400];

	(void)state;
	snprintf(text, sizeof(text),
		 "%sMax open files            256          1048576      files\n", head);
	assert_int_equal(snapshot_parse_limits(text), 256);
	snprintf(text, sizeof(text),
		 "%sMax open files            unlimited    unlimited    files\n", head);
	assert_int_equal(snapshot_parse_limits(text), 0);
	assert_int_equal(snapshot_parse_limits(head), 0);
	assert_int_equal(snapshot_parse_limits(""), 0);
}

static void socket_tables_are_parsed(void **state)
{
	struct socket_info s;

	(void)state;
	assert_int_equal(sockets_parse(&s,
				       "   0: 0100007F:18EB 0200007F:C350 01 00000000:00000000 "
				       "00:00000000 00000000     0        0 12345 1",
				       AF_INET, SOCK_STREAM),
			 1);
	assert_int_equal(s.ino, 12345);
	assert_int_equal(s.sport, 6379);
	assert_int_equal(s.dport, 50000);
	assert_int_equal(s.role, ROLE_CONNECTED);
	assert_int_equal(s.saddr[0], 127);
	assert_int_equal(s.saddr[3], 1);
	assert_int_equal(sockets_parse(&s,
				       "   1: 00000000:0050 00000000:0000 0A 00000000:00000000 "
				       "00:00000000 00000000     0        0 777 1",
				       AF_INET, SOCK_STREAM),
			 1);
	assert_int_equal(s.role, ROLE_LISTENING);
	assert_int_equal(sockets_parse(&s, "  sl  local_address rem_address   st", AF_INET, 1), 0);
	assert_int_equal(sockets_parse(&s,
				       "0000000000000000: 00000002 00000000 00010000 0001 01 99 /x",
				       AF_UNIX, 0),
			 1);
	assert_int_equal(s.role, ROLE_LISTENING);
}

/* A FIN that was not read is no byte; bytes before it are. */
static void unread_bytes_are_counted(void **state)
{
	static const struct {
		const char *line;
		u32 unread;
	} rows[] = {
		{ "1: 0100007F:0050 0100007F:C350 01 0:00000024 0:0 0 0 0 97 1", 36 },
		{ "1: 0100007F:0050 0100007F:C350 08 0:00000001 0:0 0 0 0 97 1", 0 },
		{ "1: 0100007F:0050 0100007F:C350 08 0:00000025 0:0 0 0 0 97 1", 36 },
		{ "1: 0100007F:0050 0100007F:C350 08 0:00000000 0:0 0 0 0 97 1", 0 },
		{ "1: 00000000:0050 00000000:0000 0A 0:00000003 0:0 0 0 0 97 1", 0 },
	};
	struct socket_info s;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(sockets_parse(&s, rows[i].line, AF_INET, SOCK_STREAM), 1);
		assert_int_equal(s.unread, rows[i].unread);
	}
}

/* The server's end of a unix connection has the path of the listening socket, the client's none. */
static void connections_from_before_are_distinguished(void **state)
{
	static const struct {
		const char *line;
		u16 family;
		u8 role;
	} rows[] = {
		{ "0: 00000002 00000000 00010000 0001 01 91 /run/x.sock\n", AF_UNIX,
		  ROLE_LISTENING },
		{ "0: 00000003 00000000 00000000 0001 03 92 /run/x.sock\n", AF_UNIX,
		  ROLE_ACCEPTED },
		{ "0: 00000003 00000000 00000000 0001 03 93\n", AF_UNIX, ROLE_UNKNOWN },
		{ "0: 00000003 00000000 00000000 0001 03 94 /run/x.socket\n", AF_UNIX,
		  ROLE_UNKNOWN },
		{ "0: 00000003 00000000 00000000 0001 01 95 /run/x.sock\n", AF_UNIX, ROLE_UNKNOWN },
		{ "0: 0100007F:0050 00000000:0000 0A 0:0 0:0 0 0 0 96 1", AF_INET, ROLE_LISTENING },
		{ "1: 0100007F:0050 0100007F:C350 01 0:0 0:0 0 0 0 97 1", AF_INET, ROLE_ACCEPTED },
		{ "2: 0100007F:C350 0100007F:0050 01 0:0 0:0 0 0 0 98 1", AF_INET, ROLE_CONNECTED },
	};
	struct socket_info list[sizeof(rows) / sizeof(rows[0])];
	struct err e = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(sockets_parse(&list[i], rows[i].line, rows[i].family, SOCK_STREAM),
				 1);
	assert_int_equal(sockets_tell_accepted(list, i, &e), 0);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(list[i].role, rows[i].role);
}

static int read_options(struct options *o, struct err *e, int argc, char **argv)
{
	return options_read(o, argc, argv, e);
}

#define OPTIONS(...)                                                                       \
	read_options(&o, &e, sizeof((char *[]){ "obsrec", __VA_ARGS__ }) / sizeof(char *), \
		     (char *[]){ "obsrec", __VA_ARGS__, NULL })

static void options_are_read_and_refused(void **state)
{
	struct options o;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(OPTIONS("-p", "12,34", "-d", "0.5", "-o", "x", "-e", "sched", "-q"), 0);
	assert_int_equal(o.n_pids, 2);
	assert_int_equal(o.pids[1], 34);
	assert_int_equal(o.duration, 500000000);
	assert_true(o.quiet && o.groups & 1u << GROUP_sched && o.groups & 1u << GROUP_core);
	assert_false(o.groups & 1u << GROUP_syscalls);
	assert_int_equal(OPTIONS("-a", "-d", "5m"), 0);
	assert_int_equal(o.duration, 300000000000);
	assert_int_equal(OPTIONS("-a", "-d", "30s"), 0);
	assert_int_equal(o.duration, 30000000000);
	assert_int_equal(OPTIONS("--", "sleep", "1"), 0);
	assert_string_equal(o.command[0], "sleep");
	assert_int_equal(OPTIONS("-a", "-p", "1"), ERR_FAIL);
	assert_int_equal(OPTIONS("-d", "1"), ERR_FAIL);
	assert_int_equal(OPTIONS("-a", "-d", "-1"), ERR_FAIL);
	assert_int_equal(OPTIONS("-p", "abc"), ERR_FAIL);
	assert_int_equal(OPTIONS("-a", "-e", "nonsense"), ERR_FAIL);
	assert_non_null(strstr(e.text, "syscalls, sched, block, uprobe"));
	assert_int_equal(OPTIONS("-a", "--ring", "5000"), ERR_FAIL);
	assert_int_equal(OPTIONS("-a", "--ring", "64K"), 0);
	assert_int_equal(o.ring, 65536);
	assert_int_equal(OPTIONS("-a", "-u", "nocolon"), ERR_FAIL);
	assert_int_equal(OPTIONS("-a", "--no-such"), ERR_FAIL);
	assert_non_null(strstr(e.text, "--no-such"));
	assert_int_equal(OPTIONS("-a", "-u", "a:b", "--args", "5"), ERR_FAIL);
	assert_int_equal(OPTIONS("-a", "-u", "a:b", "--args", "4", "--returns", "always"), 0);
	assert_int_equal(o.args, 4);
	assert_int_equal(o.returns, RETURNS_ALWAYS);
	assert_int_equal(OPTIONS("-a", "-u", "a:b", "--returns", "perhaps"), ERR_FAIL);
	assert_int_equal(o.hot, 100000);
	assert_int_equal(OPTIONS("-a", "-u", "a:b", "--hot", "0"), 0);
	assert_true(!options_hot(&o));
	assert_int_equal(OPTIONS("-a", "-u", "a:b", "--hot", "250"), 0);
	assert_true(options_hot(&o) && o.hot == 250);
	assert_int_equal(OPTIONS("-a", "-u", "a:b", "--hot", "-1"), ERR_FAIL);
	assert_int_equal(OPTIONS("-a", "-u", "a:b", "--hot", "1k"), ERR_FAIL);
	assert_int_equal(OPTIONS("-a", "-u", "a:b", "--hot", "99999999999999999999"), ERR_FAIL);
	assert_int_equal(OPTIONS("-o"), ERR_FAIL);
	assert_int_equal(OPTIONS("--comm", "nginx", "--comm", "php-fpm"), ERR_FAIL);
	assert_non_null(strstr(e.text, "once"));
	assert_int_equal(OPTIONS("-a", "--syscalls", "file", "--syscalls", "futex"), ERR_FAIL);
	assert_non_null(strstr(e.text, "once"));
	assert_int_equal(OPTIONS("sleep", "1"), ERR_FAIL);
}

#define HAS(group) (!!(o.groups & 1u << GROUP_##group))

static void groups_add_up(void **state)
{
	struct options o;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(OPTIONS("-a", "-e", "sched", "-e", "block"), 0);
	assert_true(HAS(sched) && HAS(block) && !HAS(syscalls));
	assert_int_equal(OPTIONS("-a", "-e", "+pagecache", "-e", "+net"), 0);
	assert_true(HAS(pagecache) && HAS(net) && HAS(syscalls));
	assert_int_equal(OPTIONS("-a", "-e", "+pagecache", "-e", "sched"), 0);
	assert_true(HAS(pagecache) && HAS(sched) && !HAS(syscalls));
	assert_int_equal(OPTIONS("-a", "-e", "sched", "-e", "+pagecache"), 0);
	assert_true(HAS(pagecache) && HAS(sched) && !HAS(syscalls));
}

static void only_changed_counters_are_written(void **state)
{
	struct cpu_counts now = { 0 }, written = { 0 };
	struct buf out = { 0 };
	struct err e = { 0 };

	(void)state;
	now.group[GROUP_sched].seen = 5;
	now.group[GROUP_sched].emitted = 3;
	now.group[GROUP_sched].lost_full = 2;
	assert_int_equal(counts_add(&written, &now, 1, 99, &out, &e), 0);
	assert_int_equal(out.len, sizeof(struct ev_counters));
	assert_int_equal(((struct ev_counters *)out.data)->lost_full, 2);
	assert_int_equal(((struct ev_counters *)out.data)->group, GROUP_sched);
	assert_int_equal(counts_add(&written, &now, 1, 100, &out, &e), 0);
	assert_int_equal(out.len, sizeof(struct ev_counters));
	assert_int_equal(counts_lost(&now), 2);
	assert_int_equal(counts_groups(&out), 1u << GROUP_recorder);
	buf_free(&out);
}

/* In the kernel's unit of threads, whichever version of control groups it is. */
static void weights_of_groups_are_those_of_threads(void **state)
{
	(void)state;
	assert_int_equal(cgroup_weights_parse("100", true), 1024);
	assert_int_equal(cgroup_weights_parse("300", true), 3072);
	assert_int_equal(cgroup_weights_parse("1", true), 10);
	assert_int_equal(cgroup_weights_parse("10000", true), 102400);
	assert_int_equal(cgroup_weights_parse("0", true), 3); /* cpu.idle */
	assert_int_equal(cgroup_weights_parse("1024", false), 1024);
	assert_int_equal(cgroup_weights_parse("262144", false), 262144);
	assert_int_equal(cgroup_weights_parse("", true), 0);
	assert_int_equal(cgroup_weights_parse("x", false), 0);
	assert_int_equal(cgroup_weights_parse("99999999999", false), 0);
}

static void paths_of_control_groups(void **state)
{
	char one[] = "12\n4:cpu,cpuacct:/a:b\n0::/x", none[] = "12",
	     late[] = "12\n4:cpu\n4:cpu:/late", v2[] = "4:cpu:/a\n0::/x\n";

	(void)state;
	assert_string_equal(cgroups_path(one, 4), "/a:b");
	assert_null(cgroups_path(none, 12));
	assert_string_equal(cgroups_path(late, 4), "/late");
	assert_string_equal(cgroups_path(v2, 0), "/x");
}

/* 0: in a process with the filter, what recording needs is allowed and the rest is refused. */
static int with_filter(void)
{
	char *argv[] = { "true", NULL };
	int p[2], child;

	execv("/bin/true", argv);
	if (errno != EPERM || socket(AF_INET, SOCK_STREAM, 0) >= 0 || errno != EPERM)
		return 1;
	if (unshare(CLONE_NEWNS) == 0 || errno != EPERM)
		return 2;
	/* both ways to make a FIFO, which takes no rights */
	if (mknodat(AT_FDCWD, "/tmp", S_IFIFO | 0600, 0) == 0 || errno != EPERM)
		return 6;
#ifdef SYS_mknod
	if (syscall(SYS_mknod, "/tmp", S_IFIFO | 0600, 0) == 0 || errno != EPERM)
		return 7;
#endif
	if (socket(AF_UNIX, SOCK_STREAM, 0) < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, p) < 0)
		return 3;
	if (open("/proc/self/status", O_RDONLY) < 0 || !malloc(10000000))
		return 4;
	child = fork();
	if (child == 0)
		_exit(0);
	return child < 0 || waitpid(child, NULL, 0) != child ? 5 : 0;
}

static void calls_are_filtered(void **state)
{
	int status = -1, child = fork();
	struct err e = { 0 };

	(void)state;
	if (child == 0) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		_exit(seccomp_install(&e) < 0 ? 100 : with_filter());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* 2026-11-22T23:00:05.5Z */
#define NOW 1795388405500000000ull

static void a_start_is_a_time_of_the_wall_clock(void **state)
{
	static const struct {
		const char *text;
		u64 moment; /* s before or after the hour, in ms; 0: refused */
	} cases[] = {
		{ "23:00:10", 10000 },
		{ "23:01", 60000 },
		{ "23:00:05.75", 5750 },
		{ "23:00:05", 86405000 }, /* tomorrow */
		{ "2026-11-22T23:00:06Z", 6000 },
		{ "2026-11-22T23:00:06.5Z", 6500 },
		{ "2026-11-22T23:00:05Z", 0 },
		{ "2026-11-22T23:00:06", 0 },
		{ "2026-11-31T23:00:06Z", 0 },
		{ "2570-11-22T23:00:06Z", 0 },
		{ "2700-11-22T23:00:06Z", 0 },
		{ "9999-11-22T23:00:06Z", 0 },
		{ "/10s", 10000 },
		{ "/1m", 60000 },
		{ "/0", 0 },
		{ "10", 0 },
		{ "24:10", 0 },
		{ "", 0 },
	};
	const u64 hour = NOW - 5500000000ull;
	struct start_at a;
	size_t i;
	int ret;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ret = start_at_parse(&a, cases[i].text, NOW, NULL);
		assert_int_equal(ret == 0, cases[i].moment != 0);
		if (ret == 0)
			assert_int_equal(start_at_moment(&a, NOW),
					 hour + cases[i].moment * 1000000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_start_is_a_time_of_the_wall_clock),
		T(stock_rings_are_taken_up_to_busy_records),
		T(own_rings_are_taken_and_cleared),
		T(names_are_near_or_far),
		T(weights_of_groups_are_those_of_threads),
		T(stat_lines_are_parsed),
		T(the_limit_of_open_files_is_parsed),
		T(lines_of_the_list_of_locks_are_parsed),
		T(socket_tables_are_parsed),
		T(unread_bytes_are_counted),
		T(connections_from_before_are_distinguished),
		T(options_are_read_and_refused),
		T(groups_add_up),
		T(only_changed_counters_are_written),
		T(paths_of_control_groups),
		T(calls_are_filtered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
