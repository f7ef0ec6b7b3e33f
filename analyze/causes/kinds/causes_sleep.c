// SPDX-License-Identifier: GPL-2.0-or-later
/* Futexes, and all other sleeps: the thread that ended them. */
#include "analyze/causes/causes.h"

#define MOSTLY	     0.5  /* of a time */
#define NOTABLE	     0.25 /* of the time: a thread that ended less of it is not named */
#define FUTEXES_READ 16

struct futexes_seen {
	s64 id;		   /* of the one with most waiting */
	double contention; /* share of the waiting on futexes used like locks */
	double observed; /* share of their releases that were seen in a call on the same address */
};

/* Classes of the futexes, weighted by the waiting on them. */
static int read_futexes(struct samples *d, const struct tally *objects,
			struct futexes_seen *ret_seen, struct err *e)
{
	double all = 0;
	sqlite3_stmt *q;
	size_t i;
	int ret = 0;

	*ret_seen = (struct futexes_seen){ .id = objects->n ? objects->of[0].key : -1 };
	for (i = 0; i < objects->n && i < FUTEXES_READ && ret >= 0; i++) {
		ret = db_query(&q, d->db, e,
			       "SELECT f.class='contention', (SELECT total(observed) /"
			       " max(total(n), 1) FROM futex_release WHERE futex=f.id) FROM futex f"
			       " WHERE f.id=?",
			       "i", objects->of[i].key);
		if (ret < 0)
			break;
		ret = db_step(q, e);
		if (ret > 0) {
			all += objects->of[i].sum;
			ret_seen->contention += objects->of[i].sum * sqlite3_column_int(q, 0);
			ret_seen->observed += objects->of[i].sum * sqlite3_column_double(q, 1);
		}
		sqlite3_finalize(q);
	}
	if (all > 0) {
		ret_seen->contention /= all;
		ret_seen->observed /= all;
	}
	return ret < 0 ? ret : 0;
}

/* The thread that ended most of the sleeps, if that is much. */
static void name_waker(struct slept *s, struct cause *c)
{
	u32 waker = slept_waker(s);

	if (!waker)
		return;
	c->part = s->wakers.of[0].sum / s->objects.total;
	if (c->part >= NOTABLE)
		c->offender = c->waker = (struct subject){ SUBJECT_thread, waker };
}

/* The thread that held the locks when most of the waits began. */
static void name_holder(struct slept *s, struct cause *c)
{
	double all = s->objects.total;

	if (!s->holders.n || s->holders.of[0].sum < NOTABLE * all)
		return;
	c->part = s->holders.of[0].sum / all;
	c->offender = c->holder = (struct subject){ SUBJECT_thread, s->holders.of[0].key };
	c->evidence = OBSERVED;
}

int cause_futex(struct samples *d, struct cause *c, struct err *e)
{
	struct futexes_seen seen;
	struct slept s;
	bool locks;
	int ret;

	slept_follow(&s, d, CATEGORY_futex, NULL);
	ret = read_futexes(d, &s.objects, &seen, e);
	locks = seen.contention >= MOSTLY || s.holders.total >= MOSTLY * s.objects.total;
	c->kind = locks ? "lock" : "handoff";
	c->finding = locks ? FINDING_cause_lock : FINDING_cause_handoff;
	c->evidence = seen.observed >= MOSTLY ? OBSERVED : slept_waker(&s) ? CAUSAL : OVERLAP;
	if (seen.id >= 0)
		c->object = (struct subject){ SUBJECT_futex, seen.id };
	name_waker(&s, c);
	if (locks)
		name_holder(&s, c);
	if (s.objects.n > 1)
		CAUSE_VALUE(c, VALUE_NUMBER, "futexes", s.objects.n, "");
	if (ret == 0)
		ret = slept_end(&s, c, e);
	slept_free(&s);
	return ret;
}

int cause_sleep(struct samples *d, struct cause *c, struct err *e)
{
	struct slept s;
	int ret;

	slept_follow(&s, d, c->category, NULL);
	c->kind = category_names[c->category];
	c->evidence = slept_waker(&s) ? CAUSAL : OBSERVED;
	if (slept_waker(&s) && s.wakers.of[0].sum >= s.interrupts)
		name_waker(&s, c);
	else if (s.interrupts > 0)
		CAUSE_VALUE(c, VALUE_NUMBER, "interrupts", 100 * s.interrupts / s.objects.total,
			    "%");
	ret = slept_end(&s, c, e);
	slept_free(&s);
	return ret < 0 || c->category != CATEGORY_poll ? ret : cause_release(d, c, e);
}
