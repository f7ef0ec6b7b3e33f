// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who had the CPU, and how fairly. Each CPU remembers whom it ran last, so that when a
 * thread at last gets it, those that it waited for are known. If not all threads were
 * recorded, the switches between two strangers are missing: the time since the last
 * switch that was recorded then counts for the more likely of the two that are seen.
 *
 * What is a fair share, track_shares.c says. How far a thread is below it (its lag) can only peak
 * where it gets or leaves the CPU.
 *
 * criticality is GAPP's CMetric (Nair and Field, ICPE 2020): each instant is divided by the
 * number of active threads of the process and given to those that run.
 */
#include "track_cpu.h"

#include "analyze/replay/track_loss.h"
#include "format/linux_abi.h"
#include "track_shares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CPU_PAST	  4096 /* of a CPU, at most: a starved thread waits for that many */
#define CPU_PAST_FIRST	  64
#define LONG_WAIT	  100000 /* ns: a shorter wait next to an idle CPU is that CPU being woken */
#define SHARED_MAX	  32	 /* threads that one wait is divided among, the last ones first */
#define FIRST_NORMAL_PRIO 100

struct cpu {
	u32 tid; /* runs now; 0: idle */
	bool known;
	u32 n, room; /* entries of past, ever and at once */
	struct {
		u32 tid;
		bool guessed;
		u64 end;
	} past[];
};

struct cpus {
	struct cpu *of[STREAM_MAX];
	struct idmap cpu_contenders; /* (waiting process, running thread) -> its row */
	u32 n_idle;		     /* CPUs that are known to be idle */
	u64 idle_clock, idle_at;     /* time with an idle CPU, up to when */
};

/* Threads of a process that run or are in the run queue. */
struct activity {
	u32 active;
	double criticality; /* sum of time / active */
	u64 criticality_at; /* up to when */
	u64 exclusive;	    /* time in which exactly one was active */
};

/* kernel/sched/core.c, sched_prio_to_weight: 1024 at nice 0, a quarter more for each step. */
static const u32 weights[40] = {
	88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916,
	9548,  7620,  6100,  4904,  3906,  3121,  2501,	 1991,	1586,  1277,
	1024,  820,   655,   526,   423,   335,	  272,	 215,	172,   137,
	110,   87,    70,    56,    45,	   36,	  29,	 23,	18,    15,
};

static struct cpus *own(const struct replay *r)
{
	return r->own[TRACK_cpu];
}

static struct activity *activity_of(const struct thread *t)
{
	return t->process->own[TRACK_cpu];
}

u32 cpu_weight(u8 prio)
{
	bool normal = prio >= FIRST_NORMAL_PRIO && prio < FIRST_NORMAL_PRIO + 40;

	return normal ? weights[prio - FIRST_NORMAL_PRIO] : 0;
}

static struct cpu *cpu_of(struct replay *r, u32 number, struct err *e)
{
	struct cpu **c = &own(r)->of[number % STREAM_MAX], *more = *c;
	u32 room = more ? more->room : 0;

	if (more && (more->n < room || room == CPU_PAST))
		return more;
	room = room ? 2 * room : CPU_PAST_FIRST;
	more = realloc(more, sizeof(*more) + room * sizeof(more->past[0]));
	if (!more) {
		err_set(e, ERR_FAIL, "out of memory for CPUs");
		return NULL;
	}
	*more = *c ? *more : (struct cpu){ 0 };
	more->room = room;
	return *c = more;
}

static void advance_process(struct activity *p, u64 ts)
{
	u64 dt = elapsed(p->criticality_at, ts);

	if (p->active && p->criticality_at) {
		p->criticality += (double)dt / p->active;
		p->exclusive += p->active == 1 ? dt : 0;
	}
	p->criticality_at = ts;
}

/* A thread of the kernel, as the snapshot has it. */
static bool is_kernel(const struct replay *r, u32 tid)
{
	const struct thread *t = idmap_get(&r->threads, tid);

	return t && (t->process->parent == LINUX_KTHREADD || t->process->pid == LINUX_KTHREADD);
}

/*
 * Who had the CPU since its last recorded switch, which went to c->tid, if now another
 * one leaves it? Both did, with switches between strangers that are not recorded. Threads of the
 * kernel run briefly; an idle CPU that went to one was mostly idle.
 */
