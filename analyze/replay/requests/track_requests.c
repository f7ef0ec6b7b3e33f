// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests as sockets show them. On a server's socket (accepted, or a bound datagram socket)
 * receives without a send between them are the start of a request, the sends that follow its end;
 * the next receive begins the next request. Such an exchange is one request unless requests are
 * pipelined or multiplexed. A server that receives only when it wants the next one has ended its
 * answer when it finds none. Datagrams of known peers are requests one by one. What a server with
 * clients asks itself is a part of theirs.
 */
#include "track_requests.h"

#include "analyze/replay/syscall_view.h"
#include "analyze/replay/tasks/threads.h"
#include "analyze/replay/track_loss.h"
#include "format/errnos.h"
#include "format/linux_abi.h"
#include "name_stats.h"
#include "track_arrivals.h"
#include "track_clients.h"
#include "track_datagrams.h"
#include "track_encrypted.h"
#include "track_names.h"
#include "track_ready.h"
#include "track_request_time.h"
#include "track_segments.h"
#include "track_services.h"
#include "track_uses.h"

#include <string.h>

/*
 * A bound datagram socket whose first transfer is a send asks others, as resolvers do: its port is
 * the kernel's choice, or it was opened in the recording. An older one may be answering.
 */
static bool asks_first(const struct file *f)
{
	return f->role == ROLE_BOUND && f->socktype == LINUX_SOCK_DGRAM && !f->request.service &&
	       (f->since || f->sport >= PORTS_OF_CLIENTS);
}

static bool is_other_end(const struct file *f, const struct file *other)
{
	return other->role == ROLE_CONNECTED && other->family == f->family &&
	       other->sport == f->dport && other->dport == f->sport &&
	       memcmp(other->saddr, f->daddr, sizeof(f->daddr)) == 0;
}

/* On the same host it may be itself: then it asks no other server. What it did since is the first
 * question, before it accepted. */
static void find_peer(const struct process *p, struct file *f)
{
	const struct fdmap *all = &fd_table(p)->files;
	struct file *other;
	s64 fd;

	if (f->role != ROLE_ACCEPTED || f->peer)
		return;
	f->peer = PEER_OTHER;
	if ((f->family != LINUX_AF_INET && f->family != LINUX_AF_INET6) ||
	    memcmp(f->saddr, f->daddr, sizeof(f->saddr)) != 0)
		return;
	for (fd = 0; (other = fdmap_next(all, &fd)); fd++) {
		if (!is_other_end(f, other))
			continue;
		f->peer = other->peer = PEER_ITSELF;
		other->asking = (struct asking){ 0 };
		other->outstanding = (struct outstanding){ 0 };
	}
}

/*
 * The time until the rest of the request arrived. That all receives are of one request is known if
 * its protocol was read and answers one after the other; else if the last of them was answered at
 * once: what is multiplexed is answered when its work is done. A datagram has no rest.
 */
static u64 rest_of(const struct replay *r, const struct file *f)
{
	u8 protocol = names_protocol(r, f);
	u64 held = names_held(f);

	if (f->socktype == LINUX_SOCK_DGRAM || held > 1 || protocol == PROTOCOL_HTTP2 ||
	    protocol == PROTOCOL_GRPC)
		return 0;
	return held || f->request.soon ? f->request.rest : 0;
}

/* Datagrams whose peers are not known: which of several is answered by which send is not either. */
static bool is_any_of(const struct file *f)
{
	return datagrams_unknown(f) && (f->request.recvs > 1 || f->request.sends > 1);
}

