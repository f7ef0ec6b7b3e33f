// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests through io_uring: from submission to completion, which may come in any thread. Some
 * kernels do not name the request: then ring and user_data name it, and of two that are equal
 * and in flight at once only the later is timed. A request may complete more than once.
 */
#include "analyze/replay/latency_rows.h"
#include "analyze/replay/tasks/threads.h"
#include "format/linux_abi.h"
#include "track_files.h"

#include <stdlib.h>

#define ERRNO_MAX 4095

enum moves { MOVES_NOTHING, MOVES_IN, MOVES_OUT };

static const struct {
	const char *name;
	enum moves moves;
} ops[] = {
	{ "nop", 0 },
	{ "readv", MOVES_IN },
	{ "writev", MOVES_OUT },
	{ "fsync", 0 },
	{ "read_fixed", MOVES_IN },
	{ "write_fixed", MOVES_OUT },
	{ "poll_add", 0 },
	{ "poll_remove", 0 },
	{ "sync_file_range", 0 },
	{ "sendmsg", MOVES_OUT },
	{ "recvmsg", MOVES_IN },
	{ "timeout", 0 },
	{ "timeout_remove", 0 },
	{ "accept", 0 },
	{ "async_cancel", 0 },
	{ "link_timeout", 0 },
	{ "connect", 0 },
	{ "fallocate", 0 },
	{ "openat", 0 },
	{ "close", 0 },
	{ "files_update", 0 },
	{ "statx", 0 },
	{ "read", MOVES_IN },
	{ "write", MOVES_OUT },
	{ "fadvise", 0 },
	{ "madvise", 0 },
	{ "send", MOVES_OUT },
	{ "recv", MOVES_IN },
	{ "openat2", 0 },
	{ "epoll_ctl", 0 },
	{ "splice", MOVES_OUT },
	{ "provide_buffers", 0 },
	{ "remove_buffers", 0 },
	{ "tee", MOVES_OUT },
	{ "shutdown", 0 },
	{ "renameat", 0 },
	{ "unlinkat", 0 },
	{ "mkdirat", 0 },
	{ "symlinkat", 0 },
	{ "linkat", 0 },
	{ "msg_ring", 0 },
	{ "fsetxattr", 0 },
	{ "setxattr", 0 },
	{ "fgetxattr", 0 },
	{ "getxattr", 0 },
	{ "socket", 0 },
	{ "uring_cmd", 0 },
	{ "send_zc", MOVES_OUT },
	{ "sendmsg_zc", MOVES_OUT },
	{ "read_multishot", MOVES_IN },
	{ "waitid", 0 },
	{ "futex_wait", 0 },
	{ "futex_wake", 0 },
	{ "futex_waitv", 0 },
	{ "fixed_fd_install", 0 },
	{ "ftruncate", 0 },
	{ "bind", 0 },
	{ "listen", 0 },
	{ "recv_zc", MOVES_IN },
	{ "epoll_wait", 0 },
	{ "readv_fixed", MOVES_IN },
	{ "writev_fixed", MOVES_OUT },
	{ "pipe", 0 },
};

#define OPS (sizeof(ops) / sizeof(ops[0]))

struct uring_request {
	u64 ts, ring, ino;
	u32 tid, pid, dev;
	u16 mode;
	u8 opcode;
	bool sq_thread;
	bool done; /* completed, perhaps not for the last time */
};

struct uring_stat {
	u32 pid;
	u8 opcode;
	u64 n, errors, unfinished, sockets, bytes;
	struct hist latency;
};

struct uring_log {
	struct idmap requests;
	bool seen;	    /* a request, even if only its end */
	struct idmap stats; /* pid << 8 | opcode -> struct uring_stat */
};

static struct uring_log *own(const struct replay *r)
{
	return r->own[TRACK_uring];
}

