// SPDX-License-Identifier: GPL-2.0-or-later
/* One recording, measured: facts, then the parts in their files. */
#include "compare_functions.h"
#include "compare_pauses.h"

#include "analyze/store/fact.h"
#include "format/escape.h"

#include <stdlib.h>
#include <string.h>

/* Where the facts come from; one row, one column. */
static const char *const fact_sql[N_COMPARE_FACTS] = {
	[FACT_groups] = "SELECT value FROM recording WHERE key='groups'",
	[FACT_functions] =
		"SELECT group_concat(function, ', ') FROM (SELECT DISTINCT function FROM site"
		" ORDER BY function)",
	[FACT_machine] = "SELECT value FROM recording WHERE key='machine'",
	[FACT_cpus] = "SELECT value FROM recording WHERE key='cpus'",
	[FACT_targets] =
		"SELECT CASE value WHEN 'all' THEN 'all processes' ELSE 'chosen processes' END"
		" FROM recording WHERE key='targets'",
	[FACT_kernel] = "SELECT value FROM recording WHERE key='kernel'",
	[FACT_host] = "SELECT value FROM recording WHERE key='host'",
	[FACT_obsrec] = "SELECT value FROM recording WHERE key='obsrec'",
	[FACT_uuid] =
		"SELECT max(value) FILTER (WHERE key='uuid') || ' ' || max(value) FILTER"
		" (WHERE key='duration_ns') || ' ' || max(value) FILTER (WHERE key='file_bytes')"
		" FROM recording",
};

static int read_facts(struct measured *m, sqlite3 *db, struct err *e)
{
	struct buf text = { 0 };
	int i, ret = 0;

	for (i = 0; i < N_COMPARE_FACTS && ret == 0; i++) {
		sqlite3_stmt *q;
		const char *value;

		ret = db_query(&q, db, e, fact_sql[i], "");
		if (ret < 0)
			break;
		ret = db_step(q, e);
		value = ret > 0 ? db_text(q, 0) : NULL;
		buf_clear(&text);
		ret = ret < 0 ? ret
			      : escape_add(&text, ESCAPE_TEXT, value ? value : "",
					   value ? strlen(value) : 0, e);
		sqlite3_finalize(q);
		m->facts[i] = strdup(text.len ? text.data : "");
		if (ret == 0 && !m->facts[i])
			ret = err_set(e, ERR_FAIL, "out of memory for facts");
	}
	buf_free(&text);
	return ret;
}

static int read_extent(struct measured *m, sqlite3 *db, struct err *e)
{
	s64 seen = 0, lost = 0, all = 0;
	int ret = db_int(db, &m->duration, e, "SELECT value FROM recording WHERE key='duration_ns'",
			 "");

	if (ret == 0)
		ret = db_int(db, &seen, e, "SELECT sum(records) FROM coverage", "");
	if (ret == 0)
		ret = db_int(db, &lost, e, "SELECT sum(lost) FROM coverage", "");
	if (ret == 0)
		ret = fact_whole(db, e);
	if (ret >= 0 &&
	    db_int(db, &all, e, "SELECT value='all' FROM recording WHERE key='targets'", "") < 0)
		ret = ERR_FAIL;
	m->chosen = !all;
	m->seen = seen;
	m->lost = lost;
	m->complete = ret == 1;
	return ret < 0 ? ret : 0;
}

int compare_read(struct measured *m, const char *path, sqlite3 *db, struct err *e)
{
	int ret;

	*m = (struct measured){ .path = path };
	ret = read_facts(m, db, e);
	if (ret == 0)
		ret = read_extent(m, db, e);
	if (ret == 0 && m->duration <= 0)
		ret = err_set(e, ERR_FAIL, "%.200s is empty", path);
	if (ret == 0)
		ret = compare_latencies(m, db, e);
	if (ret == 0)
		ret = compare_requests(m, db, e);
	if (ret == 0)
		ret = compare_splits(m, db, e);
	if (ret == 0)
		ret = compare_bins(m, db, e);
	if (ret == 0)
		ret = compare_functions(m, db, e);
	if (ret == 0)
		ret = compare_pauses(m, db, e);
	if (ret < 0)
		compare_free(m);
	return ret;
}

void compare_free(struct measured *m)
{
	size_t i;

	for (i = 0; i < N_COMPARE_FACTS; i++)
		free(m->facts[i]);
	for (i = 0; i < m->n_shapes; i++)
		free(m->shapes[i].boot);
	free(m->samples);
	free(m->shapes);
	free(m->splits);
	compare_functions_free(m->profiles);
	compare_pauses_free(m->pauses);
	*m = (struct measured){ 0 };
}
