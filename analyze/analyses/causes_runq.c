// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who had the CPU while slow units waited for it. A thread whose cgroup has used up its quota
 * waits in the run queue too: then its CPU is idle meanwhile, or the waits end at the same
 * phase of the quota's period. Only what is neither is a neighbour's doing.
 */
#include "causes.h"

#include <stdio.h>

#define MOSTLY	      0.5	/* of a time */
#define THROTTLE_LONG 2000000	/* ns: a wait so long beside an idle CPU is no wake-up latency */
#define PERIOD	      100000000 /* ns: of CPU quotas, unless somebody changed it */
#define FOCUS	      0.9	/* of the phases of ends of long waits: all at the same one is 1 */
#define FEW	      5		/* long waits: fewer have no phase */

struct queued {
	struct tally who; /* threads that had the CPU; -1 not known, 0 nobody */
	double woken, preempted;
	double long_waits, long_idle, n_long;
	double cosine, sine; /* of the phases of the ends of long waits */
};

static void on_queued(void *arg, const struct unit *u, const struct span *p, s64 ns)
{
	struct queued *q = arg;
	double phase = 2 * M_PI * (double)((p->ts + p->dur) % PERIOD) / PERIOD;

	(void)u;
	tally_add(&q->who, p->object, ns);
	*(p->state == SPAN_woken ? &q->woken : &q->preempted) += ns;
	if (p->dur < THROTTLE_LONG)
		return;
	q->n_long++;
	q->long_waits += ns;
	q->long_idle += p->object == 0 ? ns : 0;
	q->cosine += cos(phase);
	q->sine += sin(phase);
}

/* Threads become processes. */
static void by_process(const struct drill *d, const struct tally *threads, struct tally *ret)
{
	int i;

	*ret = (struct tally){ 0 };
	for (i = 0; i < threads->n; i++)
		tally_add(ret,
			  threads->of[i].key <= 0
				  ? threads->of[i].key
				  : (s64)names_of(&d->names, threads->of[i].key).pid,
			  threads->of[i].ns);
	ret->total = threads->total;
	tally_sort(ret);
}

static int say_throttled(struct drill *d, struct found *f, const struct queued *q, struct err *e)
{
	double all = q->woken + q->preempted;
	bool idle = q->long_waits > 0 && q->long_idle >= MOSTLY * q->long_waits;

	f->kind = "throttle";
	f->label = "OVERLAP";
	snprintf(f->culprit, sizeof(f->culprit), "CPU quota of %.90s", d->u->name);
	if (buf_printf(&f->against, e, "the recording has no counters of the quota itself. ") < 0)
		return ERR_FAIL;
	return buf_printf(
		&f->text, e,
		"%s: %.0f %% of it in %.0f waits of 2 ms and more in the examples, %s; that is a thread "
		"throttled by the CPU quota of its cgroup, not a neighbour",
		idle ? "its CPU was idle meanwhile" : "whoever had the CPU",
		100 * q->long_waits / all, q->n_long,
		idle ? "although nobody else wanted the CPU"
		     : "whose ends keep to a period of 100 ms");
}

int drill_runq(struct drill *d, struct found *f, struct err *e)
{
	struct queued q = { 0 };
	struct tally process;
	char name[64];
	double all, focus;
	s64 top;
	int i, told = 0;

	drill_each(d, CATEGORY_runq, on_queued, &q);
	all = q.woken + q.preempted;
	focus = q.n_long >= FEW ? hypot(q.cosine, q.sine) / q.n_long : 0;
	if (all > 0 && q.long_waits >= MOSTLY * all &&
	    (q.long_idle >= MOSTLY * q.long_waits || focus >= FOCUS))
		return say_throttled(d, f, &q, e);
	by_process(d, &q.who, &process);
	f->label = d->everything ? "OBSERVED" : "OVERLAP";
	f->kind = "antagonist";
	if (buf_printf(&f->text, e, " (%.0f %% of it after preemption)",
		       all > 0 ? 100 * q.preempted / all : 0) < 0)
		return ERR_FAIL;
	for (i = 0; i < process.n && told < 3; i++) {
		top = process.of[i].key;
		if (top < 0 || process.of[i].ns < 0.05 * all)
			continue;
		snprintf(name, sizeof(name), "nobody, it was idle or busy with interrupts");
		if (top > 0)
			process_text(&d->names, top, name, sizeof(name));
		if (buf_printf(&f->text, e, "%s %s%s %.0f %%", told ? "," : "; the CPU was used by",
			       name, top == d->u->key ? " itself" : "",
			       100 * process.of[i].ns / all) < 0)
			return ERR_FAIL;
		if (!told++ && top > 0) {
			snprintf(f->culprit, sizeof(f->culprit), "%s", name);
			f->culprit_id = top;
		}
	}
	if (!d->everything)
		return buf_printf(&f->against, e,
				  "only switches of the recorded threads are known, so others may "
				  "have had the CPU in between. ");
	return 0;
}
