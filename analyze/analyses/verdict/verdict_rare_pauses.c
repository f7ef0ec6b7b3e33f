// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pauses that are rare where others are usual: as next to consumers, which wait for what others
 * produce, and for random times. One is rare if a request waited for most of it on a connection on
 * which nearly all took a small part of that, as those of a producer do. Names are judged by
 * verdict_by_name.c.
 */
#include "verdict_pauses.h"

#include "analyze/base/idmap.h"
#include "analyze/base/limits.h"
#include "analyze/store/request_rows.h"
#include "analyze/store/row_types.h"

#define MOSTLY	   0.5 /* of a pause */
#define NEARLY_ALL 0.9 /* of the requests of a connection; of up to 10 it is the longest */
#define FAR	   10  /* times what these took at most */

struct rare {
	struct judged *j;
	const struct limits *l;
	struct idmap connections; /* pid and descriptor -> struct hist */
	bool judging;		  /* the second pass */
};

/* Pauses that a request waited in for most of them. */
static void mark(struct rare *x, const struct hist *h, double from, double to)
{
	double usual = verdict_quantile(h, NEARLY_ALL);
	int i = verdict_pause_after(x->j, (s64)from);

	for (; i < x->j->whole && (double)x->j->pauses[i].start < to; i++) {
		struct judged_pause *p = &x->j->pauses[i];
		double start = fmax((double)p->start, from), end = fmin((double)p->end, to);

		p->rare |= end - start >= MOSTLY * (double)(p->end - p->start) &&
			   (double)(p->end - p->start) >= x->l->pause && to - from >= FAR * usual;
	}
}

static int on_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	u64 key = (u64)row->pid << 32 | (u32)row->fd;
	s64 from = row->ts - row->queued, to = row->ts + row->dur;
	struct rare *x = arg;
	struct hist *h = idmap_get(&x->connections, key);

	(void)rowid;
	if (!h)
		h = idmap_add(&x->connections, key, sizeof(*h), SOCKET_LIMIT, "connections", e);
	if (!h)
		return ERR_FAIL;
	if (x->judging)
		mark(x, h, (double)from, (double)to);
	else
		hist_add(h, to > from ? (u64)(to - from) : 0);
	return 0;
}

int verdict_rare_pauses(struct analysis_ctx *c, struct judged *j, const struct limits *l,
			struct err *e)
{
	struct rare x = { .j = j, .l = l };
	struct hist *h;
	size_t at = 0;
	int ret = 0, pass;

	for (pass = 0; pass < 2 && ret >= 0 && (double)j->pause_max >= l->pause; pass++) {
		x.judging = pass;
		ret = requests_each(c->db, COLUMN_OF(request, pid) | COLUMN_OF(request, fd),
				    "SELECT id FROM service WHERE server=?1", j->about.id,
				    on_request, &x, e);
	}
	while ((h = idmap_each(&x.connections, &at)))
		hist_free(h);
	idmap_free_all(&x.connections);
	return ret < 0 ? ret : 0;
}
