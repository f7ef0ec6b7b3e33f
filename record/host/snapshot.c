// SPDX-License-Identifier: GPL-2.0-or-later
/* What existed when the recording began. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "snapshot.h"

#include "format/shapes.h"
#include "held.h"
#include "lock_list.h"
#include "record/files/fdinfo.h"
#include "record/files/procfs.h"
#include "record/pump/records.h"
#include "sockets.h"
#include "unix_peers.h"
#include "waiting.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define CMDLINE_MAX 4096
#define FD_MAX	    65536
#define CPUS_MAX    8192
#define STOPPED	    1 /* the walk ends: a signal to stop is pending */

/* ---- threads ---- */

struct taking {
	struct pump *pump;
	const struct options *options;
	const struct probes *probes;
	const struct cgroups *cgroups;
	const struct accept_queues *queues;
	struct snapshot_files *files;
	u32 socket_dev, pipe_dev;
	unsigned int pid;
	unsigned int uid;
	bool target; /* the process, or one of its threads */
	struct sockets sockets;
	struct fdinfo_mounts mounts;
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

/* Arguments, separated by blanks instead of NULs. A process stuck in its memory map blocks the
 * read. */
static void read_cmdline(struct taking *t, char *text, size_t size)
{
	char path[64];
	ssize_t n, i;

	snprintf(path, sizeof(path), "/proc/%u/cmdline", t->pid);
	n = safe_text(&t->files->safe, path, text, size);
	text[n > 0 ? n : 0] = '\0';
	for (i = 0; i + 1 < n; i++)
		if (!text[i])
			text[i] = ' ';
	/* programs that change their title leave blanks after it */
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
	/* the time before it is read: later events come after it, and win */
	struct ev_thread ev = { .h = { .ts = records_now(), .type = EV_thread, .tid = tid } };
	struct taking *t = arg;
	char path[96], text[CMDLINE_MAX] = "";

	if (safe_stopping())
		return STOPPED;
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
		read_cmdline(t, text, sizeof(text));
	if (records_put(t->pump, &ev, sizeof(ev), text, e) < 0)
		return ERR_FAIL;
	return ev.target && ev.state == 'S' && t->options->groups & 1u << GROUP_syscalls
		       ? held_take(t->pump, &t->files->safe, t->pid, tid, e)
		       : 0;
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

static bool is_silent(const struct snapshot_files *f, u32 mount)
{
	int i;

	for (i = 0; i < f->n_silent; i++)
		if (f->silent[i] == mount)
			return true;
	return false;
}

/* Type, device and inode of an open file; its type is not available if its mount is silent. */
static void fill_file(struct taking *t, struct ev_fd *ev, const char *path, const struct fdinfo *f)
{
	struct snapshot_files *files = t->files;
	bool silent = is_silent(files, f->mount);
	struct safe_stat st;

	if (!silent && safe_stat(&files->safe, path, &st) == 0) {
		ev->ino = st.ino;
		ev->dev = st.dev;
		ev->mode = st.mode & S_IFMT;
		return;
	}
	if (!silent && errno == ETIMEDOUT && files->n_silent < SILENT_MAX)
		files->silent[files->n_silent++] = f->mount;
	ev->ino = f->ino;
	ev->dev = fdinfo_device(&t->mounts, t->pid, f->mount);
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
	return records_put(t->pump, &ev, sizeof(ev), target, e);
}

static int take_unread(struct taking *t, const struct ev_fd *of, u32 bytes, struct err *e)
{
	struct ev_unread ev = { .h = { .type = EV_unread, .tid = of->pid },
				.ino = of->ino,
				.fd = (u32)of->fd,
				.bytes = bytes };

	return records_put(t->pump, &ev, sizeof(ev), NULL, e);
}

/* Of accepted connections only: of others the last answer is the last data. */
static int take_asked(struct taking *t, const struct ev_fd *of, const struct socket_info *s,
		      struct err *e)
{
	struct ev_asked ev = { .h = { .type = EV_asked, .tid = of->pid, .ts = t->sockets.now->at },
			       .ino = of->ino,
			       .age = s->asked - 1,
			       .fd = (u32)of->fd,
			       .answered = s->answered };

	return s->role == ROLE_ACCEPTED && s->asked ? records_put(t->pump, &ev, sizeof(ev), NULL, e)
						    : 0;
}

static int take_fd(void *arg, unsigned int fd, struct err *e)
{
	struct ev_fd ev = { .h = { .type = EV_fd }, .dir = WORKING_DIRECTORY };
	const struct socket_info *s = NULL;
	struct taking *t = arg;
	char path[64], target[1024] = "";
	struct fdinfo info;
	ssize_t n;

	if (fd >= FD_MAX)
		return 0;
	if (safe_stopping())
		return STOPPED;
	snprintf(path, sizeof(path), "/proc/%u/fd/%u", t->pid, fd);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0 || !fdinfo_read(&info, t->pid, fd))
		return 0;
	target[n] = '\0';
	ev.h.tid = t->pid;
	ev.pid = t->pid;
	ev.fd = fd;
	if ((ev.ino = procfs_inode(target, "socket"))) {
		ev.dev = t->socket_dev;
		ev.mode = S_IFSOCK;
		ev.netns = t->sockets.netns;
		s = sockets_find(&t->sockets, ev.ino);
	} else if ((ev.ino = procfs_inode(target, "pipe"))) {
		ev.dev = t->pipe_dev;
		ev.mode = S_IFIFO;
	} else {
		fill_file(t, &ev, path, &info);
	}
	if (strncmp(target, "anon_inode:", 11) == 0)
		ev.mode = 0;
	if (s)
		fill_socket(&ev, s, t->options->hide);
	if (info.flags & O_CLOEXEC)
		ev.flags = FD_CLOSED_BY_EXEC;
	if (s && s->role == ROLE_CONNECTED && !t->options->hide && sockets_path(&t->sockets, s))
		snprintf(target, sizeof(target), "%s", sockets_path(&t->sockets, s));
	if (records_put(t->pump, &ev, sizeof(ev), t->options->hide && *target == '/' ? "" : target,
			e) < 0)
		return ERR_FAIL;
	if (!s)
		return 0;
	return s->unread ? take_unread(t, &ev, s->unread, e) : take_asked(t, &ev, s, e);
}

u64 snapshot_parse_limits(const char *text)
{
	const char *line = strstr(text, "\nMax open files ");
	unsigned long long files;

	return line && sscanf(line, " Max open files %llu", &files) == 1 ? files : 0;
}

static int take_limits(struct taking *t, struct err *e)
{
	struct ev_limits ev = { .h = { .type = EV_limits, .tid = t->pid } };
	char path[64], text[2048];

	snprintf(path, sizeof(path), "/proc/%u/limits", t->pid);
	if (procfs_read(path, text, sizeof(text)) <= 0)
		return 0;
	ev.files = snapshot_parse_limits(text);
	return records_put(t->pump, &ev, sizeof(ev), NULL, e);
}

static int read_sockets(struct taking *t, struct err *e)
{
	size_t before = t->sockets.n;
	u64 at = records_now();
	int ret = sockets_read(&t->sockets, t->pid, e), diag;

	if (ret < 0 || t->sockets.n == before)
		return ret;
	t->sockets.now->at = at;
	diag = accept_queues_diag(t->queues, t->sockets.netns);
	waiting_read(&t->sockets, diag);
	unix_peers_read(&t->sockets, diag);
	return 0;
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
	t->uid = stat(path, &sb) == 0 ? sb.st_uid : 0; /* of /proc itself */
	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	ret = procfs_each(path, take_thread, t, e);
	if (ret || !t->target)
		return ret;
	ret = take_limits(t, e);
	if (ret == 0)
		ret = read_sockets(t, e);
	snprintf(path, sizeof(path), "/proc/%u/fd", pid);
	if (ret == 0)
		ret = procfs_each(path, take_fd, t, e);
	return ret ? ret : take_directory(t, e);
}

/* Devices of sockets and pipes, which no mount has. */
static void find_devices(struct taking *t)
{
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), p[2];
	struct stat sb;

