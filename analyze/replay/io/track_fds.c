// SPDX-License-Identifier: GPL-2.0-or-later
/* Descriptors: what each number meant in each process, and since when. */
#include "analyze/replay/track.h"
#include "format/shapes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* File types as in st_mode; the same numbers on every system that writes recordings. */
#define MODE_TYPE    0170000
#define FAMILY_INET  2
#define FAMILY_INET6 10
#define FCNTL_SETFD  2

static const struct {
	u16 mode;
	enum fd_kind kind;
} kinds[] = {
	{ 0140000, FD_SOCKET }, { 0100000, FD_FILE }, { 0040000, FD_DIRECTORY },
	{ 0010000, FD_PIPE },	{ 0020000, FD_CHAR }, { 0060000, FD_BLOCK },
	{ 0000000, FD_ANON },
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

struct file *file_of(const struct process *p, s32 fd)
{
	return fd >= 0 && (u32)fd < p->n_files ? p->files[fd] : NULL;
}

void file_free(struct file *f)
{
	if (!f)
		return;
	free(f->path);
	free(f->time);
	free(f);
}

/* "127.0.0.1:80", "[::1]:80", or "" for what is no internet address. */
void address_text(char text[ADDRESS_MAX], u16 family, const u8 *a, u16 port)
{
	int i, n = 0;

	text[0] = '\0';
	if (family == FAMILY_INET) {
		snprintf(text, ADDRESS_MAX, "%u.%u.%u.%u:%u", a[0], a[1], a[2], a[3], port);
	} else if (family == FAMILY_INET6) {
		n = snprintf(text, ADDRESS_MAX, "[");
		for (i = 0; i < 16; i += 2)
			n += snprintf(text + n, ADDRESS_MAX - n, "%s%x", i ? ":" : "",
				      a[i] << 8 | a[i + 1]);
		snprintf(text + n, ADDRESS_MAX - n, "]:%u", port);
	}
}

/* The descriptor is closed, or means something else from now on; ts 0: it never was closed. */
static int file_end(struct replay *r, struct process *p, s32 fd, u64 ts, struct err *e)
{
	struct file *f = file_of(p, fd);
	char local[ADDRESS_MAX], remote[ADDRESS_MAX];
	int ret;

	if (!f)
		return 0;
	address_text(local, f->family, f->saddr, f->sport);
	address_text(remote, f->family, f->daddr, f->dport);
	ret = requests_end_turn(r, p, fd, f, e);
	if (ret == 0)
		ret = db_run(r->db, e, "INSERT INTO fd VALUES(?,?,?,nullif(?,-1),?,?,?,?,?,?,?)",
			     "iiiissssiis", (s64)p->pid, (s64)fd, replay_time(r, f->since),
			     ts ? replay_time(r, ts) : (s64)-1, kind_names[f->kind],
			     role_names[f->role], local,
			     f->dport || f->role > ROLE_LISTENING ? remote : "", (s64)f->dev,
			     (s64)f->ino, f->path);
	p->files[fd] = NULL;
	r->n_files--;
	file_free(f);
	return ret;
}

static struct file *file_new(struct replay *r, struct process *p, s32 fd, u64 ts, struct err *e)
{
	u32 n = p->n_files ? p->n_files : 16;
	struct file **grown, *f;

	if (fd < 0 || fd >= FD_LIMIT || r->n_files >= FD_TOTAL) {
		err_set(e, ERR_DAMAGED,
			"the recording claims a descriptor %d, or more than %d of them", fd,
			FD_TOTAL);
		return NULL;
	}
	if (file_end(r, p, fd, ts, e) < 0)
		return NULL;
	while (n <= (u32)fd)
		n *= 2;
	if (n > p->n_files) {
		grown = realloc(p->files, n * sizeof(*grown));
		if (!grown) {
			err_set(e, ERR_FAIL, "out of memory for descriptors");
			return NULL;
		}
		memset(grown + p->n_files, 0, (n - p->n_files) * sizeof(*grown));
		p->files = grown;
		p->n_files = n;
	}
	f = calloc(1, sizeof(*f));
	if (!f) {
		err_set(e, ERR_FAIL, "out of memory for descriptors");
		return NULL;
	}
	p->files[fd] = f;
	r->n_files++;
	return f;
}

/* Another descriptor of the process for the same open file: dup tells no more than that. */
static const struct file *sibling(const struct process *p, const struct file *f)
{
	const struct file *o;
	u32 fd;

	for (fd = 0; fd < p->n_files && f->ino; fd++) {
		o = p->files[fd];
		if (o && o != f && o->ino == f->ino && o->dev == f->dev && (o->role || o->path))
			return o;
	}
	return NULL;
}

char *path_absolute(const struct process *p, s32 dir, const char *text, size_t len)
{
	const struct file *f = file_of(p, dir);
	const char *base = dir == WORKING_DIRECTORY ? p->directory : f ? f->path : NULL;
	char *path;
	size_t n;

	if (len >= 2 && text[0] == '.' && text[1] == '/')
		text += 2, len -= 2;
	if (text[0] == '/' || !base || base[0] != '/')
		return strndup(text, len);
	if (len == 1 && text[0] == '.')
		return strdup(base);
	n = strlen(base);
	path = malloc(n + len + 2);
	if (path)
		snprintf(path, n + len + 2, "%s%s%.*s", base, base[n - 1] == '/' ? "" : "/",
			 (int)len, text);
	return path;
}

static void fill_file(struct file *f, const struct ev_fd *ev)
{
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].mode == (ev->mode & MODE_TYPE))
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

	free(p->directory);
	p->directory = path;
	return 0;
}

