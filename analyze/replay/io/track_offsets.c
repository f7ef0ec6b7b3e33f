// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Positions of reads and writes: sequential, strided or random, by open file, process and file.
 * Stated without thresholds: an access is sequential if it starts where the one before it through
 * the same open file ended, strided if the distance from its start is that of the one before, else
 * random. A file is a device, an inode and its generation: inode numbers are used again.
 */
#include "track_offsets.h"

#include "analyze/replay/tasks/threads.h"
#include "descriptors.h"
#include "track_files.h"

#include <stdlib.h>
#include <string.h>

#define OPEN_TRUNCATES 01000 /* O_TRUNC, on every system that writes recordings */

static struct offsets *own(const struct replay *r)
{
	return r->own[TRACK_offsets];
}

static struct inode_seen *inode_of(struct replay *r, const struct ev_file_io *ev, struct err *e)
{
	u64 id = inode_hash(0, ev->dev, ev->ino);
	struct inode_seen *n =
		inode_use_of(&own(r)->inodes, ev->generation, ev->dev, ev->ino, sizeof(*n), e);

	if (n && !n->id)
		n->id = ++own(r)->n_inodes;
	if (n && idmap_get(&own(r)->by_ino, id) != n &&
	    idmap_put(&own(r)->by_ino, id, n, PAIR_LIMIT + 1, e) < 0)
		return NULL;
	return n;
}

/* The entry of its fd, if it is of this file. */
static struct file *entry_of(const struct process *p, const struct ev_file_io *ev)
{
	struct file *f = file_of(p, ev->fd);

	return f && f->kind == FD_FILE && f->ino == ev->ino && f->dev == ev->dev ? f : NULL;
}

static int name_inode(struct replay *r, struct inode_seen *n, const struct file *f, struct err *e)
{
	if (!n->path && f && f->path && files_path(r, f->path, &n->path, e) < 0)
		return ERR_FAIL;
	return 0;
}

/* The flows of an open file; none: where to keep those of an unknown one. */
static struct flows *flows_of(struct file *f, u32 inode, struct flows *none, struct err *e)
{
	struct flows *w = f ? f->flows : none;

	if (f && !w) {
		f->flows = w = calloc(1, sizeof(*w));
		if (!w) {
			err_set(e, ERR_FAIL, "out of memory for files");
			return NULL;
		}
	}
	if (w->inode != inode)
		*w = (struct flows){ .inode = inode };
	return w;
}

static void classify(struct pattern *p, struct flow *f, const struct io *io)
{
	s64 step = (s64)(io->pos - f->first);

	p->n++;
	p->bytes += io->bytes;
	f->jumped |= f->seen && io->pos != f->end;
	if (io->bytes && f->n) {
		if (io->pos == f->end)
			p->sequential++;
		else if (f->n > 1 && step == f->step)
			p->strided++;
		else
			p->random++;
		f->step = step;
	}
	if (io->bytes || !f->n)
		f->first = io->pos;
	f->n += io->bytes > 0;
	f->seen = true;
	f->end = io->pos + io->bytes;
	f->ts = io->ts;
}

static void on_read(struct access *a, const struct inode_seen *n, const struct io *io)
{
	bool has_size = n->peak || io->size; /* files of /proc have none */

	a->at_end += !io->bytes;
	a->past_end += has_size && io->pos > io->size;
}

/* after: the size is that before it. */
static void on_write(struct access *a, struct inode_seen *n, const struct io *io, bool after)
{
	u64 end = io->pos + io->bytes;

	if (!n->writer)
		n->writer = io->pid;
	if (io->flags & FILE_IO_APPEND || (n->sized && io->pos == n->size)) {
		a->appends++;
		a->append_bytes += io->bytes;
	} else if (n->sized && io->pos > n->size) {
		a->holes++;
	} else if (n->sized && after) {
		a->overwrites++;
		a->overwrite_bytes += (end < n->size ? end : n->size) - io->pos;
	}
}

/* The file is smaller than it was before. */
static void cut(struct inode_seen *n, u64 ts, u64 to, u64 size, u32 pid)
{
	n->cut = (struct cut){ n->cut.n + 1, ts, n->size, to, pid };
	n->size = size;
}

/*
 * A size is sampled after the time of its record, by any delay: a record of another thread may have
 * a later time and an earlier sample. It has not if the thread has returned from another call
 * since.
 */
static bool is_after(const struct replay *r, const struct sample *s, u32 tid)
{
	const struct thread *t;

	if (s->tid == tid)
		return true;
	t = idmap_get(&r->threads, s->tid);
	return !t || t->returned > s->ts;
}

