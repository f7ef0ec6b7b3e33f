/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The states of threads and the kinds of series, as columns of the tables number them. */
#pragma once

enum state {
#define STATE(id, name, ...) STATE_##name = (id),
#include "waits.def"
#undef STATE
	N_STATES
};

/* What a thread does in a state, for readers. */
extern const char *const state_labels[N_STATES];

/* What series count: see series.def. */
enum series_kind {
	SERIES_none,
#define SERIES(id, name, waits, doc) SERIES_##name = (id),
#include "series.def"
#undef SERIES
};
