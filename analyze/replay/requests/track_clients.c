// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Clients of servers, by address without port: how long their requests take, and what they
 * cost. The CPU time of a thread belongs to the client that it has last received from, up to its
 * next receive from another one, or until it polls: an event loop that answers several
 * clients in one round would else bill each of them for all. What a thread does that never
 * received (work that was handed over) belongs to whom it sends to, from the send on.
 *
 * The number of clients is bounded; those beyond share one row of each service.
 */
#include "track_clients.h"

#include "analyze/replay/latency_rows.h"
#include "analyze/replay/tasks/track_states.h"
#include "analyze/replay/track_loss.h"
#include "format/linux_abi.h"
#include "track_services.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLIENT_LIMIT 10000  /* (service, address) pairs that are distinguished */
#define DATAGRAMS    5000   /* of these: senders of datagrams may be forged, and leave the rest */
#define AF_REST	     0xffff /* all others */

struct client {
	u32 id, service;
	u16 family;
	addr16 address;
	u64 connections, requests, lossy, sum, max;
	u64 cpu;
	u64 recv_bytes, send_bytes; /* in requests */
	struct hist latency;	    /* of requests without loss, the wait before them included */
};

/* What a thread does. */
struct serving {
	struct client *client; /* for whom it works; NULL: none */
	u64 cpu, since;	       /* clock of CPU time, and when it began to */
	u64 *also;	       /* where the time is added too; NULL: nowhere */
	u64 inside;	       /* in the receive, if also was not known yet */
};

static struct idmap *own(const struct replay *r)
{
	return r->own[TRACK_clients];
}

static struct serving *serving_of(const struct thread *t)
{
	return t->own[TRACK_clients];
}

u32 client_id(const struct client *c)
{
	return c ? c->id : 0;
}

/* *ret is NULL if there are too many. */
static int client_of(struct replay *r, struct client **ret, u32 service, u16 family,
		     const u8 *address, size_t limit, struct err *e)
{
	u64 key = address_key((u64)service << 16 | family, address);
	struct client *c = idmap_get(own(r), key);

	*ret = c;
	if (c || own(r)->n >= limit)
		return 0;
	c = idmap_add(own(r), key, sizeof(*c), limit, "clients", e);
	if (!c)
		return ERR_FAIL;
	c->id = own(r)->n;
	c->service = service;
	c->family = family;
	memcpy(c->address, address, sizeof(c->address));
	*ret = c;
	return 0;
}

int clients_of_file(struct replay *r, struct file *f, struct err *e)
{
	static const addr16 nowhere;
	/* a bound datagram socket hears everybody: track_datagrams.c knows who sent what */
	bool known = f->role == ROLE_ACCEPTED &&
		     (f->family == LINUX_AF_INET || f->family == LINUX_AF_INET6);
	u16 family = known || f->family == LINUX_AF_UNIX ? f->family : 0;
	u32 service = service_id(f->request.service);

	if (f->client)
		return 0;
	if (client_of(r, &f->client, service, family, known ? f->daddr : nowhere,
		      f->socktype == LINUX_SOCK_DGRAM ? DATAGRAMS : CLIENT_LIMIT, e) < 0)
		return ERR_FAIL;
	if (!f->client &&
	    client_of(r, &f->client, service, AF_REST, nowhere, 2 * (size_t)CLIENT_LIMIT, e) < 0)
		return ERR_FAIL;
	if (f->client)
		f->client->connections +=
			f->socktype != LINUX_SOCK_DGRAM || f->role != ROLE_ACCEPTED;
	return 0;
}

/* ---- whose CPU time ---- */

/* The thread's CPU time since it began to work for its client, up to now; 0: not known. */
static u64 spent(const struct replay *r, const struct thread *t, u64 now)
{
	const struct serving *s = serving_of(t);
	u64 cpu = t->clock[STATE_run] + elapsed(t->since, now);

	if (!t->tracked || !t->seen || t->state != STATE_run || !s->since)
		return 0;
	if (r->n_losses && loss_overlaps(r, s->since, now))
		return 0;
	return elapsed(s->cpu, cpu);
}

static void work_for(struct thread *t, struct client *c, u64 *also, u64 now)
{
	*serving_of(t) =
		(struct serving){ c, t->clock[STATE_run] + elapsed(t->since, now), now, also, 0 };
}

