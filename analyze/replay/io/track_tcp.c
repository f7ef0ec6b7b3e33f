// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * TCP connections by the kernel's states: how long the handshake took, how long a connection waited
 * to be accepted, what was sent again. States change in interrupts, so the process is known
 * only from connect (which runs in its caller) and from the descriptor that accept makes.
 *
 * The kernel counts bytes by sequence numbers, of which SYN and FIN take one each: of its own SYN
 * when that is acknowledged (but not of one that it answers), of FINs in both directions. They are
 * taken off where the states tell that they were counted. A socket that was open before the
 * recording does not tell who opened it: the SYN of its own stays in.
 *
 * What fails before a SYN is sent has no error in its state, only in the result of connect, whose
 * record comes later.
 */
#include "track_tcp.h"

#include "analyze/replay/syscall_view.h"
#include "descriptors.h"

#include "format/errnos.h"
#include "format/linux_abi.h"

#include <stdlib.h>
#include <string.h>

struct connection {
	u64 sock, addresses;
	u64 first, syn, established, accepted; /* 0: not seen */
	u64 sent, received;	     /* as the kernel counts; UINT64_MAX: no state seen yet */
	bool fin_sent, fin_received; /* and counted */
	u64 retransmits, reported;   /* events; the kernel's count, if all of it was recorded */
	u64 srtt;		     /* ns */
	u64 closed;		     /* while its thread is in connect; 0: not */
	u32 pid, error;
	u16 family, sport, dport;
	addr16 saddr, daddr;
	bool connects, accepts;
};

struct connections {
	struct idmap of;	/* socket -> struct connection */
	struct idmap accepting; /* addresses -> connection not accepted yet */
	struct idmap
		failing; /* thread -> connection that it closed in a call that has not returned */
};

static struct connections *own(const struct replay *r)
{
	return r->own[TRACK_tcp];
}

/* One number for both ends. Two connections that share it by chance would only swap a wait. */
static u64 addresses_of(u16 sport, u16 dport, const u8 *saddr, const u8 *daddr)
{
	u64 h = (u64)sport << 16 | dport;
	int i;

	for (i = 0; i < 16; i++)
		h = (h ^ saddr[i]) * 0x100000001b3u;
	for (i = 0; i < 16; i++)
		h = (h ^ daddr[i]) * 0x100000001b3u;
	return h;
}

/* It is accepted, closed, or the recording ends. */
static void no_longer_accepting(struct replay *r, const struct connection *c)
{
	if (idmap_get(&own(r)->accepting, c->addresses) == c)
		idmap_take(&own(r)->accepting, c->addresses);
}

/* Bytes of a count that holds so many flags. */
static s64 without(u64 bytes, u64 flags)
{
	return bytes == UINT64_MAX ? 0 : (s64)(elapsed(flags, bytes) & INT64_MAX);
}

static int connection_end(struct replay *r, struct connection *c, u64 end, struct err *e)
{
	char local[ADDRESS_MAX], remote[ADDRESS_MAX];
	int ret;

	no_longer_accepting(r, c);
	address_text(local, c->family, c->saddr, c->sport);
	address_text(remote, c->family, c->daddr, c->dport);
	ret = row_put(
		r->db, connection, e, .ts = c->syn || c->accepts ? replay_time(r, c->first) : 0,
		.end = end ? replay_time(r, end) : BULK_NULL, .pid = c->pid ? c->pid : BULK_NULL,
		.role = c->connects  ? "connected"
			: c->accepts ? "accepted"
				     : "",
		.local = local, .remote = remote,
		.handshake =
			c->syn && c->established ? (s64)elapsed(c->syn, c->established) : BULK_NULL,
		.accept_delay = c->accepts && c->established && c->accepted
					? (s64)elapsed(c->established, c->accepted)
					: BULK_NULL,
		.failed = c->syn && end && !c->established,
		.error = c->syn && end && !c->established ? (s64)c->error : BULK_NULL,
		.sent = without(c->sent, c->connects + c->fin_sent),
		.received = without(c->received, c->fin_received),
		.retransmits = c->retransmits > c->reported ? c->retransmits : c->reported,
		.srtt = c->srtt & INT64_MAX);
	free(c);
	return ret;
}

static struct connection *connection_of(struct replay *r, u64 sock, u64 ts, struct err *e)
{
	struct connection *c = idmap_get(&own(r)->of, sock);

