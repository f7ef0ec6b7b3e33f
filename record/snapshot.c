// SPDX-License-Identifier: GPL-2.0-or-later
/* What existed when the recording began. */
#include "snapshot.h"

#include "made.h"
#include "shape_table.h"
#include "sockets.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define MARK_ROUNDS 100
#define CMDLINE_MAX 4096
#define FD_MAX	    65536

/* Walks the numbers in a directory: 0 continues, negative stops. */
typedef int (*number_fn)(void *arg, unsigned int number, struct err *e);

static int each_number(const char *path, number_fn fn, void *arg, struct err *e)
{
	DIR *d = opendir(path);
	struct dirent *f;
	int ret = 0;

	if (!d)
		return 0; /* gone meanwhile */
	while (ret == 0 && (f = readdir(d)))
		if (isdigit((unsigned char)f->d_name[0]))
			ret = fn(arg, strtoul(f->d_name, NULL, 10), e);
	closedir(d);
	return ret;
}

/* A whole small file; -1 if it cannot be read. */
static ssize_t read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = read(fd, text, size - 1);
	close(fd);
	if (n >= 0)
		text[n] = '\0';
	return n;
}

/* ---- targets ---- */

struct marking {
	struct probes *probes;
	unsigned int *known; /* threads marked so far */
	size_t n, cap;
	bool fresh;
};

static int mark_thread(void *arg, unsigned int tid, struct err *e)
{
	struct marking *m = arg;
	unsigned int *grown;
	size_t i;

	for (i = 0; i < m->n; i++)
		if (m->known[i] == tid)
			return 0;
	if (m->n == m->cap) {
		m->cap = m->cap ? 2 * m->cap : 64;
		grown = realloc(m->known, m->cap * sizeof(*grown));
		if (!grown)
			return err_set(e, ERR_FAIL, "out of memory for threads");
		m->known = grown;
	}
	m->known[m->n++] = tid;
	m->fresh = true;
	probes_mark(m->probes, tid);
	return 0;
}

static int mark_process(struct marking *m, unsigned int pid, struct err *e)
{
	char path[64];
	int i, ret = 0;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	if (access(path, R_OK) < 0)
		return err_set(e, ERR_FAIL,
			       "there is no process %u; pidof NAME or ps -e finds "
			       "processes",
			       pid);
	/* threads made by marked ones are marked by the kernel side; repeat for the others */
	m->fresh = true;
	for (i = 0; i < MARK_ROUNDS && m->fresh && ret == 0; i++) {
		m->fresh = false;
		ret = each_number(path, mark_thread, m, e);
	}
	return ret;
}

int snapshot_mark(struct probes *probes, const struct options *o, struct err *e)
{
	struct marking m = { .probes = probes };
	int i, ret = 0;

	for (i = 0; i < o->n_pids && ret == 0; i++)
		ret = mark_process(&m, o->pids[i], e);
	free(m.known);
	return ret;
}

/* ---- threads ---- */

struct taking {
	struct pump *pump;
	const struct options *options;
	unsigned int pid;
	unsigned int uid;
	struct sockets sockets;
	long ticks;
};

int snapshot_parse_stat(struct ev_thread *ev, const char *line, long ticks)
{
	const char *open = strchr(line, '('), *close = strrchr(line, ')');
	unsigned long long start;
	unsigned int parent;
	char state;
	size_t n;

	if (!open || !close || close < open || ticks <= 0 ||
	    sscanf(close + 1,
		   " %c %u %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
		   &state, &parent, &start) != 3)
		return ERR_FAIL;
	n = close - open - 1;
	memset(ev->comm, 0, sizeof(ev->comm));
	memcpy(ev->comm, open + 1, n < sizeof(ev->comm) ? n : sizeof(ev->comm));
	ev->state = (unsigned char)state;
	ev->parent = parent;
	ev->start = start * (1000000000ull / ticks);
	return 0;
}

static bool is_target(const struct options *o, unsigned int pid)
{
	int i;

	for (i = 0; i < o->n_pids; i++)
		if (o->pids[i] == pid)
			return true;
	return o->all;
}

/* Arguments with blanks between them instead of NULs. */
static void read_cmdline(unsigned int pid, char *text, size_t size)
{
	char path[64];
	ssize_t n, i;

	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	n = read_file(path, text, size);
	text[n > 0 ? n : 0] = '\0';
	for (i = 0; i + 1 < n; i++)
		if (!text[i])
			text[i] = ' ';
	/* programs that change their title leave blanks behind it */
	for (i = strlen(text); i > 0 && text[i - 1] == ' '; i--)
		text[i - 1] = '\0';
}

