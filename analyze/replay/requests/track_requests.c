// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests as sockets show them. On a server's socket (accepted, or a bound
 * datagram socket) receives without a send between them are the begin of a turn, the
 * sends that follow its end; the next receive begins the next turn. A turn is a request
 * unless requests are pipelined or multiplexed on the connection.
 */
#include "track_requests.h"

#include "analyze/replay/tasks/threads.h"
#include "analyze/replay/track_loss.h"
#include "track_clients.h"
#include "track_ready.h"
#include "track_services.h"
#include "track_turns.h"
#include "track_uses.h"

#define SOCK_DGRAM 2

static bool is_server(const struct file *f)
{
	return f->kind == FD_SOCKET &&
	       (f->role == ROLE_ACCEPTED || (f->role == ROLE_BOUND && f->socktype == SOCK_DGRAM));
}

int requests_end_turn(struct replay *r, struct process *p, s32 fd, struct file *f, struct err *e)
{
	struct turn *t = &f->turn;
	struct service *service = t->service;
	u64 dur = elapsed(t->first_recv, t->last_send);
	bool lossy;
	struct row_turn *row;

	(void)e;
	if (t->recvs)
		services_on_turn(f);
	if (t->sends && t->recvs) {
		uses_on_turn(t);
		lossy = loss_overlaps(r, t->first_recv, t->last_send);
		clients_on_turn(f, dur, turns_queued(f), lossy);
		row = bulk_add(r->bulk, turn);
		row->ts = replay_time(r, t->first_recv);
		row->dur = dur;
		row->pid = p->pid;
		row->tid = t->tid;
		row->fd = fd;
		row->recvs = t->recvs;
		row->sends = t->sends;
		row->recv_bytes = t->recv_bytes & INT64_MAX;
		row->send_bytes = t->send_bytes & INT64_MAX;
		row->split = turns_is_split(f);
		row->lossy = lossy;
		row->service = service_id(service);
		row->queued = (s64)(turns_queued(f) & INT64_MAX);
		row->client = client_id(f->client);
		turns_end(r, p, f);
	}
	*t = (struct turn){ .service = service };
	return 0;
}

static int on_server_socket(struct replay *r, struct thread *t, struct file *f,
			    const struct call_view *v, struct socket_use *u, bool send, u64 bytes,
			    struct err *e)
{
	struct turn *turn = &f->turn;
	u64 last = turn->last_send > f->since ? turn->last_send : f->since;

	if (send) {
		services_on_send(r, f, v->ts);
		if (!turn->recvs)
			return 0; /* nobody asked: no turn */
		turn->sends++;
		turn->send_bytes += bytes;
		turn->last_send = v->ts;
		turn->tid = t->tid;
		uses_note(turn, u);
		return turns_send(r, t, f, v->ts, e);
	}
	if (turn->sends && requests_end_turn(r, t->process, (s32)v->arg[0], f, e) < 0)
		return ERR_FAIL;
	services_on_recv(r, f, v->ts);
	if (!turn->recvs) {
		turn->first_recv = v->ts;
		turn->receiver = t->tid;
		if (turns_begin(r, t, f, v, last, e) < 0)
			return ERR_FAIL;
	}
	turn->recvs++;
	turn->recv_bytes += bytes;
	uses_note(turn, u);
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

static int requests_on_syscall(struct replay *r, const struct record *rec, struct err *e)
{
	const struct call_view *v = &r->call;
	enum syscall_family family = v->desc->family;
	bool send = family == FAMILY_SEND || family == FAMILY_SEND_MANY, server;
	struct socket_use *u;
	struct thread *t;
	struct file *f;
	u64 bytes;

	if (family == FAMILY_NONE || (family >= FAMILY_CLOSE && family < FAMILY_EPOLL) ||
	    !rec->tid || v->flags & SYSCALL_UNFINISHED)
		return 0;
	t = task_thread(r, rec->tid, e);
	if (!t)
		return ERR_FAIL;
	if (family >= FAMILY_EPOLL)
		polled(r, t, family, v);
	if (family >= FAMILY_EPOLL || v->ret <= 0)
		return 0;
	f = file_of(t->process, (s32)v->arg[0]);
	if (!f || f->kind != FD_SOCKET)
		return 0;
	bytes = family == FAMILY_RECV || family == FAMILY_SEND ? v->ret : 0;
	server = is_server(f);
	if (server && (services_of_file(r, t->process, f, e) < 0 || clients_of_file(r, f, e) < 0))
		return ERR_FAIL;
	if (uses_count(r, &u, t->process->pid, server ? service_id(f->turn.service) : 0, v, send,
		       bytes, e) < 0)
		return ERR_FAIL;
	if (f->role == ROLE_CONNECTED)
		turns_exchange(r, t, f, v, send, bytes);
	if (server)
		clients_served(r, t, f->client, v, send);
	return server ? on_server_socket(r, t, f, v, u, send, bytes, e) : 0;
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
