// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions for SQL that name numbers. */
#include "names.h"

#include "format/errnos.h"
#include "format/syscall.h"

#include <stdio.h>

static void give(sqlite3_context *ctx, const char *text)
{
	sqlite3_result_text(ctx, text, -1, SQLITE_TRANSIENT);
}

static void name_syscall(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	sqlite3_int64 abi = sqlite3_value_int64(argv[0]), nr = sqlite3_value_int64(argv[1]);
	char text[64];

	(void)argc;
	if (sqlite3_value_type(argv[1]) == SQLITE_NULL)
		return;
	give(ctx, syscall_name(abi >= 0 && abi < 256 ? (u8)abi : 255, (u32)nr, text, sizeof(text)));
}

static void name_errno(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	sqlite3_int64 n = sqlite3_value_int64(argv[0]);
	char text[64];

	(void)argc;
	/* a result of a call: what is no error has no name */
	if (sqlite3_value_type(argv[0]) == SQLITE_NULL || n == 0 || n < -4095 || n > 4095)
		return;
	give(ctx, errno_name((int)(n < 0 ? -n : n), text, sizeof(text)));
}

static void name_block_op(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	static const char *const ops[] = { "read", "write", "flush", "discard" };
	sqlite3_int64 op = sqlite3_value_int64(argv[0]) & 0xff; /* the rest are flags */
	char text[32];

	(void)argc;
	if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	snprintf(text, sizeof(text), "operation %lld", op);
	give(ctx, op < 4 ? ops[op] : op == 9 ? "write zeroes" : text);
}

static void name_state(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	static const struct {
		int id;
		const char *name;
	} states[] = {
#define STATE(id, name, off, doc) { id, #name },
#include "waits.def"
#undef STATE
	};
	size_t i;

	(void)argc;
	for (i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (sqlite3_value_type(argv[0]) != SQLITE_NULL &&
		    states[i].id == sqlite3_value_int64(argv[0]))
			give(ctx, states[i].name);
}

int names_register(sqlite3 *db, struct err *e)
{
	static const struct {
		const char *name;
		int args;
		void (*fn)(sqlite3_context *, int, sqlite3_value **);
	} functions[] = {
		{ "syscall_name", 2, name_syscall },
		{ "errno_name", 1, name_errno },
		{ "block_op", 1, name_block_op },
		{ "state_name", 1, name_state },
	};
	size_t i;

	for (i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (sqlite3_create_function_v2(
			    db, functions[i].name, functions[i].args,
			    SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, NULL,
			    functions[i].fn, NULL, NULL, NULL) != SQLITE_OK)
			return err_set(e, ERR_FAIL, "SQLite refuses a function: %s",
				       sqlite3_errmsg(db));
	return 0;
}
