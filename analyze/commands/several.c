// SPDX-License-Identifier: GPL-2.0-or-later
/* Merging for a command that reads several recordings. */
#include "several.h"

#include "analyze/base/newfile.h"
#include "analyze/base/outfile.h"
#include "analyze/store/columns/columns.h"
#include "cache.h"

#include <unistd.h>

static int load(sqlite3 *db, struct reader *r, const struct asked *a, struct err *e)
{
	struct asked all = *a;
	struct progress p;
	int ret = columns_use(db, e);

	all.filter = (struct filter){ .cpus = a->filter.cpus }; /* it was applied to each of them */
	progress_start(&p, "loading", "records");
	if (ret == 0)
		ret = cache_load(db, r, &all, &p, e);
	progress_end(&p);
	sqlite3_progress_handler(db, 0, NULL, NULL);
	return ret;
}

int several_open(sqlite3 **ret, char **paths, int n, const struct asked *a,
		 const char **ret_damaged, struct err *e)
{
	struct reader *r = NULL;
	sqlite3 *db = NULL;
	int i, got, fd = outfile_nameless(e);

	if (fd < 0)
		return ERR_FAIL;
	for (i = 0; i < n; i++)
		newfile_guard(paths[i]);
	got = merge_files(fd, paths, n, &a->filter, ret_damaged, e);
	if (got < 0)
		close(fd);
	if (got == 0)
		got = reader_open_fd(&r, fd, e);
	if (got == 0)
		got = db_open(&db, NULL, true, e);
	if (got == 0)
		got = load(db, r, a, e);
	reader_free(r);
	if (got == 0)
		*ret = db;
	else
		db_close(db);
	return got;
}
