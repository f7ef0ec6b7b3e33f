// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Arrival at UDP and Unix sockets. What arrives first is read first: a receive of a datagram takes
 * one, one of a stream as many parts as its bytes are. How many waited when one arrived corrects
 * that: older ones than those had been read, which holds for receives that were entered later; if
 * more waited than are known, the oldest have arrived at an unknown time.
 */
#include "track_arrivals.h"

#include "track_segments.h"

#include "format/linux_abi.h"

#include <stdlib.h>

#define PARTS_MAX	 64 /* of a socket, not read yet: of further ones the oldest become unknown */
#define UNKNOWN_MAX	 (1u << 20)
#define ARRIVING_SOCKETS 65536

struct queue {
	u32 id;
	u32 unknown; /* before parts: these wait, too */
	u32 first, n;
	u32 stale; /* of all, the oldest: read by receives that were entered before stale_at */
	u64 stale_at;
	struct part {
		u64 ts;
		u32 len; /* 0: not known */
	} parts[PARTS_MAX];
};

struct arrivals {
	struct idmap of; /* connection -> struct queue */
};

static struct arrivals *own(const struct replay *r)
{
	return r->own[TRACK_arrivals];
}

/* *ret is NULL if there are too many. */
static int queue_of(struct replay *r, struct queue **ret, u32 conn, struct err *e)
{
	struct queue *q = conn ? idmap_get(&own(r)->of, conn) : NULL;

	*ret = q;
	if (q || !conn || own(r)->of.n >= ARRIVING_SOCKETS)
		return 0;
	q = idmap_add(&own(r)->of, conn, sizeof(*q), ARRIVING_SOCKETS, "sockets", e);
	if (!q)
		return ERR_FAIL;
	q->id = conn;
	*ret = q;
	return 0;
}

static struct part *oldest(struct queue *q)
{
	return q->n ? &q->parts[q->first] : NULL;
}

static u32 less(u32 a, u32 b)
{
	return a < b ? a : b;
}

static void take(struct queue *q, u32 count)
{
	u32 unknown = less(count, q->unknown), n = less(count - unknown, q->n);

	q->stale -= less(count, q->stale);
	q->unknown -= unknown;
	q->first = (q->first + n) % PARTS_MAX;
	q->n -= n;
}

static int arrivals_on_ready(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_ready *ev = rec->event;
	struct queue *q;
	u32 all;

	if (queue_of(r, &q, ev->conn, e) < 0)
		return ERR_FAIL;
	if (!q)
		return 0;
	if (q->n == PARTS_MAX) {
		q->first = (q->first + 1) % PARTS_MAX;
		q->n--;
		q->unknown += q->unknown < UNKNOWN_MAX;
	}
	q->parts[(q->first + q->n++) % PARTS_MAX] = (struct part){ rec->ts, ev->len };
	all = q->unknown + q->n;
	if (ev->queued > all)
		q->unknown = less(q->unknown + less(ev->queued - all, UNKNOWN_MAX), UNKNOWN_MAX);
	q->stale = ev->queued < all ? all - ev->queued : 0;
	q->stale_at = rec->ts;
	return 0;
}

static void take_stream(struct queue *q, u64 bytes)
{
	struct part *p;

	if (q->unknown)
		take(q, 1);
	for (; bytes && !q->unknown && (p = oldest(q)); take(q, 1)) {
		if (p->len > bytes) {
			p->len -= bytes;
			return;
		}
		bytes = p->len ? bytes - p->len : 0;
	}
}

u64 arrivals_received(struct replay *r, struct file *f, const struct call_view *v, u64 bytes)
{
	u32 conn = segments_conn(r, f);
	struct queue *q = conn ? idmap_get(&own(r)->of, conn) : NULL;
	u64 at;
	struct part *p;

	if (!q || v->ret <= 0)
		return 0;
	if (q->stale && q->stale_at <= elapsed(v->dur, v->ts))
		take(q, q->stale);
	p = q->unknown ? NULL : oldest(q);
	if (p && p->ts > v->ts)
		return 0; /* its bytes came before */
	at = p ? p->ts : 0;
	if (f->socktype == LINUX_SOCK_STREAM)
		take_stream(q, bytes);
	else
		take(q,
		     bytes || f->role == ROLE_ACCEPTED /* one of known peers */
			     ? 1
			     : less(v->ret > UINT32_MAX ? UINT32_MAX : (u32)v->ret, UNKNOWN_MAX));
	return at;
}

static void arrivals_free(void *slot)
{
	struct arrivals *all = slot;

	idmap_free_all(&all->of);
}

static const struct handler handlers[] = { { EV_ready, false, arrivals_on_ready }, { 0 } };

const struct tracker track_arrivals = {
	.name = "arrivals",
	.handlers = handlers,
	.of_replay = sizeof(struct arrivals),
	.free = arrivals_free,
};
