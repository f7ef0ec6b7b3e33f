// SPDX-License-Identifier: GPL-2.0-or-later
/* What existed when the recording began. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "snapshot.h"

#include "format/shapes.h"
#include "record/made.h"
#include "record/procfs.h"
#include "record/shape_table.h"
#include "sockets.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define CMDLINE_MAX 4096
#define FD_MAX	    65536
#define CPUS_MAX    8192

/* ---- threads ---- */

struct taking {
	struct pump *pump;
	const struct options *options;
	const struct probes *probes;
	const struct cgroups *cgroups;
	unsigned int pid;
	unsigned int uid;
	bool target; /* the process, or one of its threads */
	struct sockets sockets;
	long ticks, cpus;
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

/* Arguments with blanks between them instead of NULs. */
static void read_cmdline(unsigned int pid, char *text, size_t size)
{
	char path[64];
	ssize_t n, i;

	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	n = procfs_read(path, text, size);
	text[n > 0 ? n : 0] = '\0';
	for (i = 0; i + 1 < n; i++)
		if (!text[i])
			text[i] = ' ';
	/* programs that change their title leave blanks behind it */
	for (i = strlen(text); i > 0 && text[i - 1] == ' '; i--)
		text[i - 1] = '\0';
}

/* On how many of the CPUs the thread may run. */
static enum bound bound_of(const struct taking *t, unsigned int tid)
{
	cpu_set_t set[CPUS_MAX / CPU_SETSIZE];
	int n;

	if (sched_getaffinity(tid, sizeof(set), set) < 0)
		return BOUND_UNKNOWN;
	n = CPU_COUNT_S(sizeof(set), set);
	return n == 1 ? BOUND_TO_ONE : n < t->cpus ? BOUND_TO_SOME : BOUND_TO_ALL;
}

static int take_thread(void *arg, unsigned int tid, struct err *e)
{
	/* the time before it is read: what happens meanwhile comes after it, and wins */
	struct ev_thread ev = { .h = { .ts = made_now(), .type = EV_thread, .tid = tid } };
	struct taking *t = arg;
	char path[96], text[CMDLINE_MAX] = "";

	snprintf(path, sizeof(path), "/proc/%u/task/%u/stat", t->pid, tid);
	if (procfs_read(path, text, sizeof(text)) < 0 ||
	    snapshot_parse_stat(&ev, text, t->ticks) < 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/%u/task/%u/schedstat", t->pid, tid);
	if (procfs_read(path, text, sizeof(text)) > 0)
		ev.runtime = strtoull(text, NULL, 10);
	ev.pid = t->pid;
	ev.uid = t->uid;
	ev.cgroup = cgroups_of(t->cgroups, t->pid, tid);
	ev.bound = bound_of(t, tid);
	ev.target = t->options->all || probes_marked(t->probes, tid);
	t->target |= ev.target;
	text[0] = '\0';
	/* of others, who may appear as wakers, the name is enough */
	if (tid == t->pid && ev.target && !t->options->hide)
		read_cmdline(t->pid, text, sizeof(text));
	return made_put(t->pump, &ev, sizeof(ev), text, e);
}

/* ---- descriptors ---- */

static void fill_socket(struct ev_fd *ev, const struct socket_info *s, bool hide)
{
	ev->family = s->family;
	ev->sport = s->sport;
	ev->dport = s->dport;
	ev->role = s->role;
	ev->socktype = s->socktype;
	if (hide)
		return;
	memcpy(ev->saddr, s->saddr, sizeof(ev->saddr));
	memcpy(ev->daddr, s->daddr, sizeof(ev->daddr));
}

/* True if the descriptor is closed by exec, from the flags in octal of its fdinfo. */
static bool closed_by_exec(unsigned int pid, unsigned int fd)
{
	char path[64], text[512], *flags;

	snprintf(path, sizeof(path), "/proc/%u/fdinfo/%u", pid, fd);
	if (procfs_read(path, text, sizeof(text)) < 0)
		return false;
	flags = strstr(text, "flags:");
	return flags && strtoul(flags + strlen("flags:"), NULL, 8) & O_CLOEXEC;
}

/* The working directory, as descriptor -100. */
static int take_directory(struct taking *t, struct err *e)
{
	struct ev_fd ev = { .h = { .type = EV_fd, .tid = t->pid }, .pid = t->pid };
	char path[64], target[1024];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/cwd", t->pid);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0 || t->options->hide)
		return 0;
	target[n] = '\0';
	ev.fd = WORKING_DIRECTORY;
	ev.mode = S_IFDIR;
	return made_put(t->pump, &ev, sizeof(ev), target, e);
}

static int take_fd(void *arg, unsigned int fd, struct err *e)
{
	struct ev_fd ev = { .h = { .type = EV_fd }, .dir = WORKING_DIRECTORY };
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
		fill_socket(&ev, s, t->options->hide);
	if (S_ISSOCK(sb.st_mode))
		ev.netns = t->sockets.netns;
	if (closed_by_exec(t->pid, fd))
		ev.flags = FD_CLOSED_BY_EXEC;
	return made_put(t->pump, &ev, sizeof(ev), t->options->hide && *target == '/' ? "" : target,
			e);
}

static int take_process(void *arg, unsigned int pid, struct err *e)
{
	struct taking *t = arg;
	struct stat sb;
	char path[64];
	int ret;

	t->pid = pid;
	t->target = false;
	snprintf(path, sizeof(path), "/proc/%u", pid);
	t->uid = stat(path, &sb) == 0 ? sb.st_uid : 0;
	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	ret = procfs_each(path, take_thread, t, e);
	if (ret < 0 || !t->target)
		return ret;
	ret = sockets_read(&t->sockets, pid, e);
	snprintf(path, sizeof(path), "/proc/%u/fd", pid);
	if (ret == 0)
		ret = procfs_each(path, take_fd, t, e);
	return ret < 0 ? ret : take_directory(t, e);
}

int snapshot_take(struct pump *p, const struct probes *probes, const struct targets *targets,
		  struct err *e)
{
	struct taking t = {
		.pump = p,
		.options = targets->options,
		.probes = probes,
		.cgroups = &targets->cgroups,
		.ticks = sysconf(_SC_CLK_TCK),
		.cpus = sysconf(_SC_NPROCESSORS_ONLN),
	};
	int ret = made_info(p, e, "snapshot_begin=%llu", (unsigned long long)made_now());

	if (ret == 0)
		ret = procfs_each("/proc", take_process, &t, e);
	sockets_free(&t.sockets);
	return ret < 0 ? ret : made_info(p, e, "snapshot=%llu", (unsigned long long)made_now());
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
	if (procfs_read(path, text, sizeof(text)) < 0 ||
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
	ev.abi = syscall_own_abi();
	ev.flags = SYSCALL_UNFINISHED;
	return made_put(t->pump, &ev, sizeof(ev), NULL, e);
}

static int open_calls_of(void *arg, unsigned int pid, struct err *e)
{
	struct opening *t = arg;
	char path[64];

	t->pid = pid;
	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	return procfs_each(path, take_open_call, t, e);
}

int snapshot_open_calls(struct pump *p, const struct probes *probes, struct err *e)
{
	struct opening t = { p, probes, 0 };

	return procfs_each("/proc", open_calls_of, &t, e);
}
