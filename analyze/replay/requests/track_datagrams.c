// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests in datagrams. Many are under way on one socket: an answer belongs to the newest request
 * of the client that it goes to, of DNS to that with its id, as what had no answer may never get
 * one: it was dropped, is a line of a log, or was sent again. So the latency of a client with
 * several under way is at least what is said. What has none when its client has got more than ever
 * were under way is forgotten. A peer that is sent what it did not ask for is no client: it is
 * asked, or one message to it is many datagrams, as in QUIC. The event with the peer comes right
 * before the call; a receive of what stays has none. Where a call moves several and not all peers
 * are recorded, none is known.
 */
#include "track_datagrams.h"

#include "peer_silence.h"
#include "questions.h"

#include "analyze/replay/io/datagrams.h"
#include "analyze/replay/tasks/threads.h"
#include "analyze/replay/track_loss.h"
#include "analyze/store/row_types.h"
#include "dns.h"
#include "format/linux_abi.h"
#include "format/protocols.h"
#include "track_names.h"
#include "track_segments.h"
#include "track_services.h"

#include <stdlib.h>
#include <string.h>

#define OPEN_MOST    1024  /* of a socket */
#define ALL_MOST     65536 /* of all sockets */
#define PEERS_MOST   65536 /* of all sockets */
#define PEERS_OF_ONE 16384 /* with more of them, a socket forgets those that wait for nothing */

#define ANSWERS_OF_ONE 16 /* answers among which one may seem to have no request */
#define CALL_MOST      32 /* datagrams of one call */

struct next_peer {
	u16 family, port;
	addr16 address;
	u32 head; /* of DNS; 0: it is none */
};

/* Of a thread: the peers of its next call. */
struct next_peers {
	u64 ts; /* 0: none */
	u32 n;
	struct next_peer *v; /* CALL_MOST of them; NULL: none yet */
};

static struct all_datagrams *own(const struct replay *r)
{
	return r->own[TRACK_datagrams];
}

static int datagrams_on_peer(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_datagram *ev = rec->event;
	struct thread *t = rec->tid ? task_thread(r, rec->tid, e) : NULL;
	struct next_peers *all = t ? t->own[TRACK_datagrams] : NULL;
	struct next_peer *p;

	if (!all)
		return rec->tid ? ERR_FAIL : 0;
	if (!all->v && !(all->v = calloc(CALL_MOST, sizeof(*all->v))))
		return err_set(e, ERR_FAIL, "out of memory for requests");
	if (all->ts != rec->ts)
		all->n = 0;
	all->ts = rec->ts;
	if (all->n >= CALL_MOST)
		return 0;
	p = &all->v[all->n++];
	*p = (struct next_peer){ .family = ev->family, .port = ev->dport, .head = ev->head };
	memcpy(p->address, ev->daddr, sizeof(p->address));
	return 0;
}

u32 datagrams_known(const struct thread *t, const struct call_view *v)
{
	bool one_each = v->desc->family == FAMILY_SEND || v->desc->family == FAMILY_RECV;
	const struct next_peers *next = t->own[TRACK_datagrams];

	return next->ts == v->ts && (one_each || next->n == v->ret) ? next->n : 0;
}

/* Sockets with requests of known peers. A receive from a Unix socket leaves the caller's address as
 * it was. */
static bool has_peers(const struct file *f)
{
	return f->role == ROLE_BOUND && f->socktype == LINUX_SOCK_DGRAM && !datagrams_unknown(f) &&
	       (f->family == LINUX_AF_INET || f->family == LINUX_AF_INET6);
}

u32 datagrams_served(const struct thread *t, const struct file *f, const struct call_view *v)
{
	return has_peers(f) ? datagrams_known(t, v) : 0;
}

static void forget(struct replay *r, struct datagrams *d, struct datagram *one)
{
	const struct request *q = &one->request.request;

	if (q->recvs && !q->sends)
		services_on_request(&one->request, 0, false);
	datagrams_take(d, one);
	own(r)->n--;
}

