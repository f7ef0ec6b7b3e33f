// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of requests, out of the first bytes that connections receive. */
#include "heads.h"

#include "parse.h"
#include "statement.h"

#include <stdlib.h>

#define TRIES_MAX 4			   /* receives after which a connection is given up */
#define LONG	  (HEAD_DEEP * HEAD_PIECE) /* bytes of a message to come: not all are read */

struct heads {
	struct heads_config config;
	struct request_names *names;
	u32 written;		/* names that the file has */
	u64 ts;			/* of the last raw record */
	struct stream *streams; /* of config.streams connections: those of lower numbers give way */
	u8 bytes[CARRY_MAX + HEAD_PIECE];
	struct buf made; /* in place of one raw record */
	struct cursor *cursors;
	int n_cursors;
};

int heads_new(struct heads **ret, const struct heads_config *c, struct err *e)
{
	struct heads *h = calloc(1, sizeof(*h));
	int r;

	*ret = h;
	if (!h)
		return err_set(e, ERR_FAIL, "out of memory for names of requests");
	h->config = *c;
	if (!c->streams)
		h->config.streams = HEADS_STREAMS;
	h->streams = calloc(h->config.streams, sizeof(*h->streams));
	r = request_names_new(&h->names, e);
	if (r == 0 && !h->streams)
		r = err_set(e, ERR_FAIL, "out of memory for names of requests");
	return r;
}

static void stream_free(struct stream *s)
{
	free(s->hpack);
	free(s->answers.hpack);
}

void heads_free(struct heads *h)
{
	u32 i;

	if (!h)
		return;
	for (i = 0; h->streams && i < h->config.streams; i++)
		stream_free(&h->streams[i]);
	free(h->streams);
	free(h->cursors);
	buf_free(&h->made);
	request_names_free(h->names);
	free(h);
}

static struct stream *stream_of(struct heads *h, u32 conn)
{
	struct stream *s = &h->streams[conn % h->config.streams];

	if (s->conn == conn)
		return s;
	stream_free(s);
	*s = (struct stream){ .conn = conn };
	return s;
}

static void hint(struct heads *h, const struct stream *s, enum hint how)
{
	if (h->config.hints)
		h->config.hints[s->conn % HINTS] = hint_word(s->conn, how);
}

/* All answers of this connection are wanted: it has several per send. */
static void pipelined(struct heads *h, const struct stream *s)
{
	if (!h->config.pipelined || !answers_known(s->protocol))
		return;
	h->config.pipelined[s->conn % HINTS] = hint_word(s->conn, PIPELINED);
	*h->config.any_pipelined = 1;
}

/* Bytes before the start of the next message belong to one that is named already. */
static u32 skipped(struct stream *s, u32 pos, u32 len)
{
	u32 ahead = s->next - pos;

	if (!s->in_step || ahead > 1u << 31) { /* not known; or bytes were missed, or come late */
		s->in_step = false;
		s->n_carried = 0;
		s->args = 0;
		return 0;
	}
	return ahead < len ? ahead : len;
}

/* The protocol, when it is not known yet; false: it is none that can be read. */
static bool recognize(struct heads *h, struct stream *s, struct found *f, u32 pos, const u8 *b,
		      size_t n)
{
	bool start = pos <= START;

	if (s->protocol == PROTOCOL_TLS)
		return false;
	if (s->protocol && !(s->waits_tls && n >= 3 && b[0] == TLS_HANDSHAKE && b[1] == 3))
		return true;
	if (s->waits_tls) {
		s->protocol = PROTOCOL_TLS;
	} else {
		s->protocol = protocol_detect(b, n, start);
		s->guessed = !start;
		s->started = !start;
	}
	f->hello = s->protocol == PROTOCOL_TLS && b[0] == TLS_HANDSHAKE && (start || s->waits_tls);
	if (s->protocol == PROTOCOL_TLS ||
	    (s->protocol == PROTOCOL_UNKNOWN && ++s->tries >= TRIES_MAX))
		hint(h, s, HINT_NONE);
	return parser_of(s->protocol) != NULL;
}

/* Bytes in which no requests are found, again and again: the protocol is another. */
static void give_up(struct heads *h, struct stream *s, const struct found *f)
{
	if (f->n)
		s->tries = 0;
	else if (f->lost && s->protocol != PROTOCOL_HTTP1 && ++s->tries >= TRIES_MAX) {
		s->protocol = PROTOCOL_UNKNOWN;
		hint(h, s, HINT_NONE);
	}
}

