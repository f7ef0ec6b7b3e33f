/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the exchange that is open on a connection holds. */
#pragma once

#include "analyze/replay/io/descriptors.h"
#include "format/protocols.h"
#include "name_stats.h"

#include <stdlib.h>

#define PARTS_MAX 8 /* names within one exchange whose time is known */

struct held {
	struct part {
		struct name_stat *stat;
		u32 n;
		u64 arrival; /* 0: not known */
	} parts[PARTS_MAX];
	u32 n_parts, name, errors;
	u64 total;
};

static inline struct held *held_of(struct file *f, struct err *e)
{
	if (!f->held && !(f->held = calloc(1, sizeof(*f->held))))
		err_set(e, ERR_FAIL, "out of memory for requests");
	return f->held;
}

/*
 * Whether what a send begins with is the rest of one answer: a later send to the only request. A
 * line of redis or memcached in it is data, whatever it looks like.
 */
static inline bool is_rest(const struct file *f, u8 protocol)
{
	return (protocol == PROTOCOL_REDIS || protocol == PROTOCOL_MEMCACHED) && f->held &&
	       f->held->total == 1 && f->request.sends > 1;
}