/* A socket of IPv6 receives from IPv4 as IPv6, and may send to either. */
static u64 peer_key(const struct next_peer *p)
{
	const u8 *v4 = address_ipv4(p->family, p->address);
	addr16 address = { 0 };

	if (v4)
		memcpy(address, v4, 4);
	return address_key(p->port, v4 ? address : p->address);
}

/* Those without an open request; what they asked last may have no answer. */
static int forget_peers(struct replay *r, const struct thread *t, const struct file *f,
			struct err *e)
{
	struct idmap_slot *peers = idmap_sorted(&f->datagrams->peers, e), *one;
	size_t forgotten = 0;
	int ret = peers ? 0 : ERR_FAIL;

	for (one = peers; one && one->value && ret == 0; one++)
		if (!((const struct datagram_peer *)one->value)->open)
			ret = question_ends(r, t->process, (s32)r->call.arg[0], f, one->value,
					    r->call.ts, e);
	free(peers);
	if (ret == 0)
		ret = datagrams_forget_peers(f->datagrams, &forgotten, e);
	own(r)->peers -= forgotten;
	return ret;
}

/* *ret NULL: there are too many. */
static int find_peer(struct replay *r, const struct thread *t, const struct file *f,
		     const struct next_peer *p, struct datagram_peer **ret, struct err *e)
{
	struct datagrams *d = f->datagrams;
	u64 key = peer_key(p);

	*ret = datagrams_peer(d, key);
	if (!*ret && (own(r)->peers >= PEERS_MOST || d->peers.n >= PEERS_OF_ONE) &&
	    forget_peers(r, t, f, e) < 0)
		return ERR_FAIL;
	if (*ret || own(r)->peers >= PEERS_MOST)
		return 0;
	*ret = datagrams_add_peer(d, key, e);
	if (!*ret)
		return ERR_FAIL;
	own(r)->peers++;
	(*ret)->family = p->family;
	(*ret)->port = p->port;
	memcpy((*ret)->address, p->address, sizeof(p->address));
	return 0;
}

static int received(struct replay *r, struct thread *t, struct file *f, const struct next_peer *p,
		    struct datagram_peer *peer, struct file **ret, struct err *e)
{
	struct datagrams *d = f->datagrams;
	const struct call_view *v = &r->call;
	struct datagram *one;

	if (question_ends(r, t->process, (s32)v->arg[0], f, peer, v->ts, e) < 0)
		return ERR_FAIL;
	peer->waits = v->ts;
	peer->reader = t->tid;
	peer->since = peer->since ? peer->since : v->ts;
	if (d->n && (d->n >= OPEN_MOST || own(r)->n >= ALL_MOST)) {
		d->first->peer->forgotten++;
		forget(r, d, d->first);
	}
	if (own(r)->n >= ALL_MOST)
		return 0;
	one = datagrams_add(d, peer, e);
	if (!one)
		return ERR_FAIL;
	own(r)->n++;
	one->head = p->head;
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
				      .since = d->last_send,
				      .serves = true,
				      .conn = segments_conn(r, f) };
	memcpy(one->request.saddr, f->saddr, sizeof(f->saddr));
	memcpy(one->request.daddr, p->address, sizeof(p->address));
	one->request.request.service = f->request.service;
	one->request.request.answered = d->answered;
	*ret = &one->request;
	return 0;
}

/*
 * A send that answers no request that is open: of one that was forgotten or is from before the
 * recording, or of a few that were lost. Who sent first is a client, whatever its port. To another
 * the first send is a question, unless it has a port for clients: the kernel's choice, or one above
 * the server's own.
 */
static void not_asked(const struct file *f, struct datagram_peer *p)
{
	struct datagrams *d = f->datagrams;
	bool chosen = p->port >= PORTS_OF_CLIENTS;

	if (p->forgotten) {
		p->forgotten--;
		return;
	}
	if (p->since && d->lost) {
		d->lost--;
		return;
	}
	p->unasked += p->since || (p->before && !chosen);
	p->before += !p->since;
	p->mutual = (!p->since && !chosen && p->port <= f->sport) ||
		    p->unasked > 1 + p->answers / ANSWERS_OF_ONE;
}

