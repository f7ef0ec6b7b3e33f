// SPDX-License-Identifier: GPL-2.0-or-later
/* States as categories. */
#include "category.h"

const char *const category_names[N_CATEGORIES] = {
#define CATEGORY(name, says) [CATEGORY_##name] = #name,
#include "analyze/store/categories.def"
#undef CATEGORY
};

const char *const category_says[N_CATEGORIES] = {
#define CATEGORY(name, says) [CATEGORY_##name] = says,
#include "analyze/store/categories.def"
#undef CATEGORY
};

const char *const state_names[N_SPAN_STATES] = {
#define STATE(id, name, off, doc) [id] = #name,
#include "analyze/store/waits.def"
#undef STATE
};

enum category category_of(u8 spent)
{
	static const enum category of[N_SPENT] = {
		[SPAN_run] = CATEGORY_cpu,	   [SPAN_woken] = CATEGORY_runq,
		[SPAN_preempted] = CATEGORY_runq,  [SPAN_futex] = CATEGORY_futex,
		[SPAN_poll] = CATEGORY_poll,	   [SPAN_socket] = CATEGORY_server,
		[SPAN_client] = CATEGORY_client,   [SPAN_pipe] = CATEGORY_pipe,
		[SPAN_disk] = CATEGORY_disk,	   [SPAN_blocked] = CATEGORY_blocked,
		[SPAN_timer] = CATEGORY_timer,	   [SPAN_child] = CATEGORY_child,
		[SPAN_lock] = CATEGORY_filelock,   [SPAN_other] = CATEGORY_other,
		[SPAN_stopped] = CATEGORY_stopped, [SPAN_unknown] = CATEGORY_unknown,
		[SPENT_behind] = CATEGORY_behind,
	};

	return of[spent < N_SPENT ? spent : SPAN_unknown];
}

bool category_is_shared(enum category cat)
{
	return cat == CATEGORY_disk || cat == CATEGORY_runq || cat == CATEGORY_client;
}
