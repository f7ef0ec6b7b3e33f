// SPDX-License-Identifier: GPL-2.0-or-later
/* What may pass into an HTML report: cleaned SVG, and rows of queries that others wrote. */
#include "analyze/render/evidence.h"
#include "analyze/render/pictures.h"
#include "analyze/store/db.h"
#include "tests/lib/unit.h"

#include <string.h>

static char *cleaned(const char *svg)
{
	static struct buf out;
	struct err e = { 0 };

	buf_clear(&out);
	if (svg_inline(&out, svg, strlen(svg), "p", "a <title>", NULL, &e) < 0)
		return NULL;
	return out.data;
}

static void test_keeps_drawing(void **state)
{
	(void)state;
	const char *out = cleaned(
		"<?xml version=\"1.0\"?><svg viewBox=\"0 0 7 3\">"
		"<title>Gnuplot</title><g fill=\"black\" stroke='rgb(0,0,0)'>"
		"<path id='gpPt1' d='M1,1'/><use xlink:href='#gpPt1'/>"
		"<rect fill='url(#gpPat1)'/><text><tspan>a &lt; b</tspan></text></g></svg>");

	assert_non_null(out);
	assert_string_equal(
		out,
		"<svg viewBox=\"0 0 7 3\" role=\"img\" aria-labelledby=\"p-title\">"
		"<title id=\"p-title\">a &lt;title&gt;</title>"
		"<g fill=\"currentColor\" stroke=\"currentColor\">"
		"<path id=\"p-gpPt1\" d=\"M1,1\"/><use href=\"#p-gpPt1\"/>"
		"<rect fill=\"url(#p-gpPat1)\"/><text><tspan>a &lt; b</tspan></text></g></svg>");
}

static void test_drops_the_rest(void **state)
{
	static const char *const bodies[] = {
		"<script>alert(1)</script>",
		"<SCRIPT>alert(1)</SCRIPT>",
		"<g onload='alert(1)'/>",
		"<use xlink:href='http://alert/x.svg'/>",
		"<use href='http://alert/x.svg'/>",
		"<rect fill='url(http://alert/)'/>",
		"<rect fill='x\"><script>alert(1)'/>",
		"<image xlink:href='data:alert'/>",
		"<foreignObject><p>alert</p></foreignObject>",
		"<style>alert</style>",
		"<a xlink:href='javascript:alert(1)'></a>",
		"<!-- alert --><![CDATA[alert]]>",
		"<path id='x\" onclick=alert'/>",
	};
	char svg[300];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		const char *out;

		snprintf(svg, sizeof(svg), "<svg viewBox=\"0 0 1 1\">%s<g/></svg>", bodies[i]);
		out = cleaned(svg);
		assert_non_null(out);
		assert_null(strstr(out, "alert"));
		assert_non_null(strstr(out, "<g/></svg>"));
	}
}

static void test_refuses_what_is_cut(void **state)
{
	static const char whole[] =
		"<svg viewBox=\"0 0 1 1\"><g fill=\"red\"><path d='M1'/></g></svg>";
	char part[sizeof(whole)];
	size_t n;

	(void)state;
	assert_non_null(cleaned(whole));
	for (n = 0; n < sizeof(whole) - 2; n++) {
		memcpy(part, whole, n);
		part[n] = '\0';
		/* the last bytes of the last tag may be missing; nothing else */
		if (n < sizeof(whole) - 5)
			assert_null(cleaned(part));
	}
}

static const char *shown(const char *sql)
{
	static struct buf out;
	struct err e = { 0 };
	sqlite3 *db = NULL;

	buf_clear(&out);
	assert_int_equal(db_open(&db, NULL, true, &e), 0);
	assert_int_equal(evidence_html(&out, db, sql, &e), 0);
	/* and the database still takes other statements */
	assert_int_equal(db_exec(db, &e, "CREATE TABLE after_it(x)"), 0);
	db_close(db);
	return out.data;
}

static void test_evidence(void **state)
{
	(void)state;
	assert_non_null(strstr(shown("SELECT '<b>' AS \"<i>\", 7 AS n"), "<td>7</td>"));
	assert_non_null(strstr(shown("SELECT '<b>' AS \"<i>\""), "&lt;b&gt;"));
	assert_null(strstr(shown("SELECT '<b>' AS \"<i>\""), "<i>"));
	assert_non_null(strstr(shown("SELECT 1 WHERE 0"), "has no rows"));
	assert_non_null(strstr(shown("DROP TABLE metric"), "cannot be run"));
	assert_non_null(strstr(shown("ATTACH '/tmp/x' AS y"), "cannot be run"));
	assert_non_null(strstr(shown("PRAGMA user_version=7"), "cannot be run"));
	assert_non_null(strstr(shown(""), "cannot be run"));
	assert_non_null(
		strstr(shown("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
			     " SELECT max(i) FROM n"),
		       "takes too long"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keeps_drawing),
		cmocka_unit_test(test_drops_the_rest),
		cmocka_unit_test(test_refuses_what_is_cut),
		cmocka_unit_test(test_evidence),
	};

	return cmocka_run_group_tests_name("html", tests, NULL, NULL);
}
