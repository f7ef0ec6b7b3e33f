/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of each fact of a recording (facts.def). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum fact_redact { FACT_WORD, FACT_PLAIN };
enum fact_merge { MERGE_COPY, MERGE_RESTATED, MERGE_FRAME, MERGE_NUMBERED };
enum fact_cut { CUT_COPY, CUT_FROM, CUT_TO, CUT_CHOICE, CUT_DROPPED };

struct fact_desc {
	const char *key;
	enum fact_redact redact;
	enum fact_merge merge;
	enum fact_cut cut;
	bool shown;
	const char *doc;
};

/* The row of "key=value", or of a key alone, of n bytes; of a key that has none a row of defaults.
 */
const struct fact_desc *fact_find(const char *text, size_t n);
