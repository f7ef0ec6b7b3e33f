/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the time of a unit is spent on, as a cause: groups of states. */
#pragma once

#include "spans.h"

/* Time of a unit: the states of its thread; of `run`, what went to earlier requests is its own. */
enum { SPENT_queue = N_SPAN_STATES, N_SPENT };

enum category {
#define BAND(...)
#define CATEGORY(name, band, part, label, says) CATEGORY_##name,
#include "analyze/store/categories.def"
#undef CATEGORY
#undef BAND
	N_CATEGORIES
};

extern const char *const category_names[N_CATEGORIES];
extern const char *const category_says[N_CATEGORIES];

/* Names of states, as in table state. */
extern const char *const state_names[N_SPAN_STATES];

/* spent: a state, or SPENT_queue. */
enum category category_of(u8 spent);

/* What many threads share, so that waiting for another thread can be waiting for it. */
bool category_is_shared(enum category cat);
