// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A call on a file of FUSE sleeps until a process of user space, the daemon of the file system, has
 * answered: it is that one that wakes it. Calls on other files wait for a disk or for a lock, which
 * are states of their own.
 */
#include "pause_root.h"

#define IS_FUSE "(type='fuse' OR type='fuseblk' OR type LIKE 'fuse.%')"

/* Calls on a file whose name is not recorded: they are of that file system if its daemon woke them.
 */
#define NAMELESS                                                                                     \
	"('stat', 'lstat', 'fstat', 'newfstatat', 'statx', 'access', 'faccessat', 'faccessat2',"     \
	" 'readlink', 'readlinkat', 'getxattr', 'lgetxattr', 'open', 'openat', 'openat2', 'statfs'," \
	" 'close')"

int pause_file(struct pause_root *r, sqlite3 *db, s64 tid, s64 from, s64 to, struct err *e)
{
	static const char sql[] =
		"WITH w AS MATERIALIZED (SELECT ts, dur, waker, min(ts + dur, ?3) - max(ts, ?2) AS ns FROM"
		" thread_state WHERE tid=?1 AND state=state_id('other') AND ts < ?3 AND ts + dur > ?2), c AS"
		" MATERIALIZED (SELECT w.waker, w.ns, n.name AS call, coalesce((SELECT p.path FROM file_open o JOIN"
		" file_path p ON p.id=o.path WHERE o.tid=?1 AND o.ts BETWEEN s.ts AND s.ts + s.dur ORDER BY o.ts"
		" LIMIT 1), (SELECT d.path FROM fd d WHERE d.kind IN ('file', 'directory') AND d.pid=(SELECT pid FROM"
		" thread WHERE tid=?1 LIMIT 1) AND d.fd=s.fd AND d.ts <= w.ts ORDER BY d.ts DESC LIMIT 1)) AS path"
		" FROM w JOIN syscall s ON s.tid=?1 AND s.ts <= w.ts AND s.ts + s.dur >= w.ts + w.dur JOIN syscall_name"
		" n USING(abi, nr)), f AS MATERIALIZED (SELECT c.*, (SELECT iif(" IS_FUSE
		", type || ' ' || target, NULL) FROM mount WHERE target='/' OR path=target OR substr(path, 1,"
		" length(target) + 1)=target || '/' ORDER BY length(target) DESC, mount.rowid DESC LIMIT 1) AS"
		" mounted FROM c), a AS MATERIALIZED (SELECT * FROM f WHERE mounted NOT NULL OR (path IS NULL AND call IN"
		" " NAMELESS
		" AND waker > 0 AND waker IN (SELECT waker FROM f WHERE mounted NOT NULL))), k AS"
		" (SELECT path, mounted FROM a WHERE path NOT NULL GROUP BY 1 ORDER BY sum(ns) DESC, path LIMIT 1)"
		" SELECT (SELECT group_concat(call, ', ') FROM (SELECT call FROM a GROUP BY 1 HAVING 10 * sum(ns) > ?3"
		" - ?2 ORDER BY sum(ns) DESC, call)), path, mounted FROM k WHERE 2 * (SELECT sum(ns) FROM a) > ?3 -"
		" ?2";
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, sql, "iii", tid, from, to);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0 && sqlite3_column_type(q, 0) != SQLITE_NULL) {
		r->wait = "waiting for the daemon of a FUSE file system";
		ret = buf_printf(&r->calls, e, "%s", db_text(q, 0));
		if (ret >= 0)
			ret = buf_printf(&r->file, e, "%s", db_text(q, 1));
		if (ret >= 0)
			ret = buf_printf(&r->filesystem, e, "%s", db_text(q, 2));
	}
	return db_end(q, ret);
}
