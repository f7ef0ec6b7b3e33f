// SPDX-License-Identifier: GPL-2.0-or-later
/* Files that others can write: which are opened, and what the kernel says of a file descriptor. */
#define _GNU_SOURCE /* memfd_create */
#include "record/files/fd_message.h"
#include "record/files/fdinfo.h"
#include "record/files/procfs.h"
#include "record/files/safe_open.h"
#include "record/functions/elfparts.h"
#include "record/functions/elftable.h"
#include "record/functions/rootdir.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];

static const char *in_dir(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static int make_dir(void **state)
{
	char target[128];
	FILE *f;

	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/obs-safe.XXXXXX");
	if (!mkdtemp(dir) || mkfifo(in_dir("fifo"), 0600) < 0 || mkdir(in_dir("dir"), 0700) < 0)
		return -1;
	f = fopen(in_dir("file"), "w");
	if (!f || fputs("content", f) < 0 || fclose(f) != 0)
		return -1;
	snprintf(target, sizeof(target), "%s", in_dir("file"));
	return symlink(target, in_dir("link"));
}

static int remove_dir(void **state)
{
	(void)state;
	unlink(in_dir("fifo"));
	unlink(in_dir("file"));
	unlink(in_dir("link"));
	rmdir(in_dir("dir"));
	return rmdir(dir);
}

static void only_regular_files_are_opened(void **state)
{
	struct safe_files s = { 0 };
	char path[PATH_MAX];
	int fd;

	(void)state;
	fd = safe_open(&s, -1, in_dir("link"));
	assert_true(fd >= 0);
	assert_true(rootdir_path(fd, path));
	assert_string_equal(path, in_dir("file"));
	close(fd);
	assert_int_equal(safe_open(&s, -1, in_dir("fifo")), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(safe_open(&s, -1, in_dir("dir")), -1);
	assert_int_equal(errno, EISDIR);
	assert_int_equal(safe_open(&s, -1, in_dir("none")), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(s.stuck, 0);
	safe_end(&s);
}

static void content_has_an_owner_and_a_bound(void **state)
{
	struct safe_files s = { 0 };
	char *text = safe_read(&s, in_dir("file"), 7, getuid());

	(void)state;
	assert_non_null(text);
	assert_string_equal(text, "content");
	free(text);
	assert_null(safe_read(&s, in_dir("file"), 6, getuid()));
	assert_int_equal(errno, EFBIG);
	if (getuid() != 0) {
		assert_null(safe_read(&s, in_dir("file"), 7, getuid() + 1));
		assert_int_equal(errno, EPERM);
	} else {
		assert_int_equal(chown(in_dir("file"), 4001, 4001), 0);
		assert_null(safe_read(&s, in_dir("file"), 7, 4002));
		assert_int_equal(errno, EPERM);
		assert_int_equal(chown(in_dir("file"), 0, 0), 0);
	}
	assert_null(safe_read(&s, in_dir("link"), 7, getuid()));
	assert_null(safe_read(&s, in_dir("fifo"), 7, getuid()));
	assert_int_equal(s.stuck, 0);
	safe_end(&s);
}

/* With strlen(3) as its size, a large file would take nothing of the memory for all of them. */
static void a_text_has_no_nul(void **state)
{
	static const char text[] = "[{\"id\"\0 and more";
	struct safe_files s = { 0 };
	int fd = open(in_dir("nul"), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	(void)state;
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	close(fd);
	assert_null(safe_read(&s, in_dir("nul"), sizeof(text), getuid()));
	assert_int_equal(errno, EINVAL);
	unlink(in_dir("nul"));
	safe_end(&s);
}

/* A copy of the first max bytes. */
static int first_bytes(int fd, u64 max, struct err *e)
{
	int to = memfd_create("test", MFD_CLOEXEC);
	char text[16];
	ssize_t n = read(fd, text, max < sizeof(text) ? max : sizeof(text));

	(void)e;
	return n > 0 && write(to, text, n) == n ? to : -1;
}

/* A disk that gives a byte per 700 ms: longer than a file system may be silent. */
static int from_slow_disk(int fd, u64 max, struct err *e)
{
	char one;
	u64 i;

	for (i = 0; i < max; i++) {
		usleep(700000);
		if (pread(fd, &one, 1, i) != 1)
			return -1;
	}
	return first_bytes(fd, max, e);
}

static int never(int fd, u64 max, struct err *e)
{
	(void)fd, (void)max, (void)e;
	pause();
	return -1;
}

static void holds_text(int fd, const char *want)
{
	char text[16] = "";

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, text, sizeof(text), 0), strlen(want));
	assert_string_equal(text, want);
}

static void parts_are_copied(void **state)
{
	struct safe_files s = { 0 };
	struct safe_copy copy;
	struct stat st;
	int fd, again;

	(void)state;
	assert_int_equal(safe_parts(&s, -1, in_dir("link"), first_bytes, 4, &copy), 0);
	holds_text(copy.image, "cont");
	assert_int_equal(stat(in_dir("file"), &st), 0);
	assert_int_equal(copy.stat.ino, st.st_ino);
	/* the file itself: as often as it is wanted */
	assert_int_equal(unlink(in_dir("file")), 0);
	fd = fd_message_unpark(copy.parked);
	holds_text(fd, "content");
	again = fd_message_unpark(copy.parked);
	holds_text(again, "content");
	assert_int_not_equal(fd, again);
	close(copy.image);
	close(copy.parked);
	close(again);
	assert_int_equal(safe_parts(&s, -1, in_dir("fifo"), first_bytes, 4, &copy), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(copy.image, -1);
	assert_int_equal(copy.parked, -1);
	again = open(in_dir("file"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_int_equal(write(again, "content", 7), 7);
	close(again);
	close(fd);
	/* it is no binary */
	assert_int_equal(safe_parts(&s, -1, in_dir("file"), elfparts_copy, 4, &copy), -1);
	assert_int_equal(errno, ENOEXEC);
	assert_int_equal(s.stuck, 0);
	safe_end(&s);
}

/* Longer than what fits in a reply. */
static void long_texts_have_a_bound(void **state)
{
	struct safe_files s = { 0 };
	size_t n = 0, part;
	char *text = safe_long_text(&s, -1, "/proc/self/maps", 1 << 20, &n);

	(void)state;
	assert_non_null(text);
	assert_true(n > 5000);
	assert_int_equal(strlen(text), n);
	assert_string_equal(text + n - 1, "\n");
	free(text);
	part = n - 1;
	text = safe_long_text(&s, -1, "/proc/self/maps", part, &n);
	assert_non_null(text);
	assert_int_equal(n, part);
	free(text);
	assert_null(safe_long_text(&s, -1, in_dir("none"), 10, &n));
	assert_int_equal(errno, ENOENT);
	safe_end(&s);
}

static void found_in_parts(const struct elffile *f)
{
	u8 a[16], b[16];
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elftable *t = malloc(sizeof(*t));
	struct elffile whole;
	struct err e = { 0 };
	GElf_Ehdr eh;
	u64 entry;

	assert_non_null(t);
	assert_int_equal(elffile_open(&whole, fd, "self", &e), 0);
	assert_true(elftable_dynamic(t, f));
	assert_true(t->n > 0);
	assert_non_null(gelf_getehdr(f->elf, &eh));
	assert_true(elffile_offset(f, eh.e_entry, &entry));
	assert_int_equal(elffile_bytes(f, entry, a, sizeof(a)), sizeof(a));
	assert_int_equal(elffile_bytes(&whole, entry, b, sizeof(b)), sizeof(b));
	assert_memory_equal(a, b, sizeof(a));
	/* at the end of the file, and after it */
	assert_int_equal(elffile_bytes(f, f->mapped - 3, a, sizeof(a)), 3);
	assert_int_equal(elffile_bytes(f, f->mapped, a, sizeof(a)), 0);
	assert_int_equal(elffile_bytes(f, UINT64_MAX, a, sizeof(a)), 0);
	assert_int_equal(elffile_bytes(&whole, f->mapped - 3, b, sizeof(b)), 3);
	assert_int_equal(elffile_bytes(&whole, UINT64_MAX, b, sizeof(b)), 0);
	elffile_close(&whole);
	free(t);
}

static void symbols_are_copied(void **state)
{
	struct safe_files s = { 0 };
	struct safe_copy copy;
	struct elffile f;
	struct err e = { 0 };
	int flags;

	(void)state;
	assert_int_equal(
		safe_parts_place(&s, -1, "/proc/self/exe", elfparts_symbols, 1u << 30, &copy), 0);
	assert_int_equal(copy.parked, -1);
	flags = fcntl(copy.place, F_GETFL);
	assert_true(flags & O_PATH);
	close(copy.place);
	assert_int_equal(elffile_from_parts(&f, copy.image, "self", &e), 0);
	found_in_parts(&f);
	elffile_close(&f);
	assert_int_equal(s.pid, 0); /* the worker closes the file: no call waits for that */
	/* why there is none: words after its path */
	assert_int_equal(
		safe_parts_place(&s, -1, in_dir("file"), elfparts_symbols, 1u << 30, &copy), -1);
	assert_int_equal(errno, ENOEXEC);
	assert_string_equal(copy.why.text, " is not an ELF program or library");
	assert_int_equal(copy.place, -1);
	safe_end(&s);
}

static void a_slow_disk_is_waited_for(void **state)
{
	struct safe_files s = { 0 };
	struct safe_copy copy;

	(void)state;
	assert_int_equal(safe_parts(&s, -1, in_dir("file"), from_slow_disk, 5, &copy), 0);
	holds_text(copy.image, "conte");
	close(copy.image);
	close(copy.parked);
	assert_int_equal(safe_parts(&s, -1, in_dir("file"), never, 5, &copy), -1);
	assert_int_equal(errno, ETIMEDOUT);
	assert_int_equal(s.stuck, 1);
	safe_end(&s);
}

/* A worker that stops is like one in a file system that does not respond. */
static void a_stuck_worker_is_given_up(void **state)
{
	struct safe_files s = { 0 };
	struct safe_stat st;
	int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		assert_int_equal(safe_stat(&s, in_dir("file"), &st), 0);
		assert_int_equal(st.mode & S_IFMT, S_IFREG);
		kill(s.pid, SIGSTOP);
		assert_int_equal(safe_stat(&s, in_dir("file"), &st), -1);
		assert_int_equal(errno, ETIMEDOUT);
		assert_int_equal(s.stuck, i + 1);
	}
	s.stuck = 16;
	assert_int_equal(safe_stat(&s, in_dir("file"), &st), -1);
	assert_int_equal(errno, ETIMEDOUT);
	assert_int_equal(s.pid, 0);
}

static void a_pending_signal_ends_the_wait(void **state)
{
	struct safe_files s = { 0 };
	struct safe_stat st;
	sigset_t set, old;
	int got;

	(void)state;
	assert_int_equal(safe_stat(&s, in_dir("file"), &st), 0);
	kill(s.pid, SIGSTOP);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, &old);
	raise(SIGTERM);
	assert_true(safe_stopping());
	assert_int_equal(safe_stat(&s, in_dir("file"), &st), -1);
	assert_int_equal(errno, EINTR);
	sigwait(&set, &got);
	sigprocmask(SIG_SETMASK, &old, NULL);
	assert_false(safe_stopping());
}

static void the_kernel_describes_a_file(void **state)
{
	struct fdinfo f;
	u32 mount, dev;

	(void)state;
	assert_true(
		fdinfo_parse(&f, "pos:\t0\nflags:\t02100002\nmnt_id:\t25\nino:\t1234567890123\n"));
	assert_int_equal(f.flags, 02100002);
	assert_int_equal(f.mount, 25);
	assert_int_equal(f.ino, 1234567890123ull);
	assert_true(fdinfo_parse(&f, "pos:\t0\nflags:\t00\n"));
	assert_int_equal(f.ino, 0);
	assert_false(fdinfo_parse(&f, ""));
	assert_false(fdinfo_parse(&f, "x flags:\t00\n"));
	assert_int_equal(procfs_inode("socket:[4711]", "socket"), 4711);
	assert_int_equal(procfs_inode("socket:[4711]", "pipe"), 0);
	assert_int_equal(procfs_inode("/tmp/socket:[1]", "socket"), 0);
	assert_int_equal(procfs_inode("", "socket"), 0);
	assert_true(fdinfo_parse_mount("25 1 254:3 / /mnt rw - ext4 /dev/vda3 rw\n", &mount, &dev));
	assert_int_equal(mount, 25);
	assert_int_equal(dev, 254 << 20 | 3);
	assert_false(fdinfo_parse_mount("garbage", &mount, &dev));
	assert_true(procfs_namespace("self", "mnt") > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_regular_files_are_opened),
		cmocka_unit_test(content_has_an_owner_and_a_bound),
		cmocka_unit_test(a_text_has_no_nul),
		cmocka_unit_test(parts_are_copied),
		cmocka_unit_test(long_texts_have_a_bound),
		cmocka_unit_test(symbols_are_copied),
		cmocka_unit_test(a_slow_disk_is_waited_for),
		cmocka_unit_test(a_stuck_worker_is_given_up),
		cmocka_unit_test(a_pending_signal_ends_the_wait),
		cmocka_unit_test(the_kernel_describes_a_file),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
