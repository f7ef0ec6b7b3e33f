// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Arrival of bytes in the kernel, by connection and position in the stream. A segment says when its
 * bytes came and up to where the process had read then; receives go on from there. A byte arrives
 * once, with the first segment that contains it, also out of order. Positions count modulo 2^32.
 *
 * A receive is recorded when it returns: the position of a segment that comes while it runs counts
 * only for receives that are entered later. Heads have positions of their own, which replace it.
 *
 * A recording that was cut out of a longer run may begin with segments without positions: these
 * count from the first of them, until a segment or a head has the position.
 */
#include "track_segments.h"

#include "analyze/replay/io/track_tcp.h"
#include "format/linux_abi.h"

#include <stdlib.h>
#include <string.h>

#define PIECES_MAX   1024    /* of a connection, not read yet; further ones join the last */
#define PIECES_TOTAL 4000000 /* of all connections */
#define STEP_MAX     (1 << 30)
#define BY_PEER	     1 /* and the pid of the process that ran, if it was a reset */

/* Bytes from..to that arrived at one time. */
struct piece {
	u32 from, to;
	u64 ts; /* 0: at several times */
};

struct stream {
	u32 id;
	u64 sock, ino;	      /* 0: not known */
	struct piece *pieces; /* n from first on, by position, without overlap */
	u32 first, n, cap;
	u32 read; /* up to here receives that returned have read */
	u64 read_at;
	u32 end; /* of the segment recorded last */
	bool end_known;
	bool relative; /* positions count from the first segment of the recording */
	u32 head;      /* while they do so: where the receive at head_at began */
	u64 head_at;
	bool read_else; /* without a receive in the recording: by io_uring, or another process */
	u32 seen;	/* the process had read up to here */
	u64 seen_at;
	u64 acked;	/* all that was written; 0: not since the last send */
	u64 released;	/* the end of what was written was held until then; 0: not since */
	u64 opened;	/* the peer opened it; 0: before the recording, or not seen */
	u64 first_read; /* the first receive returned */
};

struct segments {
	struct idmap of;      /* connection -> struct stream */
	struct idmap by_ino;  /* the same by the inode of its descriptor */
	struct idmap by_sock; /* and by socket */
	struct idmap opened;  /* socket -> when, of connections without a number yet */
	struct idmap closing; /* inode of a socket that its peer closed, or that was reset -> who */
	u64 n_pieces;
};

static struct segments *own(const struct replay *r)
{
	return r->own[TRACK_segments];
}

/* How far a is beyond b. */
static s32 beyond(u32 a, u32 b)
{
	return (s32)(a - b);
}

static void stream_free(struct segments *all, struct stream *s)
{
	idmap_take(&all->of, s->id);
	if (s->ino && idmap_get(&all->by_ino, s->ino) == s)
		idmap_take(&all->by_ino, s->ino);
	if (s->sock && idmap_get(&all->by_sock, s->sock) == s)
		idmap_take(&all->by_sock, s->sock);
	all->n_pieces -= s->cap;
	free(s->pieces);
	free(s);
}

/* *ret is NULL if there are too many. */
static int stream_of(struct replay *r, struct stream **ret, u32 conn, struct err *e)
{
	struct segments *all = own(r);
	struct stream *s = conn ? idmap_get(&all->of, conn) : NULL;

	*ret = s;
	if (s || !conn || all->of.n >= SOCKET_LIMIT)
		return 0;
	*ret = s = idmap_add(&all->of, conn, sizeof(*s), SOCKET_LIMIT, "connections", e);
	if (!s)
		return ERR_FAIL;
	s->id = conn;
	return 0;
}

static int name_stream(struct idmap *map, u64 *id, u64 now, struct stream *s, struct err *e)
{
	if (*id && *id != now && idmap_get(map, *id) == s)
		idmap_take(map, *id);
	*id = now;
	return now ? idmap_put(map, now, s, SOCKET_LIMIT, e) : 0;
}

static int segments_on_connection(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_connection *ev = rec->event;
	struct stream *s = idmap_get(&own(r)->of, ev->conn);
	struct stream *before = ev->sock ? idmap_get(&own(r)->by_sock, ev->sock) : NULL;

	if (before && before != s)
		stream_free(own(r), before); /* its end was not seen */
	if (s && s->sock && s->sock != ev->sock) {
		stream_free(own(r), s);
		s = NULL;
	}
	if (stream_of(r, &s, ev->conn, e) < 0)
		return ERR_FAIL;
	if (!s || name_stream(&own(r)->by_sock, &s->sock, ev->sock, s, e) < 0)
		return s ? ERR_FAIL : 0;
	if (!s->opened)
		s->opened = (u64)(uintptr_t)idmap_take(&own(r)->opened, ev->sock);
	return ev->ino ? name_stream(&own(r)->by_ino, &s->ino, ev->ino, s, e) : 0;
}

