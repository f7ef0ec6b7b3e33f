/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers of texts: each text is written once, and named by its number. */
#pragma once

#include "analyze/base/idmap.h"

#include <stdbool.h>

/* Zeroed it has none. */
struct text_ids {
	struct idmap index;
	u32 n;
	u64 bytes;
};

/* The text's number, from 1, made if need be; 0: there are 200000 or 64 MiB of others. */
int text_ids_get(struct text_ids *t, const char *text, u32 *ret_id, bool *ret_new, struct err *e);

void text_ids_free(struct text_ids *t);
