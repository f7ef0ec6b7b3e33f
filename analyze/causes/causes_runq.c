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
#define FOCUS	      0.8	/* of the phases of ends of long waits: all at the same one is 1 */
#define SOME_PERIODS  0.2	/* of a quota's periods in the readings around slow units */
#define FEW	      5		/* periods with the end of a long wait: fewer have no phase */
#define GUESSED_MOST  0.1	/* of the waits */

struct queued {
	const struct drill *d;
	struct tally who; /* threads that had the CPU; -1 not known, 0 nobody: ns of a mean unit */
	double woken, preempted;
	double long_waits, long_idle, n_long;
	double cosine, sine; /* of the phases of the ends of long waits, by their length */
	s64 ends[FEW];	     /* periods in which long waits ended, as many as are needed */
	int n_ends;
};

static void on_queued(void *arg, const struct unit *u, const struct span *p, s64 ns)
{
	struct queued *q = arg;
	double phase = 2 * M_PI * (double)((p->ts + p->dur) % PERIOD) / PERIOD;
	s64 period = (p->ts + p->dur) / PERIOD;
	int i;

	tally_add(&q->who, p->object, ns * drill_weight(q->d, u, false));
	*(p->state == SPAN_woken ? &q->woken : &q->preempted) += ns;
	if (p->dur < THROTTLE_LONG)
		return;
	q->n_long++;
	q->long_waits += ns;
	q->long_idle += p->object == 0 ? ns : 0;
	q->cosine += ns * cos(phase);
	q->sine += ns * sin(phase);
	for (i = 0; i < q->n_ends && q->ends[i] != period; i++)
		;
	if (i == q->n_ends && i < FEW)
		q->ends[q->n_ends++] = period;
}

/* What usual units wait for as well makes nobody slow. */
static void on_queued_usual(void *arg, const struct unit *u, const struct span *p, s64 ns)
{
	struct queued *q = arg;

	tally_add(&q->who, p->object, -ns * drill_weight(q->d, u, true));
}

/* Threads become processes, and those that the units are of one of them. */
static s64 process_of(const struct drill *d, s64 tid)
{
	s64 pid = tid > 0 ? (s64)names_of(&d->names, tid).pid : tid;

	return drill_is_own(d, pid) ? (s64)drill_own(d) : pid;
}

static void by_process(const struct drill *d, const struct tally *threads, struct tally *ret)
{
	int i;

	*ret = (struct tally){ 0 };
	for (i = 0; i < threads->n; i++)
		tally_add(ret, process_of(d, threads->of[i].key), threads->of[i].ns);
	ret->total = threads->total;
	tally_sort(ret);
}

/* What the quotas of the process's control groups did while units were slow. */
struct quota {
	bool any; /* one of our control groups has a quota, and readings of it */
	char path[120];
	double limit, period; /* ns */
	double periods, throttled, time;
};

/* Readings of the groups above the process that touch the slow units. */
static int read_quota(struct drill *d, struct quota *ret_quota, struct err *e)
{
	static const char sql[] =
		"SELECT g.path, max(t.quota), max(t.period), sum(t.periods), sum(t.throttled),"
		" sum(t.time) FROM throttle t JOIN cgroup g ON g.id=t.cgroup WHERE t.ts < ?2 AND"
		" t.ts + t.dur > ?1 AND t.quota > 0 AND EXISTS(SELECT 1 FROM process p JOIN cgroup m ON"
		" m.id=p.cgroup WHERE p.pid=?3 AND (m.path=g.path OR m.path LIKE"
		" rtrim(g.path,'/') || '/%')) GROUP BY g.id ORDER BY sum(t.time) DESC LIMIT 1";
	s64 from = INT64_MAX, to = 0;
	sqlite3_stmt *q;
	size_t i;
	int ret;

	*ret_quota = (struct quota){ 0 };
	for (i = 0; i < d->n; i++) {
		from = d->slow[i].ts < from ? d->slow[i].ts : from;
		to = d->slow[i].ts + d->slow[i].dur > to ? d->slow[i].ts + d->slow[i].dur : to;
	}
	ret = db_query(&q, d->db, e, sql, "iii", from, to, (s64)drill_own(d));
	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		ret_quota->any = true;
		snprintf(ret_quota->path, sizeof(ret_quota->path), "%s", db_text(q, 0));
		ret_quota->limit = sqlite3_column_double(q, 1);
		ret_quota->period = sqlite3_column_double(q, 2);
		ret_quota->periods = sqlite3_column_double(q, 3);
		ret_quota->throttled = sqlite3_column_double(q, 4);
		ret_quota->time = sqlite3_column_double(q, 5);
	}
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

/*
 * Is it the quota? Most of the time must be in long waits. Counters decide; where there are
 * none (a new quota is found late) it is the shape of the waits: beside an idle CPU, or ending with
 * a period.
 */
static bool is_throttled(const struct queued *q, const struct quota *quota)
{
	double all = q->woken + q->preempted;
	/* waits that end together, of several threads or one after the other, are no pattern */
	double focus = q->n_ends == FEW ? hypot(q->cosine, q->sine) / q->long_waits : 0;

	if (all <= 0 || q->long_waits < MOSTLY * all)
		return false;
	if (quota->any) /* readings come once a second: a part of them may be from before */
		return quota->throttled >= SOME_PERIODS * quota->periods && quota->throttled > 0;
	return q->long_idle >= MOSTLY * q->long_waits || focus >= FOCUS;
}

