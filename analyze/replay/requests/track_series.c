// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Series: time and counts of each thread and resource in windows of one step. What is added
 * for one (kind, thread, resource) comes in order of time, so one open window for
 * each is enough: it becomes a row when the next one begins. Waits longer than a window are
 * cut at its edges. Memory is bounded by what is active at one time: when there are too many
 * open windows, the old ones are written and forgotten.
 */
#include "track_series.h"

#include <stdio.h>
#include <stdlib.h>

#define CELL_LIMIT     200000  /* open windows */
#define RESOURCE_LIMIT 1000000 /* resources; those beyond have number 0 */

/* The open window of one (kind, thread, resource). */
struct cell {
	u64 window;
	u64 time; /* ns */
	u64 n, refused, timeouts;
	u32 tid, resource;
	u8 kind;
};

struct series {
	struct idmap cells;
	struct idmap resources; /* what distinguishes them -> number */
	u32 n_resources;
	struct cell *last;
	u64 last_key;
	u64 rows, most;	   /* written, and how many the recording justifies */
	struct err failed; /* code 0 while all is well; reported at the end */
};

static struct series *own(const struct replay *r)
{
	return r->own[TRACK_series];
}

static int series_start(struct replay *r, struct err *e)
{
	static const struct {
		int id;
		const char *name, *doc;
	} kinds[] = {
#define SERIES(id, name, waits, doc) { id, #name, doc },
#include "analyze/store/series.def"
#undef SERIES
	};
	size_t i;
	int ret = 0;

	own(r)->most = 4 * (SERIES_ROWS + SERIES_RECORD * reader_state(r->reader)->records);
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && ret == 0; i++)
		ret = row_put(r->db, series_kind, e, .id = kinds[i].id, .name = kinds[i].name,
			      .doc = kinds[i].doc);
	return ret;
}

static void write_cell(struct replay *r, struct cell *c)
{
	struct row_series *row;

	if (!c->time && !c->n && !c->refused)
		return;
	row = bulk_add(r->bulk, series);
	row->ts = (s64)(c->window * r->step);
	row->kind = c->kind;
	row->tid = c->tid;
	row->resource = c->resource;
	row->time = c->time & INT64_MAX;
	row->n = c->n & INT64_MAX;
	row->refused = c->refused & INT64_MAX;
	row->timeouts = c->timeouts & INT64_MAX;
	c->time = c->n = c->refused = c->timeouts = 0;
	if (++own(r)->rows == own(r)->most)
		err_set(&own(r)->failed, ERR_DAMAGED,
			"the recording needs more than %llu rows of series, out of proportion to "
			"its records: its claims cannot be true",
			(unsigned long long)own(r)->most);
}

/* Writes and forgets all open windows, or at first only those before the newest. */
static void sweep(struct replay *r, u64 newest)
{
	struct series *s = own(r);
	struct idmap_slot *list = idmap_sorted(&s->cells, &s->failed);
	size_t i, kept = 0;

	for (i = 0; list && list[i].value; i++)
		kept += ((struct cell *)list[i].value)->window >= newest;
	s->last = NULL;
	for (i = 0; list && list[i].value; i++) {
		struct cell *c = list[i].value;

		if (kept < CELL_LIMIT / 2 && c->window >= newest)
			continue;
		write_cell(r, c);
		free(idmap_take(&s->cells, list[i].id));
	}
	free(list);
}

/* NULL: see failed. */
static struct cell *cell_of(struct replay *r, enum series_kind kind, u32 tid, u32 resource,
			    u64 window)
{
	struct series *s = own(r);
	struct err *e = &s->failed;
	u64 key = (u64)tid << 32 ^ (u64)kind << 24 ^ resource;
	struct cell *c = s->last && s->last_key == key ? s->last : idmap_get(&s->cells, key);

	if (e->code)
		return NULL;
	if (!c) {
		if (s->cells.n >= CELL_LIMIT)
			sweep(r, window);
		c = idmap_add(&s->cells, key, sizeof(*c), CELL_LIMIT, "series", e);
		if (!c)
			return NULL;
		*c = (struct cell){
			.window = window, .tid = tid, .resource = resource, .kind = kind
		};
	}
	s->last = c;
	s->last_key = key;
	if (c->window != window) {
		write_cell(r, c);
		c->window = window;
	}
	return c;
}

void series_add(struct replay *r, enum series_kind kind, u32 tid, u32 resource, u64 from, u64 to,
		u64 n, u64 refused)
{
	u64 end = elapsed(r->begin, to < r->end ? to : r->end), at = elapsed(r->begin, from);
	u64 edge, last = end ? (end - 1) / r->step : 0;
	struct cell *c;

	at = at < end ? at : end;
	while (at < end && at / r->step < last) { /* up to the window in which it ends */
		edge = (at / r->step + 1) * r->step;
		c = cell_of(r, kind, tid, resource, at / r->step);
		if (!c)
			return;
		c->time += edge - at;
		at = edge;
	}
	c = cell_of(r, kind, tid, resource, last);
	if (!c)
		return;
	c->time += end - at;
	c->n += n;
	c->refused += refused;
}

int series_failed(const struct replay *r, struct err *e)
{
	if (own(r)->failed.code)
		*e = own(r)->failed;
	return own(r)->failed.code;
}

void series_timeout(struct replay *r, enum series_kind kind, u32 tid, u32 resource, u64 ts)
{
	u64 end = elapsed(r->begin, ts < r->end ? ts : r->end);
	struct cell *c = cell_of(r, kind, tid, resource, end ? (end - 1) / r->step : 0);

	if (c)
		c->timeouts++;
}