/*
 * Whether long receives of this connection are read whole. They are for good once one held several
 * requests, or the start of one was missed; they are not while one message fills them. One that was
 * given up is not read at all.
 */
static void adapt(struct heads *h, struct stream *s, const struct found *f, bool missed, u32 ahead)
{
	if (!s->protocol)
		return;
	if (s->whole || f->n > 1 || (f->n && f->runs[0].count > 1))
		pipelined(h, s);
	if (missed || f->n > 1 || (f->n && f->runs[0].count > 1)) {
		if (!s->deep || missed)
			hint(h, s, HINT_DEEP);
		s->deep = true;
	} else if (!s->deep && s->in_step && ahead >= LONG && ahead < 1u << 31) {
		hint(h, s, HINT_ENDS);
	}
}

/* Reads one piece; its first byte is at pos, n of its len bytes are there. */
static void read_piece(struct heads *h, struct stream *s, struct found *f, const struct ev_raw *raw)
{
	u32 skip = skipped(s, raw->pos, raw->len), n = raw->n, carried = 0;
	bool missed;
	u64 next;

	if (raw->h.type == RAW_REST && !s->in_step) {
		f->lost = true;
		return;
	}
	if (skip >= raw->len)
		return;	      /* all of it continues a message */
	if (skip > n || !n) { /* the next one starts where nothing was read */
		s->in_step = false;
		f->lost = true;
		adapt(h, s, f, true, 0);
		return;
	}
	if (s->in_step && !skip && s->n_carried) {
		carried = s->n_carried;
		memcpy(h->bytes, s->carried, carried);
	}
	/* in the middle of a stream nothing says that what came before began a message */
	if (carried && !s->protocol && raw->pos - carried > START &&
	    protocol_detect(raw->bytes + skip, n - skip, false))
		carried = 0;
	memcpy(h->bytes + carried, raw->bytes + skip, n - skip);
	s->n_carried = 0;
	n = n - skip + carried;
	if (!recognize(h, s, f, raw->pos + skip - carried, h->bytes, n)) {
		if (!s->protocol && raw->n == raw->len && s->tries < TRIES_MAX && n <= CARRY_MAX) {
			s->in_step = true; /* too few to know it */
			s->n_carried = n;
			memcpy(s->carried, h->bytes, n);
			s->next = raw->pos + raw->len;
		}
		return;
	}
	next = parser_of(s->protocol)(s, f, h->bytes, n);
	s->in_step = !f->lost;
	if (f->incomplete && n - next <= CARRY_MAX && raw->n == raw->len) {
		s->n_carried = n - next;
		memcpy(s->carried, h->bytes + next, s->n_carried);
		next = n;
	} else if (f->incomplete) {
		f->lost = true;
		s->in_step = false;
	}
	if (f->lost)
		s->args = 0;
	give_up(h, s, f);
	s->next = raw->pos + skip - carried + (u32)next;
	/* it is where it seems to be, but from there on nothing was read */
	missed = raw->n < raw->len && next < (u64)raw->len - skip + carried && !f->incomplete;
	f->lost |= missed;
	adapt(h, s, f, missed, s->next - raw->pos - raw->len);
}

/* Bytes from before those that were read last: two threads received from one connection at once. */
static bool is_older(const struct stream *s, const struct ev_raw *raw)
{
	return s->fed && (s32)(raw->pos - s->from) < 0;
}

/* A request begins with this receive, as far as is known. */
static bool begins(const struct stream *s, const struct ev_raw *raw)
{
	return !s->in_step || (s->next == raw->pos && !s->n_carried && !s->args);
}

static int add_more(const struct ev_raw *raw, const struct found *f, u32 base, struct buf *out,
		    struct err *e)
{
	int i, ret = 0;

	for (i = 1; i < f->n && ret == 0; i++) {
		struct ev_head_more m = {
			.h = { raw->h.ts, raw->h.tid, EV_head_more, sizeof(m) },
			.conn = raw->conn,
			.pos = base + f->runs[i].offset,
			.name = f->runs[i].name,
			.requests = f->runs[i].count,
		};

		ret = buf_add(out, &m, sizeof(m), e);
	}
	return ret;
}

