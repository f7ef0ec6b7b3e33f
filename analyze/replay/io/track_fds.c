// SPDX-License-Identifier: GPL-2.0-or-later
/* Descriptors: what each number meant in each process, and since when. */
#include "analyze/replay/requests/track_datagrams.h"
#include "analyze/replay/requests/track_request_time.h"
#include "analyze/replay/requests/track_requests.h"
#include "analyze/replay/tasks/threads.h"
#include "descriptors.h"
#include "format/linux_abi.h"
#include "format/shapes.h"
#include "inode_uses.h"
#include "track_file_locks.h"

#include <stdlib.h>
#include <string.h>

#define FCNTL_SETFD 2

struct fds {
	u64 n_files, memory; /* memory: of the tables */
	struct idmap
		known; /* by process and inode: the ring of files that are known, oldest first */
};

static struct fds *own(const struct replay *r)
{
	return r->own[TRACK_fds];
}

static const struct {
	u16 mode;
	enum fd_kind kind;
} kinds[] = {
	{ LINUX_S_IFSOCK, FD_SOCKET },
	{ LINUX_S_IFREG, FD_FILE },
	{ LINUX_S_IFDIR, FD_DIRECTORY },
	{ LINUX_S_IFIFO, FD_PIPE },
	{ LINUX_S_IFCHR, FD_CHAR },
	{ LINUX_S_IFBLK, FD_BLOCK },
	{ 0, FD_ANON },
};

static const char *const kind_names[] = {
	[FD_UNKNOWN] = "unknown", [FD_FILE] = "file", [FD_DIRECTORY] = "directory",
	[FD_SOCKET] = "socket",	  [FD_PIPE] = "pipe", [FD_CHAR] = "char",
	[FD_BLOCK] = "block",	  [FD_ANON] = "anon",
};

static const char *const role_names[] = {
	[ROLE_UNKNOWN] = "",	      [ROLE_LISTENING] = "listening",
	[ROLE_ACCEPTED] = "accepted", [ROLE_CONNECTED] = "connected",
	[ROLE_BOUND] = "bound",
};

/* Another descriptor of the process for the same open file: dup has no more than that. */
static struct file *sibling(struct replay *r, const struct process *p, const struct file *f)
{
	struct file *o = idmap_get(&own(r)->known, inode_hash(p->pid, f->dev, f->ino));

	o = o == f ? o->same.next : o;
	return o && o != f && f->ino && o->ino == f->ino && o->dev == f->dev ? o : NULL;
}

/* Puts a file whose role or path is known into the ring of its inode. */
static int join(struct replay *r, const struct process *p, struct file *f, struct err *e)
{
	u64 id = inode_hash(p->pid, f->dev, f->ino);
	struct file *first = idmap_get(&own(r)->known, id);

	if (!f->ino || f->same.next || (!f->role && !f->path))
		return 0;
	if (!first) {
		f->same.next = f->same.prev = f;
		return idmap_put(&own(r)->known, id, f, FD_TOTAL, e);
	}
	if (first->ino != f->ino || first->dev != f->dev)
		return 0; /* two inodes of one hash: the second has no siblings */
	f->same.next = first;
	f->same.prev = first->same.prev;
	f->same.prev->same.next = f;
	first->same.prev = f;
	return 0;
}

static void leave(struct replay *r, const struct process *p, struct file *f)
{
	u64 id = inode_hash(p->pid, f->dev, f->ino);

	if (!f->same.next)
		return;
	f->same.next->same.prev = f->same.prev;
	f->same.prev->same.next = f->same.next;
	if (idmap_get(&own(r)->known, id) != f)
		return;
	idmap_take(&own(r)->known, id);
	if (f->same.next != f) /* one id less and one more: needs no memory */
		idmap_put(&own(r)->known, id, f->same.next, FD_TOTAL, NULL);
}

/* Address of the peer: of a Unix socket the path that it is connected to; "": not known, or none.
 */
static const char *peer_of(const struct file *f, char text[ADDRESS_MAX])
{
	static const char number[] = "socket:["; /* as /proc/PID/fd shows a socket without a path */

	if (f->family == LINUX_AF_UNIX)
		return f->role == ROLE_CONNECTED && f->path &&
				       strncmp(f->path, number, sizeof(number) - 1) != 0
			       ? f->path
			       : "";
	if (!f->dport && (f->role <= ROLE_LISTENING || f->role == ROLE_BOUND))
		return "";
	if (f->role == ROLE_CONNECTED && !f->dport && datagrams_only_peer(f, text))
		return text;
	address_text(text, f->family, f->daddr, f->dport);
	return text;
}