static void take_size(struct inode_seen *n, const struct io *io)
{
	struct sample s = { io->ts, io->tid };

	if (!n->sized || io->size != n->size)
		n->first = s;
	n->last = s;
	n->size = io->size;
	n->sized = true;
}

/* False: the size before may be a later one. A write up to the end began at the end. */
static bool note_size(const struct replay *r, struct inode_seen *n, const struct io *io)
{
	bool write = io->flags & FILE_IO_WRITE && !(io->flags & FILE_IO_UNKNOWN);
	u64 to = write && io->pos + io->bytes == io->size ? io->pos : io->size;
	bool after = is_after(r, &n->first, io->tid) || is_after(r, &n->last, io->tid);

	if (n->sized && io->size < n->size && after) {
		cut(n, io->ts, to, to, 0);
		n->first = (struct sample){ io->ts, io->tid };
	}
	return after;
}

/* A process has truncated the file of an fd, in a call from entry to ts; f may be NULL. */
static void cut_by(struct replay *r, const struct file *f, u32 pid, u64 size, u64 entry, u64 ts)
{
	struct inode_seen *n = NULL;

	if (f)
		n = idmap_get(&own(r)->by_ino, inode_hash(0, f->dev, f->ino));
	if (!n || !n->sized || n->of.dev != f->dev || n->of.ino != f->ino)
		return;
	if (n->size > size)
		cut(n, ts, size, size, pid);
	else if (n->cut.ts >= entry && n->cut.ts <= ts && !n->cut.pid)
		n->cut.pid = pid;
}

static int offsets_on_open(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_file_open *ev = rec->event;
	struct thread *t = rec->tid ? task_thread(r, rec->tid, e) : NULL;

	if (!t)
		return rec->tid ? ERR_FAIL : 0;
	if (ev->ret >= 0 && ev->flags & OPEN_TRUNCATES)
		cut_by(r, file_of(t->process, (s32)ev->ret), t->process->pid, 0,
		       elapsed(ev->dur, rec->ts), rec->ts);
	return 0;
}

/* Of ftruncate(2), whose record has no path but the fd; after truncate(2) the size shows it. */
static int offsets_on_change(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_file_change *ev = rec->event;
	const struct syscall_desc *d = syscall_find(ev->abi, ev->nr);
	struct thread *t = rec->tid ? task_thread(r, rec->tid, e) : NULL;

	if (!t)
		return rec->tid ? ERR_FAIL : 0;
	if (!ev->ret && !rec->tail_len && d && strcmp(d->name, "ftruncate") == 0)
		cut_by(r, file_of(t->process, ev->dir), t->process->pid, ev->size,
		       elapsed(ev->dur, rec->ts), rec->ts);
	return 0;
}

static int account(struct replay *r, struct inode_seen *n, struct access *a, struct flows *w,
		   const struct io *io, struct err *e)
{
	bool write = io->flags & FILE_IO_WRITE;
	struct flow *f = write ? &w->writes : &w->reads;
	bool after = note_size(r, n, io);

	gaps_check(own(r), n, a, f, io);
	if (io->flags & FILE_IO_UNKNOWN) {
		a->unknown++;
	} else {
		if (write)
			on_write(a, n, io, after);
		else
			on_read(a, n, io);
		classify(write ? &a->writes : &a->reads, f, io);
		f->cuts = n->cut.n;
	}
	if (!n->sized || after || io->size >= n->size)
		take_size(n, io);
	n->peak = io->size > n->peak ? io->size : n->peak;
	return gaps_read(own(r), n, io, e);
}

static void add_row(struct replay *r, const struct ev_file_io *ev, const struct io *io, u32 inode)
{
	struct row_file_io *row = bulk_add(r->bulk, file_io);

	row->ts = replay_time(r, io->ts);
	row->tid = io->tid;
	row->pid = io->pid;
	row->fd = io->fd;
	row->inode = inode;
	row->abi = ev->abi;
	row->nr = ev->nr;
	row->writes = !!(io->flags & FILE_IO_WRITE);
	row->pos = io->flags & FILE_IO_UNKNOWN ? BULK_NULL : (s64)io->pos;
	row->bytes = io->bytes;
	row->size = (s64)io->size;
	row->flags = io->flags;
}

