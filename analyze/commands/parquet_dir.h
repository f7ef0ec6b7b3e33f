/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A directory of Parquet files of many recordings: TABLE/host=HOST/recording=UUID/part.parquet.
 * Table recording is written last: a recording that has it is complete. A table without rows has
 * no file, but each table has one without rows, below host=none, so that engines find its columns.
 */
#pragma once

#include "ask.h"

#define UUID_HEX 32 /* digits of the id of a recording */

/* What became of a recording. */
struct parquet_result {
	bool present; /* it was in the directory: nothing was written */
	bool whole;   /* neither cut nor damaged */
	u64 rows;
	char verdict[16];
};

/* Makes the directory, or checks that it has tables of this version. */
int parquet_dir_make(const char *dir, struct err *e);

/*
 * The id of a recording, or of the one that a database is of, without loading it; empty for what
 * cannot be read, or not twice.
 */
void parquet_dir_uuid(char uuid[UUID_HEX + 1], const char *path);

/* Adds a recording, or a database, with the results of its analyses. */
int parquet_dir_add(struct parquet_result *ret, const char *dir, const char *path,
		    const struct asked *a, struct err *e);

/*
 * Adds several, as many at a time as there are CPUs online. Prints failures of single ones and a
 * summary on standard error. Returns an exit status, or a negative error that ended all.
 */
int parquet_dir_add_all(const char *dir, char *const *paths, int n, const struct asked *a,
			struct err *e);
