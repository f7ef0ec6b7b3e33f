// SPDX-License-Identifier: GPL-2.0-or-later
#include "past.h"

#include "analyze/base/limits.h"
#include "track_states.h"

#include <stdlib.h>
#include <string.h>

#define PAST_DISORDER 16 /* an interval is added after so many later ones, at most */
#define PAST_LEAST    64 /* intervals; powers of two */
#define PAST_MAX      8192
#define PAST_WANTED   10000000000ull /* ns: younger intervals are kept as long as there is room */

/* Intervals off the CPU: the time between them, and since the beginning, is time on a CPU. */
struct past {
	u64 since; /* nothing is known before */
	bool grows;
	u32 n; /* ever added */
	u32 max;
	struct past_span {
		u64 end;
		u64 dur;
		enum state state;
	} * span;
};

/* NULL: out of memory. */
static struct past *past_new(u64 since)
{
	struct past *p = calloc(1, sizeof(*p));

	if (p)
		p->span = calloc(PAST_LEAST, sizeof(*p->span));
	if (!p || !p->span) {
		free(p);
		return NULL;
	}
	p->since = since;
	p->max = PAST_LEAST;
	return p;
}

int past_remember(struct thread *t, u64 since, struct err *e)
{
	struct sleeping *s = sleeping_of(t);

	if (!s->past && !(s->past = past_new(since)))
		return err_set(e, ERR_FAIL, "out of memory for requests");
	s->past->grows = true;
	return 0;
}

/* Twice as many; without memory for them older times become unknown. */
static void grow(struct past *p, u32 *extra)
{
	struct past_span *grown;
	u32 i;

	if (!p->grows || p->max >= PAST_MAX || *extra + p->max > PAST_TOTAL)
		return;
	grown = calloc(2 * p->max, sizeof(*grown));
	if (!grown)
		return;
	for (i = p->n - p->max; i != p->n; i++)
		grown[i % (2 * p->max)] = p->span[i % p->max];
	free(p->span);
	p->span = grown;
	*extra += p->max;
	p->max *= 2;
}

void past_add(struct thread *t, enum state state, u64 from, u64 to, u32 *extra)
{
	struct sleeping *s = sleeping_of(t);
	struct past *p = s->past;

	if (!p && t->process->serves) /* without memory for it, it stays unknown */
		p = s->past = past_new(from);
	if (!p || to < p->since)
		return; /* a sleep before an interval that was not kept */
	p->since = from < p->since ? from : p->since;
	if (state == STATE_run)
		return;
	if (p->n >= p->max && elapsed(p->span[p->n % p->max].end, to) < PAST_WANTED)
		grow(p, extra);
	p->span[p->n++ % p->max] = (struct past_span){ to, to - from, state };
}

void past_free(struct past *p)
{
	if (p)
		free(p->span);
	free(p);
}

void past_since(const struct thread *t, u64 since, u64 now, u64 spent[N_STATES])
{
	const struct past *p = sleeping_of(t)->past;
	u64 oldest = now, off = 0, begin, known = p ? p->since : now;
	u32 k, older = 0;
	int i;

	memset(spent, 0, N_STATES * sizeof(*spent));
	/* the latest first, but not in order: a sleep is added when its call has returned */
	for (k = 0; p && k < p->n && k < p->max; k++) {
		const struct past_span *s = &p->span[(p->n - 1 - k) % p->max];

		begin = elapsed(s->dur, s->end);
		oldest = begin < oldest ? begin : oldest;
		older = s->end <= since ? older + 1 : 0;
		if (older > PAST_DISORDER)
			break;
		spent[s->state] += elapsed(begin > since ? begin : since, s->end);
	}
	if (p && p->n > p->max)
		known = oldest > known ? oldest : known;
	spent[STATE_unknown] += elapsed(since, known);
	for (i = 0; i < N_STATES; i++)
		off += spent[i];
	spent[STATE_run] = elapsed(off, elapsed(since, now));
}