/* Where datagrams are of DNS: an answer whose question is not known, as from before the recording.
 */
static bool is_other_answer(const struct datagrams *d, const struct datagram_peer *p, u32 head)
{
	return d->dns && p->newest && dns_is_question(p->newest->head) && dns_is_any_answer(head);
}

/* The one with the id of an answer of DNS, else the newest. */
static struct datagram *asked(const struct datagrams *d, const struct datagram_peer *p, u32 head)
{
	struct datagram *one = head ? p->newest : NULL;

	while (one && !dns_is_answer(one->head, head))
		one = one->older;
	return one || is_other_answer(d, p, head) ? one : p->newest;
}

/* The request that a send answers; NULL: none. */
static struct file *answered(struct replay *r, const struct file *f, struct datagram_peer *p,
			     u32 head, u32 tid, u64 ts)
{
	struct datagrams *d = f->datagrams;
	struct datagram *one = asked(d, p, head);

	if (!one) {
		if (!p->newest)
			not_asked(f, p);
		return NULL;
	}
	p->answers++;
	d->last_send = ts;
	d->answered = tid;
	for (; p->oldest != one && p->oldest->answers + p->most < p->answers; p->forgotten++)
		forget(r, d, p->oldest);
	return &one->request;
}

static void forget_requests(struct replay *r, struct datagrams *d)
{
	while (d->first)
		forget(r, d, d->first);
}

/* Of a call that moved several not all events were recorded: of this one no peer is known. */
static void not_seen(struct replay *r, struct datagrams *d, const struct call_view *v, bool send)
{
	if (send)
		forget_requests(r, d); /* which of them were answered is not known */
	else
		d->lost += (u64)v->ret;
}

/* NULL: there is none, and none could be made. */
static struct datagrams *datagrams_of(struct file *f, struct err *e)
{
	if (!f->datagrams) {
		f->datagrams = calloc(1, sizeof(*f->datagrams));
		f->request.recvs = 0; /* what was received without a peer stays: MSG_PEEK */
	}
	if (!f->datagrams)
		err_set(e, ERR_FAIL, "out of memory for requests");
	return f->datagrams;
}

int datagrams_request(struct replay *r, struct thread *t, struct file *f, const struct call_view *v,
		      u32 i, bool send, struct file **ret, struct err *e)
{
	bool one_each = v->desc->family == FAMILY_SEND || v->desc->family == FAMILY_RECV;
	const struct next_peers *next = t->own[TRACK_datagrams];
	struct datagrams *d = f->datagrams;
	u32 n = datagrams_known(t, v);
	struct datagram_peer *peer;

	*ret = f;
	if (!has_peers(f) || (one_each && !n && !d))
		return 0;
	d = datagrams_of(f, e);
	if (!d)
		return ERR_FAIL;
	if (!one_each && !n && !loss_overlaps(r, v->ts, v->ts)) {
		forget_requests(r, d);
		d->off = true;
		return 0;
	}
	*ret = NULL;
	if (!n) {
		if (!one_each)
			not_seen(r, d, v, send);
		if (send)
			d->unknown_send = v->ts;
		return 0;
	}
	if (find_peer(r, t, f, &next->v[i], &peer, e) < 0)
		return ERR_FAIL;
	if (peer && send) {
		peer->waits = 0;
		*ret = answered(r, f, peer, next->v[i].head, t->tid, v->ts);
	}
	if (peer && peer->mutual)
		while (peer->oldest)
			forget(r, d, peer->oldest);
	return peer && !send && !peer->mutual ? received(r, t, f, &next->v[i], peer, ret, e) : 0;
}

