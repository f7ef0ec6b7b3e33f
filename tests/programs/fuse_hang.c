// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A file system that stops responding. Mounts DIR (FUSE) with one file, starts a holder process
 * that depends on it, prints the holder's pid, and answers no request from then on. Its end ends
 * both.
 * fuse_hang DIR: the holder has the file open as fd 9 and DIR as working directory.
 * fuse_hang DIR map: the holder computes, and replaces a changed mapping of the file, which waits
 * for the server with the lock of its memory map.
 * fuse_hang DIR PROGRAM [ARGUMENT]...: the file is a copy of PROGRAM, which the holder executes.
 * Opens are the client's alone, and it reads single pages. SIGUSR1 is what stops the answers;
 * SIGUSR2 stops those to reads, syncs, and closes of files; SIGHUP to closes alone. Each is said.
 * Other files can be created and written: what is written is counted, and forgotten.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE	  4096
#define ROOT	  1
#define NODE	  2
#define WRITTEN	  3 /* the file that was created last */
#define WRITE_MAX (PAGE * 32)
#define HOLDER_FD 9
#define VALID	  3600 /* s: names and attributes of a program are the client's so long */

static int program = -1;
static struct stat shape; /* of the program */
static __u64 written;	  /* size of the file that was created last */
static volatile sig_atomic_t hung, mute, open_for_good;
static int mapped; /* the holder maps the file: writes of it are taken for good */

union answer {
	struct fuse_init_out init;
	struct fuse_entry_out entry;
	struct fuse_attr_out attr;
	struct fuse_open_out open;
	struct {
		struct fuse_entry_out entry;
		struct fuse_open_out open;
	} created;
	struct fuse_write_out write;
	struct fuse_statfs_out statfs;
	char page[PAGE];
};

static void hang(int signal)
{
	if (signal == SIGUSR1)
		hung = 1;
	else if (signal == SIGUSR2)
		mute = 1;
	else
		open_for_good = 1;
}

static int fail(const char *what)
{
	perror(what);
	return 1;
}

