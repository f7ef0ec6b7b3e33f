// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests by name, as the recorder read them from the first bytes of receives. A receive may hold
 * several requests (pipelining, streams of HTTP/2): all are counted, under their names; the time of
 * each is from the arrival of its own first byte to the last send of the exchange that it is in.
 * Heads and answers have ts and thread of their system call, and come before or after its record.
 */
#include "track_names.h"

#include "analyze/replay/syscall_view.h"
#include "analyze/replay/tasks/threads.h"
#include "analyze/replay/text_ids.h"
#include "error_codes.h"
#include "exchange.h"
#include "format/name_ids.h"
#include "track_clients.h"
#include "track_request_time.h"
#include "track_segments.h"
#include "track_services.h"

#include <stdlib.h>
#include <string.h>

#define NAMES_MAX   65536	    /* ids of names; those of statements follow */
#define REPLICATION (OWN_NAMES + 1) /* the recorder has 4096 */
#define DNS_QUERY   OWN_NAMES
#define STATS_MAX   20000 /* (service, name); further names count as none */
#define PENDING_MAX 64	  /* heads whose receive has not come yet */
#define FAILED_MAX  2048  /* errors of one record: of 4 bytes at least, in at most 4096 */

struct names {
	u8 protocol[NAMES_MAX]; /* 0: no such name */
	struct idmap stats;	/* service and name -> struct name_stat */
	struct error_codes codes;
	struct text_ids statements;
};

/* A head, a head_more, an answer or an answer_more. */
struct mark {
	u16 type;
	u32 conn, pos, len, name, n, first, status, rest;
	u8 protocol;
	char code[ERROR_CODE];
	u64 sent; /* entry of the send that failed; 0: an answer */
};

/* Of a thread: its last calls on server sockets, and marks whose calls have not come yet. */
struct marks {
	u64 ts[2]; /* receive, send */
	s32 fd[2];
	u64 pending_ts;
	u32 n_pending;
	struct mark *pending; /* PENDING_MAX of them; NULL: none yet */
};

static bool is_answer(const struct mark *m)
{
	return m->type == EV_answer || m->type == EV_answer_more;
}

static struct names *own(const struct replay *r)
{
	return r->own[TRACK_names];
}

static struct marks *marks_of(const struct thread *t)
{
	return t->own[TRACK_names];
}

/* ---- names ---- */

static int names_on_name(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_request_name *ev = rec->event;
	char text[256] = { 0 };
	size_t n = rec->tail_len < sizeof(text) - 1 ? rec->tail_len : sizeof(text) - 1;

	if (!ev->id || ev->id >= NAMES_MAX || own(r)->protocol[ev->id])
		return 0;
	own(r)->protocol[ev->id] = ev->protocol && ev->protocol < 255 ? (u8)ev->protocol : 255;
	memcpy(text, rec->tail, n);
	return row_put(r->db, request_name, e, .id = ev->id, .protocol = ev->protocol,
		       .name = text);
}

/* A name that is not the recorder's. */
static int own_name(struct replay *r, u32 id, u8 protocol, const char *text, struct err *e)
{
	if (own(r)->protocol[id])
		return 0;
	own(r)->protocol[id] = protocol;
	return row_put(r->db, request_name, e, .id = id, .protocol = protocol, .name = text);
}

/* By its title, a walsender of PostgreSQL: the reports of its replica are no requests. */
int names_of_replica(struct replay *r, u32 *ret, const struct process *p, struct err *e)
{
	const char *t = p->cmdline ? p->cmdline : "";
	bool is = strncmp(t, "postgres: ", 10) == 0 &&
		  (strstr(t, ": walsender ") || strstr(t, ": wal sender process "));

	*ret = is ? REPLICATION : 0;
	return is ? own_name(r, REPLICATION, PROTOCOL_POSTGRES, "Replication", e) : 0;
}

/* *ret is NULL if there are too many. */
static int stat_of(struct replay *r, struct name_stat **ret, u32 service, u32 name, struct err *e)
{
	u64 key = (u64)service << 32 | name;
	struct name_stat *s = idmap_get(&own(r)->stats, key);

	if (!s && name && own(r)->stats.n >= STATS_MAX)
		return stat_of(r, ret, service, 0, e);
	*ret = s;
	if (s || own(r)->stats.n >= 2 * STATS_MAX)
		return 0;
	s = idmap_add(&own(r)->stats, key, sizeof(*s), 2 * STATS_MAX, "names of requests", e);
	if (!s)
		return ERR_FAIL;
	s->service = service;
	s->name = name;
	*ret = s;
	return 0;
}