int requests_end_one(struct replay *r, struct process *p, s32 fd, struct file *f, struct err *e)
{
	struct request *t = &f->request;
	struct service *service = t->service;
	u64 dur, acked, wait;
	struct row_request *row;
	bool lossy;
	u32 name;
	int ret = 0;

	dur = request_left(r, f);
	if (t->recvs)
		services_on_request(f, requests_queued(f) + dur, names_held(f) > 0);
	if (t->sends && t->recvs && !is_any_of(f)) {
		uses_on_request(t);
		lossy = loss_overlaps(r, t->first_recv, t->last_send);
		clients_on_request(f, dur, requests_queued(f), lossy);
		row = bulk_add(r->bulk, request);
		row->ts = replay_time(r, t->first_recv);
		row->dur = dur;
		row->pid = p->pid;
		row->tid = t->tid;
		row->receiver = t->receiver == t->tid ? BULK_NULL : (s64)t->receiver;
		row->fd = fd;
		row->recvs = t->recvs;
		row->sends = t->sends;
		row->recv_bytes = t->recv_bytes & INT64_MAX;
		row->send_bytes = t->send_bytes & INT64_MAX;
		row->split = request_is_split(f);
		row->lossy = lossy;
		row->service = service_id(service);
		row->queued = (s64)(requests_queued(f) & INT64_MAX);
		row->client = client_id(f->client);
		row->arrival_is = t->arrival ? ARRIVAL_kernel : ARRIVAL_estimate;
		acked = segments_acked(r, f, 0);
		row->acked = acked ? (s64)elapsed(t->last_send, acked) : BULK_NULL;
		name = names_first(f) ? names_first(f) : encrypted_name(r, f);
		if (!name && names_of_replica(r, &name, p, e) < 0)
			return ERR_FAIL;
		row->name = name ? name : BULK_NULL;
		row->requests = (s64)names_held(f);
		row->errors = names_errors(f);
		row->first_send = t->first_send ? replay_time(r, t->first_send) : BULK_NULL;
		row->rest = (s64)(rest_of(r, f) & INT64_MAX);
		row->blocked = (s64)(t->blocked & INT64_MAX);
		row->held = (s64)(t->held & INT64_MAX);
		wait = dur + requests_queued(f);
		row->paced = services_paced(service, 2 * (t->blocked + (u64)row->rest) > wait);
		if (row->paced && 2 * t->blocked <= wait)
			row->paced = PACED_REQUEST;
		wait = request_time_end(r, p, f);
		ret = names_on_request(r, f, name, lossy, wait, e);
	}
	if (names_first(f))
		f->protocol = names_protocol(r, f);
	names_reset(f);
	*t = (struct request){ .service = service, .answered = t->sends ? t->tid : t->answered };
	return ret;
}

/* A send of an answer, the first or a later one. */
static int on_answer(struct replay *r, struct thread *t, struct file *f, const struct call_view *v,
		     struct socket_use *u, u64 bytes, struct err *e)
{
	struct request *request = &f->request;
	u64 before = request->last_send;
	int ret;

	request->rest += request->late;
	request->late = 0;
	request_has_room(r, f, call_entry(v));
	if (!request->sends) {
		request->first_send = call_entry(v);
		request->soon = t->tracked && has_group(r, GROUP_sched) &&
				t->tid == request->reader && t->wakeups == request->wakeups;
	}
	request->sends++;
	request->send_bytes += bytes;
	request->last_send = v->ts;
	request->tid = t->tid;
	uses_note(request, u);
	segments_sent(r, f, call_entry(v));
	ret = request_time_send(r, t, f, v->ts, e);
	services_latency(r, f, before, requests_queued(f) + elapsed(request->first_recv, v->ts));
	return ret;
}

static int on_server_socket(struct replay *r, struct thread *t, struct file *f,
			    const struct call_view *v, struct socket_use *u, bool send, u64 bytes,
			    struct err *e)
{
	struct request *request = &f->request;
	u64 last = request->last_send > f->since ? request->last_send : f->since, arrival;

