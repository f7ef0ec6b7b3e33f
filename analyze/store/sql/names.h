/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions for SQL that name numbers: syscall_name(abi, nr), errno_name(n) (negative too),
 * block_op(op), state_name(id), and, for pictures, state_band(id), category_band(name) and
 * category_label(name). NULL for NULL.
 */
#pragma once

#include "analyze/store/db.h"

/* Makes them known to a connection. Nothing in a database may depend on them. */
int names_register(sqlite3 *db, struct err *e);
