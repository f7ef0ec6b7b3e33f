// SPDX-License-Identifier: GPL-2.0-or-later
/* Block requests: from submission over the device's queue to completion. */
#include "track_block.h"

#include "analyze/replay/latency_rows.h"
#include "analyze/replay/requests/track_series.h"
#include "analyze/replay/tasks/threads.h"

#include <stdlib.h>

#define SECTOR	512
#define OP_MASK 0xff /* the operation; the rest are flags */

struct block_request {
	u64 start, issue; /* 0: not seen */
	u64 sector;
	u32 tid; /* 0: submitter not seen */
	u32 dev;
	u32 bytes;
	u32 done;
	u32 op;
	u32 depth;
	bool sequential;
};

/* Where the last request of a device ended. */
struct disk_end {
	u64 sector;
	u32 in_flight;
};

struct block_stat {
	u32 dev;
	u32 op;
	struct hist latency;
};

struct block {
	struct idmap requests; /* in flight */
	struct idmap stats;
	struct idmap disk_ends; /* device -> struct disk_end */
};

static struct block *own(const struct replay *r)
{
	return r->own[TRACK_block];
}

static struct block_request *request_of(struct replay *r, u64 id, struct err *e)
{
	struct block_request *q = idmap_get(&own(r)->requests, id);

	if (q)
		return q;
	q = idmap_add(&own(r)->requests, id, sizeof(*q), REQUEST_LIMIT, "block requests", e);
	if (!q)
		return NULL;
	return q;
}

static int count_latency(struct replay *r, const struct block_request *q, u64 latency,
			 struct err *e)
{
	u64 id = (u64)q->dev << 32 | (q->op & OP_MASK);
	struct block_stat *s = idmap_get(&own(r)->stats, id);

	if (!s) {
		s = idmap_add(&own(r)->stats, id, sizeof(*s), STAT_LIMIT, "block devices", e);
		if (!s)
			return ERR_FAIL;
		s->dev = q->dev;
		s->op = q->op & OP_MASK;
	}
	hist_add(&s->latency, latency);
	return 0;
}

/* The submitter has one request less in flight; end 0: it was not seen to complete. */
static void release(struct replay *r, const struct block_request *q, u64 end)
{
	struct thread *t = q->tid ? idmap_get(&r->threads, q->tid) : NULL;
	struct disk_end *d = idmap_get(&own(r)->disk_ends, q->dev);
	struct own_io *io;

	if (d && (q->start || q->issue))
		d->in_flight -= d->in_flight > 0;
	if (!t)
		return;
	io = own_io_of(t);
	io->in_flight -= io->in_flight > 0;
	if (end) {
		io->end = end;
		io->dev = q->dev;
	}
}

/* The request is new to the device: does it go on where the one before it ended? */
static int place(struct replay *r, struct block_request *q, struct err *e)
{
	struct disk_end *d = idmap_get(&own(r)->disk_ends, q->dev);

	if (!d) {
		d = idmap_add(&own(r)->disk_ends, q->dev, sizeof(*d), STAT_LIMIT, "block devices",
			      e);
		if (!d)
			return ERR_FAIL;
	}
	q->sequential = q->bytes && d->sector && q->sector == d->sector;
	q->depth = d->in_flight++;
	d->sector = q->sector + q->bytes / 512;
	return 0;
}

/* Writes the request's row and forgets it. */
static int request_end(struct replay *r, u64 id, u64 end, s32 error, struct err *e)
{
	struct block_request *q = idmap_take(&own(r)->requests, id);
	u64 begin = q->start ? q->start : q->issue;
	struct row_block_io *row = bulk_add(r->bulk, block_io);
	int ret = 0;

	row->ts = replay_time(r, begin ? begin : end);
	row->dur = end && begin ? (s64)elapsed(begin, end) : BULK_NULL;
	row->queued = q->start && q->issue ? (s64)elapsed(q->start, q->issue) : BULK_NULL;
	row->tid = q->tid ? (s64)q->tid : BULK_NULL;
	row->dev = q->dev;
	row->sector = q->sector & INT64_MAX;
	row->bytes = q->bytes;
	row->op = q->op;
	row->error = error;
	row->sequential = q->sequential;
	row->depth = q->start || q->issue ? (s64)q->depth : BULK_NULL;
	if (end && q->tid)
		series_add(r, SERIES_sectors, q->tid,
			   series_resource(r, RESOURCE_DISK, 0, q->dev, 0), end, end,
			   q->bytes / SECTOR, 0);
	if (end && begin)
		ret = count_latency(r, q, elapsed(begin, end), e);
	release(r, q, end);
	free(q);
	return ret;
}

