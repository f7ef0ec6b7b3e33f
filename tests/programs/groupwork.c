// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Does so much of what the groups files, net, process, pagecache and io_uring tell of, in
 * prime numbers: groupwork DIR. groupwork connect: a connection that is not answered, until its SYN
 * was sent again. groupwork descriptors DIR: reads from descriptors of all origins. groupwork
 * serve: has a listening socket and a connection, and uses them once there is a line to read.
 */
#define _GNU_SOURCE
#include "tests/lib/tool.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	MADE = 19,	  /* files made, and opened once more by a relative path */
	REMOVED = 13,	  /* of these */
	RENAMED = 5,	  /* of the others */
	CUT = 11,	  /* truncated, and ftruncated */
	DIRECTORIES = 7,  /* made and removed */
	CONNECTIONS = 17, /* over loopback */
	SENT = 1009,	  /* bytes each, towards the server */
	SPAWNED = 3,
	PAGES = 61,  /* read from a file that is not cached */
	URING = 101, /* reads through io_uring */
	VAIN = 2,    /* times that an unanswered SYN is sent again, at least */
};

static void check(int ret, const char *what)
{
	if (ret < 0)
		die(what);
}

static void make_files(void)
{
	char name[32], other[32];
	int i, fd;

	for (i = 0; i < MADE; i++) {
		snprintf(name, sizeof(name), "file%02d", i);
		fd = open(name, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
		check(fd, "open");
		if (i < CUT) {
			check(ftruncate(fd, 4096 + i), "ftruncate");
			check(truncate(name, 100 + i), "truncate");
		}
		close(fd);
		fd = openat(AT_FDCWD, name, O_RDONLY);
		check(fd, "openat");
		close(fd);
	}
	for (i = 0; i < REMOVED; i++) {
		snprintf(name, sizeof(name), "file%02d", i);
		check(unlink(name), "unlink");
	}
	for (i = REMOVED; i < REMOVED + RENAMED; i++) {
		snprintf(name, sizeof(name), "file%02d", i);
		snprintf(other, sizeof(other), "moved%02d", i);
		check(rename(name, other), "rename");
	}
	for (i = 0; i < DIRECTORIES; i++) {
		check(mkdir("directory", 0700), "mkdir");
		check(rmdir("directory"), "rmdir");
	}
}

static void connect_all(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t len = sizeof(a);
	char bytes[SENT] = "";
	int server = socket(AF_INET, SOCK_STREAM, 0), client, accepted, i;
	ssize_t got, n;

	inet_pton(AF_INET, "127.0.0.1", &a.sin_addr);
	check(bind(server, (struct sockaddr *)&a, sizeof(a)), "bind");
	check(listen(server, 8), "listen");
	check(getsockname(server, (struct sockaddr *)&a, &len), "getsockname");
	for (i = 0; i < CONNECTIONS; i++) {
		client = socket(AF_INET, SOCK_STREAM, 0);
		check(connect(client, (struct sockaddr *)&a, sizeof(a)), "connect");
		accepted = accept(server, NULL, NULL);
		check(accepted, "accept");
		check(send(client, bytes, sizeof(bytes), 0), "send");
		for (got = 0; got < SENT; got += n) {
			n = recv(accepted, bytes, sizeof(bytes), 0);
			check(n > 0 ? 0 : -1, "recv");
		}
		close(client);
		/* its end has come when there is nothing more to read */
		check(recv(accepted, bytes, sizeof(bytes), 0), "recv");
		close(accepted);
	}
	printf("port=%d ", ntohs(a.sin_port));
	close(server);
}

static void spawn_all(void)
{
	int i, status;
	pid_t pid;

	for (i = 0; i < SPAWNED; i++) {
		pid = fork();
		check(pid, "fork");
		if (pid == 0) {
			execlp("true", "true", "first word", "SECOND", NULL);
			_exit(127);
		}
		check(waitpid(pid, &status, 0), "waitpid");
	}
}

static void read_uncached(void)
{
	int fd = open("pages", O_CREAT | O_RDWR, 0600), i;
	char page[4096];

	check(fd, "open");
	memset(page, 'p', sizeof(page));
	for (i = 0; i < PAGES; i++)
		check(write(fd, page, sizeof(page)), "write");
	check(fsync(fd), "fsync");
	check(-posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), "posix_fadvise");
	check(lseek(fd, 0, SEEK_SET), "lseek");
	check(-posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM), "posix_fadvise");
	for (i = 0; i < PAGES; i++)
		check(read(fd, page, sizeof(page)), "read");
	close(fd);
}