int datagrams_name(struct replay *r, struct thread *t, struct file *f, u32 i, struct file *request,
		   bool send, struct err *e)
{
	const struct next_peers *next = t->own[TRACK_datagrams];
	u32 question = ((const struct datagram *)request)->head, head = next->v[i].head;
	const char *error = send ? dns_error(head) : NULL;
	struct datagrams *d = f->datagrams;
	bool is = send ? dns_is_answer(question, head) : d->dns && dns_is_question(question);

	d->dns |= is;
	if (is && names_dns(r, t, request, next->ts, e) < 0)
		return ERR_FAIL;
	return is && error ? names_failed(r, t, request, PROTOCOL_DNS, 1, error, 0, next->ts, e)
			   : 0;
}

bool datagrams_unknown(const struct file *f)
{
	return f->datagrams && f->datagrams->off;
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
	while (one && (one->request.request.first_recv <= d->last_send ||
		       (!one->peer->answers && one->peer->since <= d->last_send)))
		one = one->next;
	return one ? &one->request : NULL;
}

static int asked_one(struct replay *r, struct thread *t, struct file *f, const struct call_view *v,
		     const struct next_peer *next, bool send, struct err *e)
{
	struct datagrams *d = f->datagrams;
	struct datagram_peer *peer;

	if (find_peer(r, t, f, next, &peer, e) < 0)
		return ERR_FAIL;
	if (!peer)
		return 0;
	if (!send) {
		if (peer_silence_put(r, t->process, (s32)v->arg[0], d, peer, v->ts, e) < 0)
			return ERR_FAIL;
		peer->asked = peer->questions = 0;
		peer->answered = true;
		return 0;
	}
	return peer_silence_asks(r, t, (s32)v->arg[0], d, peer, v->ts, e);
}

int datagrams_asked(struct replay *r, struct thread *t, struct file *f, const struct call_view *v,
		    bool send, struct err *e)
{
	const struct next_peers *next = t->own[TRACK_datagrams];
	u32 n = datagrams_known(t, v), i;
	int ret = 0;

	if (f->socktype != LINUX_SOCK_DGRAM || f->dport ||
	    (f->family != LINUX_AF_INET && f->family != LINUX_AF_INET6))
		return 0;
	if (!n) {
		if (f->datagrams && !send)
			f->datagrams->unknown++;
		return 0;
	}
	if (!datagrams_of(f, e))
		return ERR_FAIL;
	for (i = 0; i < n && ret == 0; i++)
		ret = asked_one(r, t, f, v, &next->v[i], send, e);
	return ret;
}

bool datagrams_only_peer(const struct file *f, char text[ADDRESS_MAX])
{
	const struct datagrams *d = f->datagrams;
	const struct datagram_peer *peer;
	size_t at = 0;

	if (!d || d->peers.n != 1 || d->unknown)
		return false;
	peer = idmap_each(&d->peers, &at);
	address_text(text, peer->family, peer->address, peer->port);
	return true;
}

int datagrams_end(struct replay *r, const struct process *p, s32 fd, struct file *f, bool closed,
		  struct err *e)
{
	struct datagrams *d = f->datagrams;
	struct idmap_slot *peers, *one;
	int ret = 0;

	if (!d)
		return 0;
	peers = closed ? NULL : idmap_sorted(&d->peers, e);
	if (!closed && !peers)
		ret = ERR_FAIL;
	for (one = peers; one && one->value && ret == 0; one++) {
		ret = peer_silence_put(r, p, fd, d, one->value, 0, e);
		if (ret == 0)
			ret = question_ends(r, p, fd, f, one->value, 0, e);
	}
	free(peers);
	forget_requests(r, d);
	own(r)->peers -= d->peers.n;
	datagrams_free(d);
	f->datagrams = NULL;
	return ret;
}

static void datagrams_thread_free(void *slot)
{
	free(((struct next_peers *)slot)->v);
}

static const struct handler handlers[] = { { EV_datagram, false, datagrams_on_peer }, { 0 } };

const struct tracker track_datagrams = {
	.name = "datagrams",
	.handlers = handlers,
	.of_replay = sizeof(struct all_datagrams),
	.of_thread = sizeof(struct next_peers),
	.thread_free = datagrams_thread_free,
};
