// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Servers: what several processes answer together, be they workers that were forked for it or a
 * process for each connection. Who asks sees the gaps between all their receives and all
 * their sends, and those do not follow from the gaps of each: so they are taken here, where
 * events of all processes come in order of time.
 */
#include "flow.h"

#include "analyze/replay/track_loss.h"

#include <stdlib.h>
#include <string.h>

/* Descriptors of datagrams have ports of their own in great numbers: those beyond are of no server.
 */
#define SERVER_LIMIT 50000
#define WORDS	     4 /* of 32 bits, in a name */
#define NOT_FOLLOWED 1

struct server {
	struct server *next; /* the one that came before */
	u32 id;
	struct flow flow;
};

struct servers {
	struct idmap of, names;
	struct server *last;
};

static struct servers *own(const struct replay *r)
{
	return r->own[TRACK_servers];
}

u32 server_id(const struct server *s)
{
	return s->id;
}

/* request_window and server_window differ in what their first column names. */
_Static_assert(sizeof(struct row_request_window) == sizeof(struct row_server_window),
	       "the same columns");

void flow_write(struct replay *r, struct flow *f, enum table_id t, u32 id)
{
	const struct moments *g = f->gaps;
	struct row_request_window *row;

	if (!f->window_n[RECV] && !f->window_n[SEND] && !f->window_requests)
		return;
	row = bulk_row(r->bulk, t);
	row->service = id;
	row->ts = (s64)(f->window * r->window);
	row->dur = r->window;
	row->recvs = f->window_n[RECV];
	row->sends = f->window_n[SEND];
	row->requests = f->window_requests;
	row->recv_gaps = g[RECV].n;
	row->recv_gap = g[RECV].mean;
	row->recv_m2 = g[RECV].m2;
	row->send_gaps = g[SEND].n;
	row->send_gap = g[SEND].mean;
	row->send_m2 = g[SEND].m2;
	row->received = (s64)(f->window_received & INT64_MAX);
	f->window_n[RECV] = f->window_n[SEND] = f->window_requests = f->window_received = 0;
	memset(f->gaps, 0, sizeof(f->gaps));
}

void flow_go_to(struct replay *r, struct flow *f, enum table_id t, u32 id, u64 ts)
{
	u64 window = elapsed(r->begin, ts) / r->window;

	if (window == f->window)
		return;
	flow_write(r, f, t, id);
	f->window = window;
}

void flow_note(struct replay *r, struct flow *f, int way, u64 ts)
{
	if (f->n[way] && !(r->n_losses && loss_overlaps(r, f->last[way], ts)))
		moments_add(&f->gaps[way], elapsed(f->last[way], ts));
	f->window_n[way]++;
	if (!f->n[way]++)
		f->first[way] = ts;
	f->last[way] = ts;
}

/* ---- which server ---- */

/*
 * A number for all that was asked about so far and this word. Names are longer than what a map is
 * asked by: word by word they become one number, exactly, so no two names share a server.
 */
static int number_of(struct replay *r, u32 *at, u32 word, struct err *e)
{
	u64 key = (u64)*at << 32 | word;
	void *known = idmap_get(&own(r)->names, key);

	if (!known) {
		if (own(r)->of.n >= SERVER_LIMIT)
			return NOT_FOLLOWED;
		known = (void *)(uintptr_t)(own(r)->names.n + 1);
		if (idmap_put(&own(r)->names, key, known, (WORDS + 1) * SERVER_LIMIT, e) < 0)
			return ERR_FAIL;
	}
	*at = (u32)(uintptr_t)known;
	return 0;
}

static int name_of(struct replay *r, u32 *ret, const struct process *p, u32 where, struct err *e)
{
	u32 words[WORDS];
	int i, got = 0;

	_Static_assert(sizeof(words) == sizeof(p->comm), "all of a name");
	memcpy(words, p->comm, sizeof(words));
	*ret = 0;
	for (i = 0; i < WORDS && got == 0; i++)
		got = number_of(r, ret, words[i], e);
	return got ? got : number_of(r, ret, where, e);
}

int server_of(struct replay *r, struct server **ret, const struct process *p, u8 kind, u16 port,
	      struct err *e)
{
	struct server *s;
	u32 name;
	int got = name_of(r, &name, p, (u32)kind << 16 | port, e);

	*ret = NULL;
	if (got)
		return got == NOT_FOLLOWED ? 0 : got;
	*ret = s = idmap_get(&own(r)->of, name);
	if (s)
		return 0;
	s = idmap_add(&own(r)->of, name, sizeof(*s), SERVER_LIMIT, "servers", e);
	if (!s)
		return ERR_FAIL;
	s->id = (u32)own(r)->of.n;
	s->next = own(r)->last;
	*ret = own(r)->last = s;
	return 0;
}

void server_note(struct replay *r, struct server *s, int way, u64 ts)
{
	flow_go_to(r, &s->flow, TABLE_server_window, s->id, ts);
	flow_note(r, &s->flow, way, ts);
}

void server_request(struct server *s)
{
	s->flow.window_requests++;
}

void server_received(struct server *s, u32 n)
{
	s->flow.window_received += n;
}

/* ---- the end ---- */

/* Named as its processes are, those that answered: by their common part if they are several. */
static const char names_sql[] =
	"INSERT INTO server SELECT server, CASE count(DISTINCT pid) WHEN 1 THEN max(name) ELSE"
	" max(replace(name, '[' || pid || ']', '')) || ' (' || count(DISTINCT pid) || ' processes)' END,"
	" kind, port, count(DISTINCT pid), sum(recvs), sum(sends), sum(requests)"
	" FROM (SELECT *, max(requests > 0) OVER (PARTITION BY server) AS any FROM service"
	" WHERE server > 0) WHERE requests > 0 OR NOT any GROUP BY server ORDER BY server;"
	"CREATE INDEX server_of ON server(id)";

static int servers_finish(struct replay *r, struct err *e)
{
	struct server *s;

	for (s = own(r)->last; s; s = s->next)
		flow_write(r, &s->flow, TABLE_server_window, s->id);
	return db_exec(r->db, e, names_sql);
}

static void servers_free(void *slot)
{
	struct servers *all = slot;
	struct server *s;

	while ((s = all->last)) {
		all->last = s->next;
		free(s);
	}
	idmap_free(&all->of);
	idmap_free(&all->names);
}

const struct tracker track_servers = {
	.name = "servers",
	.of_replay = sizeof(struct servers),
	.finish = servers_finish,
	.free = servers_free,
};