/* A FIN of the peer: CLOSE_WAIT. A reset closes an established socket at once, as a process does
 * that closes it with unread bytes: which of them it was, the thread that ran then shows. */
static int note_closing(struct replay *r, const struct ev_tcp_state *ev, u32 tid, struct err *e)
{
	bool fin = ev->to == LINUX_TCP_CLOSE_WAIT;
	bool reset = ev->to == LINUX_TCP_CLOSE && ev->from == LINUX_TCP_ESTABLISHED;
	const struct thread *t = tid ? idmap_get(&r->threads, tid) : NULL;
	uintptr_t who = fin || !t ? BY_PEER : BY_PEER + (uintptr_t)t->process->pid;

	if (!ev->ino || (!fin && !reset) || own(r)->closing.n >= SOCKET_LIMIT)
		return 0;
	return idmap_put(&own(r)->closing, ev->ino, (void *)who, SOCKET_LIMIT, e);
}

enum closing segments_closing(struct replay *r, const struct process *p, const struct file *f)
{
	uintptr_t who = f->ino ? (uintptr_t)idmap_take(&own(r)->closing, f->ino) : 0;

	if (who == BY_PEER + (uintptr_t)p->pid)
		return CLOSED_UNREAD;
	return who ? CLOSED_BY_PEER : CLOSED_BY_OWNER;
}

/*
 * A segment that opens a connection, as the last one of the handshake when accept is deferred or
 * the accept queue was full, is none of a connection yet: bytes in it have no segment event.
 */
static int segments_on_state(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_tcp_state *ev = rec->event;
	struct stream *s = ev->to == LINUX_TCP_CLOSE ? idmap_get(&own(r)->by_sock, ev->sock) : NULL;

	if (s)
		stream_free(own(r), s);
	if (note_closing(r, ev, rec->tid, e) < 0)
		return ERR_FAIL;
	idmap_take(&own(r)->opened, ev->sock);
	if (ev->from != LINUX_TCP_SYN_RECV || ev->to != LINUX_TCP_ESTABLISHED ||
	    own(r)->opened.n >= SOCKET_LIMIT)
		return 0;
	return idmap_put(&own(r)->opened, ev->sock, (void *)(uintptr_t)rec->ts, SOCKET_LIMIT, e);
}

static void forget_up_to(struct stream *s, u32 pos)
{
	while (s->n && beyond(pos, s->pieces[s->first].to) >= 0) {
		s->first++;
		s->n--;
	}
	if (!s->n)
		s->first = 0;
}

/* Room for one more at index i of those in use; false: none. */
static bool make_room(struct replay *r, struct stream *s, u32 i)
{
	u32 cap = s->cap ? 2 * s->cap : 4;
	struct piece *grown;

	if (s->n >= PIECES_MAX)
		return false;
	if (s->first && s->first + s->n == s->cap) {
		memmove(s->pieces, s->pieces + s->first, s->n * sizeof(*s->pieces));
		s->first = 0;
	}
	if (s->first + s->n == s->cap) {
		if (own(r)->n_pieces + cap - s->cap > PIECES_TOTAL)
			return false;
		grown = realloc(s->pieces, cap * sizeof(*grown));
		if (!grown)
			return false;
		own(r)->n_pieces += cap - s->cap;
		s->pieces = grown;
		s->cap = cap;
	}
	memmove(s->pieces + s->first + i + 1, s->pieces + s->first + i,
		(s->n - i) * sizeof(*s->pieces));
	s->n++;
	return true;
}

static void put_piece(struct replay *r, struct stream *s, u32 i, u32 from, u32 to, u64 ts)
{
	struct piece *p = s->pieces ? s->pieces + s->first : NULL;

	if (i && p[i - 1].to == from && p[i - 1].ts == ts)
		p[i - 1].to = to;
	else if (make_room(r, s, i))
		s->pieces[s->first + i] = (struct piece){ from, to, ts };
	else if (i && i == s->n)
		p[i - 1] = (struct piece){ p[i - 1].from, to, 0 };
}