static int offsets_on_io(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_file_io *ev = rec->event;
	struct thread *t = rec->tid ? task_thread(r, rec->tid, e) : NULL;
	struct io io = { rec->ts, ev->pos, ev->size, rec->tid, 0, ev->bytes, ev->fd, ev->flags };
	struct flows none = { 0 }, *w;
	struct inode_seen *n;
	struct access *a;
	struct file *f;

	if (!t)
		return rec->tid ? ERR_FAIL : 0;
	io.pid = t->process->pid;
	if (io.size > POSITION_LIMIT || io.pos > POSITION_LIMIT)
		io.flags |= FILE_IO_UNKNOWN;
	io.size = io.size > POSITION_LIMIT ? POSITION_LIMIT : io.size;
	f = entry_of(t->process, ev);
	n = inode_of(r, ev, e);
	if (!n || name_inode(r, n, f, e) < 0)
		return ERR_FAIL;
	a = inode_use_of(&own(r)->accesses, io.pid, n->id, 0, sizeof(*a), e);
	w = a ? flows_of(f, n->id, &none, e) : NULL;
	if (!w || account(r, n, a, w, &io, e) < 0)
		return ERR_FAIL;
	add_row(r, ev, &io, n->id);
	return 0;
}

static void put_access(struct replay *r, const struct access *a)
{
	struct row_file_access *row = bulk_add(r->bulk, file_access);

	row->pid = a->of.pid;
	row->inode = a->of.dev;
	row->reads = (s64)a->reads.n;
	row->read_bytes = (s64)(a->reads.bytes & INT64_MAX);
	row->read_sequential = (s64)a->reads.sequential;
	row->read_strided = (s64)a->reads.strided;
	row->read_random = (s64)a->reads.random;
	row->read_at_end = (s64)a->at_end;
	row->read_past_end = (s64)a->past_end;
	row->writes = (s64)a->writes.n;
	row->write_bytes = (s64)(a->writes.bytes & INT64_MAX);
	row->write_sequential = (s64)a->writes.sequential;
	row->write_strided = (s64)a->writes.strided;
	row->write_random = (s64)a->writes.random;
	row->appends = (s64)a->appends;
	row->append_bytes = (s64)(a->append_bytes & INT64_MAX);
	row->overwrites = (s64)a->overwrites;
	row->overwrite_bytes = (s64)(a->overwrite_bytes & INT64_MAX);
	row->holes = (s64)a->holes;
	row->unknown = (s64)a->unknown;
}

static void put_inode(struct replay *r, const struct inode_seen *n)
{
	struct row_inode *row = bulk_add(r->bulk, inode);

	row->id = n->id;
	row->dev = n->of.dev;
	row->ino = (s64)(n->of.ino & INT64_MAX);
	row->generation = n->of.pid;
	row->path = n->path;
	row->size = (s64)n->size;
	row->max_size = (s64)n->peak;
}

static int put_gap(struct replay *r, const struct gap *g, struct err *e)
{
	return row_put(
		r->db, file_gap, e, .ts = replay_time(r, g->ts), .since = replay_time(r, g->since),
		.end = g->end ? replay_time(r, g->end) : BULK_NULL, .how = g->how, .pid = g->pid,
		.tid = g->tid, .fd = g->fd, .inode = g->inode, .pos = (s64)g->pos,
		.size = (s64)g->size, .skipped = (s64)(g->top - g->base), .unread = (s64)g->unread,
		.reads = (s64)g->reads, .changer = g->changer ? (s64)g->changer : BULK_NULL);
}

static int offsets_finish(struct replay *r, struct err *e)
{
	struct inode_use **list;
	const struct gap *g;
	size_t n, i;
	int ret = 0;

	list = inode_uses_sorted(&own(r)->inodes, &n, e);
	for (i = 0; list && i < n; i++)
		put_inode(r, (struct inode_seen *)list[i]);
	if (!list)
		return ERR_FAIL;
	free(list);
	list = inode_uses_sorted(&own(r)->accesses, &n, e);
	for (i = 0; list && i < n; i++)
		put_access(r, (struct access *)list[i]);
	if (!list)
		return ERR_FAIL;
	free(list);
	for (g = own(r)->gaps; g && ret == 0; g = g->next)
		ret = put_gap(r, g, e);
	return ret;
}

static void offsets_free(void *slot)
{
	struct offsets *o = slot;

	gaps_free(o);
	inode_uses_free(&o->inodes);
	inode_uses_free(&o->accesses);
	idmap_free(&o->by_ino);
}

static const struct handler handlers[] = {
	{ EV_file_io, false, offsets_on_io },
	{ EV_file_open, false, offsets_on_open },
	{ EV_file_change, false, offsets_on_change },
	{ 0 },
};

const struct tracker track_offsets = {
	.name = "offsets",
	.handlers = handlers,
	.of_replay = sizeof(struct offsets),
	.finish = offsets_finish,
	.free = offsets_free,
};