static u32 between(const struct replay *r, const struct cpu *c, u32 leaves)
{
	if (!c->known || c->tid == leaves || r->everything)
		return leaves;
	if (!c->tid)
		return is_kernel(r, leaves) ? 0 : leaves;
	return is_kernel(r, c->tid) ? leaves : c->tid;
}

/* It leaves the CPU, or has left it at some time since the last recorded switch. */
static void cpu_past(struct replay *r, struct cpu *c, const struct record *rec)
{
	c->past[c->n % c->room].tid = between(r, c, rec->tid);
	c->past[c->n % c->room].guessed = c->known && c->tid != rec->tid && !r->everything;
	c->past[c->n++ % c->room].end = rec->ts;
}

/* The thread in whose time a wakeup is recorded has the CPU: of strangers the switch is missing. */
static int cpu_on_waking(struct replay *r, const struct record *rec, struct err *e)
{
	struct cpu *c = cpu_of(r, rec->stream, e);

	if (!c)
		return ERR_FAIL;
	if (r->everything || !c->known || !c->tid || !rec->tid || c->tid == rec->tid)
		return 0;
	cpu_past(r, c, rec);
	c->tid = rec->tid;
	return 0;
}

int cpu_on_switch(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_switch *ev = rec->event;
	struct cpu *c = cpu_of(r, rec->stream, e);
	struct cpus *all = own(r);

	if (!c)
		return ERR_FAIL;
	if (all->n_idle)
		all->idle_clock += elapsed(all->idle_at, rec->ts);
	all->idle_at = rec->ts;
	all->n_idle -= c->known && !c->tid && all->n_idle;
	all->n_idle += !ev->next;
	cpu_past(r, c, rec);
	shares_halt(r, rec->stream, ev->next && ev->prio < FIRST_NORMAL_PRIO, rec->ts);
	c->tid = ev->next;
	c->known = true;
	return 0;
}

void cpu_active(struct replay *r, struct thread *t, u16 queue, u64 ts)
{
	struct activity *a = activity_of(t);
	struct cpus *all = own(r);
	struct served *s = served_of(t);

	if (s->active)
		return;
	advance_process(a, ts);
	a->active++;
	s->active = true;
	s->lag = 0;
	s->active_run = t->clock[STATE_run];
	shares_enqueue(r, t, queue, ts);
	s->idle0 = all->idle_clock + (all->n_idle ? elapsed(all->idle_at, ts) : 0);
}

void cpu_inactive(struct replay *r, struct thread *t, u64 ts)
{
	struct activity *a = activity_of(t);

	if (!served_of(t)->active)
		return;
	advance_process(a, ts);
	a->active -= a->active > 0;
	served_of(t)->active = false;
	shares_dequeue(r, t, ts);
}

void cpu_enter(struct replay *r, struct thread *t, u16 cpu, u64 ts)
{
	struct activity *a = activity_of(t);
	struct served *s = served_of(t);
	u64 wait = elapsed(t->since, ts);
	double before = s->lag;

	cpu_active(r, t, cpu, ts);
	advance_process(a, ts);
	s->criticality0 = a->criticality;
	s->exclusive0 = a->exclusive;
	shares_settle(r, t, ts);
	if (s->queue != cpu || !shares_in_place(r, t)) {
		shares_dequeue(r, t, ts);
		shares_enqueue(r, t, cpu, ts);
	}
	if (t->state != STATE_woken && t->state != STATE_preempted)
		return;
	s->waits++;
	s->longest = wait > s->longest ? wait : s->longest;
	s->max_lag = s->lag > s->max_lag ? s->lag : s->max_lag;
	if (s->lag > 0)
		s->starved += before >= 0 ? wait : wait * (s->lag / (s->lag - before));
	if (wait < LONG_WAIT || s->bound == BOUND_TO_ONE)
		return;
	s->idle_elsewhere += elapsed(s->idle0, own(r)->idle_clock);
	s->idle_unknown |= s->bound == BOUND_TO_SOME;
}

void cpu_leave(struct replay *r, struct thread *t, u64 ts)
{
	struct activity *a = activity_of(t);
	struct served *s = served_of(t);
	u64 run = elapsed(t->since, ts);

	if (!s->active)
		return;
	advance_process(a, ts);
	if (run) { /* it is known to have run since it got the CPU */
		s->criticality += a->criticality - s->criticality0;
		s->exclusive += a->exclusive - s->exclusive0;
	}
	shares_settle(r, t, ts);
	s->lag -= s->queued ? run : 0;
	s->actual += s->queued ? run : 0;
	s->idle0 = own(r)->idle_clock;
}

