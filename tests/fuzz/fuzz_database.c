// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A hostile database into the report. It is made once of a small recording; the bytes are
 * changes of it: 8 bytes each, of single bytes of the file, or of rows and tables by SQL.
 */
#include "fuzz.h"

#include "analyze/analyses/analysis.h"
#include "analyze/render/render.h"
#include "analyze/replay/load.h"
#include "format/frame.h"
#include "tests/lib/textpack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHANGE	    8
#define CHANGES_MAX 32
#define IMAGE_MAX   (4u << 20)

static char path[64];
static u8 image[IMAGE_MAX];
static size_t image_size;

static const char text[] =
	"1000 0 info text=\"snapshot_begin=900\"\n"
	"1000 100 thread start=5 pid=100 state=83 comm=\"server\" target=1\n"
	"1000 0 info text=\"snapshot=1000\"\n"
	"1000 0 clock monotonic=1000 boottime=1000 realtime=1700000000000000000\n"
	"@cpu 0\n"
	"2000 100 syscall dur=500 ret=64 nr=read fd=5\n"
	"3000 100 syscall dur=100 ret=64 nr=write fd=5\n"
	"4000 100 switch next=0 state=1\n"
	"9000 0 switch next=100\n"
	"9900 100 syscall dur=500 ret=64 nr=read fd=5\n";

static void drop_file(void)
{
	unlink(path);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct reader *r = NULL;
	struct err e = { 0 };
	sqlite3 *db = NULL;
	int fd = fuzz_file("", 0);
	FILE *f;

	(void)argc;
	(void)argv;
	snprintf(path, sizeof(path), "/dev/shm/obs-fuzz-%d", (int)getpid());
	atexit(drop_file);
	unlink(path);
	if (textpack(text, fd, &e) < 0 || reader_open_fd(&r, fd, &e) < 0 ||
	    db_open(&db, path, true, &e) < 0 || load_recording(db, r, NULL, &e) < 0 ||
	    analyses_run(db, NULL, &e) < 0 ||
	    db_exec(db, &e, "PRAGMA page_size=1024; VACUUM") <
		    0) /* small: it is copied each time */
		fuzz_fail(e.text);
	reader_free(r);
	db_close(db);
	f = fopen(path, "rb");
	image_size = f ? fread(image, 1, sizeof(image), f) : 0;
	if (!f || !image_size || image_size == sizeof(image))
		fuzz_fail("no database");
	fclose(f);
	return 0;
}

/* One change by SQL: c[1] what, c[2] table, c[3] column, c[4] value, c[5] row. */
static void change(sqlite3 *db, const u8 *c)
{
	static const char *const values[] = {
		"NULL", "-1",	"9223372036854775807", "1e308", "0",	   "''",	  "x'00ff'",
		"'a'",	"9e99", "zeroblob(70000)",     "0.5",	"'<b>\n'", "'COMPLETE'",  "1000000",
		"'%s'", "3",	"char(27)||'[2J'",     "'\"'",	"-0.0",	   "random()%99",
	};
	const struct table_desc *t = &tables[c[2] % N_TABLES];
	const char *column = t->columns[c[3] % t->n_columns].name;
	const char *v = values[c[4] % (sizeof(values) / sizeof(values[0]))];
	char sql[512];

	switch (c[1] % 16) {
	case 0:
		snprintf(sql, sizeof(sql), "DELETE FROM %s", t->name);
		break;
	case 1:
		snprintf(sql, sizeof(sql), "INSERT INTO %s SELECT * FROM %s LIMIT 9", t->name,
			 t->name);
		break;
	case 2:
		snprintf(sql, sizeof(sql), "INSERT INTO %s(%s) VALUES(%s)", t->name, column, v);
		break;
	case 3:
		snprintf(sql, sizeof(sql),
			 "ALTER TABLE %s RENAME TO _x; CREATE VIEW %s AS SELECT * FROM %s", t->name,
			 t->name, c[4] % 2 ? "_x" : t->name);
		break;
	case 4:
		snprintf(sql, sizeof(sql), "DROP TABLE %s", t->name);
		break;
	case 5:
		snprintf(sql, sizeof(sql), "ALTER TABLE %s DROP COLUMN %s", t->name, column);
		break;
	case 6:
		snprintf(sql, sizeof(sql), "UPDATE %s SET %s=%s WHERE rowid=%d", t->name, column, v,
			 c[5] % 16);
		break;
	default:
		snprintf(sql, sizeof(sql), "UPDATE %s SET %s=%s", t->name, column, v);
		break;
	}
	sqlite3_exec(db, sql, NULL, NULL, NULL);
}

static void make(const u8 *data, size_t size)
{
	static u8 copy[IMAGE_MAX];
	FILE *f = fopen(path, "wb");
	sqlite3 *db = NULL;
	size_t i;

	memcpy(copy, image, image_size);
	for (i = 0; i + CHANGE <= size && i < CHANGES_MAX * CHANGE; i += CHANGE)
		if (data[i] % 8 == 0)
			copy[le_get(data + i + 1, 3) % image_size] = data[i + 4];
	if (!f || fwrite(copy, 1, image_size, f) != image_size || fclose(f) != 0)
		fuzz_fail("cannot write the database");
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK) {
		sqlite3_exec(db, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF", NULL, NULL,
			     NULL);
		for (i = 0; i + CHANGE <= size && i < CHANGES_MAX * CHANGE; i += CHANGE)
			if (data[i] % 8 != 0)
				change(db, data + i);
	}
	db_close(db);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static const enum render_format formats[] = { RENDER_TEXT, RENDER_MARKDOWN, RENDER_JSON };
	struct render_options o = { .width = 80, .name = "fuzz" };
	struct buf out = { 0 };
	struct err e = { 0 };
	sqlite3 *db = NULL;

	if (size < CHANGE)
		return 0;
	o.format = formats[data[CHANGE - 1] % 3];
	make(data, size);
	if (db_open(&db, path, false, &e) == 0)
		render_report(&out, db, &o, &e);
	db_close(db);
	buf_free(&out);
	return 0;
}
