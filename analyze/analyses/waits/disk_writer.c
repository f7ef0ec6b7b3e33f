// SPDX-License-Identifier: GPL-2.0-or-later
#include "disk_writer.h"

#include "analyze/store/db.h"

#define MOSTLY	 0.5
#define KTHREADD 2 /* parent of the kernel's processes */

int disk_writer_read(struct disk_writer *ret, sqlite3 *db, s64 dev, s64 mover, struct err *e)
{
	static const char sql[] =
		"WITH d AS (SELECT ?1 AS dev UNION SELECT m.dev FROM mount m JOIN disk d ON d.dev=?1"
		" WHERE m.source LIKE '/dev/' || d.name || '%' AND substr(m.source, 6 + length(d.name)) GLOB '[0-9p]*'),"
		" w AS (SELECT pid, sum(write_bytes) AS bytes FROM file_use WHERE dev IN (SELECT dev FROM d) GROUP BY"
		" pid) SELECT pid, bytes, (SELECT total(bytes) FROM w) FROM w WHERE pid > 0 AND (?2=0 OR EXISTS (SELECT 1"
		" FROM process WHERE pid=?2 AND parent=?3)) ORDER BY 2 DESC, 1 LIMIT 1";
	sqlite3_stmt *q;
	int r = db_query(&q, db, e, sql, "iii", dev, mover, (s64)KTHREADD);

	*ret = (struct disk_writer){ 0 };
	if (r < 0)
		return r;
	r = db_step(q, e);
	if (r > 0 && sqlite3_column_double(q, 1) > MOSTLY * sqlite3_column_double(q, 2))
		*ret = (struct disk_writer){ sqlite3_column_int64(q, 0),
					     sqlite3_column_double(q, 1),
					     sqlite3_column_double(q, 2) };
	return db_end(q, r);
}
