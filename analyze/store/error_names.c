// SPDX-License-Identifier: GPL-2.0-or-later
/* Names as the manuals have them. HTTP statuses are no codes of 4 or 5 characters. */
#include "error_names.h"

#include <string.h>

static const struct {
	const char *code, *name;
} names[] = {
	{ "08006", "connection_failure" },
	{ "2200H", "sequence_generator_limit_exceeded" },
	{ "22P02", "invalid_text_representation" },
	{ "23503", "foreign_key_violation" },
	{ "23505", "unique_violation" },
	{ "25006", "read_only_sql_transaction" },
	{ "25P02", "in_failed_sql_transaction" },
	{ "25P03", "idle_in_transaction_session_timeout" },
	{ "28000", "invalid_authorization_specification" },
	{ "28P01", "invalid_password" },
	{ "3D000", "invalid_catalog_name" },
	{ "40001", "serialization_failure" },
	{ "40P01", "deadlock_detected" },
	{ "42501", "insufficient_privilege" },
	{ "42601", "syntax_error" },
	{ "42703", "undefined_column" },
	{ "42P01", "undefined_table" },
	{ "53100", "disk_full" },
	{ "53200", "out_of_memory" },
	{ "53300", "too_many_connections" },
	{ "54000", "program_limit_exceeded" },
	{ "55P03", "lock_not_available" },
	{ "57014", "query_canceled" },
	{ "57P01", "admin_shutdown" },
	{ "57P02", "crash_shutdown" },
	{ "57P03", "cannot_connect_now" },
	{ "58030", "io_error" },
	{ "XX000", "internal_error" },
	{ "XX001", "data_corrupted" },
	{ "XX002", "index_corrupted" },
	{ "1040", "Too many connections" },
	{ "1045", "ER_ACCESS_DENIED_ERROR" },
	{ "1062", "ER_DUP_ENTRY" },
	{ "1114", "ER_RECORD_FILE_FULL" },
	{ "1146", "ER_NO_SUCH_TABLE" },
	{ "1203", "ER_TOO_MANY_USER_CONNECTIONS" },
	{ "1205", "ER_LOCK_WAIT_TIMEOUT" },
	{ "1213", "ER_LOCK_DEADLOCK" },
	{ "1243", "ER_UNKNOWN_STMT_HANDLER" },
	{ "1290", "ER_OPTION_PREVENTS_STATEMENT" },
	{ "1317", "ER_QUERY_INTERRUPTED" },
	{ "3024", "ER_QUERY_TIMEOUT" },
};

/* Classes of SQLSTATE, of states without a name above. */
static const struct {
	const char *start, *name;
} classes[] = {
	{ "08", "connection exception" },
	{ "0A", "feature not supported" },
	{ "22", "data exception" },
	{ "23", "integrity constraint violation" },
	{ "25", "invalid transaction state" },
	{ "28", "invalid authorization specification" },
	{ "40", "transaction rollback" },
	{ "42", "syntax error or access rule violation" },
	{ "53", "insufficient resources" },
	{ "54", "program limit exceeded" },
	{ "55", "object not in prerequisite state" },
	{ "57", "operator intervention" },
	{ "58", "system error" },
	{ "F0", "configuration file error" },
	{ "XX", "internal error" },
};

#define SQLSTATE 5 /* characters */

const char *error_name(const char *code)
{
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]) && code; i++)
		if (strcmp(names[i].code, code) == 0)
			return names[i].name;
	for (i = 0; i < sizeof(classes) / sizeof(classes[0]) && code; i++)
		if (strlen(code) == SQLSTATE && strncmp(classes[i].start, code, 2) == 0)
			return classes[i].name;
	return NULL;
}