/*
 * A connection has one handshake: the receive in which TLS begins. All others are encrypted, those
 * with later records of the handshake too: whether these are read depends on when the kernel has
 * the hint. Both names are there from the first connection on.
 */
static u32 tls_name(struct heads *h, const struct found *f)
{
	u32 handshake = request_names_id(h->names, PROTOCOL_TLS_HANDSHAKE, "TLS handshake");
	u32 encrypted = request_names_id(h->names, PROTOCOL_TLS, "encrypted");

	return f->hello ? handshake : encrypted;
}

/* What comes of the last request after this receive; 0: none, or not known. */
static u32 rest_after(const struct stream *s, const struct found *f, const struct ev_raw *raw)
{
	u32 rest = s->next - (raw->pos + raw->len);

	return s->in_step && !f->lost && !f->expects && rest < 1u << 31 ? rest : 0;
}

static int put_head(struct heads *h, const struct ev_raw *raw, struct buf *out, struct err *e)
{
	struct stream *s = stream_of(h, raw->conn);
	struct found f = { .names = h->names };
	struct ev_head ev = {
		.h = { raw->h.ts, raw->h.tid, EV_head, sizeof(ev) },
		.conn = raw->conn,
		.pos = raw->pos,
		.len = raw->len,
	};
	u32 skip = 0, tail = 0;
	size_t room = raw->h.size - sizeof(ev), more;
	static const u8 zeros[8];
	int ret;

	if (is_older(s, raw)) {
		f.lost = true;
	} else {
		skip = s->in_step ? s->next - raw->pos : 0;
		skip = skip < raw->len ? skip : 0;
		/* the message began in an earlier receive */
		skip -= s->in_step && !skip ? s->n_carried : 0;
		if (raw->h.type == RAW_HEAD && begins(s, raw) && !s->asked.open)
			s->asked.unknown = s->asked.unordered;
		read_piece(h, s, &f, raw);
		ev.rest = rest_after(s, &f, raw);
		s->from = raw->pos;
		s->fed = true;
	}
	if (f.lost && s->protocol != PROTOCOL_HTTP2)
		asked_forget(&s->asked);
	more = f.n > 1 && room >= sizeof(struct ev_head_more) ? sizeof(struct ev_head_more) : 0;
	room -= more; /* at least */
	if (h->config.bytes) {
		tail = h->config.bytes < raw->n ? h->config.bytes : raw->n;
		tail = tail < room ? tail : room;
		ev.h.size += (tail + 7) & ~7u;
		room -= (tail + 7) & ~7u;
	}
	found_shorten(&f, 1 + (int)((room + more) / sizeof(struct ev_head_more)));
	if (f.n) {
		ev.name = f.runs[0].name;
		ev.requests = f.runs[0].count;
		ev.first = (s32)(f.runs[0].offset + skip) > 0 ? f.runs[0].offset + skip : 0;
	} else if (s->protocol == PROTOCOL_TLS) {
		ev.name = tls_name(h, &f);
	}
	ev.flags = (f.lost ? HEAD_AT_LEAST : 0) | (f.n > 1 ? HEAD_MORE : 0) |
		   (s->guessed ? HEAD_GUESSED : 0) |
		   (s->quiet && s->in_step && !f.n && !f.incomplete ? HEAD_QUIET : 0);
	ret = buf_add(out, &ev, sizeof(ev), e);
	if (ret == 0 && tail)
		ret = buf_add(out, raw->bytes, tail, e);
	if (ret == 0 && tail % 8)
		ret = buf_add(out, zeros, 8 - tail % 8, e);
	return ret < 0 ? ret : add_more(raw, &f, raw->pos + skip, out, e);
}

int heads_add_names(struct heads *h, u32 from, u64 ts, struct buf *records, struct err *e)
{
	u64 whole[(sizeof(struct ev_request_name) + NAME_BYTES + 7) / 8];
	struct ev_request_name *ev = (void *)whole;
	u32 id, n = request_names_count(h->names);
	char text[NAME_BYTES];
	int ret = 0;

	for (id = from; id <= n && ret == 0; id++) {
		memset(whole, 0, sizeof(whole));
		ev->h = (struct ev_header){ ts, 0, EV_request_name, sizeof(*ev) };
		ev->id = id;
		ev->protocol = request_names_get(h->names, id, text);
		memcpy(ev->name, text, strlen(text));
		ev->h.size += (strlen(text) + 7) & ~7u;
		ret = buf_add(records, whole, ev->h.size, e);
	}
	return ret < 0 ? ret : (int)id;
}