/* One request after the other, each waited for. False if this kernel has no io_uring. */
static int read_by_uring(void)
{
	struct io_uring_params p = { 0 };
	int ring = syscall(SYS_io_uring_setup, 4, &p), fd, i;
	struct io_uring_sqe *sqes;
	unsigned int *tail, *array, *head;
	static char bytes[512];
	uint8_t *sq, *cq;

	if (ring < 0)
		return 0;
	fd = open("pages", O_RDONLY);
	check(fd, "open");
	sq = mmap(NULL, p.sq_off.array + p.sq_entries * sizeof(unsigned int),
		  PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	cq = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe),
		  PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_CQ_RING);
	sqes = mmap(NULL, p.sq_entries * sizeof(*sqes), PROT_READ | PROT_WRITE, MAP_SHARED, ring,
		    IORING_OFF_SQES);
	if (sq == MAP_FAILED || cq == MAP_FAILED || sqes == MAP_FAILED)
		die("mmap");
	check(syscall(SYS_io_uring_register, ring, IORING_REGISTER_FILES, &fd, 1),
	      "io_uring_register");
	tail = (unsigned int *)(sq + p.sq_off.tail);
	array = (unsigned int *)(sq + p.sq_off.array);
	head = (unsigned int *)(cq + p.cq_off.head);
	for (i = 0; i < URING; i++) {
		unsigned int at = *tail & (p.sq_entries - 1);

		memset(&sqes[at], 0, sizeof(sqes[at]));
		sqes[at].opcode = IORING_OP_READ;
		sqes[at].flags = i & 1 ? IOSQE_FIXED_FILE : 0;
		sqes[at].fd = i & 1 ? 0 : fd; /* every second one by its registered number */
		sqes[at].addr = (uintptr_t)bytes;
		sqes[at].len = sizeof(bytes);
		sqes[at].user_data = 7000 + i;
		array[at] = at;
		__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
		check(syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0),
		      "io_uring_enter");
		__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	}
	close(fd);
	close(ring);
	return 1;
}

static int loopback_server(int backlog, struct sockaddr_in *a)
{
	socklen_t len = sizeof(*a);
	int server = socket(AF_INET, SOCK_STREAM, 0);

	*a = (struct sockaddr_in){ .sin_family = AF_INET };
	inet_pton(AF_INET, "127.0.0.1", &a->sin_addr);
	check(bind(server, (struct sockaddr *)a, sizeof(*a)), "bind");
	check(listen(server, backlog), "listen");
	check(getsockname(server, (struct sockaddr *)a, &len), "getsockname");
	return server;
}

static int connected(const struct sockaddr_in *a, int flags)
{
	int s = socket(AF_INET, SOCK_STREAM | flags, 0);

	if (connect(s, (const struct sockaddr *)a, sizeof(*a)) < 0 && errno != EINPROGRESS)
		die("connect");
	return s;
}

/* Sends on a connection that it was waited with, and on connections that come then. */
static int serve(void)
{
	char bytes[SENT] = "";
	struct sockaddr_in a;
	int server = loopback_server(8, &a), client = connected(&a, 0), i;
	int accepted = accept(server, NULL, NULL);

	check(accepted, "accept");
	printf("port=%d connections=%d sent=%d\n", ntohs(a.sin_port), CONNECTIONS, SENT);
	fflush(stdout);
	getchar();
	for (i = 0;; i++) {
		check(send(accepted, bytes, sizeof(bytes), 0), "send");
		check(recv(client, bytes, sizeof(bytes), MSG_WAITALL), "recv");
		close(accepted);
		close(client);
		if (i == CONNECTIONS)
			break;
		client = connected(&a, 0);
		accepted = accept(server, NULL, NULL);
		check(accepted, "accept");
	}
	close(server);
	return 0;
}

static int sent_again(int s)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	check(getsockopt(s, IPPROTO_TCP, TCP_INFO, &info, &len), "getsockopt");
	return info.tcpi_retransmits;
}