int fds_on_fd(struct replay *r, const struct record *rec, struct err *e)
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
	/* bind, listen and connect tell more of the same socket: the turn and its begin stay */
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
	f->told = rec->stream == STREAM_RECORDER ? rec->ts : 0;
	p->told = rec->stream == STREAM_RECORDER ? rec->ts : p->told;
	if (rec->tail_len) {
		free(f->path);
		f->path = path_absolute(p, ev->dir, rec->tail, rec->tail_len);
		return 0;
	}
	twin = f->role ? NULL : sibling(p, f);
	if (!twin)
		return 0;
	f->role = twin->role;
	if (!f->path && twin->path)
		f->path = strdup(twin->path);
	return 0;
}

/* What a later snapshot of a process did not show is closed: its end was lost. */
int fds_on_info(struct replay *r, const struct record *rec, struct err *e)
{
	static const char begins[] = "snapshot_begin=", ends[] = "snapshot=";
	struct process *p;
	size_t at = 0;
	u32 fd;

	if (rec->stream != STREAM_RECORDER || rec->ts <= r->snapshot_end)
		return 0;
	if (rec->tail_len > sizeof(begins) && !memcmp(rec->tail, begins, sizeof(begins) - 1))
		r->resnapshot = rec->ts;
	if (!r->resnapshot || rec->tail_len < sizeof(ends) ||
	    memcmp(rec->tail, ends, sizeof(ends) - 1) != 0)
		return 0;
	while ((p = idmap_each(&r->processes, &at)))
		for (fd = 0; p->told >= r->resnapshot && fd < p->n_files; fd++)
			if (p->files[fd] && p->files[fd]->since < r->resnapshot &&
			    p->files[fd]->told < r->resnapshot &&
			    file_end(r, p, fd, r->resnapshot, e) < 0)
				return ERR_FAIL;
	r->resnapshot = 0;
	return 0;
}

int fds_exec(struct replay *r, struct process *p, u64 ts, struct err *e)
{
	u32 fd;

	for (fd = 0; fd < p->n_files; fd++)
		if (p->files[fd] && p->files[fd]->cloexec && file_end(r, p, fd, ts, e) < 0)
			return ERR_FAIL;
	return 0;
}

/* fcntl(2) sets the flag, fchdir(2) the working directory. */
static void note_change(struct process *p, enum family family, const struct call_view *v)
{
	struct file *f = file_of(p, v->arg[0]);

	if (!f)
		return;
	if (family == FAMILY_FCNTL && v->arg[1] == FCNTL_SETFD)
		f->cloexec = v->arg[2] & 1;
	if (family == FAMILY_FCHDIR && f->path) {
		free(p->directory);
		p->directory = strdup(f->path);
	}
}

/* Closing is a system call like others; what is opened is told by fd events. */
int fds_on_syscall(struct replay *r, const struct record *rec, struct err *e)
{
	const struct call_view *v = &r->call;
	int abi = abi_table(v->abi, v->nr);
	enum family family = abi < 0 ? FAMILY_NONE : r->families[abi][v->nr];
	struct thread *t;
	s64 fd, last;

	if (family < FAMILY_CLOSE || family >= FAMILY_EPOLL || v->ret != 0 ||
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
	last = last < (s64)t->process->n_files ? last : (s64)t->process->n_files - 1;
	for (fd = (s32)v->arg[0]; fd >= 0 && fd <= last; fd++)
		if (file_end(r, t->process, fd, rec->ts, e) < 0)
			return ERR_FAIL;
	return 0;
}

int fds_inherit(struct replay *r, struct process *child, const struct process *parent, u64 ts,
		struct err *e)
{
	struct file *f;
	u32 fd;

	for (fd = 0; fd < parent->n_files; fd++) {
		if (!parent->files[fd] || file_of(child, fd))
			continue;
		f = file_new(r, child, fd, ts, e);
		if (!f)
			return ERR_FAIL;
		*f = *parent->files[fd];
		f->since = ts;
		f->path = f->path ? strdup(f->path) : NULL;
		f->serves = false;
		f->client = NULL;
		f->use = NULL;
		memset(&f->turn, 0, sizeof(f->turn));
		f->time = NULL;
		memset(&f->asking, 0, sizeof(f->asking));
	}
	return 0;
}

int fds_end(struct replay *r, struct process *p, u64 ts, struct err *e)
{
	int ret = 0, one;
	u32 fd;

	for (fd = 0; fd < p->n_files; fd++) {
		one = file_end(r, p, fd, ts == r->end ? 0 : ts, ret == 0 ? e : NULL);
		ret = ret < 0 ? ret : one;
	}
	return ret;
}
