// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests as sockets show them. On a server's socket (accepted, or a bound
 * datagram socket) receives without a send between them are the begin of a turn, the
 * sends that follow its end; the next receive begins the next turn. A turn is a request
 * unless requests are pipelined or multiplexed on the connection.
 */
#include "track.h"

#include <stdlib.h>
#include <string.h>

#define SOCK_DGRAM 2
#define WINDOW_MIN 100000000u /* ns */

static const struct {
	const char *name;
	enum family family;
} family_names[] = {
	{ "read", FAMILY_RECV },
	{ "readv", FAMILY_RECV },
	{ "recvfrom", FAMILY_RECV },
	{ "recvmsg", FAMILY_RECV },
	{ "recvmmsg", FAMILY_RECV_MANY },
	{ "write", FAMILY_SEND },
	{ "writev", FAMILY_SEND },
	{ "sendto", FAMILY_SEND },
	{ "sendmsg", FAMILY_SEND },
	{ "sendfile", FAMILY_SEND },
	{ "sendmmsg", FAMILY_SEND_MANY },
	{ "close", FAMILY_CLOSE },
	{ "close_range", FAMILY_CLOSE_RANGE },
	{ "fcntl", FAMILY_FCNTL },
	{ "fchdir", FAMILY_FCHDIR },
};

struct socket_use {
	u32 pid;
	u16 nr;
	u8 abi;
	bool server, send;
	u64 n, bytes, first, last;
};

int requests_start(struct replay *r, struct err *e)
{
	const struct syscall_desc *d;
	u64 span = elapsed(r->begin, r->end);
	size_t i;

	for (i = 0; i < sizeof(family_names) / sizeof(family_names[0]); i++) {
		d = syscall_by_name(family_names[i].name);
		if (!d)
			return err_set(e, ERR_FAIL, "no system call is called %s",
				       family_names[i].name);
		if (d->x86_64 >= 0)
			r->families[0][d->x86_64] = family_names[i].family;
		if (d->aarch64 >= 0)
			r->families[1][d->aarch64] = family_names[i].family;
	}
	for (r->window = WINDOW_MIN; span / r->window >= WINDOW_LIMIT;)
		r->window *= 10;
	return 0;
}

static bool is_server(const struct file *f)
{
	return f->kind == FD_SOCKET &&
	       (f->role == ROLE_ACCEPTED || (f->role == ROLE_BOUND && f->socktype == SOCK_DGRAM));
}

/* The window that ts lies in; NULL: see e. */
static struct window *window_of(struct replay *r, struct process *p, u64 ts, struct err *e)
{
	u64 i = elapsed(r->begin, ts) / r->window;
	u32 n = p->n_windows ? p->n_windows : 64;
	struct window *grown;

	if (i > WINDOW_LIMIT) {
		err_set(e, ERR_DAMAGED, "a timestamp lies far behind the end of the recording");
		return NULL;
	}
	while (n <= i)
		n *= 2;
	if (n > p->n_windows) {
		grown = realloc(p->windows, n * sizeof(*grown));
		if (!grown) {
			err_set(e, ERR_FAIL, "out of memory for request windows");
			return NULL;
		}
		memset(grown + p->n_windows, 0, (n - p->n_windows) * sizeof(*grown));
		p->windows = grown;
		p->n_windows = n;
	}
	return &p->windows[i];
}

int requests_count_call(struct replay *r, struct process *p, u64 ts, struct err *e)
{
	struct window *w = window_of(r, p, ts, e);

	if (!w)
		return ERR_FAIL;
	w->calls++;
	return 0;
}

int requests_end_turn(struct replay *r, struct process *p, s32 fd, struct file *f, struct err *e)
{
	struct turn *t = &f->turn;
	struct window *w;
	s64 *row;

	if (t->sends && t->recvs) {
		row = bulk_row(r->bulk, TABLE_turn);
		row[0] = replay_time(r, t->first_recv);
		row[1] = elapsed(t->first_recv, t->last_send);
		row[2] = p->pid;
		row[3] = t->tid;
		row[4] = fd;
		row[5] = t->recvs;
		row[6] = t->sends;
		row[7] = t->recv_bytes & INT64_MAX;
		row[8] = t->send_bytes & INT64_MAX;
		row[9] = turns_is_split(f);
		row[10] = loss_overlaps(r, t->first_recv, t->last_send);
		turns_end(r, p, f);
		w = window_of(r, p, t->last_send, e);
		if (!w)
			return ERR_FAIL;
		w->turns++;
	}
	memset(t, 0, sizeof(*t));
	return 0;
}

