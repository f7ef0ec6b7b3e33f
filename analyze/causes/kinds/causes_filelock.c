// SPDX-License-Identifier: GPL-2.0-or-later
/* Waits for the lock of a file, by trying again: the file, and the holder. */
#include "analyze/analyses/waits/file_locks.h"
#include "analyze/causes/causes.h"

#include <stdio.h>

static bool in_slow(const void *arg, s64 tid, s64 ts)
{
	const struct samples *d = arg;
	size_t i;

	for (i = 0; i < d->n; i++)
		if (d->slow[i].tid == (u32)tid && ts >= d->slow[i].ts &&
		    ts < d->slow[i].ts + d->slow[i].dur)
			return true;
	return false;
}

int cause_filelock(struct samples *d, struct cause *c, struct err *e)
{
	struct file_lock l = { .tries = 0 };
	const struct file_lock_ask ask = { .counts = in_slow, .arg = d };
	int ret = file_lock_find(d->db, &ask, &l, e);

	if (ret == 0 && l.tries > 0)
		CAUSE_VALUE(c, VALUE_NUMBER, "tries", l.tries, "");
	if (ret == 0 && l.path.len) {
		snprintf(c->file, sizeof(c->file), "%s", l.path.data);
		CAUSE_VALUE(c, VALUE_TEXT, "path", c->file);
	}
	if (ret == 0 && l.holder) {
		c->offender = c->holder = (struct subject){ SUBJECT_thread, l.holder };
		c->part = l.held;
	}
	buf_free(&l.path);
	return ret;
}