/* The descriptor is closed, or means something else from now on; ts 0: it never was closed. */
static int file_end(struct replay *r, struct process *p, s32 fd, u64 ts, struct err *e)
{
	struct file *f = file_of(p, fd);
	char local[ADDRESS_MAX], remote[ADDRESS_MAX];
	const char *peer;
	int ret;

	if (!f)
		return 0;
	address_text(local, f->family, f->saddr, f->sport);
	peer = peer_of(f, remote);
	ret = ts ? requests_closed(r, p, fd, f, ts, e) : requests_unanswered(r, p, fd, f, e);
	upstream_end(r, p, fd, f, ts > 0);
	if (ret == 0)
		ret = requests_end_one(r, p, fd, f, e);
	if (ret == 0)
		ret = datagrams_end(r, p, fd, f, ts > 0, e);
	if (ret == 0 && ts)
		ret = file_locks_closed(r, p, fd, f, ts, e);
	if (ret == 0)
		ret = row_put(r->db, fd, e, .pid = p->pid, .fd = fd, .ts = replay_time(r, f->since),
			      .end = ts ? replay_time(r, ts) : BULK_NULL,
			      .kind = kind_names[f->kind], .role = role_names[f->role],
			      .local = local, .remote = peer, .dev = f->dev, .ino = (s64)f->ino,
			      .path = f->path, .port = f->sport ? f->sport : BULK_NULL);
	fdmap_put(&fd_table(p)->files, fd, NULL, &own(r)->memory, NULL);
	own(r)->n_files--;
	leave(r, p, f);
	file_free(f);
	return ret;
}

static struct file *file_new(struct replay *r, struct process *p, s32 fd, u64 ts, struct err *e)
{
	struct file *f;

	if (own(r)->n_files >= FD_TOTAL) {
		err_set(e, ERR_DAMAGED, "the recording claims more than %d fds", FD_TOTAL);
		return NULL;
	}
	if (file_end(r, p, fd, ts, e) < 0)
		return NULL;
	f = calloc(1, sizeof(*f));
	if (!f) {
		err_set(e, ERR_FAIL, "out of memory for fds");
		return NULL;
	}
	if (fdmap_put(&fd_table(p)->files, fd, f, &own(r)->memory, e) < 0) {
		free(f);
		return NULL;
	}
	own(r)->n_files++;
	return f;
}

static void fill_file(struct file *f, const struct ev_fd *ev)
{
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].mode == (ev->mode & LINUX_S_IFMT))
			f->kind = kinds[i].kind;
	f->ino = ev->ino;
	f->dev = ev->dev;
	f->role = ev->role <= ROLE_BOUND ? ev->role : ROLE_UNKNOWN;
	f->socktype = ev->socktype;
	f->family = ev->family;
	f->sport = ev->sport;
	f->dport = ev->dport;
	memcpy(f->saddr, ev->saddr, sizeof(f->saddr));
	memcpy(f->daddr, ev->daddr, sizeof(f->daddr));
	f->cloexec = ev->flags & FD_CLOSED_BY_EXEC;
}

static int set_directory(struct process *p, const struct ev_fd *ev, const struct record *rec)
{
	char *path = rec->tail_len ? path_absolute(p, ev->dir, rec->tail, rec->tail_len) : NULL;

	free(fd_table(p)->directory);
	fd_table(p)->directory = path;
	return 0;
}

static int fds_on_fd(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_fd *ev = rec->event;
	struct process *p = idmap_get(&r->processes, ev->pid);
	const struct file *twin;
	struct file *f;

	if (p && ev->fd == WORKING_DIRECTORY)
		return set_directory(p, ev, rec);
	if (!p || ev->fd < 0)
		return 0;
	f = file_of(p, ev->fd);
	/* bind, listen and connect tell more of the same socket: the request and its begin stay */
	if (f && f->ino == ev->ino && f->dev == ev->dev && ev->ino) {
		if (f->role && !ev->role)
			return 0; /* it is known better */
	} else {
		f = file_new(r, p, ev->fd, rec->ts, e);
		if (!f)
			return ERR_FAIL;
		f->since = rec->stream == STREAM_RECORDER ? r->resnapshot : rec->ts;
	}
	fill_file(f, ev);
	f->snapshot = rec->stream == STREAM_RECORDER ? rec->ts : 0;
	if (rec->stream == STREAM_RECORDER)
		fd_table(p)->snapshot = rec->ts;
	if (rec->tail_len) {
		free(f->path);
		f->path = f->kind == FD_SOCKET
				  ? strndup(rec->tail, rec->tail_len)
				  : path_absolute(p, ev->dir, rec->tail, rec->tail_len);
		return join(r, p, f, e);
	}
	twin = f->role ? NULL : sibling(r, p, f);
	if (twin) {
		f->role = twin->role;
		if (!f->path && twin->path)
			f->path = strdup(twin->path);
	}
	return join(r, p, f, e);
}

