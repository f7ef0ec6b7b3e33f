// SPDX-License-Identifier: GPL-2.0-or-later
#include "datagrams.h"

#include <stdlib.h>

#define PEERS_MOST 65536

struct datagram_peer *datagrams_peer(const struct datagrams *d, u64 key)
{
	return idmap_get(&d->peers, key);
}

struct datagram_peer *datagrams_add_peer(struct datagrams *d, u64 key, struct err *e)
{
	struct datagram_peer *p =
		idmap_add(&d->peers, key, sizeof(*p), PEERS_MOST, "peers of datagrams", e);

	if (p)
		p->key = key;
	return p;
}

static int forget_idle(void *arg, void *peer, struct err *e)
{
	struct datagrams *d = arg;
	struct datagram_peer *p = peer;

	(void)e;
	if (!p->open)
		free(idmap_take(&d->peers, p->key));
	return 0;
}

int datagrams_forget_peers(struct datagrams *d, size_t *ret_n, struct err *e)
{
	size_t before = d->peers.n;

	if (idmap_in_order(&d->peers, forget_idle, d, e) < 0)
		return ERR_FAIL;
	*ret_n = before - d->peers.n;
	return 0;
}

struct datagram *datagrams_add(struct datagrams *d, struct datagram_peer *p, struct err *e)
{
	struct datagram *one = calloc(1, sizeof(*one));

	if (!one) {
		err_set(e, ERR_FAIL, "out of memory for requests");
		return NULL;
	}
	one->peer = p;
	one->older = p->newest;
	*(p->newest ? &p->newest->newer : &p->oldest) = one;
	p->newest = one;
	one->answers = p->answers;
	p->open++;
	p->most = p->open > p->most ? p->open : p->most;
	one->prev = d->last;
	*(d->last ? &d->last->next : &d->first) = one;
	d->last = one;
	d->n++;
	return one;
}

void datagrams_take(struct datagrams *d, struct datagram *one)
{
	*(one->older ? &one->older->newer : &one->peer->oldest) = one->newer;
	*(one->newer ? &one->newer->older : &one->peer->newest) = one->older;
	one->peer->open--;
	*(one->prev ? &one->prev->next : &d->first) = one->next;
	*(one->next ? &one->next->prev : &d->last) = one->prev;
	d->n--;
	free(one->request.time);
	free(one->request.held);
	free(one);
}

void datagrams_free(struct datagrams *d)
{
	while (d && d->first)
		datagrams_take(d, d->first);
	if (d)
		idmap_free_all(&d->peers);
	free(d);
}