/* ---- what a receive holds ---- */

/* Requests of one name begin on f. */
static int begin(struct replay *r, struct thread *t, struct file *f, const struct mark *m, u64 ts,
		 struct err *e)
{
	u32 name = m->name < NAMES_MAX ? m->name : 0; /* its event may have a later ts */
	u64 arrival = segments_first(r, m->conn, m->pos + m->first, ts);
	struct held *h = held_of(f, e);
	struct name_stat *s;

	if (!h)
		return ERR_FAIL;
	if (!m->n && !h->name)
		h->name = name; /* TLS: which requests it holds is not known */
	if (!m->n || !name)
		return 0;
	if (stat_of(r, &s, service_id(f->request.service), name, e) < 0)
		return ERR_FAIL;
	if (!h->total) {
		h->name = name;
		request_arrived(r, t, f, arrival);
		if (s)
			clients_named(t, &s->cpu);
	}
	h->total += m->n;
	services_received(r, f, m->n, ts);
	if (!s)
		return 0;
	name_stat_add(s, m->n, ts);
	if (h->n_parts < PARTS_MAX)
		h->parts[h->n_parts++] = (struct part){ s, m->n, arrival };
	return 0;
}

/*
 * The name of the answer after so many others of its send: they come in the order of the requests,
 * but for HTTP/2. In later sends of an exchange with several names, only obsrec may know it.
 */
static int failed_stat(struct replay *r, struct name_stat **ret, const struct file *f,
		       const struct mark *m, u64 before, struct err *e)
{
	bool ordered = m->protocol != PROTOCOL_HTTP2 && m->protocol != PROTOCOL_GRPC;
	const struct held *h = f->held;
	u32 i;

	if (m->name && m->name < NAMES_MAX)
		return stat_of(r, ret, service_id(f->request.service), m->name, e);
	for (i = 0; i < h->n_parts; i++) {
		*ret = h->parts[i].stat;
		if (h->n_parts == 1 || (ordered && f->request.sends == 1 && before < h->parts[i].n))
			return 0;
		before -= h->parts[i].n < before ? h->parts[i].n : before;
	}
	return stat_of(r, ret, service_id(f->request.service), 0, e);
}

/* One answer of a mark. */
static int failed(struct replay *r, struct thread *t, struct file *f, const struct mark *m,
		  u64 before, u64 ts, struct err *e)
{
	struct row_request_error *row;
	struct held *h = held_of(f, e);
	struct name_stat *s = NULL;

	if (!h || failed_stat(r, &s, f, m, before, e) < 0)
		return ERR_FAIL;
	h->errors++;
	if (s)
		s->errors++;
	row = bulk_add(r->bulk, request_error);
	row->ts = replay_time(r, ts);
	row->service = service_id(f->request.service);
	row->pid = t->process->pid;
	row->tid = t->tid;
	row->name = s && s->name ? s->name : h->name && !h->n_parts ? h->name : BULK_NULL;
	row->client = client_id(f->client);
	row->protocol = m->protocol;
	row->status = m->status;
	row->code = m->code[0] ? error_code(&own(r)->codes, m->code) : BULK_NULL;
	request_waited(row, f, m->sent);
	return 0;
}

int names_failed(struct replay *r, struct thread *t, struct file *f, u8 protocol, u32 status,
		 const char *code, u64 sent, u64 ts, struct err *e)
{
	struct mark m = { .protocol = protocol, .status = status, .sent = sent };

	memcpy(m.code, code, strnlen(code, sizeof(m.code)));
	return failed(r, t, f, &m, 0, ts, e);
}

int names_dns(struct replay *r, struct thread *t, struct file *f, u64 ts, struct err *e)
{
	const struct mark m = { .type = EV_head, .name = DNS_QUERY, .n = 1 };
	int ret = own_name(r, DNS_QUERY, PROTOCOL_DNS, "DNS query", e);

	return ret < 0 || names_first(f) ? ret : begin(r, t, f, &m, ts, e);
}