static int fds_on_unread(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_unread *ev = rec->event;
	struct process *p = idmap_get(&r->processes, rec->tid);
	struct file *f = p ? file_of(p, (s32)ev->fd) : NULL;

	(void)e;
	if (f && f->ino == ev->ino && !f->since && !f->request.recvs && !f->request.answered)
		f->unread = ev->bytes > 0;
	return 0;
}

static int fds_on_asked(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_asked *ev = rec->event;
	struct process *p = idmap_get(&r->processes, rec->tid);
	struct file *f = p ? file_of(p, (s32)ev->fd) : NULL;
	u64 run = elapsed(r->begin, rec->ts);

	(void)e;
	/* of a part that begins later: it may have been answered since; or it arrived in the
	 * recording */
	if (rec->ts < r->begin || ev->age < run || !f || f->ino != ev->ino || f->since ||
	    f->request.recvs || f->request.answered)
		return 0;
	f->asked = ev->age - run + 1;
	f->asked_answered = ev->answered & 1;
	return 0;
}

static int end_not_shown(void *arg, void *value, struct err *e)
{
	struct replay *r = arg;
	struct process *p = value;
	const struct fd_table *t = fd_table(p);
	struct file *f;
	s64 fd;

	for (fd = 0; (p->left || t->snapshot >= r->resnapshot) && (f = fdmap_next(&t->files, &fd));
	     fd++)
		if (f->since < r->resnapshot && f->snapshot < r->resnapshot &&
		    file_end(r, p, fd, r->resnapshot, e) < 0)
			return ERR_FAIL;
	return 0;
}

/* What a later snapshot of a process did not show is closed: its end was lost. So it is of a
 * process that is no target of a later recording, after a gap. */
static int fds_on_info(struct replay *r, const struct record *rec, struct err *e)
{
	static const char begins[] = "snapshot_begin=", ends[] = "snapshot=";
	int ret;

	if (rec->stream != STREAM_RECORDER || rec->ts <= r->snapshot_end)
		return 0;
	if (rec->tail_len > sizeof(begins) && !memcmp(rec->tail, begins, sizeof(begins) - 1))
		r->resnapshot = rec->ts;
	if (!r->resnapshot || rec->tail_len < sizeof(ends) ||
	    memcmp(rec->tail, ends, sizeof(ends) - 1) != 0)
		return 0;
	ret = idmap_in_order(&r->processes, end_not_shown, r, e);
	r->resnapshot = 0;
	return ret;
}

/* Descriptors with the flag are closed. */
static int fds_on_exec(struct replay *r, const struct record *rec, struct err *e)
{
	struct thread *t = rec->tid ? idmap_get(&r->threads, rec->tid) : NULL;
	const struct file *f;
	s64 fd;

	for (fd = 0; t && (f = fdmap_next(&fd_table(t->process)->files, &fd)); fd++)
		if (f->cloexec && file_end(r, t->process, fd, rec->ts, e) < 0)
			return ERR_FAIL;
	return 0;
}

/* fcntl(2) sets the flag, fchdir(2) the working directory. */
static void note_change(struct process *p, enum syscall_family family, const struct call_view *v)
{
	struct file *f = file_of(p, v->arg[0]);

	if (!f)
		return;
	if (family == FAMILY_FCNTL && v->arg[1] == FCNTL_SETFD)
		f->cloexec = v->arg[2] & 1;
	if (family == FAMILY_FCHDIR && f->path) {
		free(fd_table(p)->directory);
		fd_table(p)->directory = strdup(f->path);
	}
}