/* Addresses of requests are multiples of 8: no name of the second kind is one of the first. */
static u64 key_of(u64 request, u64 ring, u64 user_data)
{
	u64 h = (ring ^ user_data * 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;

	return request ? request : h | 1;
}

static enum moves moves_of(u8 opcode)
{
	return opcode < OPS ? ops[opcode].moves : MOVES_NOTHING;
}

static struct uring_stat *stat_of(struct replay *r, u32 pid, u8 opcode, struct err *e)
{
	u64 id = (u64)pid << 8 | opcode;
	struct uring_stat *s = idmap_get(&own(r)->stats, id);

	if (s)
		return s;
	s = idmap_add(&own(r)->stats, id, sizeof(*s), STAT_LIMIT, "io_uring", e);
	if (!s)
		return NULL;
	s->pid = pid;
	s->opcode = opcode;
	return s;
}

static void put_row(struct replay *r, const struct uring_request *q, u64 ts, s64 dur, s64 ret)
{
	struct row_uring_io *row = bulk_add(r->bulk, uring_io);

	row->ts = replay_time(r, ts);
	row->dur = dur;
	row->tid = q->tid;
	row->ring = q->ring & INT64_MAX;
	row->opcode = q->opcode;
	row->dev = q->dev;
	row->ino = q->ino & INT64_MAX;
	row->sq_thread = q->sq_thread;
	row->ret = ret;
}

/* It was never seen to complete. */
static int never_completed(struct replay *r, const struct uring_request *q, struct err *e)
{
	struct uring_stat *s = stat_of(r, q->pid, q->opcode, e);

	if (!s)
		return ERR_FAIL;
	s->unfinished++;
	put_row(r, q, q->ts, BULK_NULL, BULK_NULL);
	return 0;
}

static int uring_on_submit(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_uring_submit *ev = rec->event;
	u64 key = key_of(ev->request, ev->ring, ev->user_data);
	struct thread *t = rec->tid ? task_thread(r, rec->tid, e) : NULL;
	struct uring_request *q;

	if (!t)
		return rec->tid ? ERR_FAIL : 0;
	own(r)->seen = true;
	q = idmap_get(&own(r)->requests, key);
	if (q && !q->done && never_completed(r, q, e) < 0)
		return ERR_FAIL;
	if (!q) {
		q = idmap_add(&own(r)->requests, key, sizeof(*q), REQUEST_LIMIT, "io_uring", e);
		if (!q)
			return ERR_FAIL;
	}
	*q = (struct uring_request){ .ts = rec->ts,
				     .ring = ev->ring,
				     .ino = ev->ino,
				     .tid = rec->tid,
				     .pid = t->process->pid,
				     .dev = ev->dev,
				     .mode = ev->mode,
				     .opcode = ev->opcode,
				     .sq_thread = ev->sq_thread };
	return 0;
}

/* Its submission was not seen. */
static void completed_unseen(struct replay *r, const struct ev_uring_complete *ev, u64 ts)
{
	struct row_uring_io *row = bulk_add(r->bulk, uring_io);

	row->ts = replay_time(r, ts);
	row->dur = row->tid = row->opcode = row->dev = BULK_NULL;
	row->ring = ev->ring & INT64_MAX;
	row->ino = row->sq_thread = 0;
	row->ret = ev->ret;
}

static int count_completion(struct replay *r, const struct uring_request *q, u64 ts, s64 ret,
			    struct err *e)
{
	struct uring_stat *s = stat_of(r, q->pid, q->opcode, e);
	enum moves moves = moves_of(q->opcode);

	if (!s)
		return ERR_FAIL;
	s->n++;
	s->errors += ret < 0 && ret >= -ERRNO_MAX;
	s->sockets += !q->done && (q->mode & LINUX_S_IFMT) == LINUX_S_IFSOCK;
	if (!q->done)
		hist_add(&s->latency, elapsed(q->ts, ts));
	if (moves == MOVES_NOTHING)
		return 0;
	s->bytes += ret > 0 ? ret : 0;
	if ((q->mode & LINUX_S_IFMT) != LINUX_S_IFREG || !q->ino)
		return 0;
	return files_on_request(r, q->pid, q->dev, q->ino, moves == MOVES_OUT, ret,
				q->done ? 0 : elapsed(q->ts, ts), e);
}

static int uring_on_complete(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_uring_complete *ev = rec->event;
	u64 key = key_of(ev->request, ev->ring, ev->user_data);
	struct uring_request *q;

	own(r)->seen = true;
	q = idmap_get(&own(r)->requests, key);
	if (!q && ev->request) { /* this kernel names it only now */
		key = key_of(0, ev->ring, ev->user_data);
		q = idmap_get(&own(r)->requests, key);
	}
	if (!q) {
		completed_unseen(r, ev, rec->ts);
		return 0;
	}
	if (count_completion(r, q, rec->ts, ev->ret, e) < 0)
		return ERR_FAIL;
	put_row(r, q, q->done ? rec->ts : q->ts, q->done ? BULK_NULL : (s64)elapsed(q->ts, rec->ts),
		ev->ret);
	q->done = true;
	if (key & 1) /* user_data need not be used again; memory of requests is */
		free(idmap_take(&own(r)->requests, key));
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct uring_request *x = *(struct uring_request *const *)a;
	const struct uring_request *y = *(struct uring_request *const *)b;

	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static int end_open(struct replay *r, struct err *e)
{
	struct uring_request **list = calloc(own(r)->requests.n + 1, sizeof(*list)), *q;
	size_t at = 0, n = 0, i;
	int ret = 0;

	if (!list)
		return err_set(e, ERR_FAIL, "out of memory for io_uring");
	while ((q = idmap_each(&own(r)->requests, &at)))
		if (!q->done)
			list[n++] = q;
	qsort(list, n, sizeof(*list), by_time);
	for (i = 0; i < n && ret == 0; i++)
		ret = never_completed(r, list[i], e);
	free(list);
	return ret;
}

static int stat_rows(void *arg, void *value, struct err *e)
{
	const struct uring_stat *s = value;
	struct replay *r = arg;
	int ret = row_put(r->db, uring_stat, e, .pid = s->pid, .opcode = s->opcode, .n = s->n,
			  .errors = s->errors, .unfinished = s->unfinished, .sockets = s->sockets,
			  .timed = s->latency.n, .total = s->latency.sum & INT64_MAX,
			  .max = s->latency.max & INT64_MAX, .bytes = s->bytes & INT64_MAX);

	return ret < 0 ? ret : latency_rows(r, "uring", s->pid, s->opcode, &s->latency, e);
}

static int uring_finish(struct replay *r, struct err *e)
{
	bool used = own(r)->seen;
	size_t i;
	int ret = end_open(r, e);

	for (i = 0; used && i < OPS && ret == 0; i++)
		ret = row_put(r->db, uring_op, e, .id = i, .name = ops[i].name);
	return ret < 0 ? ret : idmap_in_order(&own(r)->stats, stat_rows, r, e);
}

static void uring_free(void *slot)
{
	struct uring_log *log = slot;
	struct uring_stat *s;
	size_t at = 0;

	while ((s = idmap_each(&log->stats, &at))) {
		hist_free(&s->latency);
		free(s);
	}
	idmap_free_all(&log->requests);
	idmap_free(&log->stats);
}

static const struct handler handlers[] = {
	{ EV_uring_submit, false, uring_on_submit },
	{ EV_uring_complete, false, uring_on_complete },
	{ 0 },
};

const struct tracker track_uring = {
	.name = "uring",
	.handlers = handlers,
	.of_replay = sizeof(struct uring_log),
	.finish = uring_finish,
	.free = uring_free,
};
