// SPDX-License-Identifier: GPL-2.0-or-later
/* SQLite with our error idiom. */
#include "db.h"

#include "analyze/store/sql/names.h"
#include "analyze/store/sql/sql_functions.h"
#include "analyze/store/sql/statements.h"
#include "analyze/store/sql/sums.h"
#include "format/buf.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define APPLICATION_ID 0x4f425344 /* "OBSD" */
#define COLUMNS_MAX    64

const int tables_version = TABLES_VERSION;

/* With the system's reason: SQLite opens temporary files as it needs them. */
static int refuse(sqlite3 *db, struct err *e, const char *what)
{
	int code = sqlite3_errcode(db) & 0xff, why = sqlite3_system_errno(db);

	if ((code == SQLITE_CANTOPEN || code == SQLITE_IOERR || code == SQLITE_FULL) && why)
		return err_set(e, ERR_FAIL, "%s: %s: %s", what, sqlite3_errmsg(db), strerror(why));
	return err_set(e, ERR_FAIL, "%s: %s", what, sqlite3_errmsg(db));
}

int db_exec(sqlite3 *db, struct err *e, const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		return refuse(db, e, "the database refuses a statement");
	return 0;
}

bool db_is_fault(int code)
{
	code &= 0xff; /* without the details */
	return code == SQLITE_NOMEM || code == SQLITE_IOERR || code == SQLITE_FULL ||
	       code == SQLITE_CANTOPEN;
}

int db_try(sqlite3 *db, struct err *e, const char *sql)
{
	int code = sqlite3_exec(db, sql, NULL, NULL, NULL);

	if (db_is_fault(code))
		return refuse(db, e, "the database refuses a statement");
	return code != SQLITE_OK;
}

/* Binds what fmt names, which are all or none; stops at the first failure. */
static int bind_all(sqlite3_stmt *s, const char *fmt, va_list ap)
{
	int i, n = sqlite3_bind_parameter_count(s);
	int ret = *fmt && (size_t)n != strlen(fmt) ? SQLITE_RANGE : SQLITE_OK;

	for (i = 1; fmt[i - 1] && ret == SQLITE_OK; i++) {
		if (fmt[i - 1] == 'i')
			ret = sqlite3_bind_int64(s, i, va_arg(ap, s64));
		else if (fmt[i - 1] == 'd')
			ret = sqlite3_bind_double(s, i, va_arg(ap, double));
		else if (fmt[i - 1] == 's')
			ret = sqlite3_bind_text(s, i, va_arg(ap, const char *), -1,
						SQLITE_TRANSIENT);
		else
			ret = sqlite3_bind_null(s, i);
	}
	return ret;
}

static int query(sqlite3_stmt **ret, sqlite3 *db, struct err *e, const char *sql, const char *fmt,
		 va_list ap)
{
	sqlite3_stmt *s = statements_take(db, sql);

	*ret = NULL; /* to finalize nothing is right */
	if ((!s && sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK) || !s ||
	    bind_all(s, fmt, ap) != SQLITE_OK) {
		refuse(db, e, "the database refuses a query");
		sqlite3_finalize(s);
		return ERR_FAIL;
	}
	*ret = s;
	return 0;
}

int db_query(sqlite3_stmt **ret, sqlite3 *db, struct err *e, const char *sql, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = query(ret, db, e, sql, fmt, ap);
	va_end(ap);
	return r;
}

void db_done(sqlite3_stmt *s)
{
	statements_give(s);
}

int db_step(sqlite3_stmt *s, struct err *e)
{
	int got = s ? sqlite3_step(s) : SQLITE_ERROR;

	if (got == SQLITE_ROW)
		return 1;
	if (got == SQLITE_DONE)
		return 0;
	return s ? refuse(sqlite3_db_handle(s), e, "the database fails") : ERR_FAIL;
}

int db_end(sqlite3_stmt *s, int ret)
{
	sqlite3_finalize(s);
	return ret < 0 ? ret : 0;
}

const char *db_text_or(sqlite3_stmt *s, int column, const char *null)
{
	const char *text = (const char *)sqlite3_column_text(s, column);

	return text ? text : null;
}

