// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where the time of requests goes, and how long others take to answer. A request is split by the
 * clocks of the thread that sends: it is what the request waited for, also while it was still busy
 * with another request. An event loop waits for answers in poll; the time between its own
 * request on a connected socket and the answer is therefore taken out of poll, and so is the time
 * from a connect in progress to the request on it. What a request waited before its first receive
 * is counted separately (track_ready.c).
 */
#include "track_request_time.h"

#include "analyze/replay/latency_rows.h"
#include "analyze/replay/syscall_view.h"
#include "analyze/replay/tasks/past.h"
#include "analyze/replay/track_loss.h"
#include "format/linux_abi.h"
#include "track_ready.h"
#include "track_segments.h"
#include "track_services.h"

#include <stdlib.h>
#include <string.h>

struct request_time {
	u64 begin;
	u64 upstream; /* time in which an answer to its thread was outstanding */
	u64 counted;  /* until when it is in upstream */
	u32 tid;      /* of the first receive */
	bool split;   /* spent is known */
	u64 clock[N_STATES];
	u64 spent[N_STATES];
	u64 queued; /* before the first receive, and where that time went */
	u64 before[N_STATES];
};

struct request_times {
	u64 n;
};

/* Of a process. */
struct request_latencies {
	struct hist request, served, upstream;
};

/* The last upstream of a thread on a connected socket. */
struct upstream {
	u64 connect, asked, answered; /* connect 0: none for this question */
};

static struct request_times *own(const struct replay *r)
{
	return r->own[TRACK_request_time];
}

static struct request_latencies *latencies_of(const struct process *p)
{
	return p->own[TRACK_request_time];
}

static struct upstream *upstream_of(const struct thread *t)
{
	return t->own[TRACK_request_time];
}

/* Whose clocks can split requests: threads whose every switch is in the recording. */
static bool is_timed(const struct replay *r, const struct thread *t)
{
	return t->tracked && has_group(r, GROUP_sched);
}

/* Now it is on a CPU. */
static int remember_past(struct thread *t, u64 now, struct err *e)
{
	bool known = t->seen && t->state == STATE_run;

	t->process->serves = true;
	return past_remember(t, known ? t->since : now, e) < 0 ? ERR_FAIL : ready_begin(t, e);
}

int request_time_begin(struct replay *r, struct thread *t, struct file *f,
		       const struct call_view *v, u64 last, struct err *e)
{
	if (f->time) {
		f->time->split = false;
		f->time->begin = f->time->queued = 0;
	}
	if (!is_timed(r, t))
		return 0;
	if (!f->time && !(f->time = calloc(1, sizeof(*f->time))))
		return err_set(e, ERR_FAIL, "out of memory for requests");
	f->time->begin = v->ts;
	f->time->tid = t->tid;
	f->time->upstream = f->time->counted = 0;
	f->time->queued = ready_take(r, t, v, last, f->time->before);
	memcpy(f->time->clock, t->clock, sizeof(f->time->clock));
	return remember_past(t, v->ts, e);
}

void request_arrived(const struct replay *r, struct thread *t, struct file *f, u64 arrival)
{
	struct request_time *time = f->time;
	u64 read = f->request.first_recv;

	if (!arrival || arrival > read)
		return; /* the estimate stays */
	f->request.arrival = arrival;
	if (!time || !time->begin || !is_timed(r, t))
		return;
	time->queued = elapsed(arrival, read);
	past_since(t, arrival, read, time->before);
}

void request_read(struct replay *r, struct thread *t, struct file *f, u32 conn, u32 pos, u32 len,
		  u32 rest, u64 ts)
{
	struct request *q = &f->request;

	q->announced = q->announced ? q->announced : rest;
	q->to_come = rest;
	q->counted = ts;
	segments_read(r, f, conn, pos, len, ts);
	if (f->request.recvs == 1 && f->request.first_recv == ts && !f->request.arrival)
		request_arrived(r, t, f, segments_first(r, conn, pos, ts));
}

/* An earlier receive may be of a request with an answer to come. */
void request_withdraw(struct file *f, u64 ts)
{
	struct request *q = &f->request;

	if (q->recvs == 1 && q->first_recv == ts)
		*q = (struct request){ .service = q->service, .answered = q->answered };
}

/* An answer in parts counts from the last part that was counted. */
static void take_upstream(struct request_time *request, struct upstream *last)
{
	u64 from = last->connect >= request->begin ? last->connect : last->asked;

	if (last->answered <= request->begin || last->asked < request->begin)
		return;
	request->upstream +=
		elapsed(from > request->counted ? from : request->counted, last->answered);
	request->counted = last->answered;
	last->connect = last->asked = last->answered = 0;
}

