// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Services: what a process answers requests on, a server socket (all connections
 * that were accepted on one port) or a probed function. Of each: how receives, sends
 * and requests fall into windows, the gaps between them, and how requests look: how many
 * receives and sends they have, by which threads, of which sizes.
 *
 * A request is counted in the window in which its first answer is sent, so counts come in
 * order of time and only one window of each service is open. Its duration, which later sends
 * of the same request prolong, is taken back and counted again.
 */
#include "track_services.h"

#include "analyze/replay/latency_rows.h"
#include "flow.h"
#include "format/linux_abi.h"

#include <stdlib.h>
#include <string.h>

#define RECENT	      64 /* exchanges */
#define SERVICE_LIMIT 200000

struct service {
	struct service *next; /* of the same process */
	u32 id, pid;
	u64 key;
	s64 site; /* of a function; else -1 */
	u16 family, port;
	u8 socktype;
	u64 connections;
	bool outside;	       /* of other processes */
	u32 open, most_open;   /* requests that wait for their answer */
	struct server *server; /* NULL: of a function, or there are too many */
	struct flow flow;
	u64 requests, first_request, last_request;
	u32 ended, paced; /* of the last RECENT exchanges or so: those slow for their clients */
	u64 received, unnamed; /* requests by protocol; exchanges without any */
	u64 recv_sum, recv_squares, send_sum, send_squares; /* in requests */
	u64 one_many, many_one, many_many, paired, handed_over;
	struct hist latency; /* of requests, or of calls */
	/* the open step and the one before: durations of requests by the window of their last send
	 */
	u64 step;
	struct hist durations[2];
};

struct services {
	struct idmap of;
	u32 n;
};

/* What a process answers requests on. */
struct service_list {
	struct service *first; /* NULL: nothing */
};

static struct services *own(const struct replay *r)
{
	return r->own[TRACK_services];
}

static struct service_list *list_of(const struct process *p)
{
	return p->own[TRACK_services];
}

bool services_paced(struct service *s, bool slow)
{
	if (++s->ended == RECENT) {
		s->ended /= 2;
		s->paced /= 2;
	}
	s->paced += slow;
	return slow && 2 * s->paced < s->ended;
}

u32 service_id(const struct service *s)
{
	return s->id;
}

bool services_outside(const struct service *s)
{
	return s->outside;
}

static struct service *service_of(struct replay *r, struct process *p, u64 key, struct err *e)
{
	struct service *s = idmap_get(&own(r)->of, key);

	if (s)
		return s;
	s = idmap_add(&own(r)->of, key, sizeof(*s), SERVICE_LIMIT, "services", e);
	if (!s)
		return NULL;
	s->id = ++own(r)->n;
	s->pid = p->pid;
	s->key = key;
	s->site = -1;
	s->next = list_of(p)->first;
	list_of(p)->first = s;
	return s;
}

enum { KIND_TCP, KIND_UDP, KIND_UNIX, KIND_FUNCTION };

static int kind_of(const struct service *s)
{
	if (s->site >= 0)
		return KIND_FUNCTION;
	if (s->family == LINUX_AF_UNIX)
		return KIND_UNIX;
	return s->socktype == LINUX_SOCK_DGRAM ? KIND_UDP : KIND_TCP;
}

int services_of_file(struct replay *r, struct process *p, struct file *f, struct err *e)
{
	u64 key = (u64)p->pid << 32 | (u64)(f->socktype & 0x7f) << 24 |
		  (u64)(f->family & 0xff) << 16 | f->sport;
	struct service *s = f->request.service;

	if (s)
		return 0;
	s = service_of(r, p, key, e);
	if (!s)
		return ERR_FAIL;
	s->family = f->family;
	s->port = f->sport;
	s->socktype = f->socktype;
	if (!s->server && server_of(r, &s->server, p, (u8)kind_of(s),
				    s->family == LINUX_AF_UNIX ? 0 : s->port, e) < 0)
		return ERR_FAIL;
	s->connections += !f->serves;
	s->outside |= f->peer != PEER_ITSELF;
	f->serves = true;
	f->request.service = s;
	return 0;
}

/* ---- windows ---- */