/* Those of from..to that had not arrived yet arrive. */
static void arrived(struct replay *r, struct stream *s, u32 from, u32 to, u64 ts)
{
	u32 i = s->n;

	if (i && (beyond(from, s->pieces[s->first].from) > STEP_MAX ||
		  beyond(s->pieces[s->first].from, to) > STEP_MAX))
		i = s->n = s->first = 0; /* they cannot be of one stream */
	while (i && beyond(s->pieces[s->first + i - 1].from, from) > 0)
		i--;
	/* i: the first piece that begins after from */
	while (beyond(to, from) > 0) {
		const struct piece *p = s->pieces ? s->pieces + s->first : NULL;
		u32 end = to;

		if (i && beyond(p[i - 1].to, from) > 0)
			from = p[i - 1].to;
		if (i < s->n && beyond(end, p[i].from) > 0)
			end = p[i].from;
		if (beyond(end, from) > 0)
			put_piece(r, s, i, from, end, ts);
		if (end == to)
			break;
		from = end;
		while (i < s->n && beyond(s->pieces[s->first + i].from, from) <= 0)
			i++;
	}
}

/* What was counted from the first segment on lies so much further in the stream. */
static void place(struct stream *s, u32 by)
{
	u32 i;

	for (i = s->first; i < s->first + s->n; i++) {
		s->pieces[i].from += by;
		s->pieces[i].to += by;
	}
	s->end += by;
	s->read += by;
	s->seen += by;
	s->relative = false;
}

static int segments_on_segment(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_segment *ev = rec->event;
	u32 next = ev->pos - (u32)ev->gap; /* in order up to here */
	struct stream *s;

	if (ev->gap > STEP_MAX || ev->gap < -STEP_MAX || ev->len > STEP_MAX ||
	    ev->unread > STEP_MAX)
		return 0;
	if (stream_of(r, &s, ev->conn, e) < 0)
		return ERR_FAIL;
	if (!s)
		return 0;
	if (s->relative && rec->type == EV_segment)
		place(s, next - s->end);
	s->end = ev->pos + ev->len;
	s->end_known = true;
	s->read_else |= s->seen_at && !s->read_at && s->seen != next - ev->unread;
	s->seen = next - ev->unread;
	s->seen_at = rec->ts;
	if (s->n >= PIECES_MAX)
		forget_up_to(s, s->seen);
	if (ev->len)
		arrived(r, s, ev->gap < 0 ? next : ev->pos, ev->pos + ev->len, rec->ts);
	/* a mere ACK is recorded if it is of something new: one before was not of all */
	if (!ev->unacked && (!s->acked || (!ev->len && !(ev->flags & ~SEGMENT_BACKLOG))))
		s->acked = rec->ts;
	if (ev->flags & SEGMENT_HELD)
		s->released = rec->ts;
	return ev->flags & SEGMENT_DSACK ? tcp_dsack(r, s->sock, rec->ts, e) : 0;
}

static int segments_on_next(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_segment_next *ev = rec->event;
	struct record placed = *rec;
	struct stream *s;
	struct ev_segment segment = { .conn = ev->conn,
				      .len = ev->len,
				      .unread = ev->unread,
				      .unacked = ev->flags & SEGMENT_ACKED ? 0 : 1,
				      .flags = ev->flags & (SEGMENT_DSACK | SEGMENT_HELD) };
	int ret = stream_of(r, &s, ev->conn, e);

	if (ret < 0 || !s)
		return ret;
	s->relative |= !s->end_known; /* that segment is not in this recording */
	segment.pos = s->end;
	placed.event = &segment;
	return segments_on_segment(r, &placed, e);
}

static struct stream *stream_of_file(const struct replay *r, struct file *f)
{
	struct stream *s = f->conn ? idmap_get(&own(r)->of, f->conn) : NULL;

	if (!s && f->ino && (s = idmap_get(&own(r)->by_ino, f->ino)))
		f->conn = s->id;
	return s;
}

u32 segments_conn(const struct replay *r, struct file *f)
{
	const struct stream *s = stream_of_file(r, f);

	return s ? s->id : 0;
}

/* Where a receive began to read; false: not known. */
static bool start_of(const struct stream *s, const struct call_view *v, u64 bytes, u32 *ret_start)
{
	u64 entry = elapsed(v->dur, v->ts);

	if (s->seen_at && s->seen_at <= entry && s->seen_at >= s->read_at) {
		*ret_start = s->seen;
		return true;
	}
	if (!s->read_at)
		return false;
	*ret_start = s->read;
	if (s->seen_at > s->read_at && beyond(s->seen, s->read) > (s64)bytes)
		*ret_start = s->seen - (u32)bytes; /* some were read in another way */
	return true;
}

