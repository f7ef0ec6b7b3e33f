// SPDX-License-Identifier: GPL-2.0-or-later
/* Walks of /proc and of cgroups: how often they read what users can make large, and what ends them.
 */
#include "tests/lib/unit.h"

#include "record/files/fdinfo.h"
#include "record/host/cgroups.h"
#include "record/host/containers.h"
#include "record/host/sockets.h"

#include <signal.h>
#include <sys/stat.h>

#define MANY 100

/* What files contain; the first whose path ends so. */
static struct {
	const char *end;
	char text[MANY * 128];
	int reads;
} contents[] = {
	{ .end = "/etc/passwd" },
	{ .end = "/containers.json" },
	{ .end = "/99999990/net/tcp", .text = "0: 0100007F:1F90 0:0 0A 0:0 0:0 0 0 0 11 1\n" },
	{ .end = "/99999991/net/tcp", .text = "0: 0100007F:1F91 0:0 0A 0:0 0:0 0 0 0 13 1\n" },
	{ .end = "/99999990/mountinfo", .text = "25 1 254:3 / /mnt rw\n1025 1 254:4 / /x rw\n" },
	{ .end = "/99999991/mountinfo", .text = "26 1 254:5 / /y rw\n" },
};

static int content_of(const char *path)
{
	size_t n = strlen(path), m, i;

	for (i = 0; i < sizeof(contents) / sizeof(contents[0]); i++) {
		m = strlen(contents[i].end);
		if (n >= m && strcmp(path + n - m, contents[i].end) == 0) {
			contents[i].reads++;
			return (int)i;
		}
	}
	return -1;
}

/* The linker gives calls of other files to __wrap_x; __real_x is the function itself. */
FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode)
{
	int i = content_of(path);

	return i < 0 ? __real_fopen(path, mode)
		     : fmemopen(contents[i].text, strlen(contents[i].text), "r");
}

char *__wrap_safe_read(struct safe_files *s, const char *path, size_t max, uid_t owner);
char *__wrap_safe_read(struct safe_files *s, const char *path, size_t max, uid_t owner)
{
	int i = content_of(path);

	(void)s, (void)max, (void)owner;
	return i < 0 ? NULL : strdup(contents[i].text);
}

u64 __real_procfs_namespace(const char *pid, const char *kind);
u64 __wrap_procfs_namespace(const char *pid, const char *kind);
u64 __wrap_procfs_namespace(const char *pid, const char *kind)
{
	if (strcmp(pid, "99999990") == 0 || strcmp(pid, "99999993") == 0)
		return 4000;
	return strcmp(pid, "99999991") == 0 ? 4001 : __real_procfs_namespace(pid, kind);
}

static char dir[64], below[80];

static int make_dir(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/obs-walks.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(below, sizeof(below), "%s/below", dir);
	return mkdir(below, 0700);
}

static int remove_dir(void **state)
{
	(void)state;
	rmdir(below);
	return rmdir(dir);
}

static const char *name_of(struct container_files *files, int number)
{
	static struct container c;
	char path[128];

	snprintf(path, sizeof(path), "/below/libpod-%064d.scope", number);
	assert_true(container_of_cgroup(&c, below, path, files));
	return c.name;
}

/* A user can make many cgroups that look like containers, and a large file of names. */
static void names_of_a_user_are_read_once(void **state)
{
	char *at = contents[1].text, want[16];
	struct container_files files = { 0 };
	int i;

	(void)state; /* the second container has no name */
	snprintf(contents[0].text, sizeof(contents[0].text), "user:x:%u:1::/home/user:/bin/sh\n",
		 getuid());
	for (i = MANY; i > 0; i--) {
		at += snprintf(at, 128, ",{\"id\":\"%064d\"", i);
		if (i != 2)
			at += snprintf(at, 64, ",\"names\":[\"name%d\"]", i);
		at += snprintf(at, 2, "}");
	}
	for (i = 1; i <= MANY; i++) {
		snprintf(want, sizeof(want), "name%d", i);
		assert_string_equal(name_of(&files, i), i == 2 ? "-" : want);
	}
	assert_string_equal(name_of(&files, 0), "-");
	assert_int_equal(contents[0].reads, 1);
	assert_int_equal(contents[1].reads, 1);
	container_files_end(&files);
}