static int cpu_on_syscall(struct replay *r, const struct record *rec, struct err *e)
{
	const struct call_view *v = &r->call;
	struct thread *t;

	(void)e;
	if (v->desc->family != FAMILY_AFFINITY || v->ret != 0 || v->flags & SYSCALL_UNFINISHED)
		return 0;
	t = idmap_get(&r->threads, v->arg[0] ? (u32)v->arg[0] : rec->tid);
	if (t) /* to which is in memory that is not recorded; a later snapshot has it */
		served_of(t)->bound = BOUND_TO_SOME;
	return 0;
}

struct share {
	u32 tid;
	u64 ns, guessed;
};

struct shares {
	int n;
	u64 unknown; /* time of which it is not known who had the CPU */
	struct share of[SHARED_MAX];
};

static int count_cpu_contender(struct replay *r, u32 pid, const struct share *s, bool preempted,
			       struct err *e)
{
	u64 id = (u64)pid << 32 | s->tid;
	struct row_cpu_contender *a = idmap_get(&own(r)->cpu_contenders, id);
	s64 *total;

	if (!a) {
		if (own(r)->cpu_contenders.n >= PAIR_LIMIT)
			return 0;
		a = idmap_add(&own(r)->cpu_contenders, id, sizeof(*a), PAIR_LIMIT, "waits", e);
		if (!a)
			return ERR_FAIL;
		*a = (struct row_cpu_contender){ .pid = pid, .tid = s->tid };
	}
	a->n++;
	total = preempted ? &a->preempted : &a->woken;
	*total = (s64)(((u64)*total + s->ns) & INT64_MAX);
	a->guessed = (s64)(((u64)a->guessed + s->guessed) & INT64_MAX);
	return 0;
}

/* Adds to the share of a thread; what is too much for the table is not known. */
static void add_share(struct shares *s, u32 tid, u64 ns, bool guessed)
{
	int i;

	for (i = 0; i < s->n && s->of[i].tid != tid; i++)
		;
	if (i == SHARED_MAX) {
		s->unknown += ns;
		return;
	}
	if (i == s->n)
		s->of[s->n++] = (struct share){ .tid = tid };
	s->of[i].ns += ns;
	s->of[i].guessed += guessed ? ns : 0;
}

/* Who had this CPU in that time, by its switches that are remembered. */
static void share_out(struct shares *ret, const struct cpu *c, u32 waits, u64 from, u64 to)
{
	u32 k, at, n = c ? c->n : 0;
	u64 end = to, begin;

	if (n && c->known && c->past[(n - 1) % c->room].end < to) { /* who has it still */
		end = c->past[(n - 1) % c->room].end;
		end = end > from ? end : from;
		add_share(ret, c->tid, to - end, false);
	}
	for (k = 0; k < n && k < c->room && end > from; k++) {
		at = (n - 1 - k) % c->room;
		begin = k + 1 < n ? c->past[(n - 2 - k) % c->room].end : from;
		if (k + 1 < n && k + 1 == c->room) /* when it got the CPU is forgotten */
			break;
		begin = begin > from ? begin : from;
		begin = begin < end ? begin : end;
		if (c->past[at].tid != waits)
			add_share(ret, c->past[at].tid, end - begin, c->past[at].guessed);
		end = begin;
	}
	ret->unknown += n ? elapsed(from, end) : 0;
}

/* The wait of a thread for one CPU. */
static int waited_for(struct replay *r, struct thread *t, u16 cpu, u64 from, u64 to, s64 *ret_who,
		      struct err *e)
{
	bool preempted = t->state == STATE_preempted;
	struct shares shares = { 0 };
	u64 most = 0;
	int i;

	*ret_who = BULK_NULL;
	share_out(&shares, own(r)->of[cpu % STREAM_MAX], t->tid, from, to);
	for (i = 0; i < shares.n; i++) {
		if (shares.of[i].ns > most) {
			most = shares.of[i].ns;
			*ret_who = shares.of[i].tid;
		}
		if (shares.of[i].ns &&
		    count_cpu_contender(r, t->process->pid, &shares.of[i], preempted, e) < 0)
			return ERR_FAIL;
	}
	if (shares.unknown >= most)
		*ret_who = BULK_NULL;
	return 0;
}