/* A server that never accepts lets one connection wait; the next one's SYN gets no answer. */
static int connect_in_vain(void)
{
	struct sockaddr_in a, own;
	socklen_t len = sizeof(own);
	int server = loopback_server(0, &a), first = connected(&a, 0), last, i;

	/* how many wait depends on the kernel */
	for (i = 0; i < 4; i++)
		last = connected(&a, SOCK_NONBLOCK);
	check(getsockname(last, (struct sockaddr *)&own, &len), "getsockname");
	for (i = 0; i < 600 && sent_again(last) < VAIN; i++)
		usleep(100000);
	printf("port=%d\n", ntohs(own.sin_port));
	close(last);
	close(first);
	close(server);
	return 0;
}

static void read_bytes(int fd, int n)
{
	static char bytes[4096];

	check(read(fd, bytes, n) == n ? 0 : -1, "read");
}

static void send_bytes(int fd, int n)
{
	static char bytes[4096];

	check(write(fd, bytes, n) == n ? 0 : -1, "write");
}

static void make(const char *name)
{
	int fd = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	check(fd, name);
	send_bytes(fd, 4096);
	close(fd);
}

/* Reads so many bytes from each descriptor that their number names the case. */
static int use_descriptors(const char *dir)
{
	struct sockaddr_in a;
	int before, server, early, early_accepted, first, second, late, accepted, copy, pipes[2];
	char name[64];
	pid_t pid;

	check(chdir(dir), "chdir");
	check(mkdir("below", 0700), "mkdir");
	make("before");
	make("dupped");
	make("reused");
	make("below/deep");
	before = open("before", O_RDONLY);
	server = loopback_server(8, &a);
	early = connected(&a, SOCK_CLOEXEC);
	early_accepted = accept4(server, NULL, NULL, SOCK_CLOEXEC);
	fcntl(server, F_SETFD, FD_CLOEXEC);
	make("ready");
	while (access("go", F_OK) < 0)
		usleep(20000);
	read_bytes(before, 101);
	send_bytes(early, 103);
	read_bytes(early_accepted, 103);
	first = open("dupped", O_RDONLY);
	second = fcntl(first, F_DUPFD_CLOEXEC, 0);
	close(first);
	read_bytes(second, 107);
	/* takes the number of first */
	check(open("reused", O_RDONLY | O_CLOEXEC) == first ? 0 : -1, "open");
	read_bytes(first, 109);
	pid = fork();
	if (pid == 0) {
		read_bytes(before, 113);
		check(chdir("below"), "chdir");
		read_bytes(open("deep", O_RDONLY), 127);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	late = connected(&a, SOCK_CLOEXEC);
	accepted = accept4(server, NULL, NULL, SOCK_CLOEXEC);
	copy = fcntl(accepted, F_DUPFD_CLOEXEC, 0);
	send_bytes(late, 131);
	read_bytes(copy, 131);
	read_bytes(openat(open(".", O_RDONLY | O_CLOEXEC), "below/deep", O_RDONLY | O_CLOEXEC),
		   137);
	check(pipe2(pipes, O_CLOEXEC), "pipe2");
	send_bytes(pipes[1], 139);
	read_bytes(pipes[0], 139);
	snprintf(name, sizeof(name), "if=/dev/fd/%d", before);
	execlp("dd", "dd", name, "of=/dev/null", "bs=149", "count=1", NULL);
	die("dd");
	return 1;
}

int main(int argc, char **argv)
{
	int uring;

	if (argc == 2 && strcmp(argv[1], "connect") == 0)
		return connect_in_vain();
	if (argc == 2 && strcmp(argv[1], "serve") == 0)
		return serve();
	if (argc == 3 && strcmp(argv[1], "descriptors") == 0)
		return use_descriptors(argv[2]);
	if (argc != 2)
		return 1;
	check(chdir(argv[1]), "chdir");
	make_files();
	connect_all();
	spawn_all();
	read_uncached();
	uring = read_by_uring();
	printf("made=%d removed=%d renamed=%d cut=%d directories=%d connections=%d sent=%d "
	       "spawned=%d pages=%d uring=%d\n",
	       MADE, REMOVED, RENAMED, CUT, DIRECTORIES, CONNECTIONS, SENT, SPAWNED, PAGES,
	       uring ? URING : 0);
	return 0;
}