	if (s >= 0 && fstat(s, &sb) == 0)
		t->socket_dev = major(sb.st_dev) << 20 | minor(sb.st_dev);
	if (s >= 0)
		close(s);
	if (pipe2(p, O_CLOEXEC) < 0)
		return;
	if (fstat(p[0], &sb) == 0)
		t->pipe_dev = major(sb.st_dev) << 20 | minor(sb.st_dev);
	close(p[0]);
	close(p[1]);
}

static int report_silent(struct taking *t, int before, struct err *e)
{
	const struct snapshot_files *f = t->files;

	if (f->safe.stuck == (u32)before)
		return 0;
	fprintf(stderr,
		"obsrec: %u files of other processes did not respond in time: their types "
		"or command lines are not recorded\n",
		f->safe.stuck - before);
	return records_info(t->pump, e, "files_silent=%u", f->safe.stuck);
}

int snapshot_take(struct pump *p, const struct probes *probes, const struct targets *targets,
		  const struct accept_queues *queues, struct snapshot_files *files, struct err *e)
{
	struct taking t = {
		.pump = p,
		.options = targets->options,
		.probes = probes,
		.cgroups = &targets->cgroups,
		.queues = queues,
		.files = files,
		.ticks = sysconf(_SC_CLK_TCK),
		.cpus = sysconf(_SC_NPROCESSORS_ONLN),
	};
	int stuck = files->safe.stuck;
	int ret = records_info(p, e, "snapshot_begin=%llu", (unsigned long long)records_now());

	find_devices(&t);
	if (ret == 0)
		ret = procfs_each("/proc", take_process, &t, e);
	sockets_free(&t.sockets);
	fdinfo_forget(&t.mounts);
	if (ret >= 0 && report_silent(&t, stuck, e) < 0)
		return ERR_FAIL;
	if (ret) /* an incomplete snapshot has no end */
		return ret < 0 ? ret : 0;
	if (lock_list_take(p, false, e) < 0)
		return ERR_FAIL;
	return records_info(p, e, "snapshot=%llu", (unsigned long long)records_now());
}

