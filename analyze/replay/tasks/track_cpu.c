// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who had the CPU, and how fairly. Each CPU remembers whom it ran last, so that when a
 * thread at last gets it, those that it waited for are known. If not all threads were
 * recorded, the switches between two strangers are missing: the time since the last
 * switch that was recorded then counts for the more likely of the two that are seen.
 *
 * What is a fair share, track_shares.c says. How far a thread is behind it (its lag) can only peak
 * where it gets or leaves the CPU.
 *
 * serial is GAPP's CMetric (Nair and Field, ICPE 2020): each instant is divided by the
 * number of active threads of the process and given to those that run.
 */
#include "track_cpu.h"

#include "analyze/replay/track_loss.h"
#include "track_shares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CPU_PAST	  64
#define LONG_WAIT	  100000 /* ns: a shorter wait beside an idle CPU is that CPU being woken */
#define TOLD_APART	  8	 /* threads that one wait is divided among */
#define FIRST_NORMAL_PRIO 100
#define KTHREADD	  2 /* parent of the kernel's threads */

struct cpu {
	u32 tid; /* runs now; 0: idle */
	bool known;
	u32 n; /* entries of past, ever */
	struct {
		u32 tid;
		bool guessed;
		u64 end;
	} past[CPU_PAST];
};

struct cpus {
	struct cpu *of[STREAM_MAX];
	struct idmap antagonists; /* (waiting process, running thread) -> struct antagonist */
	u32 n_idle;		  /* CPUs that are known to be idle */
	u64 idle_clock, idle_at;  /* time with an idle CPU, up to when */
};

/* Threads of a process that run or are in the run queue. */
struct activity {
	u32 active;
	double serial; /* sum of time / active */
	u64 serial_at; /* up to when */
	u64 alone;     /* time in which exactly one was active */
};

struct antagonist {
	u32 pid, tid;
	u64 n, woken, preempted, guessed;
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
	struct cpu **c = &own(r)->of[number % STREAM_MAX];

	if (!*c)
		*c = calloc(1, sizeof(**c));
	if (!*c)
		err_set(e, ERR_FAIL, "out of memory for CPUs");
	return *c;
}

static void advance_process(struct activity *p, u64 ts)
{
	u64 dt = elapsed(p->serial_at, ts);

	if (p->active && p->serial_at) {
		p->serial += (double)dt / p->active;
		p->alone += p->active == 1 ? dt : 0;
	}
	p->serial_at = ts;
}

/* A thread of the kernel, as far as the snapshot tells. */
static bool is_kernel(const struct replay *r, u32 tid)
{
	const struct thread *t = idmap_get(&r->threads, tid);

	return t && (t->process->parent == KTHREADD || t->process->pid == KTHREADD);
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
	c->past[c->n % CPU_PAST].tid = between(r, c, rec->tid);
	c->past[c->n % CPU_PAST].guessed = c->known && c->tid != rec->tid && !r->everything;
	c->past[c->n++ % CPU_PAST].end = rec->ts;
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
	s->serial0 = a->serial;
	s->alone0 = a->alone;
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
		s->serial += a->serial - s->serial0;
		s->alone += a->alone - s->alone0;
	}
	shares_settle(r, t, ts);
	s->lag -= s->queued ? run : 0;
	s->actual += s->queued ? run : 0;
	s->idle0 = own(r)->idle_clock;
}

static int cpu_on_migrate(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_migrate *ev = rec->event;
	struct thread *t = idmap_get(&r->threads, ev->target);

	(void)e;
	if (!t || !served_of(t)->queued || t->state == STATE_run)
		return 0;
	shares_dequeue(r, t, rec->ts);
	shares_enqueue(r, t, ev->to, rec->ts);
	return 0;
}

static int cpu_on_syscall(struct replay *r, const struct record *rec, struct err *e)
{
	const struct call_view *v = &r->call;
	struct thread *t;

	(void)e;
	if (v->desc->family != FAMILY_AFFINITY || v->ret != 0 || v->flags & SYSCALL_UNFINISHED)
		return 0;
	t = idmap_get(&r->threads, v->arg[0] ? (u32)v->arg[0] : rec->tid);
	if (t) /* to which is in memory that is not recorded; a later snapshot tells */
		served_of(t)->bound = BOUND_TO_SOME;
	return 0;
}

struct share {
	u32 tid;
	u64 ns, guessed;
};

struct shares {
	int n;
	struct share of[TOLD_APART];
};