struct quantiles {
	u64 n, below; /* all; so far */
	double at[5];
	int next;
	double value[5];
};

static void find_quantile(void *arg, u64 low, u64 high, u64 n)
{
	struct quantiles *q = arg;

	while (q->next < 5) {
		double rank = ceil(q->at[q->next] * q->n);

		rank = rank < 1 ? 1 : rank;
		if (rank > q->below + n)
			break;
		q->value[q->next++] =
			high - low <= 1 ? low : low + (high - low) * (rank - q->below - 0.5) / n;
	}
	q->below += n;
}

/* Writes a step's quantiles of durations. */
static void write_step(struct replay *r, struct service *s, u64 step)
{
	struct hist *h = &s->durations[step & 1];
	struct quantiles q = { h->n, 0, { 0.5, 0.9, 0.95, 0.99, 1 }, 0, { 0 } };
	struct row_latency_window *row;

	if (h->n) {
		hist_each(h, find_quantile, &q);
		row = bulk_add(r->bulk, latency_window);
		row->service = s->id;
		row->ts = (s64)(step * r->step);
		row->dur = r->step;
		row->n = h->n;
		row->p50 = (s64)q.value[0];
		row->p90 = (s64)q.value[1];
		row->p95 = (s64)q.value[2];
		row->p99 = (s64)q.value[3];
		row->max = (s64)q.value[4];
	}
	hist_free(h);
}

static void go_to(struct replay *r, struct service *s, u64 ts)
{
	u64 step = elapsed(r->begin, ts) / r->step;

	flow_go_to(r, &s->flow, TABLE_request_window, s->id, ts);
	if (step == s->step)
		return;
	if (step < s->step) /* out of order by a little: no row twice */
		return;
	write_step(r, s, s->step - 1);
	if (step > s->step + 1)
		write_step(r, s, s->step);
	s->step = step;
}

/* Its latency at the send at ts counts no more; false: its window is written, there it stays. */
static bool take_back(const struct replay *r, struct file *f, u64 ts)
{
	struct service *s = f->request.service;
	u64 step = elapsed(r->begin, ts) / r->step;

	return f->request.latency && step + 1 >= s->step && step <= s->step &&
	       hist_take(&s->durations[step & 1], f->request.latency);
}

void services_latency(struct replay *r, struct file *f, u64 before_ts, u64 latency)
{
	struct service *s = f->request.service;

	if (before_ts && !take_back(r, f, before_ts)) {
		f->request.latency = 0;
		return;
	}
	f->request.latency = latency;
	hist_add(&s->durations[s->step & 1], latency);
}

void services_held(struct replay *r, struct file *f, u64 latency)
{
	u64 sent = f->request.last_send;

	if (take_back(r, f, sent))
		hist_add(&f->request.service->durations[elapsed(r->begin, sent) / r->step & 1],
			 latency);
}

static void note(struct replay *r, struct service *s, int way, u64 ts)
{
	go_to(r, s, ts);
	flow_note(r, &s->flow, way, ts);
	if (s->server)
		server_note(r, s->server, way, ts);
}

void services_on_recv(struct replay *r, struct file *f, u64 ts)
{
	struct service *s = f->request.service;

	note(r, s, RECV, ts);
	if (!f->request.recvs && ++s->open > s->most_open)
		s->most_open = s->open;
}

static void count_request(struct service *s, u64 ts)
{
	s->flow.window_requests++;
	if (s->server)
		server_request(s->server);
	if (!s->requests++)
		s->first_request = ts;
	s->last_request = ts;
}

void services_received(struct replay *r, struct file *f, u32 n, u64 ts)
{
	struct service *s = f->request.service;

	go_to(r, s, ts);
	s->received += n;
	s->flow.window_received += n;
	if (s->server)
		server_received(s->server, n);
}

void services_on_send(struct replay *r, struct file *f, u64 ts)
{
	struct service *s = f->request.service;
	const struct request *t = &f->request;

	note(r, s, SEND, ts);
	if (!t->recvs)
		return;
	if (!t->sends) {
		count_request(s, ts);
		s->open -= s->open > 0;
	}
}

