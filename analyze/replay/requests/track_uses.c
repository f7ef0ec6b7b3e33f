// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which system calls a process uses on its sockets, and how often in a request: a call whose
 * number in a request is always the same has a rate that is proportional to that of requests.
 */
#include "track_uses.h"

#include <stdlib.h>

struct socket_use {
	u32 pid;
	u32 service; /* 0: not a server's socket */
	u16 nr;
	u8 abi;
	bool send;
	u64 n, bytes, first, last;
	u64 requests, request_calls, request_squares;
};

/* How often each system call occurred in the request: a constant number makes its rate a request
 * rate.
 */
void uses_on_request(const struct request *t)
{
	size_t i;

	for (i = 0; i < sizeof(t->calls) / sizeof(t->calls[0]) && t->calls[i].use; i++) {
		t->calls[i].use->requests++;
		t->calls[i].use->request_calls += t->calls[i].n;
		t->calls[i].use->request_squares += (u64)t->calls[i].n * t->calls[i].n;
	}
}

static struct socket_use *use_of(struct replay *r, u32 pid, u32 service, const struct call_view *v,
				 struct err *e)
{
	u64 id = (u64)(service ? service : pid) << 32 | (u64)(service > 0) << 31 |
		 (u64)v->abi << 16 | v->nr;
	struct socket_use *u = idmap_get(r->own[TRACK_uses], id);

	if (u)
		return u;
	u = idmap_add(r->own[TRACK_uses], id, sizeof(*u), STAT_LIMIT, "uses of sockets", e);
	if (!u)
		return NULL;
	*u = (struct socket_use){
		.pid = pid, .service = service, .nr = v->nr, .abi = v->abi, .first = v->ts
	};
	return u;
}

int uses_count(struct replay *r, struct socket_use **ret, u32 pid, u32 service,
	       const struct call_view *v, bool send, u64 bytes, struct err *e)
{
	struct socket_use *u = *ret = use_of(r, pid, service, v, e);

	if (!u)
		return ERR_FAIL;
	u->send = send;
	u->n++;
	u->bytes += bytes;
	u->last = v->ts;
	return 0;
}

void uses_note(struct request *t, struct socket_use *u)
{
	size_t i;

	for (i = 0; i < sizeof(t->calls) / sizeof(t->calls[0]); i++) {
		if (t->calls[i].use && t->calls[i].use != u)
			continue;
		t->calls[i].use = u;
		t->calls[i].n++;
		return;
	}
}

/* Functions and processes have their names only at the end. */
static const char names_sql[] =
	"UPDATE service SET name=(SELECT coalesce(nullif(max(p.comm),''),'?') FROM process p"
	" WHERE p.pid=service.pid) || '[' || pid || ']:' || CASE kind"
	" WHEN 'function' THEN coalesce((SELECT function FROM site WHERE id=service.port),'?')"
	" WHEN 'unix' THEN 'unix' ELSE iif(kind='udp','udp:','') || port END";

static int use_row(void *arg, void *value, struct err *e)
{
	const struct socket_use *u = value;
	struct replay *r = arg;

	return row_put(r->db, socket_use, e, .pid = u->pid,
		       .service = u->service ? u->service : BULK_NULL, .abi = u->abi, .nr = u->nr,
		       .send = u->send, .n = u->n, .bytes = u->bytes & INT64_MAX,
		       .first = replay_time(r, u->first), .last = replay_time(r, u->last),
		       .requests = u->requests, .request_calls = u->request_calls,
		       .request_squares = u->request_squares & INT64_MAX);
}

static int uses_finish(struct replay *r, struct err *e)
{
	int ret = idmap_in_order(r->own[TRACK_uses], use_row, r, e);

	return ret < 0 ? ret : db_exec(r->db, e, names_sql);
}

static void uses_free(void *own)
{
	idmap_free_all(own);
}

const struct tracker track_uses = {
	.name = "uses",
	.of_replay = sizeof(struct idmap),
	.finish = uses_finish,
	.free = uses_free,
};
