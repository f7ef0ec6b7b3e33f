// SPDX-License-Identifier: GPL-2.0-or-later
#include "disk_writer.h"

#include "analyze/store/block_ops.h"
#include "analyze/store/db.h"

#define MOSTLY	 0.5
#define KTHREADD 2 /* parent of the kernel's processes */

int disk_writer_read(struct disk_writer *ret, sqlite3 *db, s64 dev, s64 mover, struct err *e)
{
	static const char sql[] =
		"WITH k AS MATERIALIZED (SELECT tid FROM thread WHERE pid IN (SELECT pid FROM process WHERE parent=?3)),"
		" b AS (SELECT total(bytes) FILTER (WHERE op & 255 IN " BLOCK_WRITES
		") AS wrote, total(bytes) AS moved"
		" FROM block_io WHERE dev=?1 AND op & 255 IN " BLOCK_MOVES
		" AND tid IN (SELECT tid FROM k)), d AS (SELECT"
		" ?1 AS dev UNION SELECT m.dev FROM mount m JOIN disk d ON d.dev=?1 WHERE substr(m.source, 1, 5 +"
		" length(d.name))='/dev/' || d.name AND substr(m.source, 6 + length(d.name)) GLOB iif(d.name GLOB"
		" '*[0-9]', 'p[0-9]*', '[0-9]*')), w AS (SELECT pid, sum(write_bytes) AS bytes FROM file_use WHERE dev IN"
		" (SELECT dev FROM d) GROUP BY pid) SELECT w.pid, w.bytes, (SELECT total(bytes) FROM w) FROM w JOIN b"
		" WHERE w.pid > 0 AND (?2=0 OR EXISTS (SELECT 1 FROM process WHERE pid=?2 AND parent=?3)) AND wrote > ?4 *"
		" moved AND w.bytes > ?4 * wrote ORDER BY 2 DESC, 1 LIMIT 1";
	sqlite3_stmt *q;
	int r = db_query(&q, db, e, sql, "iiid", dev, mover, (s64)KTHREADD, MOSTLY);

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
