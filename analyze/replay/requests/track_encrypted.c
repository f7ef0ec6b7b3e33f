// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Connections that TLS was found on. obsrec reads no more of one once it knows, maybe before the
 * first snapshot has its descriptor: what it receives from then on is encrypted. The event of a
 * name may come later than heads that have it.
 */
#include "track_encrypted.h"

#include "format/grow.h"
#include "format/protocols.h"
#include "track_segments.h"

#include <stdlib.h>

#define EARLY_MOST 65536
#define STEPS_MOST 20000000

/* Ids of names are of one recorder each: a recording may be merged of several. */
struct encrypted {
	u32 name;	    /* of what cannot be read; 0: none */
	struct idmap names; /* ids: &tls, or &other */
	struct idmap conns; /* numbers of these connections */
	struct early {
		u32 name, conn;
	} * early;	       /* heads whose name was not known yet */
	size_t n_early, steps; /* of searches in these */
};

static char tls, other;

static struct encrypted *own(const struct replay *r)
{
	return r->own[TRACK_encrypted];
}

bool encrypted_is(const struct replay *r, u32 name)
{
	return name && idmap_get(&own(r)->names, name) == &tls;
}

static int add_conn(struct encrypted *o, u32 conn, struct err *e)
{
	return o->conns.n < SOCKET_LIMIT ? idmap_put(&o->conns, conn, &tls, SOCKET_LIMIT, e) : 0;
}

static int encrypted_on_name(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_request_name *ev = rec->event;
	struct encrypted *o = own(r);
	bool is = ev->protocol == PROTOCOL_TLS || ev->protocol == PROTOCOL_TLS_HANDSHAKE;
	int ret = 0;
	size_t i;

	if (o->names.n < TASK_LIMIT)
		ret = idmap_put(&o->names, ev->id, is ? &tls : &other, TASK_LIMIT, e);
	if (ev->protocol == PROTOCOL_TLS)
		o->name = ev->id;
	for (i = 0; i < o->n_early && is && ret == 0 && o->steps < STEPS_MOST; i++, o->steps++)
		if (o->early[i].name == ev->id)
			ret = add_conn(o, o->early[i].conn, e);
	return ret;
}

static int encrypted_on_head(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_head *ev = rec->event;
	struct encrypted *o = own(r);

	if (encrypted_is(r, ev->name))
		return add_conn(o, ev->conn, e);
	if (!ev->name || o->n_early >= EARLY_MOST || idmap_get(&o->names, ev->name))
		return 0;
	if (GROW(o->early, o->n_early, "connections", e) < 0)
		return ERR_FAIL;
	o->early[o->n_early++] = (struct early){ ev->name, ev->conn };
	return 0;
}

u32 encrypted_name(const struct replay *r, struct file *f)
{
	const struct encrypted *o = own(r);
	u32 conn = !o->conns.n ? 0 : f->conn ? f->conn : segments_conn(r, f);

	return conn && idmap_get(&o->conns, conn) ? o->name : 0;
}

static void encrypted_free(void *slot)
{
	struct encrypted *o = slot;

	idmap_free(&o->names);
	idmap_free(&o->conns);
	free(o->early);
}

static const struct handler handlers[] = {
	{ EV_request_name, true, encrypted_on_name },
	{ EV_request_name, false, encrypted_on_name },
	{ EV_head, false, encrypted_on_head },
	{ 0 },
};

const struct tracker track_encrypted = {
	.name = "encrypted connections",
	.handlers = handlers,
	.of_replay = sizeof(struct encrypted),
	.free = encrypted_free,
};