	if (send) {
		services_on_send(r, f, v->ts);
		if (f->asked &&
		    requests_put_before(r, t->process, (s32)v->arg[0], f, v->ts, t, e) < 0)
			return ERR_FAIL;
		return request->recvs && !(request->sends && encrypted_alert(r, f, bytes))
			       ? on_answer(r, t, f, v, u, bytes, e)
			       : 0;
	}
	if (request_is_late_body(request, bytes)) {
		request_late_body(request, segments_received(r, f, v, bytes), v->ts, bytes);
		return 0;
	}
	if (request->sends && requests_end_one(r, t->process, (s32)v->arg[0], f, e) < 0)
		return ERR_FAIL;
	services_on_recv(r, f, v->ts);
	f->unread = false;
	f->asked = 0;
	arrival = f->family == LINUX_AF_UNIX || f->socktype == LINUX_SOCK_DGRAM
			  ? arrivals_received(r, f, v, bytes)
			  : segments_received(r, f, v, bytes);
	if (!request->recvs) {
		request->first_recv = v->ts;
		request->receiver = t->tid;
		if (request_time_begin(r, t, f, v, last, e) < 0)
			return ERR_FAIL;
		request_arrived(r, t, f, arrival);
	}
	if (request->recvs)
		request->rest += elapsed(request->last_recv, arrival);
	request->last_recv = v->ts;
	request->reader = t->tid;
	request->wakeups = t->wakeups;
	request->recvs++;
	request->recv_bytes += bytes;
	uses_note(request, u);
	return 0;
}

static void polled(const struct replay *r, struct thread *t, enum syscall_family family,
		   const struct call_view *v)
{
	const struct file *one = file_of(t->process, v->polled);

	if (one && one->role == ROLE_CONNECTED)
		return; /* it waits for an answer, for the client that it works for */
	ready_polled(t, family == FAMILY_EPOLL ? file_of(t->process, (s32)v->arg[0]) : NULL, v);
	clients_polled(r, t, v);
}

/* The first question on this socket waits for the connection. */
static int connecting(struct replay *r, u32 tid, const struct call_view *v, struct err *e)
{
	struct thread *t = tid ? task_thread(r, tid, e) : NULL;
	struct file *f = t ? file_of(t->process, (s32)v->arg[0]) : NULL;

	if (f && f->kind == FD_SOCKET && !f->asking.sends)
		f->asking = (struct asking){ .connect = v->ts };
	return tid && !t ? ERR_FAIL : 0;
}

/* The peer closed or reset the connection. */
static bool is_gone(const struct call_view *v, bool send)
{
	return (!v->ret && !send) || v->ret == -LINUX_ECONNRESET || v->ret == -LINUX_EPIPE;
}

/*
 * A send that failed since the peer is gone: of an answer of which nothing was sent. Later ones may
 * be notices after the answer, but for HTTP/1, where all that is sent belongs to it.
 */
static int unwritten(struct replay *r, struct thread *t, struct file *f, const struct call_view *v,
		     struct err *e)
{
	struct request *q = &f->request;
	char text[32];

	if (!requests_serve(f) || !q->recvs || q->failed || !q->service ||
	    (q->sends && names_protocol(r, f) != PROTOCOL_HTTP1))
		return 0;
	q->failed = true;
	return names_failed(r, t, f, names_protocol(r, f), 0,
			    errno_name((int)-v->ret, text, sizeof(text)), call_entry(v), v->ts, e);
}

static int datagram_moved(struct replay *r, struct thread *t, struct file *f, u32 i,
			  struct file *one, bool send, struct err *e)
{
	int ret = datagrams_name(r, t, f, i, one, send, e);

	if (!send)
		return ret;
	if (ret == 0)
		ret = requests_end_one(r, t->process, (s32)r->call.arg[0], one, e);
	datagrams_forget(r, f, one);
	return ret;
}

/* The call at hand, on a server's socket; one: what its datagram i is about, or f. */
static int served(struct replay *r, struct thread *t, struct file *f, u32 i, struct file *one,
		  struct socket_use *u, u64 bytes, struct err *e)
{
	const struct call_view *v = &r->call;
	bool send = v->desc->family == FAMILY_SEND || v->desc->family == FAMILY_SEND_MANY;

	clients_served(r, t, one->client, v, send,
		       send || !one->request.sends ? names_cpu(one) : NULL);
	if (on_server_socket(r, t, one, v, u, send, bytes, e) < 0)
		return ERR_FAIL;
	if (one != f)
		return datagram_moved(r, t, f, i, one, send, e);
	return has_group(r, GROUP_requests) ? names_on_call(r, t, f, v, send, e) : 0;
}

