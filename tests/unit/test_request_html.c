// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/render/request_html.c: the space-time diagram of a request. */
#include "analyze/render/request_html.h"
#include "tests/lib/loaded.h"
#include "tests/lib/two_tiers.h"
#include "tests/lib/unit.h"

#define POLL(ts, id) #ts " " #id " syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=930 ret=1\n"
#define SLEEP(from, to, back, id)                                                       \
#from " " #id " switch next=0 state=1\n" #to " 0 waking target=" #id "\n" #back \
	      " 0 switch next=" #id "\n"

/* The front asks twice and polls for both answers; the back polls as well, in its first request. */
#define ASKS_TWICE                                                                                                               \
	"@recorder\n0 0 info text=\"targets=all\"\n"                                                                             \
	"1 0 info text=\"groups=core,syscalls,sched\"\n" THREAD(100, "front") THREAD(                                            \
		200,                                                                                                             \
		"back") TWO_TIERS BEGIN "900 0 switch next=100\n" READ(1000, 100,                                                \
								       5) WRITE(1100, 100,                                       \
										6) SLEEP(1150,                                   \
											 2000,                                   \
											 2010,                                   \
											 100)                                    \
		POLL(2050, 100) READ(2060, 100, 6) WRITE(2100, 100, 6) SLEEP(                                                    \
			2150, 3000, 3010,                                                                                        \
			100) POLL(3050,                                                                                          \
				  100) READ(3060, 100,                                                                           \
					    6) WRITE(3200, 100,                                                                  \
						     5) "@cpu 1\n1150 0 switch next=200\n" READ(1200,                            \
												200,                             \
												3)                               \
			SLEEP(1250, 1800, 1810, 200) "1850 200 syscall_args nr=epoll_wait arg0=9 arg3=-1 dur=610 ret=1\n" WRITE( \
				1900, 200, 3) READ(2200, 200, 3) WRITE(2900, 200, 3)

static void page_of(struct buf *page, sqlite3 *db)
{
	static struct request_tree tree;
	static struct request_path path;
	struct moment moments[HOST_LIMIT];
	struct spans spans = { 0 };
	struct buf text = { 0 };
	s64 id = 0;

	assert_int_equal(db_int(db, &id, NULL, "SELECT rowid FROM request WHERE pid=100", ""), 0);
	assert_int_equal(request_tree_make(&tree, db, id, NULL), 0);
	assert_int_equal(tree.n, 5);
	assert_int_equal(
		spans_load(&spans, db, moments, request_path_moments(moments, &tree), NULL), 0);
	request_path_make(&path, &tree, &spans);
	assert_int_equal(buf_printf(&text, NULL, "text\n"), 0);
	assert_int_equal(request_html(page, db, "x.obs", &tree, &path, &spans, &text, NULL), 0);
	buf_free(&text);
	spans_free(&spans);
}

static int count(const char *text, const char *part)
{
	int n = 0;

	while ((text = strstr(text, part))) {
		text++;
		n++;
	}
	return n;
}

/* A thread with two requests has one lane; its label is over the lines. */
static void a_thread_has_one_label_over_the_lines(void **state)
{
	sqlite3 *db = loaded(ASKS_TWICE);
	struct buf page = { 0 };
	const char *path, *lane;

	(void)state;
	page_of(&page, db);
	assert_int_equal(count(page.data, "class=\"lane\""), 2);
	assert_int_equal(count(page.data, "class=\"message\""), 4);
	path = strstr(page.data, "class=\"path\"");
	lane = strstr(page.data, "class=\"lane\"");
	assert_non_null(path);
	assert_true(lane > path);
	assert_int_equal(count(page.data, "Not drawn"), 0);
	buf_free(&page);
	db_close(db);
}

/* The front polls for an answer, the back for something else. */
static void polling_for_an_answer_is_an_upstream_wait(void **state)
{
	sqlite3 *db = loaded(ASKS_TWICE);
	struct buf page = { 0 };

	(void)state;
	page_of(&page, db);
	assert_int_equal(count(page.data, "<title>upstream wait, "), 2);
	assert_int_equal(count(page.data, "<title>poll, "), 3);
	buf_free(&page);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_thread_has_one_label_over_the_lines),
		T(polling_for_an_answer_is_an_upstream_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