static int visits;

static int visit(void *arg, const char *where, const char *path, struct err *e)
{
	(void)arg, (void)where, (void)path, (void)e;
	visits++;
	raise(SIGTERM);
	return 0;
}

static void a_pending_signal_ends_a_walk_of_cgroups(void **state)
{
	struct cgroup_mount m = { .path = dir };
	struct err e = { 0 };
	sigset_t set, old;
	int ret;

	(void)state;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, &old);
	ret = cgroups_walk(&m, dir, visit, NULL, &e);
	signal(SIGTERM, SIG_IGN); /* it is pending no longer */
	sigprocmask(SIG_SETMASK, &old, NULL);
	signal(SIGTERM, SIG_DFL);
	assert_int_equal(ret, 0);
	assert_int_equal(visits, 1);
}

/* As on a host of containers, where processes of several namespaces alternate. */
static void sockets_of_a_namespace_are_read_once(void **state)
{
	const struct socket_info *here, *there;
	struct sockets s = { 0 };
	struct err e = { 0 };
	int i, ino[] = { 11, 13 };

	(void)state;
	for (i = 0; i < MANY; i++) {
		assert_int_equal(sockets_read(&s, 99999990 + i % 2, &e), 0);
		assert_int_equal(s.netns, 4000 + i % 2);
		here = sockets_find(&s, ino[i % 2]);
		there = sockets_find(&s, ino[(i + 1) % 2]);
		assert_non_null(here);
		assert_null(there);
		assert_int_equal(here->sport, 0x1f90 + i % 2);
	}
	assert_int_equal(contents[2].reads, 1);
	assert_int_equal(contents[3].reads, 1);
	/* one that has ended */
	assert_int_equal(sockets_read(&s, 99999992, &e), 0);
	assert_null(sockets_find(&s, 11));
	sockets_free(&s);
	/* one that ends before its tables are read, in the namespace of one that does not */
	assert_int_equal(sockets_read(&s, 99999993, &e), 0);
	assert_null(sockets_find(&s, 11));
	assert_int_equal(sockets_read(&s, 99999990, &e), 0);
	assert_non_null(sockets_find(&s, 11));
	sockets_free(&s);
}

/* A process can have many files on a mount that does not respond, or that is not there any longer.
 */
static void mounts_of_a_process_are_read_once(void **state)
{
	struct fdinfo_mounts m = { 0 };
	int i;

	(void)state;
	for (i = 0; i < MANY; i++) {
		assert_int_equal(fdinfo_device(&m, 99999990, 25), 254 << 20 | 3);
		assert_int_equal(fdinfo_device(&m, 99999990, 1025), 254 << 20 | 4);
		assert_int_equal(fdinfo_device(&m, 99999990, 2000 + i), 0);
	}
	assert_int_equal(contents[4].reads, 1);
	for (i = 0; i < MANY; i++) {
		assert_int_equal(fdinfo_device(&m, 99999991, 26), 254 << 20 | 5);
		assert_int_equal(fdinfo_device(&m, 99999990, 25), 254 << 20 | 3);
		assert_int_equal(fdinfo_device(&m, 99999990, 2000), 0);
		assert_int_equal(fdinfo_device(&m, 99999990, UINT32_MAX), 0);
	}
	assert_int_equal(contents[4].reads, 1);
	assert_int_equal(contents[5].reads, 1);
	fdinfo_forget(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_a_user_are_read_once),
		cmocka_unit_test(a_pending_signal_ends_a_walk_of_cgroups),
		cmocka_unit_test(sockets_of_a_namespace_are_read_once),
		cmocka_unit_test(mounts_of_a_process_are_read_once),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