/* How far the records of one CPU are: those up to from have been moved to to. */
struct cursor {
	struct buf *records;
	size_t from, to;
	const struct ev_raw *raw; /* at from; NULL: there is none */
};

/* To the next raw record; what lies between moves. */
static void advance(struct heads *h, struct cursor *c)
{
	u8 *data = (u8 *)c->records->data;
	struct ev_header *ev;
	size_t start = c->from;

	for (c->raw = NULL; c->records->len - c->from >= sizeof(*ev); c->from += ev->size) {
		ev = (struct ev_header *)(data + c->from);
		if (ev->size < sizeof(*ev) || ev->size > c->records->len - c->from)
			break; /* block_encode refuses it with a sentence */
		if (h->config.connections)
			connections_see(h->config.connections, ev);
		if ((ev->type >= RAW_HEAD && ev->type <= RAW_MORE) || statement_in(ev)) {
			c->raw = (const struct ev_raw *)ev;
			break;
		}
	}
	if (!c->raw)
		c->from = c->records->len;
	if (c->to < start)
		memmove(data + c->to, data + start, c->from - start);
	c->to += c->from - start;
}

/* What is put in place of a raw record is never longer. */
static int replace(struct heads *h, struct cursor *c, struct err *e)
{
	u16 type = c->raw->h.type;
	int ret;

	buf_clear(&h->made);
	ret = type < RAW_HEAD	  ? statement_put(&c->raw->h, &h->made, e)
	      : type < RAW_ANSWER ? put_head(h, c->raw, &h->made, e)
				  : answer_put(&h->streams[c->raw->conn % h->config.streams],
					       h->names, c->raw, &h->made, e);
	if (ret < 0)
		return ret;
	c->from += c->raw->h.size;
	memcpy(c->records->data + c->to, h->made.data, h->made.len);
	c->to += h->made.len;
	advance(h, c);
	return 0;
}

/* The one with the oldest raw record; NULL: all are later than until. */
static struct cursor *oldest(struct cursor *list, int n, u64 until)
{
	struct cursor *ret = NULL, *c;

	for (c = list; c < list + n; c++)
		if (c->raw && c->raw->h.ts <= until && (!ret || c->raw->h.ts < ret->raw->h.ts))
			ret = c;
	return ret;
}

/* Names that are new go to the end of records that are seen to their end. */
static int put_names(struct heads *h, struct batch *b, struct err *e)
{
	int ret = heads_add_names(h, h->written + 1, h->ts, b->records, e);

	if (ret < 0)
		return ret;
	h->written = (u32)ret - 1;
	b->seen = b->records->len;
	return 0;
}

static int filter(struct heads *h, struct batch *batches, int n, u64 until, struct err *e)
{
	struct cursor *list = h->cursors, *c;
	int i, ret = 0;

	if (n > h->n_cursors) {
		list = realloc(h->cursors, n * sizeof(*list));
		if (!list)
			return err_set(e, ERR_FAIL, "out of memory for names of requests");
		h->cursors = list;
		h->n_cursors = n;
	}
	for (i = 0; i < n; i++) {
		list[i] = (struct cursor){ batches[i].records, batches[i].seen, batches[i].seen,
					   NULL };
		advance(h, &list[i]);
	}
	while (ret == 0 && (c = oldest(list, n, until))) {
		h->ts = c->raw->h.ts;
		ret = replace(h, c, e);
	}
	for (i = 0; i < n; i++) {
		c = &list[i];
		if (c->to < c->from)
			memmove(c->records->data + c->to, c->records->data + c->from,
				c->records->len - c->from);
		c->records->len -= c->from - c->to;
		batches[i].seen = c->to;
	}
	for (i = 0; i < n && ret == 0 && h->written < request_names_count(h->names); i++)
		if (batches[i].seen && batches[i].seen == batches[i].records->len)
			ret = put_names(h, &batches[i], e);
	return ret;
}

int heads_filter(void *heads, struct batch *batches, int n, u64 until, struct err *e)
{
	struct heads *h = heads;
	int ret;

	if (h->config.connections)
		connections_lock(h->config.connections);
	ret = filter(h, batches, n, until, e);
	if (h->config.connections)
		connections_unlock(h->config.connections);
	return ret;
}