void services_on_request(struct file *f, u64 latency, bool named)
{
	struct request *t = &f->request;
	struct service *s = t->service;

	if (!t->sends) {
		s->open -= s->open > 0;
		return;
	}
	s->unnamed += !named;
	s->recv_sum += t->recvs;
	s->recv_squares += (u64)t->recvs * t->recvs;
	s->send_sum += t->sends;
	s->send_squares += (u64)t->sends * t->sends;
	s->one_many += t->recvs == 1 && t->sends > 1;
	s->many_one += t->recvs > 1 && t->sends == 1;
	s->many_many += t->recvs > 1 && t->sends > 1;
	s->paired += t->recvs > 1 && t->recvs == t->sends;
	s->handed_over += t->receiver != t->tid;
	hist_add(&s->latency, latency);
}

int services_on_call(struct replay *r, struct process *p, u32 site, u64 ts, u64 dur, struct err *e)
{
	struct service *s =
		service_of(r, p, (u64)p->pid << 32 | 0x80000000u | (site & 0x7fffffff), e);

	if (!s)
		return ERR_FAIL;
	s->site = site;
	go_to(r, s, ts);
	count_request(s, ts);
	if (dur != UINT64_MAX) {
		hist_add(&s->durations[s->step & 1], dur);
		hist_add(&s->latency, dur);
	}
	return 0;
}

/* ---- the end ---- */

static int service_row(struct replay *r, struct service *s, struct err *e)
{
	static const char *const kinds[] = { "tcp", "udp", "unix", "function" };
	const struct flow *f = &s->flow;

	return row_put(r->db, service, e, .id = s->id, .pid = s->pid, .kind = kinds[kind_of(s)],
		       .port = s->site >= 0 ? s->site : (s64)s->port, .connections = s->connections,
		       .most_open = s->most_open, .recvs = f->n[RECV],
		       .first_recv = replay_time(r, f->first[RECV]),
		       .last_recv = replay_time(r, f->last[RECV]), .sends = f->n[SEND],
		       .first_send = replay_time(r, f->first[SEND]),
		       .last_send = replay_time(r, f->last[SEND]), .requests = s->requests,
		       .first_request = replay_time(r, s->first_request),
		       .last_request = replay_time(r, s->last_request),
		       .latency_sum = s->latency.sum & INT64_MAX,
		       .latency_max = s->latency.max & INT64_MAX, .request_recvs = s->recv_sum,
		       .request_recv_squares = s->recv_squares, .request_sends = s->send_sum,
		       .request_send_squares = s->send_squares, .one_many = s->one_many,
		       .many_one = s->many_one, .many_many = s->many_many, .paired = s->paired,
		       .handed_over = s->handed_over,
		       .server = s->server ? (s64)server_id(s->server) : (s64)0,
		       .received = s->received & INT64_MAX, .unnamed = s->unnamed);
}

static void service_free(struct service *s)
{
	hist_free(&s->latency);
	hist_free(&s->durations[0]);
	hist_free(&s->durations[1]);
	free(s);
}

static int services_process_end(struct replay *r, struct process *p, u64 ts, struct err *e)
{
	struct service_list *list = list_of(p);
	struct service *s;
	int ret = 0;

	(void)ts;
	while ((s = list->first)) {
		list->first = s->next;
		idmap_take(&own(r)->of, s->key);
		flow_write(r, &s->flow, TABLE_request_window, s->id);
		write_step(r, s, s->step - 1);
		write_step(r, s, s->step);
		if (ret == 0)
			ret = service_row(r, s, e);
		if (ret == 0)
			ret = latency_rows(r, "service", s->id, 0, &s->latency, e);
		service_free(s);
	}
	return ret;
}

/* After an error: what is left. */
static void services_free(void *slot)
{
	struct services *all = slot;
	struct service *s;
	size_t at = 0;

	while ((s = idmap_each(&all->of, &at)))
		service_free(s);
	idmap_free(&all->of);
}

const struct tracker track_services = {
	.name = "services",
	.of_replay = sizeof(struct services),
	.of_process = sizeof(struct service_list),
	.process_end = services_process_end,
	.free = services_free,
};
