// SPDX-License-Identifier: GPL-2.0-or-later
#include "datagrams.h"

#include <stdlib.h>

#define PEERS_MOST 65536

struct datagram *datagrams_newest(const struct datagrams *d, u64 peer)
{
	return idmap_get(&d->of, peer);
}

struct datagram *datagrams_add(struct datagrams *d, u64 peer, struct err *e)
{
	struct datagram *one = calloc(1, sizeof(*one)), *older = datagrams_newest(d, peer);

	if (!one) {
		err_set(e, ERR_FAIL, "out of memory for requests");
		return NULL;
	}
	if (idmap_put(&d->of, peer, one, PEERS_MOST, e) < 0) {
		free(one);
		return NULL;
	}
	one->peer = peer;
	one->older = older;
	if (older)
		older->newer = one;
	one->prev = d->last;
	*(d->last ? &d->last->next : &d->first) = one;
	d->last = one;
	d->n++;
	return one;
}

void datagrams_take(struct datagrams *d, struct datagram *one)
{
	if (one->older)
		one->older->newer = one->newer;
	if (one->newer)
		one->newer->older = one->older;
	else if (one->older)
		idmap_put(&d->of, one->peer, one->older, PEERS_MOST, NULL); /* it has a place */
	else
		idmap_take(&d->of, one->peer);
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
		idmap_free(&d->of);
	free(d);
}
