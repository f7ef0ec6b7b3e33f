// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of requests that are left without an answer, or were read before the recording. */
#include "analyze/replay/tasks/threads.h"
#include "analyze/replay/track_loss.h"
#include "format/linux_abi.h"
#include "format/protocols.h"
#include "track_clients.h"
#include "track_datagrams.h"
#include "track_names.h"
#include "track_request_time.h"
#include "track_requests.h"
#include "track_segments.h"
#include "track_services.h"

#define FAREWELL_BYTES 5 /* of either protocol */

static bool is_own(const struct file *f)
{
	return f->peer == PEER_ITSELF && f->request.service && services_outside(f->request.service);
}

bool requests_serve(const struct file *f)
{
	return f->kind == FD_SOCKET && ((f->role == ROLE_ACCEPTED && !is_own(f)) ||
					(f->role == ROLE_BOUND && f->socktype == LINUX_SOCK_DGRAM));
}

/* Looks up its service and client; the arrival of the request that is open. */
static int left_open(struct replay *r, struct process *p, struct file *f, u64 *ret_arrival,
		     struct err *e)
{
	if (services_of_file(r, p, f, e) < 0 || clients_of_file(r, f, e) < 0)
		return ERR_FAIL;
	*ret_arrival = f->request.arrival;
	if (!*ret_arrival)
		*ret_arrival = f->request.first_recv - requests_queued(f);
	return 0;
}

int requests_put_before(struct replay *r, struct process *p, s32 fd, struct file *f, u64 end,
			const struct thread *t, struct err *e)
{
	struct row_request_before *row;
	u64 arrival;

	if (left_open(r, p, f, &arrival, e) < 0)
		return ERR_FAIL;
	row = bulk_add(r->bulk, request_before);
	row->age = (s64)((f->asked - 1) & INT64_MAX);
	row->end = end ? replay_time(r, end) : BULK_NULL;
	row->pid = p->pid;
	row->tid = t ? (s64)t->tid : BULK_NULL;
	row->fd = fd;
	row->service = service_id(f->request.service);
	row->client = client_id(f->client);
	row->answered = f->asked_answered;
	f->asked = 0;
	return 0;
}

/* The message that ends a session of PostgreSQL (Terminate) or MySQL (COM_QUIT) has no answer. */
static bool is_farewell(const struct file *f)
{
	return f->request.recv_bytes == FAREWELL_BYTES && !names_held(f) &&
	       (f->protocol == PROTOCOL_POSTGRES || f->protocol == PROTOCOL_MYSQL);
}

int requests_unanswered(struct replay *r, struct process *p, s32 fd, struct file *f, struct err *e)
{
	const struct request *t = &f->request;
	u64 unread = f->unread ? r->begin : segments_unread(r, f), arrival;
	struct row_unanswered *row;
	bool read = t->recvs && !t->sends && !is_farewell(f);
	bool has_rest = t->to_come && t->counted == t->last_recv && f->family != LINUX_AF_UNIX;
	u32 answered = t->sends ? t->tid : t->answered, name = names_first(f);
	struct file *one = NULL;

	while ((one = datagrams_open(f, one)))
		if (requests_unanswered(r, p, fd, one, e) < 0)
			return ERR_FAIL;
	if (requests_serve(f) && f->asked && requests_put_before(r, p, fd, f, 0, NULL, e) < 0)
		return ERR_FAIL;
	if (!requests_serve(f) || (!read && !unread))
		return 0;
	if (left_open(r, p, f, &arrival, e) < 0 || (!name && names_of_replica(r, &name, p, e) < 0))
		return ERR_FAIL;
	row = bulk_add(r->bulk, unanswered);
	row->ts = replay_time(r, read ? arrival : unread);
	row->read = read ? replay_time(r, t->first_recv) : BULK_NULL;
	row->pid = p->pid;
	row->tid = read ? (s64)t->receiver : answered ? (s64)answered : BULK_NULL;
	row->fd = fd;
	row->service = service_id(t->service);
	row->client = client_id(f->client);
	row->name = name ? name : BULK_NULL;
	row->answered = answered > 0;
	has_rest = has_rest && read && !unread && !loss_overlaps(r, t->last_recv, UINT64_MAX);
	row->announced = has_rest ? (s64)t->announced : BULK_NULL;
	row->rest = has_rest ? (s64)t->to_come : BULK_NULL;
	return 0;
}

/*
 * No other descriptor of the process is the same socket. A process that ends may leave bytes
 * unread.
 */
int requests_closed(struct replay *r, struct process *p, s32 fd, struct file *f, u64 ts,
		    struct err *e)
{
	const struct request *t = &f->request;
	bool shared = f->same.next && f->same.next != f;
	enum closing by = requests_serve(f) ? segments_closing(r, p, f) : CLOSED_BY_PEER;
	bool read = t->recvs && !t->sends && names_held(f);
	bool peer = by == CLOSED_BY_PEER || f->eof;
	bool unread = by == CLOSED_UNREAD && !peer && !t->recvs && !p->threads;
	struct row_request_closed *row;
	u64 arrival;

	if (!requests_serve(f) || shared || (!read && !unread) ||
	    loss_overlaps(r, read ? t->first_recv : ts, ts))
		return 0;
	if (left_open(r, p, f, &arrival, e) < 0)
		return ERR_FAIL;
	row = bulk_add(r->bulk, request_closed);
	row->ts = replay_time(r, read ? arrival : ts);
	row->read = read ? replay_time(r, t->first_recv) : BULK_NULL;
	row->end = replay_time(r, ts);
	row->peer = peer;
	row->pid = p->pid;
	row->tid = read ? (s64)t->receiver : t->answered ? (s64)t->answered : BULK_NULL;
	row->fd = fd;
	row->service = service_id(t->service);
	row->client = client_id(f->client);
	row->name = names_first(f) ? names_first(f) : BULK_NULL;
	return 0;
}
