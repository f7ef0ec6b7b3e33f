// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions that V8 names in a perf map. */
#include "analyze/store/stacks/callstacks.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#include <stdio.h>

/* A function that V8 compiles again stays the same one; what is no perf map's is not touched. */
static void javascript_has_one_name_for_each_function(void **state)
{
	static const struct {
		const char *text, *name;
		int source;
	} cases[] = {
		{ "JS:*f app.js:9:34", "JS:f app.js:9:34", 7 },
		{ "JS:^f app.js:9:34", "JS:f app.js:9:34", 7 },
		{ "JS:* app.js:9:34", "JS: app.js:9:34", 7 },
		{ "LazyCompile:~f app.js:9:34", "JS:f app.js:9:34", 7 },
		{ "Function:^f app.js:9:34", "JS:f app.js:9:34", 7 },
		{ "Script:~", "JS:", 7 },
		{ "JS:f", "JS:f", 7 },
		{ "JS:", "JS:", 7 },
		{ "BytecodeHandler:Star", "BytecodeHandler:Star", 7 },
		{ "JS:*f", "JS:*f", 2 },
	};
	struct text x = { 0 };
	sqlite3 *db;
	char sql[80];
	int i, n = sizeof(cases) / sizeof(cases[0]);

	(void)state;
	text_line(&x, "@recorder");
	for (i = 0; i < n; i++)
		text_line(&x, "%d 0 frame id=%d module=0 address=%d", i + 1, i + 1, i + 1);
	for (i = 0; i < n; i++)
		text_line(&x, "%d 0 symbol frame=%d source=%d text=\"%s\"", i + 100, i + 1,
			  cases[i].source, cases[i].text);
	db = loaded_buf(&x.b);
	for (i = 0; i < n; i++) {
		snprintf(sql, sizeof(sql), "SELECT name FROM symbol WHERE frame=%d", i + 1);
		is_text(db, sql, cases[i].name);
	}
	db_close(db);
}

/* Of its file the last directory is enough. */
static void a_path_in_javascript_is_short(void **state)
{
	struct code codes[] = {
		{ .name = "" },
		{ .name = "JS:get /srv/app/node_modules/router/lib/index.js:47:12" },
		{ .name = "JS: /srv/app.js:9:1" },
		{ .name = "JS:emit node:events:471:44" },
		{ .name = "JS:f file:///srv/web/lib/x.mjs:3:1" },
		{ .name = "JS:g /srv/a-chunk-of-a-bundle-that-has-a-name-of-more-than-sixty-characters."
			  "js:1:2" },
	};
	const struct callstacks s = { .codes = codes, .n_codes = 5 };
	const u32 path[] = { 1, 2, 3 }, others[] = { 4, 5 };
	struct buf out = { 0 };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(callstacks_say(&out, &s, path, 3, &e), 0);
	assert_string_equal(out.data, "JS:emit node:events:471:44 > JS: srv/app.js:9:1 > "
				      "JS:get router/lib/index.js:47:12");
	buf_clear(&out);
	assert_int_equal(callstacks_say(&out, &s, others, 2, &e), 0);
	assert_string_equal(
		out.data, "JS:g ...-bundle-that-has-a-name-of-more-than-sixty-characters.js:1:2 > "
			  "JS:f lib/x.mjs:3:1");
	buf_free(&out);
}

/* What a script calls is said after it, however much of the time that has. */
static void the_script_comes_before_what_it_calls(void **state)
{
	struct code codes[] = {
		{ .name = "" },
		{ .name = "clock_gettime", .named = true, .runtime = true },
		{ .name = "uv__hrtime", .named = true },
		{ .name = "FastBigInt", .named = true },
		{ .name = "JS:handle /srv/app.js:9:1", .named = true, .script = true },
		{ .name = "JS:emit node:events:471:44", .named = true, .script = true },
		{ .name = "main", .named = true }
	};
	const struct callstacks s = { .codes = codes, .n_codes = 6 };
	const u32 path[] = { 1, 2, 3, 4, 5, 6 };
	const double shares[] = { 0.8, 0.9, 0.95, 0.97, 1, 1 };
	struct buf out = { 0 };
	struct err e = { 0 };
	u32 most = callstacks_most(&s, path, shares, 6);

	(void)state;
	assert_int_equal(most, 4);
	assert_int_equal(callstacks_running(&out, &s, path, 6, most, &e), 0);
	assert_string_equal(out.data,
			    "JS:handle srv/app.js:9:1 > ... > uv__hrtime > clock_gettime");
	buf_clear(&out);
	/* near enough to be said anyway */
	assert_int_equal(callstacks_running(&out, &s, path + 2, 4, most, &e), 0);
	assert_string_equal(out.data, "JS:emit node:events:471:44 > JS:handle srv/app.js:9:1 > "
				      "FastBigInt");
	/* without scripts by the time */
	codes[4].script = codes[5].script = false;
	assert_int_equal(callstacks_most(&s, path, shares, 6), 1);
	assert_int_equal(callstacks_most(&s, path + 5, shares, 1), 6);
	buf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(javascript_has_one_name_for_each_function),
		cmocka_unit_test(a_path_in_javascript_is_short),
		cmocka_unit_test(the_script_comes_before_what_it_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
