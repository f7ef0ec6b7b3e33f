// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Segments at the network devices that they pass. GSO and GRO split and join them on their way, so
 * a segment is followed by its last byte: the time of a hop is that since the sighting before of
 * that byte. Seen again at the same device and side, it was sent again, and its way starts there.
 */
#include "descriptors.h"

#include <stdlib.h>
#include <string.h>

#define SIGHTINGS 64	/* remembered of a connection and direction */
#define WAYS_MAX  65536 /* with memory of sightings; with more, all start again */
#define DEVICES	  65536

struct sighting {
	u64 ts; /* 0: none */
	u32 seq, len, device;
	bool sends, starts; /* a way */
};

struct way {
	struct sighting last[SIGHTINGS]; /* a ring */
	u32 n;				 /* ever */
};

struct numbered {
	u32 conn;
	u64 ino; /* 0: not known */
	char local[ADDRESS_MAX], remote[ADDRESS_MAX];
	bool passed;	     /* has rows in table hop */
	struct way *ways[2]; /* from this end, from its peer; NULL: none yet */
};

struct device {
	u32 id;
	comm16 name;
};

struct hops {
	struct idmap of;      /* connection -> struct numbered */
	struct idmap devices; /* namespace and number -> struct device */
	u32 n_devices, n_ways;
};

static struct hops *own(const struct replay *r)
{
	return r->own[TRACK_hops];
}

/* *ret is NULL if there are too many. */
static int numbered_of(struct replay *r, struct numbered **ret, u32 conn, struct err *e)
{
	struct idmap *of = &own(r)->of;
	struct numbered *n = conn ? idmap_get(of, conn) : NULL;

	*ret = n;
	if (n || !conn || of->n >= SOCKET_LIMIT)
		return 0;
	n = calloc(1, sizeof(*n));
	if (!n)
		return err_set(e, ERR_FAIL, "out of memory for connections");
	n->conn = conn;
	if (idmap_put(of, conn, n, SOCKET_LIMIT, e) < 0) {
		free(n);
		return ERR_FAIL;
	}
	*ret = n;
	return 0;
}

static int hops_on_connection(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_connection *ev = rec->event;
	struct numbered *n;

	if (!has_group(r, GROUP_hops))
		return 0;
	if (numbered_of(r, &n, ev->conn, e) < 0)
		return ERR_FAIL;
	if (!n)
		return 0;
	n->ino = ev->ino;
	address_text(n->local, ev->family, ev->saddr, ev->sport);
	address_text(n->remote, ev->family, ev->daddr, ev->dport);
	return 0;
}

/* Its number in table net_device, a new one if its name changed; 0: there are too many. */
static int device_of(struct replay *r, u32 *ret, const struct ev_hop *ev, struct err *e)
{
	struct hops *all = own(r);
	u64 key = (u64)ev->netns << 32 | ev->ifindex;
	struct device *d = idmap_get(&all->devices, key);
	char name[sizeof(comm16) + 1] = "";

	*ret = d ? d->id : 0;
	if ((d && memcmp(d->name, ev->device, sizeof(comm16)) == 0) || all->n_devices == DEVICES)
		return 0;
	if (!d) {
		d = calloc(1, sizeof(*d));
		if (!d)
			return err_set(e, ERR_FAIL, "out of memory for network devices");
		if (idmap_put(&all->devices, key, d, DEVICES, e) < 0) {
			free(d);
			return ERR_FAIL;
		}
	}
	*ret = d->id = ++all->n_devices;
	memcpy(d->name, ev->device, sizeof(comm16));
	memcpy(name, ev->device, sizeof(comm16));
	return row_put(r->db, net_device, e, .id = d->id, .ifindex = ev->ifindex,
		       .netns = ev->netns, .name = name);
}

/* When its last byte was seen last; 0: not since it was sent last. */
static u64 before(const struct way *w, const struct sighting *now)
{
	u32 i, known = w->n < SIGHTINGS ? w->n : SIGHTINGS, end = now->seq + now->len - 1;
	u64 ret = 0;

	for (i = 1; i <= known; i++) {
		const struct sighting *s = &w->last[(w->n - i) % SIGHTINGS];

		if (end - s->seq >= s->len)
			continue;
		if (s->device == now->device && s->sends == now->sends)
			return 0;
		ret = ret ? ret : s->ts;
		if (s->starts)
			break;
	}
	return ret;
}

static void forget_ways(struct hops *all)
{
	struct numbered *n;
	size_t at = 0;

	while ((n = idmap_each(&all->of, &at))) {
		free(n->ways[0]);
		free(n->ways[1]);
		n->ways[0] = n->ways[1] = NULL;
	}
	all->n_ways = 0;
}

static struct way *way_of(struct replay *r, struct numbered *n, bool peer, struct err *e)
{
	struct hops *all = own(r);

	n->passed = true;
	if (n->ways[peer])
		return n->ways[peer];
	if (all->n_ways == WAYS_MAX)
		forget_ways(all);
	n->ways[peer] = calloc(1, sizeof(*n->ways[peer]));
	if (!n->ways[peer])
		err_set(e, ERR_FAIL, "out of memory for segments");
	all->n_ways++;
	return n->ways[peer];
}

static int hops_on_hop(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_hop *ev = rec->event;
	bool peer = ev->flags & HOP_FROM_PEER;
	struct sighting now = { rec->ts, ev->seq, ev->len, 0, ev->flags & HOP_SENDS, false };
	struct numbered *n;
	struct row_hop *row;
	struct way *w;
	u64 since;

	if (!ev->len || device_of(r, &now.device, ev, e) < 0 || numbered_of(r, &n, ev->conn, e) < 0)
		return ev->len ? ERR_FAIL : 0;
	if (!n)
		return 0;
	w = way_of(r, n, peer, e);
	if (!w)
		return ERR_FAIL;
	since = before(w, &now);
	now.starts = !since;
	w->last[w->n++ % SIGHTINGS] = now;
	row = bulk_add(r->bulk, hop);
	row->ts = replay_time(r, rec->ts);
	row->dur = since ? (s64)(elapsed(since, rec->ts) & INT64_MAX) : BULK_NULL;
	row->conn = ev->conn;
	row->from_peer = peer;
	row->device = now.device;
	row->sends = now.sends;
	row->seq = ev->seq;
	row->len = ev->len;
	return 0;
}

static int hops_finish(struct replay *r, struct err *e)
{
	const struct numbered *n;
	size_t at = 0;
	int ret = 0;

	while (ret == 0 && (n = idmap_each(&own(r)->of, &at)))
		if (n->passed)
			ret = row_put(r->db, hop_end, e, .conn = n->conn, .ino = (s64)n->ino,
				      .local = n->local, .remote = n->remote);
	return ret;
}

static void hops_free(void *slot)
{
	struct hops *all = slot;

	forget_ways(all);
	idmap_free_all(&all->of);
	idmap_free_all(&all->devices);
}

static const struct handler handlers[] = {
	{ EV_connection, false, hops_on_connection },
	{ EV_hop, false, hops_on_hop },
	{ 0 },
};

const struct tracker track_hops = {
	.name = "hops",
	.handlers = handlers,
	.of_replay = sizeof(struct hops),
	.finish = hops_finish,
	.free = hops_free,
};
