// SPDX-License-Identifier: GPL-2.0-or-later
#include "counted.h"

u32 counted_on(const struct record *rec)
{
	if (rec->stream == STREAM_RECORDER && rec->event && rec->type == EV_sample)
		return ((const struct ev_sample *)rec->event)->cpu;
	if (rec->stream == STREAM_RECORDER && rec->event && rec->type == EV_offcpu)
		return ((const struct ev_offcpu *)rec->event)->cpu;
	return rec->stream;
}
