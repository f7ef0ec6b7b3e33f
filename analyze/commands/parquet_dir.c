// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* syncfs */
#include "parquet_dir.h"

#include "analyze/analyses/analysis.h"
#include "analyze/base/outfile.h"
#include "analyze/export/parquet_table.h"
#include "analyze/store/fact.h"
#include "cache.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VERSION_FILE "tables-version"
#define HOST_MAX     64	    /* bytes of a host's name, as the kernel allows */
#define NONE	     "none" /* host and recording of the files without rows */

/* A name as a part of a path: what is neither letter nor digit nor - becomes _ and two digits. */
static int add_escaped(struct buf *out, const char *name, struct err *e)
{
	size_t i;
	int ret = *name ? 0 : buf_printf(out, e, "unknown");

	for (i = 0; name[i] && i < HOST_MAX && ret == 0; i++) {
		unsigned char c = (unsigned char)name[i];

		if (c < 0x80 && (isalnum(c) || c == '-'))
			ret = buf_add(out, name + i, 1, e);
		else
			ret = buf_printf(out, e, "_%02x", c);
	}
	return ret;
}

static int make_dir(const char *path, struct err *e)
{
	if (mkdir(path, 0777) == 0 || errno == EEXIST)
		return 0;
	return err_errno(e, ERR_FAIL, "cannot make the directory %.400s", path);
}

/* ---- files ---- */

/*
 * Writes the file of one table, and the directories above it. Only that of table recording waits
 * for its disk: sync_all before it is faster than a wait for each.
 */
static int write_table(u64 *rows, const char *dir, enum table_id t, const char *host,
		       const char *uuid, sqlite3 *db, struct err *e)
{
	struct buf path = { 0 };
	struct outfile o;
	int ret = buf_printf(&path, e, "%s/%s", dir, tables[t].name);

	if (ret == 0)
		ret = make_dir(path.data, e);
	if (ret == 0)
		ret = buf_printf(&path, e, "/host=%s", host);
	if (ret == 0)
		ret = make_dir(path.data, e);
	if (ret == 0)
		ret = buf_printf(&path, e, "/recording=%s", uuid);
	if (ret == 0)
		ret = make_dir(path.data, e);
	if (ret == 0)
		ret = buf_printf(&path, e, "/part.parquet");
	if (ret == 0)
		ret = outfile_open(&o, path.data, true, e);
	if (ret == 0) {
		ret = parquet_table(rows, o.fd, db, t, e);
		if (ret == 0)
			ret = t == TABLE_recording ? outfile_keep(&o, e) : outfile_name(&o, e);
		outfile_close(&o);
	}
	buf_free(&path);
	return ret;
}

static int sync_all(const char *dir, struct err *e)
{
#ifdef __linux__
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int ret = fd >= 0 && syncfs(fd) == 0
			  ? 0
			  : err_errno(e, ERR_FAIL, "cannot write %.400s to its disk", dir);

	if (fd >= 0)
		close(fd);
	return ret;
#else
	(void)dir;
	(void)e;
	sync();
	return 0;
#endif
}

static int write_all(u64 *ret_rows, const char *dir, const char *host, const char *uuid,
		     sqlite3 *db, struct err *e)
{
	struct buf sql = { 0 };
	u64 rows = 0;
	s64 any = 0;
	int t, ret = 0;

	*ret_rows = 0;
	for (t = 0; t < N_TABLES && ret == 0; t++) {
		if (t == TABLE_recording)
			continue;
		buf_clear(&sql);
		ret = buf_printf(&sql, e, "SELECT count(*) FROM (SELECT 1 FROM \"%s\" LIMIT 1)",
				 tables[t].name);
		if (ret == 0)
			ret = db_int(db, &any, e, sql.data, "");
		if (ret < 0 || !any)
			continue;
		ret = progress_interrupted() ? err_set(e, ERR_FAIL, "interrupted while exporting")
					     : write_table(&rows, dir, t, host, uuid, db, e);
		*ret_rows += rows;
	}
	buf_free(&sql);
	if (ret == 0)
		ret = sync_all(dir, e);
	if (ret == 0)
		ret = write_table(&rows, dir, TABLE_recording, host, uuid, db, e);
	*ret_rows += ret == 0 ? rows : 0;
	return ret;
}

/* ---- the directory ---- */

/* The directory may be one that others write to: a FIFO there blocks nothing. */
static int read_version(const char *dir, const char *path, struct err *e)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	char text[32] = "";
	struct stat sb;

	if (fd < 0)
		return err_errno(e, ERR_FAIL, "cannot read %.400s", path);
	if (fstat(fd, &sb) < 0 || !S_ISREG(sb.st_mode) || read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	if (strtol(text, NULL, 10) == tables_version)
		return 0;
	return err_set(e, ERR_VERSION,
		       "%.400s has tables of another version than this program's, %d: export into "
		       "another directory",
		       dir, tables_version);
}

static int write_version(const char *path, struct err *e)
{
	struct outfile o;
	int ret = outfile_open(&o, path, true, e);

	if (ret < 0)
		return ret;
	if (dprintf(o.fd, "%d\n", tables_version) < 0)
		ret = err_errno(e, ERR_FAIL, "cannot write %.400s", path);
	if (ret == 0)
		ret = outfile_keep(&o, e);
	outfile_close(&o);
	return ret;
}