/* ---- calls that have not returned ---- */

struct opening {
	struct pump *pump;
	const struct probes *probes;
	const struct options *options;
	unsigned int pid;
};

/*
 * Without an entry it was in the call when the recording started: it has been in no other. With
 * only some calls recorded that is not known.
 */
static bool was_inside(const struct opening *t, unsigned int tid)
{
	return t->options->groups & 1u << GROUP_syscalls && !t->options->some_syscalls &&
	       (t->options->all || probes_marked(t->probes, tid)) &&
	       t->pid != (unsigned int)getpid();
}

static int take_open_call(void *arg, unsigned int tid, struct err *e)
{
	struct ev_syscall_args ev = { .h = { .type = EV_syscall_args, .tid = tid } };
	unsigned long long a[6];
	struct opening *t = arg;
	u64 entered = probes_entered(t->probes, tid), ts = records_now();
	char path[96], text[256];
	int nr;

	if (entered > ts || (!entered && !was_inside(t, tid)))
		return 0;
	snprintf(path, sizeof(path), "/proc/%u/task/%u/syscall", t->pid, tid);
	if (procfs_read(path, text, sizeof(text)) < 0 ||
	    sscanf(text, "%d %llx %llx %llx %llx %llx %llx", &nr, &a[0], &a[1], &a[2], &a[3], &a[4],
		   &a[5]) != 7 ||
	    nr < 0 || nr > 0xffff)
		return 0; /* it runs, or it has just returned */
	ev.h.ts = ts;
	ev.dur = entered ? ts - entered : 0;
	ev.arg0 = a[0];
	ev.arg1 = a[1];
	ev.arg2 = a[2];
	ev.arg3 = a[3];
	ev.arg4 = a[4];
	ev.arg5 = a[5];
	ev.nr = nr;
	ev.abi = syscall_own_abi();
	ev.flags = SYSCALL_UNFINISHED | (entered ? 0 : SYSCALL_NO_ENTRY);
	return records_put(t->pump, &ev, sizeof(ev), NULL, e);
}

static int open_calls_of(void *arg, unsigned int pid, struct err *e)
{
	struct opening *t = arg;
	char path[64];

	t->pid = pid;
	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	return procfs_each(path, take_open_call, t, e);
}

int snapshot_open_calls(struct pump *p, const struct probes *probes, const struct options *o,
			struct err *e)
{
	struct opening t = { p, probes, o, 0 };
	int ret = procfs_each("/proc", open_calls_of, &t, e);

	return ret < 0 ? ret : lock_list_take(p, true, e);
}
