// SPDX-License-Identifier: GPL-2.0-or-later
#include "past.h"

#include "track_states.h"

#include <stdlib.h>
#include <string.h>

#define PAST_MAX 128 /* intervals: enough to know its clocks a while ago */

struct past {
	u32 n; /* ever added */
	struct past_span {
		u64 end;
		u64 dur;
		enum state state;
	} span[PAST_MAX];
};

int past_remember(struct thread *t, struct err *e)
{
	struct sleeping *s = sleeping_of(t);

	if (!s->past && !(s->past = calloc(1, sizeof(*s->past))))
		return err_set(e, ERR_FAIL, "out of memory for turns");
	return 0;
}

void past_add(struct thread *t, enum state state, u64 from, u64 to)
{
	struct past *p = sleeping_of(t)->past;

	if (p)
		p->span[p->n++ % PAST_MAX] = (struct past_span){ to, to - from, state };
}

void past_since(const struct thread *t, u64 since, u64 now, u64 spent[N_STATES])
{
	const struct past *p = sleeping_of(t)->past;
	u64 oldest = now, off = 0, begin;
	u32 k;
	int i;

	memset(spent, 0, N_STATES * sizeof(*spent));
	/* not in order: a sleep is added when the call around it has returned */
	for (k = 0; p && k < p->n && k < PAST_MAX; k++) {
		const struct past_span *s = &p->span[k];

		begin = elapsed(s->dur, s->end);
		oldest = begin < oldest ? begin : oldest;
		spent[s->state] += elapsed(begin > since ? begin : since, s->end);
	}
	if (oldest > since && p && p->n > PAST_MAX)
		spent[STATE_unknown] += oldest - since;
	for (i = 0; i < N_STATES; i++)
		off += i == STATE_run ? 0 : spent[i];
	spent[STATE_run] = elapsed(off, elapsed(since, now)); /* the present run is no span yet */
}
