// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Statements by the hash of their text: a slot holds the last one given. Who uses a statement has
 * taken it out, so a query inside a query of the same text prepares its own.
 */
#include "statements.h"

#include "format/event.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS 256 /* a power of two */

/* SQLite has no place for data of a connection before 3.44. */
static struct kept {
	struct kept *next;
	sqlite3 *db;
	sqlite3_stmt *slots[SLOTS];
} * connections;

static struct kept **find_kept(const sqlite3 *db)
{
	struct kept **k = &connections;

	while (*k && (*k)->db != db)
		k = &(*k)->next;
	return k;
}

static sqlite3_stmt **slot_of(struct kept *k, const char *sql)
{
	u32 hash = 2166136261u; /* FNV-1a */

	for (; *sql; sql++)
		hash = (hash ^ (unsigned char)*sql) * 16777619u;
	return &k->slots[(hash ^ hash >> 16) & (SLOTS - 1)];
}

int statements_keep(sqlite3 *db, struct err *e)
{
	struct kept *k = calloc(1, sizeof(*k));

	if (!k)
		return err_set(e, ERR_FAIL, "out of memory for the database");
	k->db = db;
	k->next = connections;
	connections = k;
	return 0;
}

sqlite3_stmt *statements_take(sqlite3 *db, const char *sql)
{
	struct kept *k = *find_kept(db);
	sqlite3_stmt **slot = k ? slot_of(k, sql) : NULL, *s = slot ? *slot : NULL;

	if (!s || strcmp(sqlite3_sql(s), sql) != 0)
		return NULL;
	*slot = NULL;
	return s;
}

void statements_give(sqlite3_stmt *s)
{
	struct kept *k = s ? *find_kept(sqlite3_db_handle(s)) : NULL;
	sqlite3_stmt **slot;

	if (!k) {
		sqlite3_finalize(s);
		return;
	}
	sqlite3_reset(s);
	sqlite3_clear_bindings(s);
	slot = slot_of(k, sqlite3_sql(s));
	sqlite3_finalize(*slot);
	*slot = s;
}

void statements_drop(sqlite3 *db)
{
	struct kept **at = find_kept(db), *k = *at;
	int i;

	if (!k)
		return;
	*at = k->next;
	for (i = 0; i < SLOTS; i++)
		sqlite3_finalize(k->slots[i]);
	free(k);
}