const char *db_text(sqlite3_stmt *s, int column)
{
	return db_text_or(s, column, "");
}

double db_number(sqlite3_stmt *s, int column)
{
	return sqlite3_column_type(s, column) == SQLITE_NULL ? NAN
							     : sqlite3_column_double(s, column);
}

int db_each_of(sqlite3 *db, struct err *e, db_row_fn fn, void *arg, const char *sql,
	       const char *fmt, va_list ap)
{
	sqlite3_stmt *s;
	int got, ret = query(&s, db, e, sql, fmt, ap);

	if (ret < 0)
		return ret;
	while (ret == 0 && (got = db_step(s, e)) != 0)
		ret = got < 0 ? got : fn(arg, s, e);
	statements_give(s);
	return ret < 0 ? ret : 0;
}

int db_each(sqlite3 *db, struct err *e, db_row_fn fn, void *arg, const char *sql, const char *fmt,
	    ...)
{
	va_list ap;
	int ret;

	va_start(ap, fmt);
	ret = db_each_of(db, e, fn, arg, sql, fmt, ap);
	va_end(ap);
	return ret;
}

static int run(sqlite3 *db, struct err *e, const char *sql, const char *fmt, va_list ap)
{
	sqlite3_stmt *s;
	int ret = query(&s, db, e, sql, fmt, ap);

	if (ret < 0)
		return ret;
	while ((ret = db_step(s, e)) > 0)
		;
	statements_give(s);
	return ret;
}

int db_run(sqlite3 *db, struct err *e, const char *sql, const char *fmt, ...)
{
	va_list ap;
	int ret;

	va_start(ap, fmt);
	ret = run(db, e, sql, fmt, ap);
	va_end(ap);
	return ret;
}

int db_again(sqlite3_stmt *s, struct err *e, const char *fmt, ...)
{
	va_list ap;
	int ret;

	va_start(ap, fmt);
	ret = bind_all(s, fmt, ap) == SQLITE_OK
		      ? 0
		      : refuse(sqlite3_db_handle(s), e, "the database refuses a value");
	va_end(ap);
	while (ret == 0 && (ret = db_step(s, e)) > 0)
		ret = 0;
	sqlite3_reset(s);
	return ret;
}

int db_int(sqlite3 *db, s64 *ret, struct err *e, const char *sql, const char *fmt, ...)
{
	sqlite3_stmt *s;
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = query(&s, db, e, sql, fmt, ap);
	va_end(ap);
	if (r < 0)
		return r;
	r = db_step(s, e);
	*ret = r > 0 ? sqlite3_column_int64(s, 0) : 0;
	statements_give(s);
	return r < 0 ? r : 0;
}

int db_add_text(struct buf *out, sqlite3 *db, struct err *e, const char *sql, const char *fmt, ...)
{
	sqlite3_stmt *s;
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = query(&s, db, e, sql, fmt, ap);
	va_end(ap);
	if (r < 0)
		return r;
	r = db_step(s, e);
	if (r > 0)
		r = sqlite3_column_type(s, 0) == SQLITE_NULL
			    ? 0
			    : buf_printf(out, e, "%s", db_text(s, 0));
	statements_give(s);
	return r;
}

int db_inserter(sqlite3_stmt **ret, sqlite3 *db, enum table_id t, struct err *e)
{
	char sql[256];
	int i, n = snprintf(sql, sizeof(sql), "INSERT INTO \"%s\" VALUES(?", tables[t].name);

	for (i = 1; i < tables[t].n_columns && i < COLUMNS_MAX; i++, n += 2)
		memcpy(sql + n, ",?", 2);
	memcpy(sql + n, ")", 2);
	return db_query(ret, db, e, sql, "");
}

