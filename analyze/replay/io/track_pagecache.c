// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The page cache: what was looked up, and what was not there. The kernel reports a look-up when
 * it is over, so a page of it that the same thread added in the same system call was a miss; a
 * fault is reported before its pages are added. A long read looks up its rest several times: each
 * page counts once a call.
 */
#include "analyze/replay/tasks/threads.h"
#include "inode_uses.h"

#include <stdlib.h>

#define RANGES 16 /* remembered additions of one thread; neighbours are joined */

enum how { HOW_READ, HOW_MAP, HOW_FAULT };

struct page_use {
	struct inode_use of;
	u64 lookups, pages, missed, faults, fault_misses, added, removed;
};

struct range {
	u64 ts, ino, first, last;
	u32 dev;
	struct page_use *use; /* NULL: there is none */
};

/* What a thread is about in the page cache. */
struct page_watch {
	struct range added[RANGES];
	u32 n_added;
	struct range lookup, map, fault;
};

/* What a thread has: memory only when it needs it. */
struct pages {
	struct page_watch *watch;
};

static struct pages *pages_of(const struct thread *t)
{
	return t->own[TRACK_pagecache];
}

/* The pages that two ranges of one file have in common. */
static u64 common(const struct range *a, const struct range *b)
{
	u64 first = a->first > b->first ? a->first : b->first;
	u64 last = a->last < b->last ? a->last : b->last;

	return a->ino == b->ino && a->dev == b->dev && first <= last ? last - first + 1 : 0;
}

/* It is from the system call, or fault, that the thread is in. */
static bool is_now(const struct thread *t, const struct range *g)
{
	return g->use && g->ts > t->returned;
}

static struct page_use *watch(struct replay *r, u32 tid, u32 dev, u64 ino, struct thread **ret_t,
			      struct err *e)
{
	struct thread *t = task_thread(r, tid, e);
	struct pages *p;

	if (!t)
		return NULL;
	p = pages_of(t);
	if (!p->watch)
		p->watch = calloc(1, sizeof(*p->watch));
	if (!p->watch) {
		err_set(e, ERR_FAIL, "out of memory for the page cache");
		return NULL;
	}
	*ret_t = t;
	return inode_use_of(r->own[TRACK_pagecache], t->process->pid, dev, ino,
			    sizeof(struct page_use), e);
}

static void remember(const struct thread *t, const struct range *g)
{
	struct page_watch *w = pages_of(t)->watch;
	struct range *top = w->n_added ? &w->added[(w->n_added - 1) % RANGES] : NULL;

	if (top && is_now(t, top) && top->ino == g->ino && top->dev == g->dev &&
	    top->last + 1 == g->first) {
		top->last = g->last;
		top->ts = g->ts;
		return;
	}
	w->added[w->n_added++ % RANGES] = *g;
}

static int pagecache_on_add(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_page_add *ev = rec->event;
	struct range g = { rec->ts, ev->ino, ev->index, ev->index, ev->dev, NULL };
	struct page_watch *w;
	struct thread *t;

	if (!rec->tid || !ev->pages || ev->index + ev->pages - 1 < ev->index)
		return 0;
	g.last = ev->index + ev->pages - 1;
	g.use = watch(r, rec->tid, ev->dev, ev->ino, &t, e);
	if (!g.use)
		return ERR_FAIL;
	w = pages_of(t)->watch;
	g.use->added += ev->pages;
	if (is_now(t, &w->fault) && common(&w->fault, &g)) {
		w->fault.use->fault_misses++;
		w->fault.use = NULL;
	}
	if (is_now(t, &w->lookup) && common(&w->lookup, &g))
		w->lookup.use->missed += common(&w->lookup, &g);
	else
		remember(t, &g);
	return 0;
}

static int pagecache_on_remove(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_page_remove *ev = rec->event;
	struct page_use *u;
	struct thread *t;

	if (!rec->tid)
		return 0;
	u = watch(r, rec->tid, ev->dev, ev->ino, &t, e);
	if (!u)
		return ERR_FAIL;
	u->removed += ev->pages;
	return 0;
}

static void on_lookup(struct thread *t, const struct range *g)
{
	struct page_watch *w = pages_of(t)->watch;
	struct page_use *u = g->use;
	u64 missed = 0;
	u32 i;

	u->lookups++;
	u->pages += g->last - g->first + 1;
	if (is_now(t, &w->lookup)) /* the rest of the same read */
		u->pages -= common(&w->lookup, g);
	for (i = 0; i < RANGES; i++) {
		if (is_now(t, &w->added[i]))
			missed += common(&w->added[i], g);
		w->added[i].use = NULL;
	}
	w->n_added = 0;
	u->missed += missed;
	w->lookup = *g;
}

static void on_fault(struct thread *t, const struct range *g)
{
	struct page_watch *w = pages_of(t)->watch;

	/* what could not be mapped from around it is the same fault */
	if (!is_now(t, &w->map) || !common(&w->map, g))
		g->use->faults++;
	w->map.use = NULL;
	w->fault = *g;
}

static int pagecache_on_get(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_page_get *ev = rec->event;
	struct range g = { rec->ts, ev->ino, ev->first, ev->last, ev->dev, NULL };
	struct thread *t;

	if (!rec->tid || ev->last < ev->first || ev->last - ev->first > INT32_MAX)
		return 0;
	g.use = watch(r, rec->tid, ev->dev, ev->ino, &t, e);
	if (!g.use)
		return ERR_FAIL;
	if (ev->how == HOW_READ) {
		on_lookup(t, &g);
	} else if (ev->how == HOW_FAULT) {
		on_fault(t, &g);
	} else if (ev->how == HOW_MAP) {
		g.use->faults++;
		pages_of(t)->watch->map = g;
	}
	return 0;
}

static int pagecache_finish(struct replay *r, struct err *e)
{
	struct inode_use **list;
	size_t n, i;
	struct row_page_use *row;

	list = inode_uses_sorted(r->own[TRACK_pagecache], &n, e);
	if (!list)
		return ERR_FAIL;
	for (i = 0; i < n; i++) {
		const struct page_use *u = (struct page_use *)list[i];

		row = bulk_add(r->bulk, page_use);
		row->pid = u->of.pid;
		row->dev = u->of.dev;
		row->ino = u->of.ino & INT64_MAX;
		row->lookups = u->lookups;
		row->pages = u->pages & INT64_MAX;
		row->missed = (u->missed < u->pages ? u->missed : u->pages) & INT64_MAX;
		row->faults = u->faults;
		row->fault_misses = u->fault_misses;
		row->added = u->added & INT64_MAX;
		row->removed = u->removed & INT64_MAX;
	}
	free(list);
	return 0;
}

static void pagecache_free(void *own)
{
	inode_uses_free(own);
}

static void pagecache_thread_free(void *own)
{
	free(((struct pages *)own)->watch);
}

static const struct handler handlers[] = {
	{ EV_page_add, false, pagecache_on_add },
	{ EV_page_remove, false, pagecache_on_remove },
	{ EV_page_get, false, pagecache_on_get },
	{ 0 },
};

const struct tracker track_pagecache = {
	.name = "pagecache",
	.handlers = handlers,
	.of_replay = sizeof(struct idmap), /* struct page_use by process and inode */
	.of_thread = sizeof(struct pages),
	.finish = pagecache_finish,
	.thread_free = pagecache_thread_free,
	.free = pagecache_free,
};
