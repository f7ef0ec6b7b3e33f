// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Content that a reader never reads because it goes on at its old position: the file became smaller
 * (truncated), or its path has another file (replaced). Both are facts: the reader's position, the
 * size, and the end of the bytes that it read before. Programs that give positions themselves, and
 * those that write the file, are not judged: they may know what is there.
 */
#include "track_offsets.h"

#include <stdlib.h>

#define GAPS_MAX 100000

/* How far a process has read a file, by its path. */
struct last_read {
	u32 inode;
	u64 end, ts, cuts;
};

static u64 path_key(u32 pid, u32 path)
{
	return (u64)pid << 32 | path;
}

static struct gap *gap_new(struct offsets *o, const struct io *io, u32 inode, const char *how)
{
	struct gap *g = o->n_gaps < GAPS_MAX ? calloc(1, sizeof(*g)) : NULL;

	if (!g)
		return NULL;
	g->how = how;
	g->ts = io->ts;
	g->pid = io->pid;
	g->tid = io->tid;
	g->fd = io->fd;
	g->inode = inode;
	g->pos = io->pos;
	g->size = io->size;
	o->n_gaps++;
	if (!o->tail)
		o->tail = &o->gaps;
	*o->tail = g;
	o->tail = &g->next;
	return g;
}

/* A later read of the process: it passes the same content, or goes back to it. */
static void follow(struct access *a, const struct io *io)
{
	struct gap *g = a->gap;

	if (io->pos < g->pos) {
		g->end = io->ts;
		a->gap = NULL;
		return;
	}
	g->reads++;
	if (io->size > g->top)
		g->top = io->size < g->pos ? io->size : g->pos;
}

static void open_gap(struct gap *g, struct access *a, const struct io *io, u64 base)
{
	if (!g)
		return;
	g->base = base;
	g->top = base;
	a->gap = g;
	follow(a, io);
}

/* Where the process goes on: at the end of its last read through this open file, or of the path. */
struct before {
	u64 end, ts, cuts;
	bool known, rewinds; /* rewinds: it has read from start to end so far */
};

static struct before before_of(const struct inode_seen *file, const struct flow *f,
			       const struct last_read *last)
{
	if (f->seen)
		return (struct before){ f->end, f->ts, f->cuts, true, !f->jumped };
	if (last && last->inode == file->id)
		return (struct before){ last->end, last->ts, last->cuts, true, false };
	return (struct before){ 0 };
}

static void check_truncated(struct offsets *o, const struct inode_seen *file, struct access *a,
			    const struct before *b, const struct io *io)
{
	const struct cut *c = &file->cut;
	bool on = io->pos == b->end && io->pos > c->to;
	bool once = c->n == b->cuts + 1; /* what followed its last read is what was cut off */
	u64 unread = once && c->from > b->end ? c->from - b->end : 0;
	struct gap *g;

	if (!on && !(b->rewinds && io->pos < b->end && unread))
		return;
	g = gap_new(o, io, file->id, "truncated");
	if (!g)
		return;
	g->since = b->ts;
	g->changer = c->pid;
	g->unread = unread;
	if (on)
		open_gap(g, a, io, c->to);
	else
		g->end = io->ts;
}

static void check_read(struct offsets *o, const struct inode_seen *file, struct access *a,
		       const struct flow *f, const struct io *io)
{
	const struct last_read *last = NULL;
	struct before b;
	struct gap *g;

	if (a->gap)
		follow(a, io);
	if (a->gap || a->writes.n)
		return;
	if (file->path)
		last = idmap_get(&o->last, path_key(io->pid, file->path));
	b = before_of(file, f, last);
	if (b.known && file->cut.n > b.cuts)
		check_truncated(o, file, a, &b, io);
	if (b.known || !io->pos || !last || last->end != io->pos)
		return;
	g = gap_new(o, io, file->id, "replaced");
	if (!g)
		return;
	g->since = last->ts;
	g->changer = file->writer;
	open_gap(g, a, io, 0);
}

static void check_write(struct offsets *o, const struct inode_seen *file, const struct flow *f,
			const struct io *io)
{
	const struct cut *c = &file->cut;
	struct gap *g;

	if (!f->seen || c->n == f->cuts || io->pos != f->end || !file->sized ||
	    io->pos <= file->size)
		return;
	g = gap_new(o, io, file->id, "hole");
	if (!g)
		return;
	g->since = f->ts;
	g->changer = c->pid;
	g->base = file->size;
	g->top = io->pos;
	g->end = io->ts;
}

void gaps_check(struct offsets *o, const struct inode_seen *file, struct access *a,
		const struct flow *f, const struct io *io)
{
	/* an entry of zeros is shared by all files, or users, beyond the limit */
	if (io->flags & (FILE_IO_GIVEN | FILE_IO_UNKNOWN) || !file->of.ino || !a->of.pid)
		return;
	if (!(io->flags & FILE_IO_WRITE))
		check_read(o, file, a, f, io);
	else if (!(io->flags & FILE_IO_APPEND))
		check_write(o, file, f, io);
}

int gaps_read(struct offsets *o, const struct inode_seen *file, const struct io *io, struct err *e)
{
	u64 key = path_key(io->pid, file->path);
	struct last_read *last = idmap_get(&o->last, key);

	if (!file->path || io->flags & (FILE_IO_WRITE | FILE_IO_GIVEN | FILE_IO_UNKNOWN))
		return 0;
	if (!last) {
		if (o->last.n >= GAPS_MAX)
			return 0;
		last = idmap_add(&o->last, key, sizeof(*last), GAPS_MAX, "files", e);
		if (!last)
			return ERR_FAIL;
	}
	*last = (struct last_read){ file->id, io->pos + io->bytes, io->ts, file->cut.n };
	return 0;
}

void gaps_free(struct offsets *o)
{
	struct gap *g = o->gaps, *next;

	for (; g; g = next) {
		next = g->next;
		free(g);
	}
	idmap_free_all(&o->last);
}
