// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests in datagrams. Many are under way on one socket: an answer belongs to the newest request
 * of the client that it goes to, as what had no answer may never get one: it was dropped, or is a
 * line of a log. These are kept up to some number. The event with the peer comes right before the
 * call; a receive of what stays has none.
 */
#include "track_datagrams.h"

#include "analyze/replay/io/datagrams.h"
#include "analyze/replay/tasks/threads.h"
#include "format/linux_abi.h"
#include "track_segments.h"

#include <stdlib.h>
#include <string.h>

#define OPEN_MOST 1024	/* of a socket */
#define ALL_MOST  65536 /* of all sockets */

/* Of a thread: the peer of its next call. */
struct next_peer {
	u64 ts; /* 0: none */
	u16 family, port;
	addr16 address;
};

struct all_datagrams {
	size_t n;
};

static struct all_datagrams *own(const struct replay *r)
{
	return r->own[TRACK_datagrams];
}

static int datagrams_on_peer(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_datagram *ev = rec->event;
	struct thread *t = rec->tid ? task_thread(r, rec->tid, e) : NULL;
	struct next_peer *p = t ? t->own[TRACK_datagrams] : NULL;

	if (p) {
		*p = (struct next_peer){ .ts = rec->ts, .family = ev->family, .port = ev->dport };
		memcpy(p->address, ev->daddr, sizeof(p->address));
	}
	return rec->tid && !t ? ERR_FAIL : 0;
}

static void forget(struct replay *r, struct datagrams *d, struct datagram *one)
{
	datagrams_take(d, one);
	own(r)->n--;
}

static int received(struct replay *r, struct file *f, const struct next_peer *p, struct file **ret,
		    struct err *e)
{
	struct datagrams *d = f->datagrams;
	struct datagram *one;

	if (!d) {
		d = f->datagrams = calloc(1, sizeof(*d));
		f->request.recvs = 0; /* what was received without a peer stays: MSG_PEEK */
	}
	if (!d)
		return err_set(e, ERR_FAIL, "out of memory for requests");
	if (d->n && (d->n >= OPEN_MOST || own(r)->n >= ALL_MOST))
		forget(r, d, d->first);
	one = own(r)->n < ALL_MOST ? datagrams_add(d, address_key(p->port, p->address), e) : NULL;
	if (!one)
		return own(r)->n < ALL_MOST ? ERR_FAIL : 0;
	own(r)->n++;
	f->unread = false;
	f->asked = 0;
	one->request = (struct file){ .ino = f->ino,
				      .dev = f->dev,
				      .kind = f->kind,
				      .role = ROLE_ACCEPTED,
				      .socktype = f->socktype,
				      .family = p->family,
				      .sport = f->sport,
				      .dport = p->port,
				      .serves = true,
				      .conn = segments_conn(r, f) };
	memcpy(one->request.saddr, f->saddr, sizeof(f->saddr));
	memcpy(one->request.daddr, p->address, sizeof(p->address));
	one->request.request.service = f->request.service;
	one->request.request.last_send = d->last_send;
	one->request.request.answered = d->answered;
	*ret = &one->request;
	return 0;
}

int datagrams_request(struct replay *r, struct thread *t, struct file *f, const struct call_view *v,
		      bool send, struct file **ret, struct err *e)
{
	bool one_each = v->desc->family == FAMILY_SEND || v->desc->family == FAMILY_RECV;
	const struct next_peer *p = t->own[TRACK_datagrams];
	struct datagram *one;

	*ret = f;
	if (f->role != ROLE_BOUND || f->socktype != LINUX_SOCK_DGRAM || !one_each ||
	    (p->ts != v->ts && !f->datagrams))
		return 0;
	*ret = NULL;
	if (p->ts != v->ts)
		return 0;
	if (!send)
		return received(r, f, p, ret, e);
	one = f->datagrams ? datagrams_newest(f->datagrams, address_key(p->port, p->address))
			   : NULL;
	if (one) {
		f->datagrams->last_send = v->ts;
		f->datagrams->answered = t->tid;
	}
	*ret = one ? &one->request : NULL;
	return 0;
}

void datagrams_forget(struct replay *r, struct file *f, struct file *request)
{
	forget(r, f->datagrams, (struct datagram *)request);
}

struct file *datagrams_open(const struct file *f, const struct file *last)
{
	const struct datagrams *d = f->datagrams;
	struct datagram *one = !d ? NULL : last ? ((const struct datagram *)last)->next : d->first;

	if (last && !d->last_send)
		return NULL;
	while (one && one->request.request.first_recv <= d->last_send)
		one = one->next;
	return one ? &one->request : NULL;
}

void datagrams_end(struct replay *r, struct file *f)
{
	if (!f->datagrams)
		return;
	own(r)->n -= f->datagrams->n;
	datagrams_free(f->datagrams);
	f->datagrams = NULL;
}

static const struct handler handlers[] = { { EV_datagram, false, datagrams_on_peer }, { 0 } };

const struct tracker track_datagrams = {
	.name = "datagrams",
	.handlers = handlers,
	.of_replay = sizeof(struct all_datagrams),
	.of_thread = sizeof(struct next_peer),
};
