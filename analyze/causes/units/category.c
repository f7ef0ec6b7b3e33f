// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * States as categories: what a state is spent on, as waits.def has it. That a sleep is a wait of
 * a disk, a lock or a peer is decided before, in reason() of replay/tasks/track_states.c.
 */
#include "category.h"

const char *const category_names[N_CATEGORIES] = {
#define BAND(...)
#define CATEGORY(name, band, part, label, says) [CATEGORY_##name] = #name,
#include "analyze/store/categories.def"
#undef CATEGORY
#undef BAND
};

const char *const category_says[N_CATEGORIES] = {
#define BAND(...)
#define CATEGORY(name, band, part, label, says) [CATEGORY_##name] = says,
#include "analyze/store/categories.def"
#undef CATEGORY
#undef BAND
};

const char *const state_names[N_SPAN_STATES] = {
#define STATE(id, name, ...) [id] = #name,
#include "analyze/store/waits.def"
#undef STATE
};

enum category category_of(u8 spent)
{
	static const enum category of[N_SPENT] = {
#define STATE(id, name, off, category, series, label, does, doc) [id] = CATEGORY_##category,
#include "analyze/store/waits.def"
#undef STATE
		[SPENT_queue] = CATEGORY_queue,
	};

	return of[spent < N_SPENT ? spent : SPAN_unknown];
}

bool category_is_shared(enum category cat)
{
	return cat == CATEGORY_disk || cat == CATEGORY_runq || cat == CATEGORY_client;
}
