// SPDX-License-Identifier: GPL-2.0-or-later
#include "verdict_place.h"

#include "analyze/store/db.h"

#include <string.h>

#define MUCH 0.25 /* of the bytes that were written to all files there */

static int read_path(struct buf *out, sqlite3 *db, const struct failed_call *k, struct err *e)
{
	static const char opened[] =
		"SELECT path FROM file_path WHERE id=coalesce((SELECT path FROM file_open WHERE tid=?1 AND ts=?2),"
		" (SELECT path FROM file_change WHERE tid=?1 AND ts=?2))";
	static const char of_fd[] =
		"SELECT path FROM fd WHERE pid=(SELECT pid FROM thread WHERE tid=?1 LIMIT 1) AND fd=?3 AND ts <= ?2"
		" AND kind IN ('file', 'directory') AND path<>'' ORDER BY ts DESC LIMIT 1";
	int ret = db_add_text(out, db, e, opened, "ii", k->tid, k->ts);

	return ret < 0 || out->len || k->fd < 0
		       ? ret
		       : db_add_text(out, db, e, of_fd, "iii", k->tid, k->ts, k->fd);
}

/* The device of the file; of one that could not be opened, by its path. 0: not known. */
static int read_dev(sqlite3 *db, const struct failed_call *k, const char *path, s64 *ret_dev,
		    struct err *e)
{
	static const char of_fd[] =
		"SELECT dev FROM fd WHERE pid=(SELECT pid FROM thread WHERE tid=?1 LIMIT 1) AND fd=?3 AND ts <= ?2"
		" AND kind='file' ORDER BY ts DESC LIMIT 1";
	static const char by_path[] =
		"SELECT dev FROM mount WHERE target='/' OR ?1=target OR substr(?1, 1, length(target) + 1)=target ||"
		" '/' ORDER BY length(target) DESC LIMIT 1";
	int ret = 0;

	*ret_dev = 0;
	if (k->fd >= 0)
		ret = db_int(db, ret_dev, e, of_fd, "iii", k->tid, k->ts, k->fd);
	return ret < 0 || *ret_dev || !path || *path != '/'
		       ? ret
		       : db_int(db, ret_dev, e, by_path, "s", path);
}

static int read_writer(struct failed_place *p, sqlite3 *db, s64 dev, struct err *e)
{
	static const char sql[] =
		"SELECT u.pid, u.write_bytes, total, p.path FROM (SELECT *, total(write_bytes) OVER () AS total FROM"
		" file_use WHERE dev=?1) u JOIN file_path p ON p.id=u.path WHERE u.pid > 0 AND u.write_bytes > ?2 *"
		" total ORDER BY u.write_bytes DESC, u.pid LIMIT 1";
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, sql, "id", dev, MUCH);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		p->writer = sqlite3_column_int64(q, 0);
		p->bytes = sqlite3_column_double(q, 1);
		p->of = sqlite3_column_double(q, 2);
		ret = buf_printf(&p->written, e, "%s", db_text(q, 3));
	}
	return db_end(q, ret);
}

int failed_place_read(struct failed_place *ret, sqlite3 *db, const struct failed_call *first,
		      const struct failed_call *last, bool full, struct err *e)
{
	static const char mounted[] =
		"SELECT type || ' ' || target FROM mount WHERE dev=?1 ORDER BY"
		" length(target) LIMIT 1";
	struct buf other = { 0 };
	s64 dev = 0;
	int r = read_path(&ret->path, db, first, e);

	if (r == 0)
		r = read_dev(db, first, ret->path.data, &dev, e);
	if (r == 0 && dev)
		r = db_add_text(&ret->filesystem, db, e, mounted, "i", dev);
	if (r == 0)
		r = read_path(&other, db, last, e);
	ret->several =
		r == 0 && ret->path.len && other.len && strcmp(ret->path.data, other.data) != 0;
	if (r == 0 && dev && full)
		r = read_writer(ret, db, dev, e);
	buf_free(&other);
	return r;
}

void failed_place_free(struct failed_place *p)
{
	buf_free(&p->path);
	buf_free(&p->filesystem);
	buf_free(&p->written);
}