void series_state(struct replay *r, u32 tid, enum state state, bool iowait, u64 from, u64 to)
{
	static const u8 kinds[N_STATES] = {
#define STATE(id, name, off, category, series, label, does, doc) [id] = SERIES_##series,
#include "analyze/store/waits.def"
#undef STATE
	};

	if (kinds[state])
		series_add(r, kinds[state], tid, 0, from, to, 1, 0);
	if (iowait)
		series_add(r, SERIES_iowait_time, tid, 0, from, to, 1, 0);
}

static const char *const resource_kinds[] = {
	[RESOURCE_SOCKET] = "socket", [RESOURCE_PIPE] = "pipe",	  [RESOURCE_CHAR] = "char",
	[RESOURCE_FUTEX] = "futex",   [RESOURCE_EPOLL] = "epoll", [RESOURCE_DISK] = "disk",
};

/* A new resource and its row; 0: there are too many. */
static u32 resource_new(struct replay *r, enum resource_kind kind, u32 pid, u64 dev, u64 number)
{
	struct series *s = own(r);

	if (s->n_resources == RESOURCE_LIMIT ||
	    row_put(r->db, resource, &s->failed, .id = (s64)s->n_resources + 1,
		    .kind = resource_kinds[kind], .pid = pid, .dev = dev,
		    .number = number & INT64_MAX) < 0)
		return 0;
	return ++s->n_resources;
}

u32 series_resource(struct replay *r, enum resource_kind kind, u32 pid, u64 dev, u64 number)
{
	/* numbers of different owners and kinds are far from each other */
	u64 owner = (dev ? dev : (u64)pid << 32) << 3 | kind;
	u64 key = number ^ owner * 0x9e3779b97f4a7c15u;
	uintptr_t id = (uintptr_t)idmap_get(&own(r)->resources, key);

	if (id)
		return id;
	id = resource_new(r, kind, pid, dev, number);
	if (id &&
	    idmap_put(&own(r)->resources, key, (void *)id, RESOURCE_LIMIT + 1, &own(r)->failed) < 0)
		return 0;
	return id;
}

u32 series_file(struct replay *r, const struct process *p, s32 fd, struct file *f)
{
	static const u8 kinds[] = {
		[FD_SOCKET] = RESOURCE_SOCKET,
		[FD_PIPE] = RESOURCE_PIPE,
		[FD_CHAR] = RESOURCE_CHAR,
		[FD_ANON] = RESOURCE_EPOLL,
	};

	if (f->resource || f->kind >= sizeof(kinds) || !kinds[f->kind])
		return f->resource;
	if (f->kind == FD_ANON || !f->ino) /* anonymous files share one inode */
		f->resource = resource_new(r, kinds[f->kind], p->pid, 0, (u64)(u32)fd);
	else
		f->resource = series_resource(r, kinds[f->kind], 0, f->dev, f->ino);
	return f->resource;
}

/* Names need what is known only at the end: addresses of sockets, names of processes. */
static const char names_sql[] =
	"CREATE INDEX series_of ON series(kind, tid, ts);"
	"CREATE INDEX fd_of ON fd(ino, dev);"
	"CREATE INDEX resource_of ON resource(id);"
	"CREATE INDEX disk_of ON disk(dev);"
	"UPDATE resource SET (name, pool)=(SELECT trim(f.role || ' ' || f.local || CASE"
	" WHEN f.remote IN ('','0.0.0.0:0') THEN '' ELSE ' - ' || f.remote END),"
	" trim(f.role || ' ' || iif(f.role='connected', f.remote, f.local)) FROM fd f"
	" WHERE f.ino=resource.number AND f.dev=resource.dev AND f.kind='socket'"
	" ORDER BY length(f.remote) DESC, f.role DESC LIMIT 1) WHERE kind='socket';"
	"UPDATE resource SET name='socket ' || number, pool='sockets' WHERE kind='socket'"
	" AND coalesce(name, '')='';"
	"UPDATE resource SET name=coalesce((SELECT f.path FROM fd f WHERE f.ino=resource.number"
	" AND f.dev=resource.dev AND f.path<>'' LIMIT 1), kind || ' ' || number)"
	" WHERE kind IN ('pipe','char');"
	"UPDATE resource SET name=printf('futex 0x%llx',number) WHERE kind='futex';"
	"UPDATE resource SET name='epoll fd ' || number WHERE kind='epoll';"
	"UPDATE resource SET name='disk ' || coalesce((SELECT d.name FROM disk d"
	" WHERE d.dev=resource.dev), (dev >> 20) || ':' || (dev & 1048575)) WHERE kind='disk';"
	"UPDATE resource SET pool=name || iif(pid, ' of ' || pid, '') WHERE pool IS NULL;";

static int series_finish(struct replay *r, struct err *e)
{
	char step[32];
	int ret;

	sweep(r, UINT64_MAX);
	ret = series_failed(r, e);
	if (ret < 0)
		return ret;
	snprintf(step, sizeof(step), "%llu", (unsigned long long)r->step);
	ret = row_put(r->db, recording, e, .key = "step_ns", .value = step);
	return ret < 0 ? ret : db_exec(r->db, e, names_sql);
}

static void series_free(void *slot)
{
	struct series *s = slot;

	idmap_free_all(&s->cells);
	idmap_free(&s->resources);
}

const struct tracker track_series = {
	.name = "series",
	.of_replay = sizeof(struct series),
	.start = series_start,
	.finish = series_finish,
	.free = series_free,
};
