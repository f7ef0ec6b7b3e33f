// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files: each call that opens or changes one, with its path, and sums of reads and writes by
 * process and file. Paths are written once and named by number.
 */
#include "track_files.h"

#include "analyze/replay/tasks/threads.h"
#include "analyze/replay/text_ids.h"
#include "descriptors.h"
#include "inode_uses.h"
#include "track_syscalls.h"

#include <stdlib.h>
#include <string.h>

#define ERRNO_MAX 4095 /* results from -4095 to -1 are errors */

/* One row of file_use. */
struct file_use {
	struct inode_use of;
	u32 path;
	struct io_sum {
		u64 n, bytes, time, max;
	} reads, writes;
	u64 errors;
};

struct file_log {
	struct text_ids paths;
	struct idmap uses;
};

static struct file_log *own(const struct replay *r)
{
	return r->own[TRACK_files];
}

int files_path(struct replay *r, const char *text, u32 *ret_id, struct err *e)
{
	bool new;
	int ret = text_ids_get(&own(r)->paths, text, ret_id, &new, e);

	return ret < 0 || !new ? ret : row_put(r->db, file_path, e, .id = *ret_id, .path = text);
}

/* The path of an event; a tail that is empty means the descriptor itself. */
static int path_of(struct replay *r, const struct process *p, s32 dir, const struct record *rec,
		   u32 *ret_id, struct err *e)
{
	const struct file *f = rec->tail_len ? NULL : file_of(p, dir);
	char *path = f ? strdup(f->path ? f->path : "")
		       : path_absolute(p, dir, rec->tail, rec->tail_len);
	int ret = path ? files_path(r, path, ret_id, e)
		       : err_set(e, ERR_FAIL, "out of memory for paths");

	free(path);
	return ret;
}

/* The thread and the path of a call that names a file; 0: by no thread. Positive: both are known.
 */
static int named_call(struct replay *r, const struct record *rec, s32 dir, u8 abi, u16 nr,
		      struct thread **ret_thread, u32 *ret_path, struct err *e)
{
	struct thread *t = rec->tid ? task_thread(r, rec->tid, e) : NULL;

	*ret_thread = t;
	if (!t)
		return rec->tid ? ERR_FAIL : 0;
	if (path_of(r, t->process, dir, rec, ret_path, e) < 0 || syscalls_name(r, abi, nr, e) < 0)
		return ERR_FAIL;
	return 1;
}

static int files_on_open(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_file_open *ev = rec->event;
	struct row_file_open *row;
	struct thread *t;
	u32 path;
	int ret = named_call(r, rec, ev->dir, ev->abi, ev->nr, &t, &path, e);

	if (ret <= 0)
		return ret;
	row = bulk_add(r->bulk, file_open);
	row->ts = replay_time(r, elapsed(ev->dur, rec->ts));
	row->dur = ev->dur & INT64_MAX;
	row->tid = rec->tid;
	row->pid = t->process->pid;
	row->abi = ev->abi;
	row->nr = ev->nr;
	row->path = path;
	row->flags = ev->flags;
	row->ret = ev->ret;
	return 0;
}

static int files_on_change(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_file_change *ev = rec->event;
	struct row_file_change *row;
	struct thread *t;
	u32 path;
	int ret = named_call(r, rec, ev->dir, ev->abi, ev->nr, &t, &path, e);

	if (ret <= 0)
		return ret;
	row = bulk_add(r->bulk, file_change);
	row->ts = replay_time(r, elapsed(ev->dur, rec->ts));
	row->dur = ev->dur & INT64_MAX;
	row->tid = rec->tid;
	row->pid = t->process->pid;
	row->abi = ev->abi;
	row->nr = ev->nr;
	row->path = path;
	row->which = ev->which;
	row->size = ev->size & INT64_MAX;
	row->ret = ev->ret;
	return 0;
}

static void add_io(struct file_use *u, bool write, s64 ret, u64 dur)
{
	struct io_sum *s = write ? &u->writes : &u->reads;

	s->n++;
	s->time += dur;
	if (ret < 0) {
		u->errors += ret >= -ERRNO_MAX;
		return;
	}
	s->bytes += ret;
	s->max = (u64)ret > s->max ? (u64)ret : s->max;
}

