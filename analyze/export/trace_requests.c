// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests that a process answers, and that it sends; spans with a key. */
#include "trace_rail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PEERS_MAX 1000000

/* From the arrival to the last send, as v_request has it. */
static bool place_request(const void *row, struct place *ret)
{
	const struct row_request *q = row;

	if (q->ts == BULK_NULL || q->dur == BULK_NULL || q->queued == BULK_NULL)
		return false;
	*ret = (struct place){ .span = { end_of(q->ts, -q->queued), end_of(q->ts, q->dur) } };
	return true;
}

#define OF(name) COLUMN_OF(request, name)
const struct row_order order_requests = { TABLE_request,
					  OF(ts) | OF(dur) | OF(pid) | OF(tid) | OF(fd) |
						  OF(recvs) | OF(sends) | OF(queued) |
						  OF(arrival_is) | OF(name),
					  place_request };
#undef OF

/* ---- clients ---- */

/* What a descriptor was connected to, at times since <= ts < until. */
struct trace_peer {
	s64 since, until;
	char *remote;
};

static int look_up(struct trace *t, struct trace_peer *p, s64 pid, s64 fd, s64 ts)
{
	sqlite3_stmt *s;
	char *remote;
	int ret = db_query(&s, t->db, t->e,
			   "SELECT coalesce((SELECT max(ts) FROM fd WHERE pid=?1 AND fd=?2 AND"
			   " ts<=?3), ?3), (SELECT min(ts) FROM fd WHERE pid=?1 AND fd=?2 AND"
			   " ts>?3), (SELECT remote FROM fd WHERE pid=?1 AND fd=?2 AND ts<=?3"
			   " ORDER BY ts DESC LIMIT 1)",
			   "iii", pid, fd, ts);

	if (ret == 0)
		ret = db_step(s, t->e);
	if (ret > 0) {
		remote = strdup(db_text(s, 2));
		if (remote) {
			free(p->remote);
			p->since = sqlite3_column_int64(s, 0);
			p->until = sqlite3_column_type(s, 1) == SQLITE_NULL
					   ? INT64_MAX
					   : sqlite3_column_int64(s, 1);
			p->remote = remote;
		} else {
			ret = err_set(t->e, ERR_FAIL, "out of memory for names");
		}
	}
	return db_end(s, ret);
}

/* The client of a request; NULL: see t->e. */
static const char *peer_of(struct trace *t, const struct row_request *q)
{
	s64 pid = number_of(q->pid), fd = number_of(q->fd);
	u64 key = (u64)pid << 32 ^ (u64)fd;
	struct trace_peer *p = idmap_get(&t->peers, key);

	if (!p) {
		p = calloc(1, sizeof(*p));
		if (!p || idmap_put(&t->peers, key, p, PEERS_MAX, t->e) < 0) {
			free(p);
			return NULL;
		}
	}
	if ((!p->remote || q->ts < p->since || q->ts >= p->until) &&
	    look_up(t, p, pid, fd, q->ts) < 0)
		return NULL;
	return p->remote;
}

void trace_peers_free(struct trace *t)
{
	struct trace_peer *p;
	size_t at = 0;

	while ((p = idmap_each(&t->peers, &at))) {
		free(p->remote);
		free(p);
	}
	idmap_free(&t->peers);
}

/* ---- lanes ---- */

/* kind: an index of requests. */
static int put_request(struct trace *t, int kind, s64 pid, struct span span, struct trace_event *v)
{
	static const char *const lanes[] = { "requests", "upstream", "spans" };
	char name[64];
	int row;
	struct track *k = trace_lane(t, &t->requests[kind], pid, span.ts, &row);

	if (!k)
		return row == -1 ? 0 : ERR_FAIL;
	if (!k->k.named) {
		snprintf(name, sizeof(name), "%s %d", lanes[kind], row + 1);
		trace_track(t, k, TRACK_LANE, pid, LANES_BASE + kind * LANES_KIND + row, name,
			    row - LANES_MAX);
	}
	return track_begin(&t->part, k, span, v) < 0 ? ERR_FAIL : t->w.failed;
}

int trace_request(struct trace *t, const void *row, const struct place *at)
{
	const struct row_request *q = row;
	const char *name = q->name == BULK_NULL ? NULL : trace_name(&t->names, q->name);
	const char *peer = peer_of(t, q);
	struct trace_event v = { .name = name ? name : "request", .category = "request" };

	if (!peer)
		return ERR_FAIL;
	trace_arg(&v, "fd", number_of(q->fd));
	trace_arg(&v, "tid", number_of(q->tid));
	trace_arg(&v, "recvs", number_of(q->recvs));
	trace_arg(&v, "sends", number_of(q->sends));
	trace_arg(&v, "queued", q->queued);
	trace_arg_text(&v, "arrival", q->arrival_is == 1 ? "kernel" : "estimate");
	trace_arg_text(&v, "client", peer);
	return put_request(t, 0, number_of(q->pid), at->span, &v);
}

int trace_upstream(struct trace *t, sqlite3_stmt *s)
{
	static const char *const args[] = { "fd", "tid", "sends", "sent" };
	s64 ts = sqlite3_column_int64(s, 0);
	struct trace_event v = { .name = "upstream", .category = "upstream" };
	int i;

	for (i = 0; i < 4; i++)
		trace_arg(&v, args[i], sqlite3_column_int64(s, 3 + i));
	return put_request(t, 1, sqlite3_column_int64(s, 2),
			   (struct span){ ts, end_of(ts, sqlite3_column_int64(s, 1)) }, &v);
}

int trace_span(struct trace *t, sqlite3_stmt *s)
{
	static const char *const args[] = { "tid", "end_tid", "key" };
	s64 ts = sqlite3_column_int64(s, 0);
	struct trace_event v = { .name = db_text(s, 3), .category = "span" };
	int i;

	for (i = 0; i < 3; i++)
		trace_arg(&v, args[i], sqlite3_column_int64(s, 4 + i));
	return put_request(t, 2, sqlite3_column_int64(s, 2),
			   (struct span){ ts, end_of(ts, sqlite3_column_int64(s, 1)) }, &v);
}
