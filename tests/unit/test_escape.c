// SPDX-License-Identifier: GPL-2.0-or-later
/* format/escape.c: nothing that acts may come through, for any target. */
#include "tests/lib/unit.h"

#include "format/escape.h"

static void check(enum escape_for how, const char *in, size_t n, const char *want)
{
	struct buf b = { 0 };
	struct err e = { 0 };

	assert_int_equal(escape_add(&b, how, in, n, &e), 0);
	assert_int_equal(buf_add(&b, "", 1, &e), 0);
	assert_string_equal(b.data, want);
	buf_free(&b);
}

#define CHECK(how, in, want) check(how, in, sizeof(in) - 1, want)

static void controls_become_visible(void **state)
{
	(void)state;
	CHECK(ESCAPE_TEXT, "a\033[2Jb", "a\\x1b[2Jb");
	CHECK(ESCAPE_TEXT, "tab\tnul\0end", "tab\\x09nul\\x00end");
	CHECK(ESCAPE_TEXT, "\x7f", "\\x7f");
	CHECK(ESCAPE_TEXT, "c1 \xc2\x9b", "c1 \\x9b");
	CHECK(ESCAPE_TEXT, "bidi \xe2\x80\xae", "bidi \\u{202e}");
	CHECK(ESCAPE_TEXT, "caf\xc3\xa9 \xe2\x82\xac", "caf\xc3\xa9 \xe2\x82\xac");
	CHECK(ESCAPE_TEXT, "a\\b", "a\\\\b");
}

static void bad_utf8_becomes_bytes(void **state)
{
	(void)state;
	CHECK(ESCAPE_TEXT, "\xff\xc3", "\\xff\\xc3");
	CHECK(ESCAPE_TEXT, "\xc0\x80", "\\xc0\\x80");	       /* overlong */
	CHECK(ESCAPE_TEXT, "\xed\xa0\x80", "\\xed\\xa0\\x80"); /* surrogate */
	CHECK(ESCAPE_JSON, "\xff\"\\\n", "\\u00ff\\\"\\\\\\u000a");
	CHECK(ESCAPE_JSON, "\xf3\xa0\x80\x81", "\\udb40\\udc01"); /* a tag character */
}

static void each_target_is_safe(void **state)
{
	(void)state;
	CHECK(ESCAPE_HTML, "<a href=\"x\">'&", "&lt;a href=&quot;x&quot;&gt;&#39;&amp;");
	CHECK(ESCAPE_MARKDOWN, "a|b`c*_", "a\\|b\\`c\\*\\_");
	CHECK(ESCAPE_CSV, "say \"x\", y", "\"say \"\"x\"\", y\"");
	CHECK(ESCAPE_CSV, "=1+1", "\"'=1+1\"");
	CHECK(ESCAPE_CSV, "", "\"\"");
	CHECK(ESCAPE_CSV, "\t=1", "\"\\x09=1\"");
	CHECK(ESCAPE_CSV, "\r@x", "\"\\x0d@x\"");
	CHECK(ESCAPE_CSV, "-1", "\"'-1\"");
	CHECK(ESCAPE_TSV, "a b\t\"c", "a\\x20b\\x09\\x22c");
	CHECK(ESCAPE_FOLDED, "a;b 5\n", "a\\x3bb 5\\x0a");
	CHECK(ESCAPE_LABEL, "a\"b\\c\n", "a\\\"b\\\\\\\\c\\\\x0a");
}

/* Any bytes, any target: the result has no control byte and is ASCII or valid UTF-8. */
static void random_bytes_never_act(void **state)
{
	unsigned int seed = 12345;
	struct err e = { 0 };
	struct buf b = { 0 };
	char in[64];
	size_t k;
	int i, how;

	(void)state;
	for (i = 0; i < 20000; i++) {
		for (k = 0; k < sizeof(in); k++) {
			seed = seed * 1103515245u + 12345u;
			in[k] = seed >> 16;
		}
		for (how = ESCAPE_TEXT; how <= ESCAPE_LABEL; how++) {
			buf_clear(&b);
			assert_int_equal(escape_add(&b, how, in, sizeof(in), &e), 0);
			for (k = 0; k < b.len; k++)
				assert_true((unsigned char)b.data[k] >= 0x20 && b.data[k] != 0x7f);
		}
	}
	buf_free(&b);
}

static void words_are_one_to_a_shell(void **state)
{
	static const struct {
		const char *in, *want;
	} words[] = {
		{ "redis-server", "redis-server" },
		{ "", "''" },
		{ "nginx*", "'nginx*'" },
		{ "a b", "'a b'" },
		{ "it's", "\"it's\"" },
		{ "$x'y", "'$x'\\''y'" },
		{ "--label=a=b,c", "--label=a=b,c" },
		{ "~", "'~'" },
		{ "\n", "'\n'" },
	};
	struct buf b = { 0 };
	struct err e = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		buf_clear(&b);
		assert_int_equal(escape_word(&b, words[i].in, &e), 0);
		assert_string_equal(b.data, words[i].want);
	}
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(controls_become_visible), T(bad_utf8_becomes_bytes),	 T(each_target_is_safe),
		T(random_bytes_never_act),  T(words_are_one_to_a_shell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
