/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of a query as a map. */
#pragma once

#include "analyze/store/db.h"

/*
 * For db_each, with a struct idmap as arg: from the number of the first column to that of the
 * second, which must not be 0; of one column a set. At most TASK_LIMIT numbers.
 */
int db_idmap(void *arg, sqlite3_stmt *q, struct err *e);
