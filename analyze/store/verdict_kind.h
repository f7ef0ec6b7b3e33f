/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a verdict is about: column verdict.kind. */
#pragma once

enum verdict_kind {
	VERDICT_none, /* nothing: healthy, or it was never judged */
#define VERDICT(name, more) VERDICT_##name,
#include "verdicts.def"
#undef VERDICT
	N_VERDICTS
};

struct verdict_row {
	const char *name;
	const char *more; /* the analysis that shows more of it */
};

extern const struct verdict_row verdict_kinds[N_VERDICTS];

/* The kind of that name; VERDICT_none if there is none. */
enum verdict_kind verdict_kind_of(const char *name);
