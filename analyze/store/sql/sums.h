/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sum(), total() and avg() of SQL that cannot fail: sum() of SQLite ends the query where integers
 * exceed 64 bits, and a recording can claim any times. Such a sum is a floating-point number
 * instead. SQLite adds floating-point numbers in another way since 3.43: all versions give the
 * same digits here.
 */
#pragma once

#include "analyze/store/db.h"

/* Replaces them on a connection. Nothing in a database may depend on it. */
int sums_register(sqlite3 *db, struct err *e);