int cpu_waited(struct replay *r, struct thread *t, u16 cpu, u64 from, u64 to, s64 *ret_who,
	       struct err *e)
{
	struct served *s = served_of(t);
	bool moved = s->moved > from;
	int ret = waited_for(r, t, cpu, moved ? s->moved : from, to, ret_who, e);

	if (moved && s->stay > elapsed(s->moved, to))
		*ret_who = s->stay_who;
	return ret;
}

/* It waits on for another CPU: so far it waited for this one. */
static int moves(struct replay *r, struct thread *t, const struct record *rec, struct err *e)
{
	const struct ev_migrate *ev = rec->event;
	struct served *s = served_of(t);
	bool first = s->moved <= t->since;
	u64 from = first ? t->since : s->moved, stay = elapsed(from, rec->ts);
	s64 who;

	if (waited_for(r, t, ev->from, from, rec->ts, &who, e) < 0)
		return ERR_FAIL;
	if (first || stay > s->stay) {
		s->stay = stay;
		s->stay_who = who;
	}
	s->moved = rec->ts;
	return 0;
}

static int cpu_on_migrate(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_migrate *ev = rec->event;
	struct thread *t = idmap_get(&r->threads, ev->target);

	if (!t)
		return 0;
	if ((t->state == STATE_woken || t->state == STATE_preempted) && moves(r, t, rec, e) < 0)
		return ERR_FAIL;
	if (!served_of(t)->queued || t->state == STATE_run)
		return 0;
	shares_dequeue(r, t, rec->ts);
	shares_enqueue(r, t, ev->to, rec->ts);
	return 0;
}

/* A sum of claimed times as an integer of the table: within 2^62. */
static s64 limited(double v)
{
	const double most = 0x1p62;

	return v > most ? (s64)most : v < -most ? -(s64)most : v == v ? (s64)v : 0;
}

static int cpu_thread_end(struct replay *r, struct thread *t, u64 ts, struct err *e)
{
	const struct served *s = served_of(t);
	struct row_sched_stat *row;
	bool all =
		r->everything && !loss_has_gaps(r); /* in a gap no thread is known to want a CPU */

	(void)ts;
	(void)e;
	if (!t->tracked || !has_group(r, GROUP_sched))
		return 0;
	row = bulk_add(r->bulk, sched_stat);
	row->tid = t->tid;
	row->pid = t->process->pid;
	row->start = replay_time(r, t->start ? t->start : r->begin);
	row->migrations = s->migrations;
	row->waits = s->waits;
	row->longest = s->longest & INT64_MAX;
	row->idle_elsewhere =
		all && !s->idle_unknown ? (s64)(s->idle_elsewhere & INT64_MAX) : BULK_NULL;
	row->fair = all ? limited(round(s->fair)) : BULK_NULL;
	row->lag = all ? limited(round(s->max_lag)) : BULK_NULL;
	row->starved = all ? (s64)(s->starved & INT64_MAX) : BULK_NULL;
	row->criticality = limited(s->criticality);
	row->exclusive = s->exclusive & INT64_MAX;
	row->cgroup = shares_group(t) ? (s64)(shares_group(t) & INT64_MAX) : BULK_NULL;
	return 0;
}

static int contender_row(void *arg, void *value, struct err *e)
{
	struct replay *r = arg;

	(void)e;
	*(struct row_cpu_contender *)bulk_add(r->bulk, cpu_contender) =
		*(struct row_cpu_contender *)value;
	return 0;
}

static int cpu_finish(struct replay *r, struct err *e)
{
	return idmap_in_order(&own(r)->cpu_contenders, contender_row, r, e);
}

static void cpu_free(void *slot)
{
	struct cpus *all = slot;
	u32 i;

	idmap_free_all(&all->cpu_contenders);
	for (i = 0; i < STREAM_MAX; i++)
		free(all->of[i]);
}

static const struct handler handlers[] = {
	{ EV_waking, false, cpu_on_waking },
	{ EV_migrate, false, cpu_on_migrate },
	{ EV_syscall_args, false, cpu_on_syscall },
	{ 0 },
};

const struct tracker track_cpu = {
	.name = "cpu",
	.handlers = handlers,
	.of_replay = sizeof(struct cpus),
	.of_process = sizeof(struct activity),
	.of_thread = sizeof(struct served),
	.thread_end = cpu_thread_end,
	.finish = cpu_finish,
	.free = cpu_free,
};