/* Closing is a system call like others; what is opened is in fd events. */
static int fds_on_syscall(struct replay *r, const struct record *rec, struct err *e)
{
	const struct call_view *v = &r->call;
	enum syscall_family family = v->desc->family;
	struct thread *t;
	s64 fd, last;

	if (family < FAMILY_CLOSE || family > FAMILY_FCHDIR || v->ret != 0 ||
	    v->flags & SYSCALL_UNFINISHED || !rec->tid)
		return 0;
	t = task_thread(r, rec->tid, e);
	if (!t)
		return ERR_FAIL;
	if (family == FAMILY_FCNTL || family == FAMILY_FCHDIR) {
		note_change(t->process, family, v);
		return 0;
	}
	last = family == FAMILY_CLOSE_RANGE ? (s64)(u32)v->arg[1] : (s64)(s32)v->arg[0];
	fd = (s32)v->arg[0];
	for (; fd >= 0 && fdmap_next(&fd_table(t->process)->files, &fd) && fd <= last; fd++)
		if (file_end(r, t->process, fd, rec->ts, e) < 0)
			return ERR_FAIL;
	return 0;
}

/* A forked process gets copies of its parent's descriptors. */
static int inherit(struct replay *r, struct process *child, const struct process *parent, u64 ts,
		   struct err *e)
{
	const struct fd_table *from = fd_table(parent);
	const struct file *of;
	struct file *f;
	s64 fd;

	if (from->directory && !fd_table(child)->directory)
		fd_table(child)->directory = strdup(from->directory);
	for (fd = 0; (of = fdmap_next(&from->files, &fd)); fd++) {
		if (file_of(child, fd))
			continue;
		f = file_new(r, child, fd, ts, e);
		if (!f)
			return ERR_FAIL;
		*f = *of;
		f->since = ts;
		f->path = f->path ? strdup(f->path) : NULL;
		memset(&f->same, 0, sizeof(f->same));
		f->serves = false;
		f->client = NULL;
		f->use = NULL;
		f->flows = NULL;
		f->unread = f->eof = false;
		f->asked = 0;
		memset(&f->request, 0, sizeof(f->request));
		f->time = NULL;
		f->held = NULL;
		f->datagrams = NULL;
		memset(&f->asking, 0, sizeof(f->asking));
		memset(&f->outstanding, 0, sizeof(f->outstanding));
		if (join(r, child, f, e) < 0)
			return ERR_FAIL;
	}
	return 0;
}

static int fds_on_fork(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_fork *ev = rec->event;
	const struct thread *maker = idmap_get(&r->threads, rec->tid);
	struct thread *t = idmap_get(&r->threads, ev->child);

	if (!t || !maker || ev->child != ev->child_pid || maker->process == t->process)
		return 0;
	return inherit(r, t->process, maker->process, rec->ts, e);
}

static int fds_process_end(struct replay *r, struct process *p, u64 ts, struct err *e)
{
	int ret = 0, one;
	s64 fd;

	for (fd = 0; fdmap_next(&fd_table(p)->files, &fd); fd++) {
		one = file_end(r, p, fd, ts == r->end ? 0 : ts, ret == 0 ? e : NULL);
		ret = ret < 0 ? ret : one;
	}
	fdmap_free(&fd_table(p)->files, &own(r)->memory);
	return ret;
}

static void fds_process_free(void *own)
{
	struct fd_table *t = own;
	struct file *f;
	u64 memory = FD_MEMORY; /* nothing is counted any more */
	s64 fd;

	for (fd = 0; (f = fdmap_next(&t->files, &fd)); fd++)
		file_free(f);
	fdmap_free(&t->files, &memory);
	free(t->directory);
}

static void fds_free(void *own)
{
	struct fds *fds = own;

	idmap_free(&fds->known);
}

static const struct handler handlers[] = {
	{ EV_fd, true, fds_on_fd },
	{ EV_info, false, fds_on_info },
	{ EV_fd, false, fds_on_fd },
	{ EV_unread, false, fds_on_unread },
	{ EV_asked, false, fds_on_asked },
	{ EV_fork, false, fds_on_fork },
	{ EV_exec, false, fds_on_exec },
	{ EV_syscall, false, fds_on_syscall },
	{ EV_syscall_args, false, fds_on_syscall },
	{ 0 },
};

const struct tracker track_fds = {
	.name = "fds",
	.handlers = handlers,
	.of_replay = sizeof(struct fds),
	.of_process = sizeof(struct fd_table),
	.process_end = fds_process_end,
	.process_free = fds_process_free,
	.free = fds_free,
};
