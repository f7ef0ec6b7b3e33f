// SPDX-License-Identifier: GPL-2.0-or-later
/* The last connection event of each connection, and when it had events. */
#include "connections.h"

#include <pthread.h>
#include <stdlib.h>

#define SLOTS 65536 /* connections by number: older ones give way */

struct slot {
	u64 last;
	struct ev_connection ev;
};

struct connections {
	pthread_mutex_t lock;
	struct slot slots[SLOTS];
};

int connections_new(struct connections **ret, struct err *e)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return err_set(e, ERR_FAIL, "out of memory for connections");
	pthread_mutex_init(&(*ret)->lock, NULL);
	return 0;
}

void connections_free(struct connections *c)
{
	if (c)
		pthread_mutex_destroy(&c->lock);
	free(c);
}

void connections_lock(struct connections *c)
{
	pthread_mutex_lock(&c->lock);
}

void connections_unlock(struct connections *c)
{
	pthread_mutex_unlock(&c->lock);
}

static u32 number_of(const struct ev_header *h)
{
	if (h->type == EV_segment)
		return ((const struct ev_segment *)h)->conn;
	if (h->type == EV_ready)
		return ((const struct ev_ready *)h)->conn;
	if (h->type == EV_segment_next)
		return ((const struct ev_segment_next *)h)->conn;
	if (h->type == EV_connection)
		return ((const struct ev_connection *)h)->conn;
	if (h->type >= RAW_HEAD && h->type <= RAW_ANSWER)
		return ((const struct ev_raw *)h)->conn;
	return 0;
}

void connections_see(struct connections *c, const struct ev_header *h)
{
	u32 conn = number_of(h);
	struct slot *s = &c->slots[conn % SLOTS];

	if (!conn)
		return;
	if (h->type == EV_connection)
		s->ev = *(const struct ev_connection *)h;
	if (s->ev.conn == conn)
		s->last = h->ts > s->last ? h->ts : s->last;
}

int connections_add(struct connections *c, u64 since, struct buf *records, struct err *e)
{
	int i, ret = 0;

	connections_lock(c);
	for (i = 0; i < SLOTS && ret == 0; i++)
		if (c->slots[i].ev.conn && c->slots[i].last >= since)
			ret = buf_add(records, &c->slots[i].ev, sizeof(c->slots[i].ev), e);
	connections_unlock(c);
	return ret;
}
