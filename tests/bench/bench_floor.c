// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Floors under storing and loading: bench_floor RECORDING DATABASE. The recording's own records
 * are copied, compressed as they are with zstd -1, and put as rows into a new database
 * with nothing but SQLite. Prints seconds and bytes: "memcpy S B", "zstd S B", "sqlite S B".
 */
#include "format/recording.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#define CHUNK (1u << 20) /* as much as the recorder compresses at once */

struct floor {
	struct buf rows; /* records of one chunk, contiguous */
	char *copy, *packed;
	double memcpy_s, zstd_s, sqlite_s;
	u64 copied, compressed;
	sqlite3 *db;
	sqlite3_stmt *insert;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static int open_db(struct floor *f, const char *path, struct err *e)
{
	unlink(path);
	if (sqlite3_open(path, &f->db) == SQLITE_OK &&
	    sqlite3_exec(f->db,
			 "PRAGMA page_size=65536; PRAGMA journal_mode=off; PRAGMA synchronous=off;"
			 "PRAGMA locking_mode=exclusive; CREATE TABLE event(ts INT, tid INT,"
			 "type INT, dur INT, ret INT, fd INT, nr INT); BEGIN",
			 NULL, NULL, NULL) == SQLITE_OK &&
	    sqlite3_prepare_v2(f->db, "INSERT INTO event VALUES(?,?,?,?,?,?,?)", -1, &f->insert,
			       NULL) == SQLITE_OK)
		return 0;
	return err_set(e, ERR_FAIL, "cannot make %s: %s", path, sqlite3_errmsg(f->db));
}

/* A row of seven numbers a record: what a table of system calls has. */
static int put_rows(struct floor *f, struct err *e)
{
	size_t at;
	int i;

	for (at = 0; at < f->rows.len;) {
		struct ev_header h;
		s64 words[4] = { 0 };

		memcpy(&h, f->rows.data + at, sizeof(h));
		memcpy(words, f->rows.data + at + sizeof(h),
		       h.size - sizeof(h) < sizeof(words) ? h.size - sizeof(h) : sizeof(words));
		sqlite3_bind_int64(f->insert, 1, h.ts);
		sqlite3_bind_int64(f->insert, 2, h.tid);
		sqlite3_bind_int64(f->insert, 3, h.type);
		for (i = 0; i < 4; i++)
			sqlite3_bind_int64(f->insert, 4 + i, words[i]);
		if (sqlite3_step(f->insert) != SQLITE_DONE)
			return err_set(e, ERR_FAIL, "SQLite: %s", sqlite3_errmsg(f->db));
		sqlite3_reset(f->insert);
		at += h.size;
	}
	return 0;
}

static int take_chunk(struct floor *f, struct err *e)
{
	double a = now(), b, c;
	size_t n;
	int ret;

	memcpy(f->copy, f->rows.data, f->rows.len);
	b = now();
	n = ZSTD_compress(f->packed, ZSTD_compressBound(CHUNK), f->copy, f->rows.len, 1);
	c = now();
	if (ZSTD_isError(n))
		return err_set(e, ERR_FAIL, "zstd: %s", ZSTD_getErrorName(n));
	ret = put_rows(f, e);
	f->memcpy_s += b - a;
	f->zstd_s += c - b;
	f->sqlite_s += now() - c;
	f->copied += f->rows.len;
	f->compressed += n;
	buf_clear(&f->rows);
	return ret;
}

static int measure(struct floor *f, const char *path, struct err *e)
{
	struct reader *r = NULL;
	struct record rec;
	int ret = reader_open(&r, path, e);

	while (ret == 0 && (ret = reader_next(r, &rec, e)) > 0) {
		ret = 0;
		if (f->rows.len + rec.size > CHUNK)
			ret = take_chunk(f, e);
		if (ret == 0)
			ret = buf_add(&f->rows, rec.raw, rec.size, e);
	}
	if (ret == 0)
		ret = take_chunk(f, e);
	reader_free(r);
	return ret;
}

int main(int argc, char **argv)
{
	struct floor f = { 0 };
	struct err e = { 0 };
	struct stat sb = { 0 };
	double begin;
	int ret = ERR_FAIL;

	if (argc != 3) {
		fprintf(stderr, "usage: bench_floor RECORDING DATABASE\n");
		return 1;
	}
	f.copy = malloc(CHUNK);
	f.packed = malloc(ZSTD_compressBound(CHUNK));
	if (!f.copy || !f.packed)
		err_set(&e, ERR_FAIL, "out of memory");
	else
		ret = open_db(&f, argv[2], &e);
	if (ret == 0)
		ret = measure(&f, argv[1], &e);
	begin = now();
	sqlite3_finalize(f.insert);
	if (ret == 0 && sqlite3_exec(f.db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
		ret = err_set(&e, ERR_FAIL, "SQLite: %s", sqlite3_errmsg(f.db));
	sqlite3_close(f.db);
	f.sqlite_s += now() - begin;
	if (ret == 0 && stat(argv[2], &sb) == 0)
		printf("memcpy %.3f %llu\nzstd %.3f %llu\nsqlite %.3f %lld\n", f.memcpy_s,
		       (unsigned long long)f.copied, f.zstd_s, (unsigned long long)f.compressed,
		       f.sqlite_s, (long long)sb.st_size);
	else
		fprintf(stderr, "bench_floor: %s\n", e.text);
	buf_free(&f.rows);
	free(f.copy);
	free(f.packed);
	return ret < 0;
}