int request_time_send(struct replay *r, struct thread *t, struct file *f, u64 ts, struct err *e)
{
	struct upstream *last = upstream_of(t);
	struct request_time *request = f->time;
	u64 off = 0;
	int i;

	if (!request || !request->begin)
		return 0;
	request->split = false;
	if (!is_timed(r, t))
		return 0;
	if (remember_past(t, ts, e) < 0)
		return ERR_FAIL;
	take_upstream(request, last);
	request->split = true;
	if (t->tid != request->tid) {
		past_since(t, request->begin, ts, request->spent);
		return 0;
	}
	for (i = STATE_run + 1; i < N_STATES; i++) {
		request->spent[i] = elapsed(request->clock[i], t->clock[i]);
		off += request->spent[i];
	}
	request->spent[STATE_run] = elapsed(off, elapsed(request->begin, ts));
	return 0;
}

bool request_is_split(const struct file *f)
{
	return f->time && f->time->split;
}

u64 requests_queued(const struct file *f)
{
	if (f->request.arrival)
		return elapsed(f->request.arrival, f->request.first_recv);
	/* seen by the thread that received; a request's time is that of the thread that sends */
	return request_is_split(f) && f->request.tid == f->time->tid ? f->time->queued : 0;
}

/* request_queue has the same columns. */
_Static_assert(sizeof(struct row_request_wait) == sizeof(struct row_request_queue),
	       "the same columns");

static void write_states(struct replay *r, enum table_id table, const u64 spent[N_STATES])
{
	struct row_request_wait *row;
	int i;

	for (i = STATE_run + 1; i < N_STATES; i++) {
		if (!spent[i])
			continue;
		row = bulk_row(r->bulk, table);
		row->request = own(r)->n;
		row->state = i;
		row->dur = spent[i] & INT64_MAX;
	}
}

u64 request_time_end(struct replay *r, struct process *p, const struct file *f)
{
	struct request_time *t = f->time;
	u64 moved, dur = elapsed(f->request.first_recv, f->request.last_send), wait = 0;
	int i;

	own(r)->n++;
	hist_add(&latencies_of(p)->request, dur);
	hist_add(&latencies_of(p)->served, requests_queued(f) + dur);
	if (!request_is_split(f))
		return UINT64_MAX;
	moved = t->upstream < t->spent[STATE_poll] ? t->upstream : t->spent[STATE_poll];
	t->spent[STATE_poll] -= moved;
	t->spent[STATE_client] += moved;
	t->spent[STATE_unsent] = f->request.held;
	write_states(r, TABLE_request_wait, t->spent);
	if (requests_queued(f) && f->request.tid == t->tid)
		write_states(r, TABLE_request_queue, t->before);
	t->split = false;
	for (i = STATE_run + 1; i < N_STATES; i++)
		wait += i == STATE_unknown ? 0 : t->spent[i];
	return 2 * t->spent[STATE_unknown] > dur ? UINT64_MAX : wait;
}

/* Messages, of calls that move several; else a send or a receive is one. */
static void count_outstanding(struct outstanding *o, const struct call_view *v, bool send)
{
	bool many = v->desc->family == FAMILY_SEND_MANY || v->desc->family == FAMILY_RECV_MANY;
	u64 n = many ? (u64)v->ret : 1, open = o->sends > o->answers ? o->sends - o->answers : 0;

	o->waited += open * elapsed(o->at, v->ts);
	o->at = v->ts;
	*(send ? &o->sends : &o->answers) += n;
	open = o->sends > o->answers ? o->sends - o->answers : 0;
	o->most = open > o->most ? open : o->most;
}

static void put_unanswered(struct replay *r, const struct process *p, s32 fd, const struct file *f,
			   bool closed)
{
	const struct asking *a = &f->asking;
	struct row_upstream_unanswered *row;

	if (!a->sends)
		return;
	row = bulk_add(r->bulk, upstream_unanswered);
	row->ts = replay_time(r, a->last_send);
	row->pid = p->pid;
	row->tid = a->tid;
	row->fd = fd;
	row->sends = a->sends;
	row->answered = f->outstanding.answers > 0;
	row->closed = closed;
	row->datagram = f->socktype == LINUX_SOCK_DGRAM;
	row->first_send = a->first_send ? replay_time(r, a->first_send) : BULK_NULL;
}

void upstream_end(struct replay *r, const struct process *p, s32 fd, const struct file *f,
		  bool closed)
{
	const struct outstanding *o = &f->outstanding;
	struct row_upstream_use *row;

	put_unanswered(r, p, fd, f, closed);
	if (o->most < 2 || !o->answers)
		return;
	row = bulk_add(r->bulk, upstream_use);
	row->ts = replay_time(r, f->since);
	row->pid = p->pid;
	row->fd = fd;
	row->sends = o->sends & INT64_MAX;
	row->answers = o->answers & INT64_MAX;
	row->most = o->most & INT64_MAX;
	row->waited = o->waited & INT64_MAX;
}

