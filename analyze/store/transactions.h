/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For SQL: names of requests that begin or end a transaction, as "Query BEGIN", "Execute COMMIT".
 */
#pragma once

#define BEGINS_TRANSACTION(name) "(" name " LIKE '% BEGIN' OR " name " LIKE '% START')"
#define ENDS_TRANSACTION(name)                                             \
	"(" name " LIKE '% COMMIT' OR " name " LIKE '% ROLLBACK' OR " name \
	" LIKE '% END' OR " name " LIKE '% ABORT')"