static int say_throttled(struct drill *d, struct found *f, const struct queued *q,
			 const struct quota *quota, struct err *e)
{
	double all = q->woken + q->preempted;
	bool idle = q->long_waits > 0 && q->long_idle >= MOSTLY * q->long_waits;

	f->kind = "throttle";
	f->label = quota->any ? "OBSERVED" : "OVERLAP";
	snprintf(f->culprit, sizeof(f->culprit), "CPU quota of %.90s",
		 quota->any ? quota->path : d->u->name);
	if (quota->any)
		return buf_printf(
			&f->text, e,
			": throttled by the CPU quota of its cgroup %s, %.1f ms in %.0f ms: stopped in "
			"%.0f of %.0f periods, for %.3f s; that is no neighbour's doing",
			quota->path, quota->limit / 1e6, quota->period / 1e6, quota->throttled,
			quota->periods, quota->time / 1e9);
	if (buf_printf(&f->against, e, "the recording has no counters of the quota itself. ") < 0)
		return ERR_FAIL;
	return buf_printf(
		&f->text, e,
		"; %.0f %% of it in %.0f waits of 2 ms and more in the examples, %s: that is how a "
		"thread looks that is throttled by the CPU quota of its cgroup, not a neighbour's doing",
		100 * q->long_waits / all, q->n_long,
		idle ? "while its CPU was idle" : "whose ends keep to a period of 100 ms");
}

/* The control group of a process, if it is another one than ours; "" otherwise. */
static int other_group(struct drill *d, s64 pid, char *text, size_t size, struct err *e)
{
	static const char sql[] =
		"SELECT coalesce(g.container, g.path) FROM process p JOIN cgroup g ON g.id=p.cgroup"
		" WHERE p.pid=?1 AND p.cgroup IS NOT (SELECT cgroup FROM process WHERE pid=?2) LIMIT 1";
	sqlite3_stmt *q;
	int ret = db_query(&q, d->db, e, sql, "ii", pid, (s64)drill_own(d));

	text[0] = '\0';
	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0)
		snprintf(text, size, " of cgroup %.80s", db_text(q, 0));
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

/* What all of them had more of; who had the CPU less than in usual units is no part of it. */
static double more_of(const struct tally *process)
{
	double sum = 0;
	int i;

	for (i = 0; i < process->n; i++)
		sum += process->of[i].ns > 0 ? process->of[i].ns : 0;
	return sum > process->total ? sum : process->total;
}

/* The processes that had the CPU, largest first. */
static int say_antagonists(struct drill *d, const struct tally *process, struct found *f,
			   struct err *e)
{
	double all = more_of(process);
	u32 own = drill_own(d);
	char name[120], group[100];
	int i, told = 0, ret = 0;
	s64 pid;

	for (i = 0; i < process->n && told < 3 && ret == 0; i++) {
		pid = process->of[i].key;
		if (pid < 0 || process->of[i].ns <= 0.05 * all)
			continue;
		snprintf(name, sizeof(name), "nobody, it was idle or busy with interrupts");
		group[0] = '\0';
		if (pid > 0) {
			if (pid == own)
				drill_own_text(d, name, sizeof(name));
			else
				process_text(&d->names, pid, name, sizeof(name));
			ret = other_group(d, pid, group, sizeof(group), e);
		}
		if (ret == 0)
			ret = buf_printf(&f->text, e, "%s %s%s%s %.0f %%",
					 told ? "," : "; of this excess the CPU was used by", name,
					 group, pid == own ? " itself" : "",
					 100 * process->of[i].ns / all);
		if (!told++ && pid > 0) {
			snprintf(f->culprit, sizeof(f->culprit), "%s", name);
			f->culprit_id = pid;
			f->part = process->of[i].ns / all;
			f->itself = pid == own;
		} else if (f->itself && pid > 0 && !f->second[0]) {
			/* its own threads queue for what a neighbour leaves them */
			snprintf(f->second, sizeof(f->second), "%.60s%.60s %.0f %%", name, group,
				 100 * process->of[i].ns / all);
		}
	}
	return ret;
}

/* How much of it is guessed because switches between strangers are missing. */
static int read_guessed(struct drill *d, double *ret_share, struct err *e)
{
	sqlite3_stmt *q;
	int ret =
		db_query(&q, d->db, e,
			 "SELECT total(guessed) / max(total(woken + preempted), 1) FROM antagonist"
			 " WHERE pid=?",
			 "i", (s64)drill_own(d));

	*ret_share = 0;
	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0)
		*ret_share = sqlite3_column_double(q, 0);
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

int drill_runq(struct drill *d, struct found *f, struct err *e)
{
	struct queued q = { .d = d };
	struct tally process;
	struct quota quota;
	double all, guessed;
	int ret;

	drill_each(d, CATEGORY_runq, on_queued, &q);
	drill_each_usual(d, CATEGORY_runq, on_queued_usual, &q);
	all = q.woken + q.preempted;
	ret = read_quota(d, &quota, e);
	if (ret == 0)
		ret = read_guessed(d, &guessed, e);
	if (ret < 0)
		return ret;
	if (is_throttled(&q, &quota))
		return say_throttled(d, f, &q, &quota, e);
	by_process(d, &q.who, &process);
	f->label = guessed < GUESSED_MOST ? "OBSERVED" : "OVERLAP";
	f->kind = "antagonist";
	ret = buf_printf(&f->text, e, " (%.0f %% of it after preemption)",
			 all > 0 ? 100 * q.preempted / all : 0);
	if (ret == 0)
		ret = say_antagonists(d, &process, f, e);
	if (ret == 0 && guessed >= GUESSED_MOST)
		ret = buf_printf(
			&f->against, e,
			"for %.0f %% of its waits only the first and the last user of the CPU "
			"are recorded. ",
			100 * guessed);
	return ret;
}