static int count_antagonist(struct replay *r, u32 pid, const struct share *s, bool preempted,
			    struct err *e)
{
	u64 id = (u64)pid << 32 | s->tid;
	struct antagonist *a = idmap_get(&own(r)->antagonists, id);

	if (!a) {
		if (own(r)->antagonists.n >= PAIR_LIMIT)
			return 0;
		a = calloc(1, sizeof(*a));
		if (!a)
			return err_set(e, ERR_FAIL, "out of memory for waits");
		*a = (struct antagonist){ .pid = pid, .tid = s->tid };
		if (idmap_put(&own(r)->antagonists, id, a, PAIR_LIMIT, e) < 0) {
			free(a);
			return ERR_FAIL;
		}
	}
	a->n++;
	a->guessed += s->guessed;
	*(preempted ? &a->preempted : &a->woken) += s->ns;
	return 0;
}

/* Adds to the share of a thread; what is too much for the table goes to its last entry's. */
static void add_share(struct shares *s, u32 tid, u64 ns, bool guessed)
{
	int i;

	for (i = 0; i < s->n && s->of[i].tid != tid; i++)
		;
	if (i == TOLD_APART)
		return;
	if (i == s->n)
		s->of[s->n++] = (struct share){ .tid = tid };
	s->of[i].ns += ns;
	s->of[i].guessed += guessed ? ns : 0;
}

int cpu_waited(struct replay *r, struct thread *t, u16 cpu, u64 from, u64 to, bool preempted,
	       s64 *ret_who, struct err *e)
{
	const struct cpu *c = own(r)->of[cpu % STREAM_MAX];
	struct shares shares = { 0 };
	u64 end = to, begin, most = 0;
	u32 k, n = c ? c->n : 0;
	int i;

	*ret_who = BULK_NULL;
	for (k = 0; k < n && k < CPU_PAST && end > from; k++) {
		u32 at = (n - 1 - k) % CPU_PAST;

		begin = k + 1 < n && k + 1 < CPU_PAST ? c->past[(n - 2 - k) % CPU_PAST].end : from;
		begin = begin > from ? begin : from;
		if (c->past[at].tid != t->tid)
			add_share(&shares, c->past[at].tid, elapsed(begin, end),
				  c->past[at].guessed);
		end = begin;
	}
	for (i = 0; i < shares.n; i++) {
		if (shares.of[i].ns > most) {
			most = shares.of[i].ns;
			*ret_who = shares.of[i].tid;
		}
		if (shares.of[i].ns &&
		    count_antagonist(r, t->process->pid, &shares.of[i], preempted, e) < 0)
			return ERR_FAIL;
	}
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
	bool all = r->everything && !loss_has_gaps(r); /* in a gap nobody is known to want a CPU */

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
	row->serial = limited(s->serial);
	row->alone = s->alone & INT64_MAX;
	row->cgroup = shares_group(t) ? (s64)(shares_group(t) & INT64_MAX) : BULK_NULL;
	return 0;
}

static int by_wait(const void *a, const void *b)
{
	const struct antagonist *x = *(struct antagonist *const *)a;
	const struct antagonist *y = *(struct antagonist *const *)b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static int cpu_finish(struct replay *r, struct err *e)
{
	struct antagonist **list = calloc(own(r)->antagonists.n + 1, sizeof(*list)), *a;
	size_t at = 0, n = 0, i;
	struct row_antagonist *row;

	if (!list)
		return err_set(e, ERR_FAIL, "out of memory for waits");
	while ((a = idmap_each(&own(r)->antagonists, &at)))
		list[n++] = a;
	qsort(list, n, sizeof(*list), by_wait);
	for (i = 0; i < n; i++) {
		row = bulk_add(r->bulk, antagonist);
		row->pid = list[i]->pid;
		row->tid = list[i]->tid;
		row->n = list[i]->n;
		row->woken = list[i]->woken & INT64_MAX;
		row->preempted = list[i]->preempted & INT64_MAX;
		row->guessed = list[i]->guessed & INT64_MAX;
	}
	free(list);
	return 0;
}

static void cpu_free(void *slot)
{
	struct cpus *all = slot;
	struct antagonist *a;
	size_t at = 0;
	u32 i;

	while ((a = idmap_each(&all->antagonists, &at)))
		free(a);
	idmap_free(&all->antagonists);
	for (i = 0; i < STREAM_MAX; i++)
		free(all->of[i]);
}

static const struct handler handlers[] = {
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
