// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Accept queues, read by the recorder once per second: counts since the namespace or the socket
 * was made become what they gained from reading to reading. The recorder leaves out a socket
 * without a queue that has dropped nothing, so one that was not read before had dropped nothing.
 */
#include "analyze/replay/track.h"

#include <stdlib.h>

#define NAMESPACES_MAX 100000

struct accept_readings {
	struct idmap of_netns; /* netns -> its last reading */
	struct idmap of_socket;
};

struct accept_reading {
	u64 ts, before; /* of a namespace: this reading, the one before; 0: none */
	u64 overflows, drops;
};

static struct accept_reading *reading_of(struct idmap *m, u64 id, struct err *e)
{
	struct accept_reading *last = idmap_get(m, id);

	return last ? last : idmap_add(m, id, sizeof(*last), NAMESPACES_MAX, "accept queues", e);
}

static int on_namespace(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_accept_queue *ev = rec->event;
	struct accept_readings *own = r->own[TRACK_accept];
	struct accept_reading *last = reading_of(&own->of_netns, ev->netns, e);
	struct row_accept_queue *row;

	if (!last)
		return ERR_FAIL;
	if (last->ts) {
		row = bulk_add(r->bulk, accept_queue);
		row->ts = replay_time(r, last->ts);
		row->dur = (s64)(elapsed(last->ts, rec->ts) & INT64_MAX);
		row->netns = ev->netns;
		row->ino = row->port = row->queue = row->max = BULK_NULL;
		row->overflows = (s64)(elapsed(last->overflows, ev->overflows) & INT64_MAX);
		row->drops = (s64)(elapsed(last->drops, ev->drops) & INT64_MAX);
	}
	last->before = last->ts;
	last->ts = rec->ts;
	last->overflows = ev->overflows;
	last->drops = ev->drops;
	return 0;
}

/* Its time is that of the reading of its namespace, which comes before. */
static int accept_on_reading(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_accept_queue *ev = rec->event;
	struct accept_readings *own = r->own[TRACK_accept];
	const struct accept_reading *of = idmap_get(&own->of_netns, ev->netns);
	struct row_accept_queue *row;
	struct accept_reading *last;

	if (!ev->ino)
		return on_namespace(r, rec, e);
	last = reading_of(&own->of_socket, ev->ino ^ (u64)ev->netns << 32, e);
	if (!last)
		return ERR_FAIL;
	if (of && of->before) {
		row = bulk_add(r->bulk, accept_queue);
		row->ts = replay_time(r, of->before);
		row->dur = (s64)(elapsed(of->before, of->ts) & INT64_MAX);
		row->netns = ev->netns;
		row->ino = (s64)(ev->ino & INT64_MAX);
		row->port = ev->port;
		row->queue = ev->queue;
		row->max = ev->limit;
		row->overflows = BULK_NULL;
		row->drops = (s64)(elapsed(last->drops, ev->drops) & INT64_MAX);
	}
	last->drops = ev->drops;
	return 0;
}

static void accept_free(void *slot)
{
	struct accept_readings *own = slot;

	idmap_free_all(&own->of_netns);
	idmap_free_all(&own->of_socket);
}

static const struct handler handlers[] = {
	{ EV_accept_queue, false, accept_on_reading },
	{ 0 },
};

const struct tracker track_accept = {
	.name = "accept",
	.handlers = handlers,
	.of_replay = sizeof(struct accept_readings),
	.free = accept_free,
};