void request_upstream(struct replay *r, struct thread *t, struct file *f, const struct call_view *v,
		      bool send, u64 bytes)
{
	struct asking *a = &f->asking;
	u64 dur;
	struct row_upstream *row;

	count_outstanding(&f->outstanding, v, send);
	if (send) {
		if (a->answering)
			*a = (struct asking){ 0 };
		if (!a->sends)
			a->first_send = call_entry(v);
		a->last_send = v->ts;
		a->tid = t->tid;
		a->sends++;
		a->bytes += bytes;
		return;
	}
	if (!a->sends && !a->answering)
		return; /* without a request */
	if (!a->sends && upstream_of(t)->asked > a->answering)
		return; /* more of an answer, after another upstream was asked */
	dur = elapsed(a->last_send, v->ts);
	upstream_of(t)->connect = a->connect;
	upstream_of(t)->asked = a->sends ? a->last_send : a->answering;
	upstream_of(t)->answered = v->ts;
	if (!a->sends)
		return; /* more of an answer */
	row = bulk_add(r->bulk, upstream);
	row->ts = replay_time(r, a->last_send);
	row->dur = dur;
	row->pid = t->process->pid;
	row->tid = t->tid;
	row->asker = a->tid && a->tid != t->tid ? (s64)a->tid : BULK_NULL;
	row->fd = (s32)v->arg[0];
	row->sends = a->sends;
	row->send_bytes = a->bytes & INT64_MAX;
	row->recv_bytes = bytes & INT64_MAX;
	row->lossy = loss_overlaps(r, a->last_send, v->ts);
	row->first_send = a->first_send ? replay_time(r, a->first_send) : BULK_NULL;
	hist_add(&latencies_of(t->process)->upstream, dur);
	*a = (struct asking){ .connect = a->connect, .answering = a->last_send };
}

static int request_time_process_end(struct replay *r, struct process *p, u64 ts, struct err *e)
{
	const struct request_latencies *l = latencies_of(p);
	int ret;

	(void)ts;
	ret = latency_rows(r, "request", p->pid, 0, &l->request, e);
	if (ret == 0)
		ret = latency_rows(r, "served", p->pid, 0, &l->served, e);
	return ret < 0 ? ret : latency_rows(r, "upstream", p->pid, 0, &l->upstream, e);
}

static void request_time_process_free(void *own)
{
	struct request_latencies *l = own;

	hist_free(&l->request);
	hist_free(&l->served);
	hist_free(&l->upstream);
}

const struct tracker track_request_time = {
	.name = "request_time",
	.of_replay = sizeof(struct request_times),
	.of_process = sizeof(struct request_latencies),
	.of_thread = sizeof(struct upstream),
	.process_end = request_time_process_end,
	.process_free = request_time_process_free,
};

void request_has_room(const struct replay *r, struct file *f, u64 entry)
{
	struct request *q = &f->request;
	u64 acked = segments_acked(r, f, q->full);

	if (q->full)
		q->blocked += elapsed(q->full, acked >= q->full && acked < entry ? acked : entry);
	q->full = 0;
}

/* ns from its arrival to ts */
static s64 since_arrival(const struct file *f, u64 ts)
{
	return (s64)(requests_queued(f) + elapsed(f->request.first_recv, ts));
}

void request_waited(struct row_request_error *row, const struct file *f, u64 sent)
{
	const struct request *q = &f->request;
	bool begins = sent && q->sends && q->first_send;

	row->first_after = begins ? since_arrival(f, q->first_send) : BULK_NULL;
	row->failed_after = begins ? since_arrival(f, q->full && q->full < sent ? q->full : sent) -
					     (s64)q->blocked
				   : BULK_NULL;
}

bool request_is_late_body(const struct request *q, u64 bytes)
{
	return q->sends && bytes && bytes <= q->to_come && q->counted == q->last_recv;
}

void request_late_body(struct request *q, u64 arrival, u64 ts, u64 bytes)
{
	u64 last = q->last_recv > q->last_send ? q->last_recv : q->last_send;

	q->late += elapsed(last, arrival);
	q->last_recv = q->counted = ts;
	q->to_come -= (u32)bytes;
	q->recv_bytes += bytes;
}

u64 request_left(struct replay *r, struct file *f)
{
	struct request *t = &f->request;

	t->held = t->sends && t->recvs ? segments_held(r, f, t->last_send) : 0;
	if (t->held) {
		services_held(r, f,
			      requests_queued(f) + elapsed(t->first_recv, t->last_send) + t->held);
		t->last_send += t->held;
	}
	return elapsed(t->first_recv, t->last_send);
}
