// SPDX-License-Identifier: GPL-2.0-or-later
/* Records that obsrec makes itself. */
#include "records.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

u64 records_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

int records_put(struct pump *p, void *record, size_t fixed, const char *text, struct err *e)
{
	u64 whole[EV_SIZE_MAX / 8];
	struct ev_header *h = (struct ev_header *)whole;
	size_t n = text ? strlen(text) : 0;

	if (n > EV_SIZE_MAX - fixed - 8)
		n = EV_SIZE_MAX - fixed - 8;
	memset(whole, 0, (fixed + n + 7) & ~(size_t)7);
	memcpy(whole, record, fixed);
	if (n)
		memcpy((char *)whole + fixed, text, n);
	h->ts = h->ts ? h->ts : records_now();
	h->size = (fixed + n + 7) & ~(size_t)7;
	return pump_record(p, whole, e);
}

int records_info(struct pump *p, struct err *e, const char *fmt, ...)
{
	struct ev_info ev = { .h = { .type = EV_info } };
	char text[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return records_put(p, &ev, sizeof(ev), text, e);
}