void clients_served(const struct replay *r, struct thread *t, struct client *c,
		    const struct call_view *v, bool send, u64 *also)
{
	u64 all = spent(r, t, v->ts), inside = all < v->dur ? all : v->dur;
	struct client *before = serving_of(t)->client;

	u64 *also_before = serving_of(t)->also;

	if (before)
		before->cpu += all - inside;
	if (also_before)
		*also_before += all - inside;
	if (c)
		c->cpu += inside;
	if (also)
		*also += inside;
	if (send && before)
		work_for(t, before, also_before, v->ts);
	else
		work_for(t, c, also, v->ts);
	serving_of(t)->inside = also ? 0 : inside;
}

void clients_named(struct thread *t, u64 *also)
{
	struct serving *s = serving_of(t);

	if (s->also)
		return;
	s->also = also;
	*also += s->inside;
	s->inside = 0;
}

void clients_renamed(struct thread *t, u64 *also)
{
	clients_named(t, also);
	serving_of(t)->also = also;
}

void clients_polled(const struct replay *r, struct thread *t, const struct call_view *v)
{
	u64 end = sleeping_of(t)->sleep.end, all;
	bool slept = end && end >= elapsed(v->dur, v->ts);
	struct client *c = serving_of(t)->client;

	if (!c)
		return;
	all = spent(r, t, v->ts);
	/* a poll that slept ran for a small part of its duration only */
	if (!slept)
		all -= all < v->dur ? all : v->dur;
	c->cpu += all;
	if (serving_of(t)->also)
		*serving_of(t)->also += all;
	work_for(t, NULL, NULL, v->ts);
}

void clients_on_request(const struct file *f, u64 dur, u64 queued, bool lossy)
{
	struct client *c = f->client;

	if (!c)
		return;
	c->requests++;
	c->recv_bytes += f->request.recv_bytes;
	c->send_bytes += f->request.send_bytes;
	c->lossy += lossy;
	if (lossy)
		return;
	dur += queued;
	c->sum += dur;
	c->max = dur > c->max ? dur : c->max;
	hist_add(&c->latency, dur);
}

/* ---- the end ---- */

/* "10.0.0.9", "[::1]", "local" (a Unix socket), "?" (not recorded), "" (all beyond the limit) */
static void name_of(const struct client *c, char text[ADDRESS_MAX])
{
	char *port;

	address_text(text, c->family, c->address, 0);
	port = strrchr(text, ':');
	if (port)
		*port = '\0';
	else
		snprintf(text, ADDRESS_MAX, "%s",
			 c->family == LINUX_AF_UNIX ? "local"
			 : c->family == AF_REST	    ? ""
						    : "?");
}

static int by_id(const void *a, const void *b)
{
	const struct client *x = *(struct client *const *)a, *y = *(struct client *const *)b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static int client_row(struct replay *r, const struct client *c, struct err *e)
{
	char name[ADDRESS_MAX];
	int ret;

	name_of(c, name);
	ret = row_put(r->db, client, e, .id = c->id, .service = c->service, .address = name,
		      .connections = c->connections, .requests = c->requests, .lossy = c->lossy,
		      .time = c->sum & INT64_MAX, .max = c->max & INT64_MAX,
		      .cpu = c->cpu & INT64_MAX, .recv_bytes = c->recv_bytes & INT64_MAX,
		      .send_bytes = c->send_bytes & INT64_MAX);
	return ret < 0 ? ret : latency_rows(r, "client", c->id, 0, &c->latency, e);
}

static int clients_finish(struct replay *r, struct err *e)
{
	struct client **list = calloc(own(r)->n + 1, sizeof(*list)), *c;
	size_t at = 0, n = 0, i;
	int ret = 0;

	if (!list)
		return err_set(e, ERR_FAIL, "out of memory for clients");
	while ((c = idmap_each(own(r), &at)))
		list[n++] = c;
	qsort(list, n, sizeof(*list), by_id);
	for (i = 0; i < n && ret == 0; i++)
		ret = client_row(r, list[i], e);
	free(list);
	return ret;
}

static void clients_free(void *own)
{
	struct idmap *all = own;
	struct client *c;
	size_t at = 0;

	while ((c = idmap_each(all, &at))) {
		hist_free(&c->latency);
		free(c);
	}
	idmap_free(all);
}

const struct tracker track_clients = {
	.name = "clients",
	.of_replay = sizeof(struct idmap), /* service and address -> struct client */
	.of_thread = sizeof(struct serving),
	.finish = clients_finish,
	.free = clients_free,
};