static int all_failed(struct replay *r, struct thread *t, struct file *f, const struct mark *m,
		      u64 ts, struct err *e)
{
	u32 i, n = !m->status || is_rest(f, m->protocol) ? 0
		   : m->n < FAILED_MAX			 ? m->n
							 : FAILED_MAX;
	int ret = 0;

	for (i = 0; i < n && ret == 0; i++)
		ret = failed(r, t, f, m, (u64)m->first + i, ts, e);
	return ret;
}

static int apply(struct replay *r, struct thread *t, struct file *f, const struct mark *m, u64 ts,
		 struct err *e)
{
	if (is_answer(m))
		return all_failed(r, t, f, m, ts, e);
	if (m->type == EV_head)
		request_read(r, t, f, m->conn, m->pos, m->len, m->rest, ts);
	if (m->type == EV_head && m->status)
		request_withdraw(f, ts);
	return begin(r, t, f, m, ts, e);
}

static int mark(struct replay *r, const struct record *rec, const struct mark *m, struct err *e)
{
	struct thread *t = rec->tid ? task_thread(r, rec->tid, e) : NULL;
	int way = is_answer(m);
	struct marks *all;
	struct file *f;

	if (!t)
		return rec->tid ? ERR_FAIL : 0;
	all = marks_of(t);
	if (all->ts[way] == rec->ts) {
		f = file_of(t->process, all->fd[way]);
		return f && f->request.service ? apply(r, t, f, m, rec->ts, e) : 0;
	}
	if (m->type == EV_head)
		segments_read(r, NULL, m->conn, m->pos, m->len, rec->ts);
	if (all->pending_ts != rec->ts)
		all->n_pending = 0;
	all->pending_ts = rec->ts;
	if (!all->pending && !(all->pending = calloc(PENDING_MAX, sizeof(*all->pending))))
		return err_set(e, ERR_FAIL, "out of memory for requests");
	if (all->n_pending < PENDING_MAX)
		all->pending[all->n_pending++] = *m;
	return 0;
}

static int names_on_head(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_head *ev = rec->event;
	const struct mark m = { .type = EV_head,
				.conn = ev->conn,
				.pos = ev->pos,
				.len = ev->len,
				.name = ev->name,
				.n = ev->requests,
				.first = ev->first,
				.status = ev->flags & HEAD_QUIET,
				.rest = (u32)ev->rest };

	return mark(r, rec, &m, e);
}

static int names_on_more(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_head_more *ev = rec->event;
	const struct mark m = { .type = EV_head_more,
				.conn = ev->conn,
				.pos = ev->pos,
				.name = ev->name,
				.n = ev->requests };

	return mark(r, rec, &m, e);
}

static int mark_error(struct replay *r, const struct record *rec, struct mark *m, struct err *e)
{
	memcpy(m->code, rec->tail,
	       rec->tail_len < sizeof(m->code) ? rec->tail_len : sizeof(m->code));
	return mark(r, rec, m, e);
}

static int names_on_answer(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_answer *ev = rec->event;
	struct mark m = { .type = EV_answer,
			  .conn = ev->conn,
			  .n = 1,
			  .status = ev->status,
			  .protocol = ev->protocol };

	return mark_error(r, rec, &m, e);
}

static int names_on_errors(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_answer_more *ev = rec->event;
	struct mark m = { .type = EV_answer_more,
			  .conn = ev->conn,
			  .name = ev->name,
			  .n = ev->errors,
			  .first = ev->first,
			  .status = ev->status,
			  .protocol = ev->protocol };

	return mark_error(r, rec, &m, e);
}

int names_on_call(struct replay *r, struct thread *t, struct file *f, const struct call_view *v,
		  bool send, struct err *e)
{
	struct marks *all = marks_of(t);
	u32 i;

	all->ts[send] = v->ts;
	all->fd[send] = (s32)v->arg[0];
	if (!all->n_pending || all->pending_ts != v->ts)
		return 0;
	for (i = 0; i < all->n_pending; i++)
		if (is_answer(&all->pending[i]) == send &&
		    apply(r, t, f, &all->pending[i], v->ts, e) < 0)
			return ERR_FAIL;
	all->n_pending = 0;
	return 0;
}

/* The sums of its name; *ret is NULL if there are too many. */
static int statement_stat(struct replay *r, struct name_stat **ret, const struct file *f,
			  const char *text, struct err *e)
{
	bool new;
	u32 id;

	*ret = NULL;
	if (text_ids_get(&own(r)->statements, text, &id, &new, e) < 0)
		return ERR_FAIL;
	if (new &&row_put(r->db, request_name, e, .id = NAMES_MAX + id,
			  .protocol = PROTOCOL_STATEMENT, .name = text) < 0)
		return ERR_FAIL;
	return id ? stat_of(r, ret, service_id(f->request.service), NAMES_MAX + id, e) : 0;
}