/* A call that has returned read or wrote what fd refers to. */
static int on_file(struct replay *r, const struct process *p, s32 fd, bool write,
		   const struct call_view *v, struct err *e)
{
	struct file *f = file_of(p, fd);

	if (!f || f->kind != FD_FILE)
		return 0;
	if (!f->use) {
		f->use = inode_use_of(&own(r)->uses, p->pid, f->dev, f->ino, sizeof(*f->use), e);
		if (!f->use)
			return ERR_FAIL;
		if (!f->use->path && f->path && f->use->of.pid &&
		    files_path(r, f->path, &f->use->path, e) < 0)
			return ERR_FAIL;
	}
	add_io(f->use, write, v->ret, v->flags & SYSCALL_NO_ENTRY ? 0 : v->dur);
	return 0;
}

static int files_on_syscall(struct replay *r, const struct record *rec, struct err *e)
{
	const struct call_view *v = &r->call;
	enum syscall_file io = v->desc->file;
	struct thread *t;
	int ret = 0;

	if (io == IO_NONE || !rec->tid || v->flags & SYSCALL_UNFINISHED)
		return 0;
	t = task_thread(r, rec->tid, e);
	if (!t)
		return ERR_FAIL;
	if (io == IO_SENDFILE) /* to, from */
		ret = on_file(r, t->process, (s32)v->arg[1], false, v, e);
	else if (io != IO_WRITE)
		ret = on_file(r, t->process, (s32)v->arg[0], false, v, e);
	if (ret == 0 && (io == IO_WRITE || io == IO_SENDFILE))
		ret = on_file(r, t->process, (s32)v->arg[0], true, v, e);
	if (ret == 0 && io == IO_COPY)
		ret = on_file(r, t->process, (s32)v->arg[2], true, v, e);
	return ret;
}

int files_on_request(struct replay *r, u32 pid, u32 dev, u64 ino, bool write, s64 ret, u64 dur,
		     struct err *e)
{
	struct file_use *u = inode_use_of(&own(r)->uses, pid, dev, ino, sizeof(*u), e);

	if (!u)
		return ERR_FAIL;
	add_io(u, write, ret, dur);
	return 0;
}

static int files_finish(struct replay *r, struct err *e)
{
	struct inode_use **list;
	size_t n, i;
	struct row_file_use *row;

	list = inode_uses_sorted(&own(r)->uses, &n, e);
	if (!list)
		return ERR_FAIL;
	for (i = 0; i < n; i++) {
		const struct file_use *u = (struct file_use *)list[i];

		row = bulk_add(r->bulk, file_use);
		row->pid = u->of.pid;
		row->dev = u->of.dev;
		row->ino = u->of.ino & INT64_MAX;
		row->path = u->path;
		row->reads = u->reads.n & INT64_MAX;
		row->read_bytes = u->reads.bytes & INT64_MAX;
		row->read_time = u->reads.time & INT64_MAX;
		row->read_max = u->reads.max & INT64_MAX;
		row->writes = u->writes.n & INT64_MAX;
		row->write_bytes = u->writes.bytes & INT64_MAX;
		row->write_time = u->writes.time & INT64_MAX;
		row->write_max = u->writes.max & INT64_MAX;
		row->errors = u->errors;
	}
	free(list);
	return 0;
}

static void files_free(void *slot)
{
	struct file_log *log = slot;

	text_ids_free(&log->paths);
	inode_uses_free(&log->uses);
}

static const struct handler handlers[] = {
	{ EV_syscall, false, files_on_syscall },
	{ EV_syscall_args, false, files_on_syscall },
	{ EV_file_open, false, files_on_open },
	{ EV_file_change, false, files_on_change },
	{ 0 },
};

const struct tracker track_files = {
	.name = "files",
	.handlers = handlers,
	.of_replay = sizeof(struct file_log),
	.finish = files_finish,
	.free = files_free,
};
