// SPDX-License-Identifier: GPL-2.0-or-later
#include "request_rows.h"

#include "analyze/base/idmap.h"
#include "analyze/store/db_idmap.h"

struct chosen {
	struct idmap services, awaiting;
	s64 service; /* of the row before, and whether it is one of services */
	bool wanted;
	row_fn fn;
	void *arg;
	s64 paced; /* these are wanted as well */
};

static int take(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct chosen *c = arg;

	if (row->service != c->service) {
		c->service = row->service;
		c->wanted = idmap_get(&c->services, (u64)row->service) != NULL;
	}
	return row->lossy || !c->wanted || (row->paced && row->paced != c->paced) ||
			       (row->name != BULK_NULL && idmap_get(&c->awaiting, (u64)row->name))
		       ? 0
		       : c->fn(c->arg, rowid, row, e);
}

int awaiting_names(struct idmap *ret, sqlite3 *db, struct err *e)
{
	return db_each(db, e, db_idmap, ret,
		       "SELECT id FROM request_name WHERE awaits(protocol, name)", "");
}

int requests_each(sqlite3 *db, u32 set, const char *services, s64 key, row_fn fn, void *arg,
		  struct err *e)
{
	struct chosen c = { .fn = fn,
			    .arg = arg,
			    .service = BULK_NULL,
			    .paced = set & COLUMN_OF(request, paced) ? PACED_REQUEST : 0 };
	int ret = db_each(db, e, db_idmap, &c.services, services, "i", key);

	if (ret == 0)
		ret = awaiting_names(&c.awaiting, db, e);
	if (ret == 0)
		ret = rows_each(db, TABLE_request,
				set | COLUMN_OF(request, ts) | COLUMN_OF(request, dur) |
					COLUMN_OF(request, queued) | COLUMN_OF(request, service) |
					COLUMN_OF(request, name) | COLUMN_OF(request, lossy) |
					COLUMN_OF(request, paced),
				take, &c, e);
	idmap_free(&c.services);
	idmap_free(&c.awaiting);
	return ret;
}