int db_insert(sqlite3 *db, enum table_id t, struct err *e, const char *fmt, ...)
{
	sqlite3_stmt *s;
	va_list ap;
	int ret;

	if (strlen(fmt) != (size_t)tables[t].n_columns)
		return err_set(e, ERR_FAIL, "a row of table %s has %zu values", tables[t].name,
			       strlen(fmt));
	ret = db_inserter(&s, db, t, e);
	if (ret < 0)
		return ret;
	va_start(ap, fmt);
	ret = bind_all(s, fmt, ap) == SQLITE_OK ? db_step(s, e)
						: refuse(db, e, "the database refuses a value");
	va_end(ap);
	statements_give(s);
	return ret;
}

static int make_tables(sqlite3 *db, struct err *e)
{
	struct buf sql = { 0 };
	int t, c, ret = 0;

	for (t = 0; t < N_TABLES && ret == 0; t++) {
		buf_clear(&sql);
		ret = buf_printf(&sql, e, "CREATE TABLE \"%s\"(", tables[t].name);
		for (c = 0; c < tables[t].n_columns && ret == 0; c++)
			ret = buf_printf(&sql, e, "%s\"%s\" %s", c ? "," : "",
					 tables[t].columns[c].name, tables[t].columns[c].type);
		if (ret == 0)
			ret = buf_printf(&sql, e, ")");
		if (ret == 0)
			ret = db_exec(db, e, sql.data);
	}
	buf_free(&sql);
	return ret;
}

static int make_views(sqlite3 *db, struct err *e)
{
	/* views find names by id and time, analyses rows of thousands of functions and waits */
	int ret = db_exec(db, e,
			  "CREATE INDEX thread_of ON thread(tid, start);"
			  "CREATE INDEX fd_at ON fd(pid, fd, ts);"
			  "CREATE INDEX site_of ON site(id);"
			  "CREATE INDEX call_stat_of ON call_stat(site);"
			  "CREATE INDEX call_defect_of ON call_defect(site);"
			  "CREATE INDEX futex_holder_of ON futex_holder(tid, futex, ts);"
			  "CREATE INDEX file_lock_holder_of ON file_lock_holder(tid, ts);"
			  "CREATE INDEX pause_of ON pause(server, ts);"
			  "CREATE INDEX request_error_of ON request_error(tid, ts);"
			  "CREATE INDEX syscall_name_of ON syscall_name(nr, abi)");
	struct buf sql = { 0 };
	const struct view_desc *v;

	for (v = views; v->name && ret == 0; v++) {
		buf_clear(&sql);
		ret = buf_printf(&sql, e, "CREATE VIEW %s AS %s", v->name, v->sql);
		if (ret == 0)
			ret = db_exec(db, e, sql.data);
	}
	buf_free(&sql);
	return ret;
}

static int create(sqlite3 *db, struct err *e)
{
	char sql[400];
	int ret;

	/*
	 * It is made in one go: what breaks off is thrown away, so nothing needs a journal. Each
	 * table has a page, most are small or empty: larger pages make 17 MB of a small recording,
	 * and no load faster.
	 */
	snprintf(sql, sizeof(sql),
		 "PRAGMA page_size=8192; PRAGMA journal_mode=off; PRAGMA synchronous=off;"
		 "PRAGMA locking_mode=exclusive; PRAGMA cache_size=-65536; PRAGMA temp_store=file;"
		 "PRAGMA application_id=%d; PRAGMA user_version=%d",
		 APPLICATION_ID, TABLES_VERSION);
	ret = db_exec(db, e, sql);
	if (ret == 0)
		ret = make_tables(db, e);
	if (ret == 0)
		ret = db_exec(db, e, "CREATE INDEX finding_value_of ON finding_value(finding)");
	return ret < 0 ? ret : make_views(db, e);
}

/*
 * A view or a virtual table in place of a table could compute for ever; so could a generated
 * column.
 */
