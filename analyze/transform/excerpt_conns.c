// SPDX-License-Identifier: GPL-2.0-or-later
/* Connections at each moment, by number, and the position of their last segment. */
#include "excerpt_conns.h"

#include "format/linux_abi.h"

#include <stdlib.h>
#include <string.h>

struct conn {
	struct ev_connection ev;
	u32 end, written; /* of the segment recorded last */
	bool end_known;
	bool placed; /* the part has a segment with its position */
};

static void forget(struct excerpt *x, u64 sock)
{
	struct conn *old = idmap_take(&x->conns_by_sock, sock);

	if (!old)
		return;
	idmap_take(&x->conns, old->ev.conn);
	free(old);
}

/* Beyond the limit connections are not in the excerpt's first moment. */
static int remember(struct excerpt *x, const struct ev_connection *ev)
{
	struct conn *c = idmap_get(&x->conns, ev->conn);

	if (!ev->conn || !ev->sock)
		return 0;
	if (!c || c->ev.sock != ev->sock) {
		if (c)
			forget(x, c->ev.sock);
		forget(x, ev->sock);
		if (x->conns.n >= SOCKET_LIMIT)
			return 0;
		c = calloc(1, sizeof(*c));
		if (!c)
			return err_set(x->e, ERR_FAIL, "out of memory for connections");
		if (idmap_put(&x->conns, ev->conn, c, SOCKET_LIMIT, x->e) < 0) {
			free(c);
			return ERR_FAIL;
		}
	}
	c->ev = *ev;
	return idmap_put(&x->conns_by_sock, ev->sock, c, SOCKET_LIMIT, x->e);
}

/* A file of a chosen process: if it is a socket, its connection is one of the excerpt. */
static int choose_file(struct excerpt *x, const struct ev_fd *ev)
{
	if (!ev->ino || (ev->mode & LINUX_S_IFMT) != LINUX_S_IFSOCK)
		return 0;
	return idmap_put(&x->chosen_inos, ev->ino, x, FD_TOTAL, x->e);
}

static void take_segment(struct excerpt *x, const struct ev_segment *ev)
{
	struct conn *c = idmap_get(&x->conns, ev->conn);

	if (!c)
		return;
	c->end = ev->pos + ev->len;
	c->written = ev->written;
	c->end_known = true;
	c->placed |= x->headed;
}

static void take_next(struct excerpt *x, const struct ev_segment_next *ev)
{
	struct conn *c = idmap_get(&x->conns, ev->conn);

	if (c)
		c->end += ev->len;
}

bool excerpt_conns_place(struct excerpt *x, const struct record *rec, struct ev_segment *ret)
{
	const struct ev_segment_next *ev = rec->event;
	struct conn *c = ev && rec->type == EV_segment_next ? idmap_get(&x->conns, ev->conn) : NULL;

	if (!c || !c->end_known || c->placed)
		return false;
	c->placed = true;
	*ret = (struct ev_segment){
		.h = ev->h,
		.conn = ev->conn,
		.pos = c->end - ev->len,
		.len = ev->len,
		.unread = ev->unread,
		.written = c->written,
		.unacked = ev->flags & SEGMENT_ACKED ? 0 : 1,
		.flags = ev->flags & (SEGMENT_BACKLOG | SEGMENT_DSACK | SEGMENT_HELD),
	};
	return true;
}

int excerpt_conns_take(struct excerpt *x, const struct record *rec)
{
	const struct ev_tcp_state *state = rec->event;
	const struct ev_fd *fd = rec->event;

	if (!rec->event)
		return 0;
	if (rec->type == EV_fd && x->headed && process_state_chosen(x->state, (u32)fd->pid))
		return choose_file(x, fd);
	if (rec->type == EV_connection)
		return remember(x, rec->event);
	if (rec->type == EV_segment)
		take_segment(x, rec->event);
	if (rec->type == EV_segment_next)
		take_next(x, rec->event);
	if (rec->type == EV_tcp_state && state->to == LINUX_TCP_CLOSE)
		forget(x, state->sock);
	return 0;
}

/* The connection that an event without tid is of; 0: none. */
static u32 conn_of(const struct record *rec)
{
	if (!rec->event)
		return 0;
	if (rec->type == EV_segment)
		return ((const struct ev_segment *)rec->event)->conn;
	if (rec->type == EV_segment_next)
		return ((const struct ev_segment_next *)rec->event)->conn;
	if (rec->type == EV_ready)
		return ((const struct ev_ready *)rec->event)->conn;
	if (rec->type == EV_hop)
		return ((const struct ev_hop *)rec->event)->conn;
	return rec->type == EV_connection ? ((const struct ev_connection *)rec->event)->conn : 0;
}

static bool chosen(const struct excerpt *x, const struct conn *c)
{
	return c && (!filter_chooses(x->filter) || idmap_get(&x->chosen_inos, c->ev.ino));
}

bool excerpt_conns_want(const struct excerpt *x, const struct record *rec)
{
	u32 conn = conn_of(rec);

	return conn && chosen(x, idmap_get(&x->conns, conn));
}

static int by_conn(const void *a, const void *b)
{
	const struct conn *x = *(struct conn *const *)a, *y = *(struct conn *const *)b;

	return x->ev.conn < y->ev.conn ? -1 : x->ev.conn > y->ev.conn;
}

static int choose_files(struct excerpt *x)
{
	const struct state_thread *t;
	const struct state_fd *f;
	size_t at = 0;
	int ret = 0;
	s64 fd;

	while (ret == 0 && (t = idmap_each(&x->state->threads, &at)))
		for (fd = 0; t->chosen && ret == 0 && (f = fdmap_next(&t->process->files, &fd));
		     fd++)
			ret = choose_file(x, &f->ev);
	return ret;
}

int excerpt_conns_put(struct excerpt *x, u64 ts)
{
	struct conn **list, *c;
	size_t at = 0, n = 0, i;
	int ret = choose_files(x);

	if (ret < 0)
		return ret;
	list = calloc(x->conns.n + 1, sizeof(*list));
	if (!list)
		return err_set(x->e, ERR_FAIL, "out of memory for connections");
	while ((c = idmap_each(&x->conns, &at)))
		if (chosen(x, c))
			list[n++] = c;
	/* the map's order is random; the same part has the same bytes */
	qsort(list, n, sizeof(*list), by_conn);
	for (i = 0; i < n && ret == 0; i++) {
		list[i]->ev.h.ts = ts;
		ret = convert_struct(x->schema->by_id[EV_connection], &list[i]->ev, "", 0, &x->own,
				     x->e);
		ret = ret < 0 ? ret : excerpt_flush_own(x, false);
	}
	free(list);
	return ret;
}

void excerpt_conns_free(struct excerpt *x)
{
	idmap_free_all(&x->conns);
	idmap_free(&x->conns_by_sock);
	idmap_free(&x->chosen_inos);
}