/* Of a call on a socket, datagram i or all bytes; *u: where the call is counted, NULL: not yet. */
static int moved(struct replay *r, struct thread *t, struct file *f, u32 i, struct socket_use **u,
		 u64 bytes, struct err *e)
{
	const struct call_view *v = &r->call;
	bool send = v->desc->family == FAMILY_SEND || v->desc->family == FAMILY_SEND_MANY;
	bool server = requests_serve(f);
	struct file *one = f;

	if (server && (services_of_file(r, t->process, f, e) < 0 ||
		       datagrams_request(r, t, f, v, i, send, &one, e) < 0))
		return ERR_FAIL;
	if (!one && !send)
		return 0;
	if (!one) /* a datagram to a peer that is no client: it is counted */
		services_on_send(r, f, v->ts);
	if (server && one && clients_of_file(r, one, e) < 0)
		return ERR_FAIL;
	if (!*u && uses_count(r, u, t->process->pid, server ? service_id(f->request.service) : 0, v,
			      send, bytes, e) < 0)
		return ERR_FAIL;
	if (f->role == ROLE_CONNECTED && f->peer != PEER_ITSELF) {
		request_upstream(r, t, f, v, send, bytes);
		if (datagrams_asked(r, t, f, v, send, e) < 0)
			return ERR_FAIL;
	}
	return server && one ? served(r, t, f, i, one, *u, bytes, e) : 0;
}

static int requests_on_syscall(struct replay *r, const struct record *rec, struct err *e)
{
	const struct call_view *v = &r->call;
	enum syscall_family family = v->desc->family;
	bool send = family == FAMILY_SEND || family == FAMILY_SEND_MANY;
	struct socket_use *u = NULL;
	struct thread *t;
	struct file *f;
	u32 i, n;
	int ret = 0;
	u64 bytes;

	if (v->desc->class == CALL_CONNECT && v->ret == -LINUX_EINPROGRESS)
		return connecting(r, rec->tid, v, e);
	if (family == FAMILY_NONE || (family >= FAMILY_CLOSE && family < FAMILY_EPOLL) ||
	    !rec->tid || v->flags & SYSCALL_UNFINISHED)
		return 0;
	t = task_thread(r, rec->tid, e);
	if (!t)
		return ERR_FAIL;
	if (family >= FAMILY_EPOLL)
		polled(r, t, family, v);
	if (family >= FAMILY_EPOLL)
		return 0;
	f = file_of(t->process, (s32)v->arg[0]);
	if (!f || f->kind != FD_SOCKET)
		return 0;
	f->eof |= is_gone(v, send);
	if (send && v->ret < 0 && is_gone(v, send))
		return unwritten(r, t, f, v, e);
	if (send && v->ret == -LINUX_EAGAIN && requests_serve(f) && f->request.recvs &&
	    !f->request.full)
		f->request.full = v->ts;
	if (v->ret <= 0)
		/* it receives there only when it wants the next request, and sends notifications
		 * without a question on a socket without a request */
		return v->ret == -LINUX_EAGAIN && !send && requests_serve(f) && f->request.sends &&
				       names_protocol(r, f) == PROTOCOL_POSTGRES
			       ? requests_end_one(r, t->process, (s32)v->arg[0], f, e)
			       : 0;
	bytes = family == FAMILY_RECV || family == FAMILY_SEND ? v->ret : 0;
	if (send && asks_first(f))
		f->role = ROLE_CONNECTED;
	find_peer(t->process, f);
	n = requests_serve(f) ? datagrams_served(t, f, v) : 0;
	for (i = 0; i < n + !n && ret == 0; i++)
		ret = moved(r, t, f, i, &u, bytes, e);
	return ret;
}

static const struct handler handlers[] = {
	{ EV_syscall, false, requests_on_syscall },
	{ EV_syscall_args, false, requests_on_syscall },
	{ 0 },
};

const struct tracker track_requests = {
	.name = "requests",
	.handlers = handlers,
};
