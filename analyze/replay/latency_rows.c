// SPDX-License-Identifier: GPL-2.0-or-later
/* Histograms as rows. */
#include "latency_rows.h"

struct latency_arg {
	struct replay *r;
	const char *kind;
	u64 subject, item;
	struct err *e;
	int ret;
};

static void latency_row(void *arg, u64 low, u64 high, u64 n)
{
	struct latency_arg *a = arg;

	if (a->ret == 0)
		a->ret = row_put(a->r->db, latency, a->e, .kind = a->kind, .subject = a->subject,
				 .item = a->item, .low = low & INT64_MAX, .high = high & INT64_MAX,
				 .n = n);
}

int latency_rows(struct replay *r, const char *kind, u64 subject, u64 item, const struct hist *h,
		 struct err *e)
{
	struct latency_arg a = { r, kind, subject, item, e, 0 };

	hist_each(h, latency_row, &a);
	return a.ret;
}