static int note_use(struct replay *r, u32 pid, const struct call_view *v, bool server, bool send,
		    u64 bytes, struct err *e)
{
	u64 id = (u64)pid << 32 | (u64)server << 31 | (u64)v->abi << 16 | v->nr;
	struct socket_use *u = idmap_get(&r->socket_uses, id);

	if (!u) {
		u = calloc(1, sizeof(*u));
		if (!u)
			return err_set(e, ERR_FAIL, "out of memory for sockets");
		*u = (struct socket_use){ .pid = pid, .nr = v->nr, .abi = v->abi, .first = v->ts };
		u->server = server;
		u->send = send;
		if (idmap_put(&r->socket_uses, id, u, STAT_LIMIT, e) < 0) {
			free(u);
			return ERR_FAIL;
		}
	}
	u->n++;
	u->bytes += bytes;
	u->last = v->ts;
	return 0;
}

static int on_server_socket(struct replay *r, struct thread *t, struct file *f,
			    const struct call_view *v, bool send, u64 bytes, struct err *e)
{
	struct window *w = window_of(r, t->process, v->ts, e);
	struct turn *turn = &f->turn;

	if (!w)
		return ERR_FAIL;
	if (send) {
		w->sends++;
		if (!turn->recvs)
			return 0; /* nobody asked: no turn */
		turn->sends++;
		turn->send_bytes += bytes;
		turn->last_send = v->ts;
		turn->tid = t->tid;
		return turns_send(r, t, f, v->ts, e);
	}
	w->recvs++;
	if (turn->sends && requests_end_turn(r, t->process, (s32)v->arg[0], f, e) < 0)
		return ERR_FAIL;
	if (!turn->recvs) {
		turn->first_recv = v->ts;
		if (turns_begin(r, t, f, v->ts, e) < 0)
			return ERR_FAIL;
	}
	turn->recvs++;
	turn->recv_bytes += bytes;
	return 0;
}

int requests_on_syscall(struct replay *r, const struct record *rec, struct err *e)
{
	struct call_view v = view_syscall(rec);
	int abi = abi_table(v.abi, v.nr);
	enum family family = abi < 0 ? FAMILY_NONE : r->families[abi][v.nr];
	bool send = family == FAMILY_SEND || family == FAMILY_SEND_MANY;
	struct thread *t;
	struct file *f;
	u64 bytes;

	if (family == FAMILY_NONE || family >= FAMILY_CLOSE || v.ret <= 0 || !rec->tid ||
	    v.flags & SYSCALL_UNFINISHED)
		return 0;
	t = task_thread(r, rec->tid, e);
	if (!t)
		return ERR_FAIL;
	f = file_of(t->process, (s32)v.arg[0]);
	if (!f || f->kind != FD_SOCKET)
		return 0;
	bytes = family == FAMILY_RECV || family == FAMILY_SEND ? v.ret : 0;
	if (note_use(r, t->process->pid, &v, is_server(f), send, bytes, e) < 0)
		return ERR_FAIL;
	if (f->role == ROLE_CONNECTED)
		turns_exchange(r, t, f, &v, send, bytes);
	return is_server(f) ? on_server_socket(r, t, f, &v, send, bytes, e) : 0;
}

int requests_end(struct replay *r, struct process *p, struct err *e)
{
	u64 last = elapsed(r->begin, r->end) / r->window;
	s64 *row;
	u32 i;

	(void)e;
	/* windows without requests count as well: up to the last one that is whole */
	for (i = 0; p->n_windows && i < last; i++) {
		static const struct window none;
		const struct window *w = i < p->n_windows ? &p->windows[i] : &none;

		row = bulk_row(r->bulk, TABLE_request_window);
		row[0] = p->pid;
		row[1] = (s64)(i * r->window);
		row[2] = r->window;
		row[3] = w->recvs;
		row[4] = w->sends;
		row[5] = w->turns;
		row[6] = w->calls;
	}
	return 0;
}

int requests_finish(struct replay *r, struct err *e)
{
	const struct socket_use *u;
	size_t at = 0;
	int ret = 0;

	while (ret == 0 && (u = idmap_each(&r->socket_uses, &at)))
		ret = db_insert(r->db, TABLE_socket_use, e, "iiiiiiiii", (s64)u->pid, (s64)u->abi,
				(s64)u->nr, (s64)u->server, (s64)u->send, (s64)u->n,
				(s64)(u->bytes & INT64_MAX), replay_time(r, u->first),
				replay_time(r, u->last));
	return ret;
}

void requests_free(struct replay *r)
{
	struct socket_use *u;
	size_t at = 0;

	while ((u = idmap_each(&r->socket_uses, &at)))
		free(u);
	idmap_free(&r->socket_uses);
}
