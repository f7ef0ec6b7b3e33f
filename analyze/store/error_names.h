/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Errors that servers report, by what the protocol says of them; those for want of a lock. */
#pragma once

/* The name of a common error of PostgreSQL (SQLSTATE) or MySQL; NULL: none. */
const char *error_name(const char *code);

/*
 * For SQL: rows (code, name). The codes are SQLSTATEs of PostgreSQL and error numbers of MySQL and
 * MariaDB. That a request waited for a lock is what each of them means.
 */
#define LOCK_ERRORS                                                                             \
	"(SELECT column1 AS code, column2 AS name FROM (VALUES ('40P01', 'deadlock_detected')," \
	" ('55P03', 'lock_not_available'), ('1205', 'ER_LOCK_WAIT_TIMEOUT'), ('1213',"          \
	" 'ER_LOCK_DEADLOCK')))"

/* The code of row e of table request_error, as text. Of MySQL the number says more than SQLSTATE.
 */
#define ERROR_CODE_OF                                                                      \
	"iif(e.status > 1, CAST(e.status AS TEXT), coalesce((SELECT nullif(code, '') FROM" \
	" request_code k WHERE k.id=e.code), CAST(e.status AS TEXT)))"
/* Row e is of a request that was wrong: HTTP 4xx, and of DNS what only refuses the question. */
#define WRONG_REQUEST(e)                                                                 \
	"(" e ".protocol <= 2 AND " e ".status BETWEEN 400 AND 499 OR " e ".protocol=11" \
	" AND " e ".code IS NOT (SELECT id FROM request_code WHERE code='SERVFAIL'))"
/* Deadlocks among these. */
#define DEADLOCKS "('40P01', '1213')"