	if (c)
		return c;
	c = idmap_add(&own(r)->of, sock, sizeof(*c), SOCKET_LIMIT, "connections", e);
	if (!c)
		return NULL;
	c->sock = sock;
	c->first = ts;
	c->sent = c->received = UINT64_MAX;
	return c;
}

/*
 * Which FINs are among the bytes. A socket that is closed out of a state in which it waits for one
 * was reset or given up if the count has not grown since it came into that state.
 */
static void note_fins(struct connection *c, const struct ev_tcp_state *ev)
{
	static const u16 received =
		1 << LINUX_TCP_CLOSE_WAIT | 1 << LINUX_TCP_LAST_ACK | 1 << LINUX_TCP_CLOSING;
	u32 states = (ev->from < 16 ? 1u << ev->from : 0) | (ev->to < 16 ? 1u << ev->to : 0);

	c->fin_sent |= (states & 1 << LINUX_TCP_FIN_WAIT2) != 0;
	c->fin_received |= (states & received) != 0;
	if (ev->to != LINUX_TCP_CLOSE)
		return;
	c->fin_sent |= (ev->from == LINUX_TCP_LAST_ACK || ev->from == LINUX_TCP_CLOSING) &&
		       ev->sent > c->sent;
	c->fin_received |= ev->from == LINUX_TCP_FIN_WAIT2 && ev->received > c->received;
}

static int take_state(struct replay *r, struct connection *c, const struct record *rec,
		      const struct ev_tcp_state *ev, struct err *e)
{
	const struct thread *t = rec->tid ? idmap_get(&r->threads, rec->tid) : NULL;

	c->family = ev->family;
	if (ev->sport || !c->sport) { /* a closed socket forgets its own end */
		c->sport = ev->sport;
		memcpy(c->saddr, ev->saddr, sizeof(c->saddr));
	}
	if (ev->dport || !c->dport) {
		c->dport = ev->dport;
		memcpy(c->daddr, ev->daddr, sizeof(c->daddr));
	}
	note_fins(c, ev);
	c->sent = ev->sent;
	c->received = ev->received;
	c->srtt = (u64)ev->srtt * 1000;
	c->error = ev->error < 0 ? 0u - (u32)ev->error : 0;
	if (ev->to == LINUX_TCP_SYN_SENT) { /* in connect(2), or another call of the same thread */
		c->syn = rec->ts;
		c->connects = true;
		c->pid = t ? t->process->pid : 0;
	}
	/* the kernel counts answers to a SYN too, which it does not report when it sends them */
	c->accepts |= ev->to == LINUX_TCP_ESTABLISHED && ev->from == LINUX_TCP_SYN_RECV;
	if (c->syn || c->accepts)
		c->reported = ev->retransmits;
	if (ev->to != LINUX_TCP_ESTABLISHED)
		return 0;
	c->established = rec->ts;
	if (!c->accepts)
		return 0;
	no_longer_accepting(r, c); /* of a socket whose end was not seen */
	c->addresses = addresses_of(c->sport, c->dport, c->saddr, c->daddr);
	return idmap_put(&own(r)->accepting, c->addresses, c, SOCKET_LIMIT, e);
}

/* The last one of a thread, of which nothing more is known. */
static int end_failing(struct replay *r, u32 tid, struct err *e)
{
	struct connection *c = idmap_take(&own(r)->failing, tid);

	return c ? connection_end(r, c, c->closed, e) : 0;
}

static int tcp_on_call(struct replay *r, const struct record *rec, struct err *e)
{
	const struct call_view *v = &r->call;
	struct connection *c = own(r)->failing.n ? idmap_get(&own(r)->failing, rec->tid) : NULL;

	if (!c)
		return 0;
	if (v->desc->class == CALL_CONNECT && v->ret < 0 && v->ret != -LINUX_EINPROGRESS &&
	    call_entry(v) <= c->syn && c->closed <= v->ts)
		c->error = (u32)-v->ret;
	return end_failing(r, rec->tid, e);
}

static int tcp_on_state(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_tcp_state *ev = rec->event;
	struct connection *c;

	if (ev->from == LINUX_TCP_LISTEN || ev->to == LINUX_TCP_LISTEN)
		return 0;
	c = connection_of(r, ev->sock, rec->ts, e);
	if (!c || take_state(r, c, rec, ev, e) < 0)
		return ERR_FAIL;
	if (ev->to != LINUX_TCP_CLOSE)
		return 0;
	idmap_take(&own(r)->of, ev->sock);
	if (!rec->tid || ev->from != LINUX_TCP_SYN_SENT || c->error)
		return connection_end(r, c, rec->ts, e);
	c->closed = rec->ts;
	if (end_failing(r, rec->tid, e) < 0)
		return ERR_FAIL;
	if (idmap_put(&own(r)->failing, rec->tid, c, SOCKET_LIMIT, e) == 0)
		return 0;
	free(c);
	return ERR_FAIL;
}