static int take_thread(void *arg, unsigned int tid, struct err *e)
{
	struct ev_thread ev = { .h = { .type = EV_thread, .tid = tid } };
	struct taking *t = arg;
	char path[96], text[CMDLINE_MAX] = "";

	snprintf(path, sizeof(path), "/proc/%u/task/%u/stat", t->pid, tid);
	if (read_file(path, text, sizeof(text)) < 0 || snapshot_parse_stat(&ev, text, t->ticks) < 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/%u/task/%u/schedstat", t->pid, tid);
	if (read_file(path, text, sizeof(text)) > 0)
		ev.runtime = strtoull(text, NULL, 10);
	ev.pid = t->pid;
	ev.uid = t->uid;
	text[0] = '\0';
	/* of others, who may appear as wakers, the name is enough */
	if (tid == t->pid && is_target(t->options, t->pid))
		read_cmdline(t->pid, text, sizeof(text));
	return made_put(t->pump, &ev, sizeof(ev), text, e);
}

/* ---- descriptors ---- */

static void fill_socket(struct ev_fd *ev, const struct socket_info *s)
{
	ev->family = s->family;
	ev->sport = s->sport;
	ev->dport = s->dport;
	ev->role = s->role;
	ev->socktype = s->socktype;
	memcpy(ev->saddr, s->saddr, sizeof(ev->saddr));
	memcpy(ev->daddr, s->daddr, sizeof(ev->daddr));
}

static int take_fd(void *arg, unsigned int fd, struct err *e)
{
	struct ev_fd ev = { .h = { .type = EV_fd } };
	const struct socket_info *s;
	struct taking *t = arg;
	char path[64], target[1024] = "";
	struct stat sb;
	ssize_t n;

	if (fd >= FD_MAX)
		return 0;
	snprintf(path, sizeof(path), "/proc/%u/fd/%u", t->pid, fd);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0 || stat(path, &sb) < 0)
		return 0;
	target[n] = '\0';
	ev.h.tid = t->pid;
	ev.pid = t->pid;
	ev.fd = fd;
	ev.ino = sb.st_ino;
	ev.dev = major(sb.st_dev) << 20 | minor(sb.st_dev);
	ev.mode = sb.st_mode & S_IFMT;
	if (strncmp(target, "anon_inode:", 11) == 0)
		ev.mode = 0;
	s = S_ISSOCK(sb.st_mode) ? sockets_find(&t->sockets, sb.st_ino) : NULL;
	if (s)
		fill_socket(&ev, s);
	return made_put(t->pump, &ev, sizeof(ev), target, e);
}

static int take_process(void *arg, unsigned int pid, struct err *e)
{
	struct taking *t = arg;
	struct stat sb;
	char path[64];
	int ret;

	t->pid = pid;
	snprintf(path, sizeof(path), "/proc/%u", pid);
	t->uid = stat(path, &sb) == 0 ? sb.st_uid : 0;
	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	ret = each_number(path, take_thread, t, e);
	if (ret < 0 || !is_target(t->options, pid))
		return ret;
	ret = sockets_read(&t->sockets, pid, e);
	snprintf(path, sizeof(path), "/proc/%u/fd", pid);
	return ret < 0 ? ret : each_number(path, take_fd, t, e);
}

int snapshot_take(struct pump *p, const struct options *o, struct err *e)
{
	struct taking t = { .pump = p, .options = o, .ticks = sysconf(_SC_CLK_TCK) };
	int ret = each_number("/proc", take_process, &t, e);

	sockets_free(&t.sockets);
	return ret;
}

/* ---- calls that have not returned ---- */

struct opening {
	struct pump *pump;
	const struct probes *probes;
	unsigned int pid;
};

static int take_open_call(void *arg, unsigned int tid, struct err *e)
{
	struct ev_syscall_args ev = { .h = { .type = EV_syscall_args, .tid = tid } };
	unsigned long long a[6];
	struct opening *t = arg;
	u64 entered = probes_entered(t->probes, tid), ts = made_now();
	char path[96], text[256];
	int nr;

	if (!entered || entered > ts)
		return 0;
	snprintf(path, sizeof(path), "/proc/%u/task/%u/syscall", t->pid, tid);
	if (read_file(path, text, sizeof(text)) < 0 ||
	    sscanf(text, "%d %llx %llx %llx %llx %llx %llx", &nr, &a[0], &a[1], &a[2], &a[3], &a[4],
		   &a[5]) != 7 ||
	    nr < 0 || nr > 0xffff)
		return 0; /* it runs, or it has just returned */
	ev.h.ts = ts;
	ev.dur = ts - entered;
	ev.arg0 = a[0];
	ev.arg1 = a[1];
	ev.arg2 = a[2];
	ev.arg3 = a[3];
	ev.arg4 = a[4];
	ev.arg5 = a[5];
	ev.nr = nr;
	ev.abi = native_abi();
	ev.flags = SYSCALL_UNFINISHED;
	return made_put(t->pump, &ev, sizeof(ev), NULL, e);
}

static int open_calls_of(void *arg, unsigned int pid, struct err *e)
{
	struct opening *t = arg;
	char path[64];

	t->pid = pid;
	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	return each_number(path, take_open_call, t, e);
}

int snapshot_open_calls(struct pump *p, const struct probes *probes, struct err *e)
{
	struct opening t = { p, probes, 0 };

	return each_number("/proc", open_calls_of, &t, e);
}