static void *replace(void *map)
{
	return mmap(map, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

/* In the holder. */
static void hold_map(const char *dir, int ready)
{
	int fd = chdir(dir) < 0 ? -1 : open("file", O_RDWR | O_CLOEXEC);
	char *map = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (map == MAP_FAILED)
		_exit(fail("map the file"));
	*map = 1;
	if (write(ready, "r", 1) != 1 || pthread_create(&thread, NULL, replace, map) != 0)
		_exit(1);
	for (;;)
		__asm__ volatile("");
}

/* In the holder: its open file and its working directory depend on the file system, or its code. */
static void hold(const char *dir, char **argv, int ready)
{
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = chdir(dir) < 0 ? -1 : open("file", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || (!*argv && dup2(fd, HOLDER_FD) < 0))
		_exit(fail("hold the file"));
	close(fd);
	if (write(ready, "r", 1) != 1)
		_exit(1);
	if (*argv)
		_exit(execv("file", argv) < 0 ? fail("execute the file") : 0);
	for (;;)
		pause();
}

static void fill_attr(struct fuse_attr *a, __u64 node)
{
	a->ino = node;
	a->mode = node == ROOT ? S_IFDIR | 0755 : S_IFREG | 0755;
	a->nlink = 1;
	a->size = node == ROOT ? 0 : program < 0 ? PAGE : (__u64)shape.st_size;
	a->size = node == WRITTEN ? written : a->size;
}

/* Of files that are written. Returns the size of the answer; negative: an error. */
static int answer_writer(const struct fuse_in_header *in, union answer *a)
{
	const struct fuse_write_in *write_in = (const void *)(in + 1);

	switch (in->opcode) {
	case FUSE_CREATE:
		written = 0;
		a->created.entry.nodeid = WRITTEN;
		fill_attr(&a->created.entry.attr, WRITTEN);
		return sizeof(a->created);
	case FUSE_WRITE:
		a->write.size = write_in->size;
		if (write_in->offset + write_in->size > written)
			written = write_in->offset + write_in->size;
		return sizeof(a->write);
	case FUSE_STATFS:
		a->statfs.st.blocks = a->statfs.st.bfree = a->statfs.st.bavail = 1 << 20;
		a->statfs.st.bsize = a->statfs.st.frsize = PAGE;
		a->statfs.st.namelen = 255;
		return sizeof(a->statfs);
	case FUSE_FSYNC:
		return 0;
	}
	return -38; /* ENOSYS */
}

/* The same of all files. */
static int answer(const struct fuse_in_header *in, union answer *a)
{
	const struct fuse_read_in *read_in = (const void *)(in + 1);
	int valid = program < 0 || in->nodeid == WRITTEN ? 0 : VALID;

	memset(a, 0, sizeof(*a));
	switch (in->opcode) {
	case FUSE_INIT:
		a->init.major = FUSE_KERNEL_VERSION;
		a->init.minor = 31;
		a->init.max_write = WRITE_MAX;
		a->init.flags = program < 0 ? 0 : FUSE_NO_OPEN_SUPPORT | FUSE_BIG_WRITES;
		return sizeof(a->init);
	case FUSE_LOOKUP:
		if (strcmp((const char *)(in + 1), "file") != 0)
			return -2; /* ENOENT */
		a->entry.nodeid = NODE;
		a->entry.entry_valid = a->entry.attr_valid = valid;
		fill_attr(&a->entry.attr, NODE);
		return sizeof(a->entry);
	case FUSE_GETATTR:
		a->attr.attr_valid = valid;
		fill_attr(&a->attr.attr, in->nodeid);
		return sizeof(a->attr);
	case FUSE_OPEN:
		if (program >= 0)
			break;
		/* fall through */
	case FUSE_OPENDIR:
		return sizeof(a->open);
	case FUSE_FLUSH:
		return 0;
	case FUSE_READ:
		if (program < 0)
			return sizeof(a->page);
		return (int)pread(program, a->page, read_in->size < PAGE ? read_in->size : PAGE,
				  (off_t)read_in->offset);
	}
	return answer_writer(in, a);
}

static int respond(int fuse)
{
	static char request[PAGE * 64];
	const struct fuse_in_header *in = (const void *)request;
	struct {
		struct fuse_out_header h;
		union answer a;
	} out;
	int n;

	if (read(fuse, request, sizeof(request)) < (ssize_t)sizeof(*in))
		return -1;
	if (in->opcode == FUSE_FORGET || in->opcode == FUSE_BATCH_FORGET ||
	    in->opcode == FUSE_INTERRUPT)
		return 0;
	if ((mapped && in->opcode == FUSE_WRITE) ||
	    (mute && (in->opcode == FUSE_READ || in->opcode == FUSE_FSYNC)) ||
	    ((mute || open_for_good) && in->opcode == FUSE_FLUSH))
		return 0; /* taken, which no signal can undo */
	n = answer(in, &out.a);
	out.h.unique = in->unique;
	out.h.error = n < 0 ? n : 0;
	out.h.len = sizeof(out.h) + (n > 0 ? n : 0);
	return write(fuse, &out, out.h.len) == (ssize_t)out.h.len ? 0 : -1;
}

static void say(const char *word)
{
	puts(word);
	fflush(stdout);
}

/* Answers until the holder has what it needs, or until SIGUSR1. */
static int serve(int fuse, int ready, pid_t holder)
{
	struct pollfd p[2] = { { fuse, POLLIN, 0 }, { ready, POLLIN, 0 } };
	char one;

	while (!hung) {
		if (poll(p, 2, -1) < 0) { /* a signal */
			say(hung ? "hung" : mute ? "mute" : "open");
			continue;
		}
		if (p[0].revents && respond(fuse) < 0)
			return fail("answer");
		if (!p[1].revents)
			continue;
		if (read(ready, &one, 1) != 1)
			return 1;
		printf("%d\n", holder);
		fflush(stdout);
		p[1].fd = -1;
		hung |= program < 0;
	}
	return 0;
}

int main(int argc, char **argv)
{
	int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC), ready[2];
	static char ignored[PAGE * 64];
	char options[128];
	pid_t holder;

	mapped = argc > 2 && strcmp(argv[2], "map") == 0;
	if (argc < 2 || fuse < 0 || pipe(ready) < 0)
		return fail("usage: fuse_hang DIR [map|PROGRAM]; /dev/fuse");
	if (argc > 2 && !mapped) {
		program = open(argv[2], O_RDONLY | O_CLOEXEC);
		if (program < 0 || fstat(program, &shape) < 0)
			return fail(argv[2]);
		signal(SIGUSR1, hang);
		signal(SIGUSR2, hang);
		signal(SIGHUP, hang);
	}
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other,max_read=%d", fuse, PAGE);
	if (mount("hang", argv[1], "fuse.hang", MS_NOSUID | MS_NODEV, options) < 0)
		return fail("mount");
	holder = fork();
	if (holder == 0) {
		close(fuse); /* the server's alone: its end is that of all requests */
		if (mapped)
			hold_map(argv[1], ready[1]);
		hold(argv[1], argv + 2, ready[1]);
	}
	close(ready[1]);
	if (serve(fuse, ready[0], holder) != 0)
		return 1;
	/* a request that was taken cannot be interrupted */
	while (read(fuse, ignored, sizeof(ignored)) > 0)
		;
	return 0;
}