static int check_tables(sqlite3 *db, const char *path, struct err *e)
{
	static const char sql[] =
		"SELECT group_concat(name, ' ') FROM (SELECT x.name AS name FROM sqlite_schema s,"
		" pragma_table_xinfo(s.name) x WHERE s.name=?1 AND s.type='table' AND s.rootpage > 0"
		" AND x.hidden=0 ORDER BY x.cid)";
	struct buf want = { 0 };
	sqlite3_stmt *s;
	int t, c, ret = 0;

	for (t = 0; t < N_TABLES && ret == 0; t++) {
		buf_clear(&want);
		for (c = 0; c < tables[t].n_columns && ret == 0; c++)
			ret = buf_printf(&want, e, "%s%s", c ? " " : "", tables[t].columns[c].name);
		if (ret == 0)
			ret = db_query(&s, db, e, sql, "s", tables[t].name);
		if (ret < 0)
			break;
		ret = db_step(s, e);
		if (ret > 0)
			ret = strcmp(db_text(s, 0), want.data) == 0
				      ? 0
				      : err_set(e, ERR_FAIL,
						"%.400s is damaged, or was made by another program:"
						" its table %s is not one of obsanalyze",
						path, tables[t].name);
		statements_give(s);
	}
	buf_free(&want);
	return ret;
}

/* Others may have made the file: it must be one of ours, and must not run anything. */
static int check(sqlite3 *db, const char *path, struct err *e)
{
	s64 id = 0, version = 0;

	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	if (db_exec(db, e, "PRAGMA cell_size_check=1; PRAGMA mmap_size=0; PRAGMA query_only=1") < 0)
		return ERR_FAIL;
	if (db_int(db, &id, NULL, "PRAGMA application_id", "") < 0 || id != APPLICATION_ID)
		return err_set(e, ERR_FAIL, "%.400s is not a database that obsanalyze made", path);
	if (db_int(db, &version, e, "PRAGMA user_version", "") < 0)
		return ERR_FAIL;
	if (version != TABLES_VERSION)
		return err_set(e, ERR_VERSION,
			       "%.400s has tables of version %lld; this program knows version %d: "
			       "load the recording again",
			       path, (long long)version, TABLES_VERSION);
	return 0;
}

/* A recording is its owner's alone, and so are its tables. SQLite takes an empty file for a new
 * one. */
static bool make_empty(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int db_open(sqlite3 **ret, const char *path, bool make, struct err *e)
{
	int flags = SQLITE_OPEN_NOMUTEX /* one thread */ |
		    (make ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY);
	sqlite3 *db = NULL;
	int r;

	if (make && path && access(path, F_OK) == 0)
		return err_set(e, ERR_FAIL, "%.400s exists already; name another file", path);
	if (make && path && !make_empty(path))
		return err_errno(e, ERR_FAIL, "cannot make the database %.400s", path);
	if (sqlite3_open_v2(path ? path : "", &db, flags, NULL) != SQLITE_OK)
		r = err_set(e, ERR_FAIL, "cannot open the database %.400s: %s", path ? path : "",
			    db ? sqlite3_errmsg(db) : "out of memory");
	else
		r = make ? create(db, e) : check(db, path, e);
	if (r == 0)
		r = names_register(db, e);
	if (r == 0)
		r = sums_register(db, e);
	if (r == 0)
		r = sql_functions_register(db, e);
	if (r == 0)
		r = statements_keep(db, e);
	if (r < 0)
		sqlite3_close(db);
	else
		*ret = db;
	return r;
}

int db_open_ours(sqlite3 **ret, const char *path, struct err *e)
{
	sqlite3 *db = NULL;
	int r = db_open(&db, path, false, e);

	if (r == 0)
		r = check_tables(db, path, e);
	if (r < 0)
		db_close(db);
	else
		*ret = db;
	return r;
}

int db_close(sqlite3 *db)
{
	statements_drop(db);
	return sqlite3_close(db);
}

bool db_is_database(const char *path)
{
	static const char magic[] = "SQLite format 3";
	char start[sizeof(magic)] = "";
	struct stat sb;
	FILE *f;
	bool yes;

	/* what a pipe brings can be read only once */
	if (stat(path, &sb) < 0 || !S_ISREG(sb.st_mode))
		return false;
	f = fopen(path, "rb");
	if (!f)
		return false;
	yes = fread(start, 1, sizeof(start), f) == sizeof(start) &&
	      memcmp(start, magic, sizeof(magic)) == 0;
	fclose(f);
	return yes;
}