static u64 arrival_at(const struct stream *s, u32 pos)
{
	u32 low = 0, high = s->n, mid;
	const struct piece *p;

	while (low < high) {
		mid = (low + high) / 2;
		p = &s->pieces[s->first + mid];
		if (beyond(p->to, pos) <= 0)
			low = mid + 1;
		else if (beyond(p->from, pos) > 0)
			high = mid;
		else
			return p->ts;
	}
	return 0;
}

static u64 first_at(const struct stream *s, u32 pos, u64 ts)
{
	u64 at = arrival_at(s, pos);

	return !at && s->first_read == ts ? s->opened : at;
}

u64 segments_first(const struct replay *r, u32 conn, u32 pos, u64 ts)
{
	const struct stream *s = conn ? idmap_get(&own(r)->of, conn) : NULL;

	return s && !s->relative ? first_at(s, pos, ts) : 0;
}

/* Its head has the position at which it began, and a segment that came before it shows the same. */
static void place_by_head(struct stream *s, const struct call_view *v)
{
	if (s->seen_at && s->seen_at <= elapsed(v->dur, v->ts) && s->seen_at >= s->read_at)
		place(s, s->head - s->seen);
}

u64 segments_received(struct replay *r, struct file *f, const struct call_view *v, u64 bytes)
{
	struct stream *s = stream_of_file(r, f);
	u32 start;

	if (!s || !bytes || bytes > STEP_MAX)
		return 0;
	s->first_read = s->first_read ? s->first_read : v->ts;
	if (s->read_at == v->ts) /* its head came first: it has been read */
		return first_at(s, s->read - (u32)bytes, v->ts);
	if (s->relative && s->head_at == v->ts)
		place_by_head(s, v);
	if (!start_of(s, v, bytes, &start))
		return first_at(s, s->end, v->ts);
	forget_up_to(s, start);
	s->read = start + (u32)bytes;
	s->read_at = v->ts;
	return first_at(s, start, v->ts);
}

void segments_read(struct replay *r, struct file *f, u32 conn, u32 pos, u32 len, u64 ts)
{
	struct stream *s = conn ? idmap_get(&own(r)->of, conn) : NULL;

	if (f)
		f->conn = conn;
	if (!s || len > STEP_MAX)
		return;
	s->first_read = s->first_read ? s->first_read : ts;
	if (s->relative) {
		s->head = s->head_at == ts ? s->head : pos;
		s->head_at = ts;
		return;
	}
	if (s->read_at != ts)
		forget_up_to(s, pos);
	s->read = pos + len;
	s->read_at = ts;
}

u64 segments_unread(struct replay *r, struct file *f)
{
	struct stream *s = stream_of_file(r, f);

	if (!s || (!s->read_at && (!s->seen_at || s->read_else)))
		return 0;
	forget_up_to(s, !s->read_at						  ? s->seen
			: s->seen_at > s->read_at && beyond(s->seen, s->read) > 0 ? s->seen
										  : s->read);
	return s->n ? s->pieces[s->first].ts : 0;
}

void segments_sent(struct replay *r, const struct file *f, u64 entry)
{
	struct stream *s = f->conn ? idmap_get(&own(r)->of, f->conn) : NULL;

	if (!s)
		return;
	s->acked = s->acked < entry ? 0 : s->acked; /* on loopback it comes within the send */
	s->released = 0;
}

u64 segments_acked(const struct replay *r, const struct file *f, u64 none)
{
	const struct stream *s = f->conn ? idmap_get(&own(r)->of, f->conn) : NULL;

	return s ? s->acked : none;
}

u64 segments_held(const struct replay *r, const struct file *f, u64 sent)
{
	const struct stream *s = f->conn ? idmap_get(&own(r)->of, f->conn) : NULL;

	return s && s->released > sent ? s->released - sent : 0;
}

static void segments_free(void *slot)
{
	struct segments *all = slot;
	struct stream *s;
	size_t at = 0;

	while ((s = idmap_each(&all->of, &at))) {
		free(s->pieces);
		free(s);
	}
	idmap_free(&all->of);
	idmap_free(&all->by_ino);
	idmap_free(&all->by_sock);
	idmap_free(&all->opened);
	idmap_free(&all->closing);
}

static const struct handler handlers[] = {
	{ EV_connection, false, segments_on_connection },
	{ EV_tcp_state, false, segments_on_state },
	{ EV_segment, false, segments_on_segment },
	{ EV_segment_next, false, segments_on_next },
	{ 0 },
};

const struct tracker track_segments = {
	.name = "segments",
	.handlers = handlers,
	.of_replay = sizeof(struct segments),
	.free = segments_free,
};