static int make_empty_tables(const char *dir, struct err *e)
{
	struct buf path = { 0 };
	u64 rows;
	int t, ret = 0;

	for (t = 0; t < N_TABLES && ret == 0; t++) {
		buf_clear(&path);
		ret = buf_printf(&path, e, "%s/%s/host=" NONE "/recording=" NONE "/part.parquet",
				 dir, tables[t].name);
		if (ret == 0 && access(path.data, F_OK) < 0)
			ret = write_table(&rows, dir, t, NONE, NONE, NULL, e);
	}
	buf_free(&path);
	return ret;
}

static bool is_empty(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *f;
	bool empty = d;

	while (empty && (f = readdir(d)))
		empty = strcmp(f->d_name, ".") == 0 || strcmp(f->d_name, "..") == 0;
	if (d)
		closedir(d);
	return empty;
}

int parquet_dir_make(const char *dir, struct err *e)
{
	struct buf path = { 0 };
	int ret = make_dir(dir, e);

	if (ret == 0)
		ret = buf_printf(&path, e, "%s/" VERSION_FILE, dir);
	if (ret == 0 && access(path.data, F_OK) == 0)
		ret = read_version(dir, path.data, e);
	else if (ret == 0 && is_empty(dir))
		ret = write_version(path.data, e);
	else if (ret == 0) /* a name of a table could be that of something else */
		ret = err_set(e, ERR_FAIL, "%.400s is neither empty nor made by export --parquet",
			      dir);
	buf_free(&path);
	return ret < 0 ? ret : make_empty_tables(dir, e);
}

/* Whether a recording is there, of any host. */
static int find(bool *ret, const char *dir, const char *uuid, struct err *e)
{
	struct buf path = { 0 };
	struct dirent *f;
	DIR *d = NULL;
	int r = buf_printf(&path, e, "%s/%s", dir, tables[TABLE_recording].name);

	*ret = false;
	if (r == 0)
		d = opendir(path.data);
	if (r == 0 && !d)
		r = err_errno(e, ERR_FAIL, "cannot read the directory %.400s", path.data);
	while (r == 0 && !*ret && (f = readdir(d))) {
		buf_clear(&path);
		r = buf_printf(&path, e, "%s/%s/%s/recording=%s/part.parquet", dir,
			       tables[TABLE_recording].name, f->d_name, uuid);
		*ret = r == 0 && access(path.data, F_OK) == 0;
	}
	if (d)
		closedir(d);
	buf_free(&path);
	return r;
}

/* ---- a recording ---- */

static bool is_uuid(const char *uuid)
{
	return strlen(uuid) == UUID_HEX && strspn(uuid, "0123456789abcdef") == UUID_HEX;
}

/* Empty for a database, and for what cannot be read twice. */
static int read_uuid(char uuid[UUID_HEX + 1], const char *path, struct err *e)
{
	struct reader *r;
	struct stat sb;
	int i;

	uuid[0] = '\0';
	if (db_is_database(path) || stat(path, &sb) < 0 || !S_ISREG(sb.st_mode))
		return 0;
	if (reader_open(&r, path, e) < 0)
		return ERR_FAIL;
	for (i = 0; i < UUID_HEX / 2; i++)
		snprintf(uuid + (size_t)2 * i, 3, "%02x", reader_state(r)->uuid[i]);
	reader_free(r);
	return 0;
}

void parquet_dir_uuid(char uuid[UUID_HEX + 1], const char *path)
{
	char text[UUID_HEX + 2];
	struct err e = { 0 };
	sqlite3 *db = NULL;

	read_uuid(uuid, path, &e);
	if (!db_is_database(path) || db_open(&db, path, false, &e) < 0)
		return;
	if (fact_text(text, sizeof(text), db, "uuid", &e) == 0 && is_uuid(text))
		memcpy(uuid, text, sizeof(text) - 1);
	db_close(db);
}

static int check_uuid(const char *uuid, const char *path, struct err *e)
{
	if (is_uuid(uuid))
		return 0;
	return err_set(e, ERR_FAIL, "%.400s has no id to export it under", path);
}

static int add_loaded(struct parquet_result *ret, const char *dir, const char *path, sqlite3 *db,
		      struct err *e)
{
	char uuid[UUID_HEX + 2], name[HOST_MAX + 1];
	struct buf host = { 0 };
	int whole = fact_whole(db, e), r = whole < 0 ? whole : 0;

	ret->whole = whole > 0;
	if (r == 0)
		r = coverage_verdict(ret->verdict, sizeof(ret->verdict), db, e);
	if (r == 0)
		r = fact_text(uuid, sizeof(uuid), db, "uuid", e);
	if (r == 0)
		r = check_uuid(uuid, path, e);
	if (r == 0)
		r = find(&ret->present, dir, uuid, e);
	if (r == 0 && !ret->present)
		r = fact_text(name, sizeof(name), db, "host", e);
	if (r == 0 && !ret->present)
		r = add_escaped(&host, name, e);
	if (r == 0 && !ret->present)
		r = write_all(&ret->rows, dir, host.data, uuid, db, e);
	buf_free(&host);
	return r;
}

int parquet_dir_add(struct parquet_result *ret, const char *dir, const char *path,
		    const struct asked *a, struct err *e)
{
	char uuid[UUID_HEX + 1];
	sqlite3 *db = NULL;
	bool answered = true;
	int r = read_uuid(uuid, path, e);

	*ret = (struct parquet_result){ .whole = true };
	if (r == 0 && *uuid)
		r = find(&ret->present, dir, uuid, e);
	if (r < 0 || ret->present)
		return r;
	r = cache_open(&db, &answered, path, a, e);
	if (r == 0 && !answered)
		r = analyses_run(db, NULL, e);
	if (r == 0)
		r = add_loaded(ret, dir, path, db, e);
	db_close(db);
	return r;
}