static int block_on_start(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_block_start *ev = rec->event;
	struct block_request *q = idmap_get(&own(r)->requests, ev->request);
	struct thread *t;

	if (q && request_end(r, ev->request, 0, 0, e) < 0) /* its completion was not seen */
		return ERR_FAIL;
	q = request_of(r, ev->request, e);
	if (!q)
		return ERR_FAIL;
	*q = (struct block_request){ .start = rec->ts,
				     .sector = ev->sector,
				     .tid = rec->tid,
				     .dev = ev->dev,
				     .bytes = ev->bytes,
				     .op = ev->op };
	if (place(r, q, e) < 0)
		return ERR_FAIL;
	t = rec->tid ? task_thread(r, rec->tid, e) : NULL;
	if (!t)
		return rec->tid ? ERR_FAIL : 0;
	own_io_of(t)->in_flight++;
	return 0;
}

static int block_on_issue(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_block_issue *ev = rec->event;
	struct block_request *q = request_of(r, ev->request, e);

	if (!q)
		return ERR_FAIL;
	if (!q->start && !q->issue) {
		q->sector = ev->sector;
		q->bytes = ev->bytes;
		q->dev = ev->dev;
		if (place(r, q, e) < 0)
			return ERR_FAIL;
	}
	q->issue = rec->ts;
	/* merging may have made it larger than it was when it was submitted */
	q->sector = ev->sector;
	q->bytes = ev->bytes;
	q->dev = ev->dev;
	q->op = ev->op;
	return 0;
}

/* A request may complete in parts: the last one ends it. */
static int block_on_complete(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_block_complete *ev = rec->event;
	struct block_request *q = idmap_get(&own(r)->requests, ev->request);

	if (!q) { /* submitted before the recording */
		q = request_of(r, ev->request, e);
		if (!q)
			return ERR_FAIL;
		*q = (struct block_request){ .sector = ev->sector, .dev = ev->dev, .op = ev->op };
		q->bytes = ev->bytes;
	}
	q->done += ev->bytes;
	if (q->done < q->bytes && !ev->error)
		return 0;
	return request_end(r, ev->request, rec->ts, ev->error, e);
}

static int stat_rows(void *arg, void *value, struct err *e)
{
	const struct block_stat *s = value;

	return latency_rows(arg, "block", s->dev, s->op, &s->latency, e);
}

static int block_finish(struct replay *r, struct err *e)
{
	struct idmap_slot *open = idmap_sorted(&own(r)->requests, e);
	size_t i;
	int ret = open ? 0 : ERR_FAIL;

	for (i = 0; ret == 0 && open[i].value; i++)
		ret = request_end(r, open[i].id, 0, 0, e);
	free(open);
	return ret < 0 ? ret : idmap_in_order(&own(r)->stats, stat_rows, r, e);
}

static void block_free(void *slot)
{
	struct block *own = slot;
	struct block_stat *s;
	size_t at = 0;

	while ((s = idmap_each(&own->stats, &at))) {
		hist_free(&s->latency);
		free(s);
	}
	idmap_free_all(&own->disk_ends);
	idmap_free_all(&own->requests);
	idmap_free(&own->stats);
}

static const struct handler handlers[] = {
	{ EV_block_start, false, block_on_start },
	{ EV_block_issue, false, block_on_issue },
	{ EV_block_complete, false, block_on_complete },
	{ 0 },
};

const struct tracker track_block = {
	.name = "block",
	.handlers = handlers,
	.of_replay = sizeof(struct block),
	.of_thread = sizeof(struct own_io),
	.finish = block_finish,
	.free = block_free,
};
