// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions for SQL that name numbers. */
#include "names.h"

#include "analyze/store/state.h"
#include "format/errnos.h"
#include "format/syscall.h"

#include <stdio.h>
#include <string.h>

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

static const struct category_row {
	const char *name, *label;
	int band;
} categories[] = {
#define BAND(...)
#define CATEGORY(name, band, part, label, says) { #name, label, band },
#include "analyze/store/categories.def"
#undef CATEGORY
#undef BAND
};

static const struct {
	const char *name, *category;
} states[] = {
#define STATE(id, name, off, category, ...) [id] = { #name, #category },
#include "analyze/store/waits.def"
#undef STATE
};

const char *const state_labels[N_STATES] = {
#define STATE(id, name, off, category, series, label, ...) [id] = label,
#include "analyze/store/waits.def"
#undef STATE
};

#define N(table) ((sqlite3_int64)(sizeof(table) / sizeof((table)[0])))

static void name_state(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	sqlite3_int64 id = sqlite3_value_int64(argv[0]);

	(void)argc;
	if (sqlite3_value_type(argv[0]) != SQLITE_NULL && id >= 0 && id < N(states))
		give(ctx, states[id].name);
}

/* The row of a category; NULL for what is none. */
static const struct category_row *find_category(const char *name)
{
	size_t i;

	for (i = 0; name && i < sizeof(categories) / sizeof(categories[0]); i++)
		if (strcmp(categories[i].name, name) == 0)
			return &categories[i];
	return NULL;
}

static void give_band(sqlite3_context *ctx, const char *category)
{
	const struct category_row *c = find_category(category);

	if (c)
		sqlite3_result_int(ctx, c->band);
}

static void band_of_state(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	sqlite3_int64 id = sqlite3_value_int64(argv[0]);

	(void)argc;
	if (sqlite3_value_type(argv[0]) != SQLITE_NULL && id >= 0 && id < N(states))
		give_band(ctx, states[id].category);
}

static void band_of_category(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	(void)argc;
	give_band(ctx, (const char *)sqlite3_value_text(argv[0]));
}

static void label_category(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const struct category_row *c = find_category((const char *)sqlite3_value_text(argv[0]));

	(void)argc;
	if (c)
		give(ctx, c->label);
}

int names_register(sqlite3 *db, struct err *e)
{
	static const struct {
		const char *name;
		int args;
		void (*fn)(sqlite3_context *, int, sqlite3_value **);
	} functions[] = {
		{ "syscall_name", 2, name_syscall },	 { "errno_name", 1, name_errno },
		{ "block_op", 1, name_block_op },	 { "state_name", 1, name_state },
		{ "state_band", 1, band_of_state },	 { "category_band", 1, band_of_category },
		{ "category_label", 1, label_category },
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