/* A descriptor was made: is it a connection that was waiting to be accepted? */
static int tcp_on_fd(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_fd *ev = rec->event;
	struct connection *c;

	(void)e;
	if (ev->role != ROLE_ACCEPTED || rec->stream == STREAM_RECORDER)
		return 0;
	c = idmap_get(&own(r)->accepting, addresses_of(ev->sport, ev->dport, ev->saddr, ev->daddr));
	if (!c)
		return 0;
	c->accepted = rec->ts;
	c->pid = ev->pid;
	no_longer_accepting(r, c);
	return 0;
}

static int tcp_on_retransmit(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_tcp_retransmit *ev = rec->event;
	struct connection *c = connection_of(r, ev->sock, rec->ts, e);
	char local[ADDRESS_MAX], remote[ADDRESS_MAX];

	if (!c)
		return ERR_FAIL;
	address_text(local, ev->family, ev->saddr, ev->sport);
	address_text(remote, ev->family, ev->daddr, ev->dport);
	if (row_put(r->db, retransmit, e, .ts = replay_time(r, rec->ts), .ino = ev->ino & INT64_MAX,
		    .local = local, .remote = remote, .state = ev->state) < 0)
		return ERR_FAIL;
	if (!c->retransmits++ && !c->family) {
		c->family = ev->family;
		c->sport = ev->sport;
		c->dport = ev->dport;
		memcpy(c->saddr, ev->saddr, sizeof(c->saddr));
		memcpy(c->daddr, ev->daddr, sizeof(c->daddr));
	}
	return 0;
}

int tcp_dsack(struct replay *r, u64 sock, u64 ts, struct err *e)
{
	const struct connection *c = idmap_get(&own(r)->of, sock);
	char local[ADDRESS_MAX], remote[ADDRESS_MAX];

	if (!c || !c->retransmits)
		return 0;
	address_text(local, c->family, c->saddr, c->sport);
	address_text(remote, c->family, c->daddr, c->dport);
	return row_put(r->db, dsack, e, .ts = replay_time(r, ts), .local = local, .remote = remote);
}

static int by_sock(const void *a, const void *b)
{
	const struct connection *x = *(struct connection *const *)a;
	const struct connection *y = *(struct connection *const *)b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return x->sock < y->sock ? -1 : x->sock > y->sock;
}

static int tcp_finish(struct replay *r, struct err *e)
{
	struct connections *all = own(r);
	struct connection **list = calloc(all->of.n + all->failing.n + 1, sizeof(*list)), *c;
	size_t at = 0, n = 0, i;
	int ret = 0, one;

	if (!list)
		return err_set(e, ERR_FAIL, "out of memory for connections");
	while ((c = idmap_each(&all->of, &at)))
		list[n++] = c;
	for (at = 0; (c = idmap_each(&all->failing, &at));)
		list[n++] = c;
	qsort(list, n, sizeof(*list), by_sock);
	idmap_free(&all->of);
	idmap_free(&all->failing);
	all->of = all->failing = (struct idmap){ 0 };
	for (i = 0; i < n; i++) {
		one = connection_end(r, list[i], list[i]->closed, ret == 0 ? e : NULL);
		ret = ret < 0 ? ret : one;
	}
	free(list);
	return ret;
}

static void tcp_free(void *slot)
{
	struct connections *all = slot;

	idmap_free_all(&all->of);
	idmap_free_all(&all->failing);
	idmap_free(&all->accepting);
}

static const struct handler handlers[] = {
	{ EV_fd, false, tcp_on_fd },
	{ EV_tcp_state, false, tcp_on_state },
	{ EV_tcp_retransmit, false, tcp_on_retransmit },
	{ EV_syscall, false, tcp_on_call },
	{ EV_syscall_args, false, tcp_on_call },
	{ 0 },
};

const struct tracker track_tcp = {
	.name = "tcp",
	.handlers = handlers,
	.of_replay = sizeof(struct connections),
	.finish = tcp_finish,
	.free = tcp_free,
};