/* The protocol shows at most what kind of statement it is. */
static bool is_vague(const struct replay *r, const struct held *h)
{
	if (!h->total || h->name >= NAMES_MAX)
		return !h->total;
	return h->total == 1 && (own(r)->protocol[h->name] == PROTOCOL_POSTGRES ||
				 own(r)->protocol[h->name] == PROTOCOL_MYSQL);
}

u8 names_protocol(const struct replay *r, const struct file *f)
{
	return names_first(f) < NAMES_MAX ? own(r)->protocol[names_first(f)] : PROTOCOL_STATEMENT;
}

int names_on_statement(struct replay *r, struct thread *t, const char *text, u64 ts, struct err *e)
{
	struct file *f = marks_of(t)->ts[0] ? file_of(t->process, marks_of(t)->fd[0]) : NULL;
	struct held *h;
	struct name_stat *s;

	if (!f || !f->request.service || !f->request.first_recv || f->request.sends ||
	    !has_group(r, GROUP_requests))
		return 0;
	h = held_of(f, e);
	if (!h || (is_vague(r, h) && statement_stat(r, &s, f, text, e) < 0))
		return ERR_FAIL;
	if (!is_vague(r, h) || !s)
		return 0;
	if (h->n_parts)
		h->parts[0].stat->requests--;
	if (!h->total)
		services_received(r, f, 1, ts);
	h->name = s->name;
	h->total = h->n_parts = 1;
	h->parts[0] = (struct part){ s, 1, 0 };
	clients_renamed(t, &s->cpu);
	name_stat_add(s, 1, ts);
	return 0;
}

/* ---- requests ---- */

void names_reset(struct file *f)
{
	if (f->held)
		memset(f->held, 0, sizeof(*f->held));
}

int names_on_request(struct replay *r, struct file *f, u32 name, bool lossy, u64 wait,
		     struct err *e)
{
	const struct request *q = &f->request;
	u64 arrival = elapsed(requests_queued(f), q->first_recv);
	struct held *h = f->held;
	struct name_stat *s = NULL;
	u32 i;

	if (!has_group(r, GROUP_requests))
		return 0;
	if (h && h->n_parts)
		s = h->parts[0].stat;
	else if (stat_of(r, &s, service_id(q->service), name, e) < 0)
		return ERR_FAIL;
	if (!s)
		return 0;
	s->exchanges++;
	s->kernel += q->arrival > 0;
	s->lossy += lossy;
	s->recv_bytes += q->recv_bytes;
	s->send_bytes += q->send_bytes;
	if (wait != UINT64_MAX) {
		s->wait += wait;
		s->split++;
	}
	if (lossy)
		return 0;
	if (!h || !h->n_parts)
		name_stat_time(s, q, arrival, 1);
	for (i = 0; h && i < h->n_parts; i++)
		name_stat_time(h->parts[i].stat, q,
			       i && h->parts[i].arrival ? h->parts[i].arrival : arrival,
			       h->parts[i].n);
	return 0;
}

static int names_finish(struct replay *r, struct err *e)
{
	int ret = name_stats_put(r, &own(r)->stats, e);

	return ret < 0 ? ret : error_codes_write(r, &own(r)->codes, e);
}

static void names_free(void *slot)
{
	struct names *all = slot;

	name_stats_free(&all->stats);
	text_ids_free(&all->statements);
}

static void names_thread_free(void *slot)
{
	free(((struct marks *)slot)->pending);
}

static const struct handler handlers[] = {
	{ EV_request_name, true, names_on_name },
	{ EV_request_name, false, names_on_name },
	{ EV_head, false, names_on_head },
	{ EV_head_more, false, names_on_more },
	{ EV_answer, false, names_on_answer },
	{ EV_answer_more, false, names_on_errors },
	{ 0 },
};

const struct tracker track_names = {
	.name = "names",
	.handlers = handlers,
	.of_replay = sizeof(struct names),
	.of_thread = sizeof(struct marks),
	.finish = names_finish,
	.free = names_free,
	.thread_free = names_thread_free,
};
