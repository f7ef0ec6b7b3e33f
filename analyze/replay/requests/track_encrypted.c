// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Connections that TLS was found on: a head has a name but no requests. obsrec reads no more of one
 * once it knows, maybe before the first snapshot has its descriptor: what it receives from then on
 * is encrypted.
 */
#include "track_encrypted.h"

#include "format/protocols.h"
#include "track_segments.h"

/* Ids of names are of one recorder each: a recording may be merged of several. */
struct encrypted {
	u32 name;	    /* of what cannot be read; 0: none */
	struct idmap conns; /* numbers of these connections */
};

static struct encrypted *own(const struct replay *r)
{
	return r->own[TRACK_encrypted];
}

static int encrypted_on_name(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_request_name *ev = rec->event;

	(void)e;
	if (ev->protocol == PROTOCOL_TLS)
		own(r)->name = ev->id;
	return 0;
}

static int encrypted_on_head(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_head *ev = rec->event;
	struct idmap *conns = &own(r)->conns;
	static char tls;

	if (!ev->name || ev->requests || conns->n >= SOCKET_LIMIT)
		return 0;
	return idmap_put(conns, ev->conn, &tls, SOCKET_LIMIT, e);
}

u32 encrypted_name(const struct replay *r, struct file *f)
{
	const struct encrypted *o = own(r);
	u32 conn = !o->conns.n ? 0 : f->conn ? f->conn : segments_conn(r, f);

	return conn && idmap_get(&o->conns, conn) ? o->name : 0;
}

/* A record of an alert, of 2 bytes: AES-GCM of TLS 1.2, or TLS 1.3 and ChaCha20 of TLS 1.2. */
bool encrypted_alert(const struct replay *r, struct file *f, u64 bytes)
{
	return (bytes == 31 || bytes == 24 || bytes == 23) && encrypted_name(r, f);
}

static void encrypted_free(void *slot)
{
	struct encrypted *o = slot;

	idmap_free(&o->conns);
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
