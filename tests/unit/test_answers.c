// SPDX-License-Identifier: GPL-2.0-or-later
/* record/requests/answers.c: errors among several answers in one send. */
#include "tests/lib/received.h"

#include "record/requests/heads.h"

#define REDIS	  "PING\r\n"
#define MEMCACHED "get a\r\n"

/* The same answers in one send, and in two, cut at each byte. */
static void check(const char *request, const char *bytes, u32 n, u32 errors)
{
	struct seen s;
	u32 cut;

	for (cut = 0; cut < n; cut++) {
		start(&s);
		give(&s, RAW_HEAD, request, strlen(request), strlen(request));
		if (cut)
			give(&s, RAW_ANSWER, bytes, cut, cut);
		give(&s, cut ? RAW_MORE : RAW_ANSWER, bytes + cut, n - cut, n - cut);
		if (s.errors != errors)
			fail_msg("%u errors, not %u, cut at %u", s.errors, errors, cut);
		heads_free(s.heads);
	}
}

#define CHECK(request, bytes, errors) check(request, bytes, sizeof(bytes) - 1, errors)

static void each_error_of_redis_counts_once(void **state)
{
	(void)state;
	CHECK(REDIS, "+OK\r\n-WRONGTYPE Operation\r\n:7\r\n-ERR a\r\n-ERR b\r\n$-1\r\n-ERR c\r\n",
	      4);
	/* not in values, nor as elements of an array */
	CHECK(REDIS, "$10\r\n-ERR a\r\n-E\r\n-ERR b\r\n", 1);
	CHECK(REDIS,
	      "*3\r\n-ERR a\r\n*1\r\n-ERR a\r\n$6\r\n-ERR\r\n\r\n-ERR b\r\n*-1\r\n*0\r\n-ERR c\r\n",
	      2);
	CHECK(REDIS, "%1\r\n+a\r\n-ERR a\r\n-ERR b\r\n", 1);
}

static void each_error_of_memcached_counts_once(void **state)
{
	static const char binary[] = "\x81\0\0\0\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0\0\x81\x81"
				     "\x81\0\0\0\0\0\0\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
				     "\x81\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

	(void)state;
	CHECK(MEMCACHED,
	      "STORED\r\nERROR\r\nVALUE a 0 7\r\nERROR\r\n\r\nEND\r\nCLIENT_ERROR no\r\nEND\r\nSERVER_ERROR x\r\n",
	      3);
	CHECK(MEMCACHED, "VA 7 s7\r\nERROR\r\n\r\nHD\r\nERROR\r\nSTAT ERROR 1\r\nEND\r\n", 1);
	check("\x80\0\0\x03\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\0\0\0\0\0key", binary,
	      sizeof(binary) - 1, 0); /* a request that is no text is not known by strlen */
}

struct failed {
	const char *name;
	u32 errors;
};

/* What a server received, then its answers, whole and in two sends, cut at each byte: by name. */
static void check_named(const char *request, u32 m, const char *bytes, u32 n,
			const struct failed *want)
{
	const struct failed *w;
	struct seen s;
	u32 cut, all;

	for (cut = 0; cut < n; cut++) {
		start(&s);
		give(&s, RAW_HEAD, request, m, m);
		if (cut)
			give(&s, RAW_ANSWER, bytes, cut, cut);
		give(&s, RAW_ANSWER, bytes + cut, n - cut, n - cut);
		for (w = want, all = 0; w->name; w++) {
			all += w->errors;
			if (failed_of(&s, w->name) != w->errors)
				fail_msg("%s: %u errors, not %u, cut at %u", w->name,
					 failed_of(&s, w->name), w->errors, cut);
		}
		if (s.errors != all)
			fail_msg("%u errors, not %u, cut at %u", s.errors, all, cut);
		heads_free(s.heads);
	}
}

#define CHECK_NAMED(request, bytes, ...)                                    \
	check_named(request, sizeof(request) - 1, bytes, sizeof(bytes) - 1, \
		    (const struct failed[]){ __VA_ARGS__, { 0 } })

#define PG_START  "\0\0\0\x0f\0\x03\0\0user\0a\0"
#define PG_PARSE  "P\0\0\0\x11s\0update t\0\0\0P\0\0\0\x10\0delete t\0\0\0"
#define PG_UPDATE "B\0\0\0\x0d\0s\0\0\0\0\0\0\0E\0\0\0\x09\0\0\0\0\0"
#define PG_DELETE "B\0\0\0\x0c\0\0\0\0\0\0\0\0E\0\0\0\x09\0\0\0\0\0"
#define PG_SYNC	  "S\0\0\0\x04"
#define PG_SELECT "Q\0\0\0\x0dselect 1\0"
#define PG_ERROR  "E\0\0\0\x23SERROR\0VERROR\0C40P01\0Mmessage\0\0"
#define PG_READY  "Z\0\0\0\x05I"
#define PG_DONE       \
	"2\0\0\0\x04" \
	"C\0\0\0\x0dUPDATE 1\0"
#define PG_ROW "D\0\0\0\x2e\0\1\0\0\0\x24" PG_ERROR

static void errors_of_postgres_have_the_name_of_their_request(void **state)
{
	(void)state;
	/* one Sync for three; after an error there are no answers up to it */
	CHECK_NAMED(PG_START PG_PARSE PG_UPDATE PG_DELETE PG_UPDATE PG_SYNC PG_SELECT PG_SELECT,
		    "1\0\0\0\x04"
		    "1\0\0\0\x04" PG_DONE "2\0\0\0\x04" PG_ERROR PG_READY PG_ERROR PG_READY
		    "T\0\0\0\x06\0\0" PG_ROW "C\0\0\0\x0dSELECT 1\0" PG_READY,
		    { "Execute UPDATE", 0 }, { "Execute DELETE", 1 }, { "Query SELECT", 1 });
	/* a Sync for each; an error of Parse is one of no request; two statements of one query */
	CHECK_NAMED(
		PG_START PG_PARSE PG_UPDATE PG_SYNC PG_PARSE PG_SYNC PG_SELECT PG_DELETE PG_SYNC,
		"1\0\0\0\x04"
		"1\0\0\0\x04"
		"2\0\0\0\x04" PG_ERROR PG_READY "1\0\0\0\x04"
		"1\0\0\0\x04" PG_READY "C\0\0\0\x0dSELECT 1\0"
		"C\0\0\0\x0dSELECT 1\0" PG_READY "2\0\0\0\x04" PG_ERROR PG_READY,
		{ "Execute UPDATE", 1 }, { "Execute DELETE", 1 }, { "Query SELECT", 0 });
}

/* An error of a query that had rows already; one of a login that was accepted. */
static void errors_after_another_message(void **state)
{
	static const char rows[] = "T\0\0\0\x06\0\0" PG_ERROR;
	static const char login[] = "R\0\0\0\x08\0\0\0\0" PG_ERROR;
	struct seen s;

	(void)state;
	CHECK_NAMED(PG_START PG_SELECT, "T\0\0\0\x06\0\0" PG_ERROR PG_READY, { "Query SELECT", 1 });
	start(&s);
	give(&s, RAW_HEAD, PG_START, sizeof(PG_START) - 1, sizeof(PG_START) - 1);
	give(&s, RAW_ANSWER, login, sizeof(login) - 1, sizeof(login) - 1);
	assert_int_equal(s.errors, 1);
	assert_string_equal(s.code, "40P01");
	heads_free(s.heads);
	/* answers between were not copied */
	start(&s);
	give(&s, RAW_HEAD, PG_START PG_SELECT PG_SELECT, sizeof(PG_START PG_SELECT PG_SELECT) - 1,
	     sizeof(PG_START PG_SELECT PG_SELECT) - 1);
	s.written += 100;
	give(&s, RAW_ANSWER, rows, sizeof(rows) - 1, sizeof(rows) - 1);
	assert_int_equal(s.errors, 1);
	heads_free(s.heads);
}

#define MYSQL_LOGIN \
	"\x20\0\0\x01\x8d\xa6\x0f\0\0\0\0\x01\x21\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
#define MYSQL_ERROR "\x0b\0\0\x01\xff\x7a\x04#42S02no"
#define MYSQL_OK    "\x07\0\0\x01\0\0\0\2\0\0\0"

/* A result of more packets than there are numbers. */
static u32 long_result(char *b)
{
	u32 i, n = 0;

	for (i = 1; i <= 600; i++, n += 6)
		memcpy(b + n, (char[]){ 2, 0, 0, (char)i, 1, 'x' }, 6);
	return n;
}

static void errors_of_mysql_have_the_name_of_their_request(void **state)
{
	static const char asked[] =
		"\x09\0\0\0\x03insert 1\x01\0\0\0\x0e\x09\0\0\0\x03select 1\x09\0\0\0\x03"
		"delete 1";
	static char answers[8000];
	u32 n = sizeof(MYSQL_ERROR) - 1;
	struct seen s;

	(void)state;
	start(&s);
	give(&s, RAW_HEAD, MYSQL_LOGIN, 36, 36);
	give(&s, RAW_HEAD, asked, sizeof(asked) - 1, sizeof(asked) - 1);
	memcpy(answers, MYSQL_ERROR MYSQL_OK, n + sizeof(MYSQL_OK) - 1);
	n += sizeof(MYSQL_OK) - 1;
	n += long_result(answers + n);
	memcpy(answers + n, MYSQL_ERROR, sizeof(MYSQL_ERROR) - 1);
	n += sizeof(MYSQL_ERROR) - 1;
	give(&s, RAW_ANSWER, answers, 3000, 3000);
	give(&s, RAW_ANSWER, answers + 3000, n - 3000, n - 3000);
	assert_int_equal(s.errors, 2);
	assert_int_equal(failed_of(&s, "Query INSERT"), 1);
	assert_int_equal(failed_of(&s, "Query DELETE"), 1);
	assert_int_equal(s.status, 1146);
	assert_string_equal(s.code, "42S02");
	heads_free(s.heads);
}

#define ARG "$1\r\na\r\n"

static void errors_of_lines_have_the_name_of_their_request(void **state)
{
	(void)state;
	CHECK_NAMED("*3\r\n$3\r\nset\r\n" ARG ARG "*2\r\n$4\r\nINCR\r\n" ARG
		    "*2\r\n$4\r\nINCR\r\n" ARG
		    "LPUSH a\r\n*1\r\n$4\r\nHUGO\r\nMULTI\r\nINCR a\r\nEXEC\r\nGET a\r\n",
		    "+OK\r\n:1\r\n-ERR x\r\n-WRONGTYPE x\r\n-ERR x\r\n+OK\r\n+QUEUED\r\n"
		    "*1\r\n-ERR x\r\n$-1\r\n",
		    { "SET", 0 }, { "INCR", 1 }, { "LPUSH", 1 }, { "unknown command", 1 },
		    { "GET", 0 });
	CHECK_NAMED("set a 0 0 5\r\nget x\r\nget a b\r\nincr a x\r\nstats\r\nincr a 1\r\n",
		    "STORED\r\nVALUE a 0 5\r\nget x\r\nEND\r\nCLIENT_ERROR x\r\nSTAT a 1\r\n"
		    "END\r\nSERVER_ERROR x\r\n",
		    { "set", 0 }, { "get", 0 }, { "incr", 2 });
	CHECK_NAMED("\x80\0\0\x03\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\0\0\0\0\0key"
		    "\x80\x05\0\x03\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\0\0\0\0\0key",
		    "\x81\x05\0\0\0\0\0\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", { "get", 0 },
		    { "incr", 1 });
}

static void errors_after_unanswered_requests_have_no_name(void **state)
{
	static const char *const asked[] = { "SUBSCRIBE a b\r\nINCR a\r\n",
					     "*3\r\n$6\r\nCLIENT\r\n$5\r\nreply\r\n$3\r\nOFF\r\n",
					     "CLIENT REPLY SKIP\r\nGET a\r\n",
					     "incr a 1 noreply\r\n", "mg a q\r\n" };
	struct seen s;
	u32 i, k;

	(void)state;
	for (i = 0; i < 5; i++) {
		start(&s);
		for (k = 0; k < 2; k++)
			give(&s, RAW_HEAD, asked[i], strlen(asked[i]), strlen(asked[i]));
		give(&s, RAW_ANSWER, i < 3 ? "-ERR x\r\n" : "ERROR \r\n", 8, 8);
		assert_int_equal(s.errors, 1);
		for (k = 0; k < s.n; k++)
			assert_int_equal(s.names[k].failed, 0);
		heads_free(s.heads);
	}
	/* of other commands of CLIENT each has its answer */
	start(&s);
	give(&s, RAW_HEAD, "CLIENT ID\r\nINCR a\r\n", 19, 19);
	give(&s, RAW_ANSWER, ":3\r\n-ERR x\r\n", 12, 12);
	assert_int_equal(failed_of(&s, "INCR"), 1);
	heads_free(s.heads);
}

/* The name of an answer's opcode is that of a request that was made, or failed. */
static void answers_without_error_make_no_names(void **state)
{
	static const char get[24] = "\x80", gat[24] = "\x81\x1d",
			  missing[24] = "\x81\x1d\0\0\0\0\0\1",
			  no_memory[24] = "\x81\x1d\0\0\0\0\0\x82";
	struct seen s;

	(void)state;
	start(&s);
	give(&s, RAW_HEAD, get, sizeof(get), sizeof(get));
	give(&s, RAW_ANSWER, gat, sizeof(gat), sizeof(gat));
	give(&s, RAW_ANSWER, missing, sizeof(missing), sizeof(missing));
	assert_int_equal(s.errors, 0);
	assert_int_equal(s.n, 1);
	give(&s, RAW_ANSWER, no_memory, sizeof(no_memory), sizeof(no_memory));
	assert_int_equal(s.errors, 1);
	assert_string_equal(s.names[1].text, "gat");
	heads_free(s.heads);
}

#define CLIENT(n, word) "*3\r\n$6\r\nCLIENT\r\n$" n "\r\n" word "\r\n$3\r\noff\r\n"

/*
 * Named errors after a command of CLIENT, received in two parts, and an error to INCR; unread:
 * bytes of the first part.
 */
static u32 failed_after(const char *command, size_t cut, size_t unread)
{
	size_t n = strlen(command);
	struct seen s;
	u32 ret;

	start(&s);
	give(&s, RAW_HEAD, "PING\r\n", 6, 6);
	give(&s, RAW_ANSWER, "+PONG\r\n", 7, 7);
	give(&s, RAW_HEAD, command, (u32)cut, (u32)(cut - unread));
	if (cut < n)
		give(&s, RAW_HEAD, command + cut, (u32)(n - cut), (u32)(n - cut));
	give(&s, RAW_HEAD, "GET a\r\nINCR a\r\n", 15, 15);
	give(&s, RAW_ANSWER, "+OK\r\n$-1\r\n-ERR x\r\n", 18, 18);
	assert_int_equal(s.errors, 1);
	ret = failed_of(&s, "INCR") + failed_of(&s, "GET") + failed_of(&s, "CLIENT") +
	      failed_of(&s, "CLIENT INFO") + failed_of(&s, "CLIENT REPLY");
	heads_free(s.heads);
	return ret;
}

/* A command of CLIENT whose word, which says whether it has an answer, comes later. */
static void errors_after_a_cut_client_have_no_name(void **state)
{
	static const char reply[] = CLIENT("5", "reply"), list[] = CLIENT("4", "info");
	size_t at;

	(void)state;
	for (at = 1; at < sizeof(reply); at++)
		if (failed_after(reply, at, 0))
			fail_msg("a name, cut at %zu", at);
	for (at = 1; at < sizeof(list); at++)
		if (!failed_after(list, at, 0))
			fail_msg("no name, cut at %zu", at);
	/* the rest of a receive was not read */
	assert_int_equal(failed_after(reply, sizeof(reply) - 1, 20), 0);
	/* inline, with blanks; without a word */
	assert_int_equal(failed_after("CLIENT   reply off\r\n", 20, 0), 0);
	assert_int_equal(failed_after("*1\r\n$6\r\nCLIENT\r\n", 16, 0), 1);
	assert_int_equal(failed_after("CLIENT\r\n", 8, 0), 1);
}

/* More requests than there is room for, in long rows; the end of one comes after an unread part. */
static void rows_of_requests_are_counted(void **state)
{
	static char asked[6000], answers[6000];
	struct seen s;
	u32 i, n = 0, m = 0;

	(void)state;
	for (i = 0; i < 500; i++) {
		n += (u32)snprintf(asked + n, sizeof(asked) - n, "%s a\r\n",
				   i < 250 ? "INCR" : "GET");
		m += (u32)snprintf(answers + m, sizeof(answers) - m,
				   i % 250 < 200 ? ":1\r\n" : "-ERR x\r\n");
	}
	start(&s);
	give(&s, RAW_HEAD, asked, n, n);
	give(&s, RAW_ANSWER, answers, m, m);
	assert_int_equal(failed_of(&s, "INCR"), 50);
	assert_int_equal(failed_of(&s, "GET"), 50);
	s.written += 100; /* answers that were not read */
	give(&s, RAW_HEAD, "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$9\r\nxx", 26, 26);
	give(&s, RAW_ANSWER, "-ERR x\r\n", 8, 8);
	give(&s, RAW_HEAD, "xxxxxxx\r\nINCR a\r\n", 17, 17); /* the SET is to be answered, too */
	give(&s, RAW_ANSWER, "+OK\r\n-ERR x\r\n", 13, 13);
	assert_int_equal(failed_of(&s, "INCR") + failed_of(&s, "SET"), 50);
	give(&s, RAW_HEAD, "LLEN a\r\nINCR a\r\n", 16, 16);
	give(&s, RAW_ANSWER, ":1\r\n-ERR x\r\n", 12, 12);
	assert_int_equal(failed_of(&s, "INCR"), 51);
	heads_free(s.heads);
}

/* Four streams; the second answers before the first, the fourth in trailers. */
static void errors_of_http2_have_the_name_of_their_stream(void **state)
{
	(void)state;
	CHECK_NAMED("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
		    "\0\0\x05\x01\x05\0\0\0\x01\x82\x86\x04\x01/"
		    "\0\0\x07\x01\x05\0\0\0\x03\x82\x86\x04\x03/no"
		    "\0\0\x08\x01\x05\0\0\0\x05\x83\x86\x04\x04/bad"
		    "\0\0\x1c\x01\x05\0\0\0\x07\x83\x86\x04\x06/p.S/M\x5f\x10"
		    "application/grpc",
		    "\0\0\0\x04\0\0\0\0\0"
		    "\0\0\x01\x01\x05\0\0\0\x03\x8d" /* 404 */
		    "\0\0\x01\x01\x04\0\0\0\x01\x88" /* 200 */
		    "\0\0\x05\0\x01\0\0\0\x01\0\0\x01\x01\x05"
		    "\0\0\x05\x01\x05\0\0\0\x05\x48\x03"
		    "503" /* now index 62 */
		    "\0\0\x01\x01\x04\0\0\0\x07\x88"
		    "\0\0\x10\x01\x05\0\0\0\x07\x40\x0bgrpc-status\x02"
		    "13",
		    { "GET /", 0 }, { "GET /no", 1 }, { "POST /bad", 1 }, { "POST /p.S/M", 1 });
	/* only trailers, of four calls in one send, from the table; a status of HTTP counts once */
	CHECK_NAMED("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
		    "\0\0\x1b\x01\x05\0\0\0\x01\x83\x86\x44\x05/S/M1\x5f\x10"
		    "application/grpc"
		    "\0\0\x04\x01\x05\0\0\0\x03\x83\x86\xbf\xbe"
		    "\0\0\x0a\x01\x05\0\0\0\x05\x83\x86\x04\x05/S/M2\xbe"
		    "\0\0\x04\x01\x05\0\0\0\x07\x83\x86\xbf\xbe"
		    "\0\0\x04\x01\x05\0\0\0\x09\x83\x86\xbf\xbe",
		    "\0\0\x10\x01\x05\0\0\0\x01\x88\x40\x0bgrpc-status\x01"
		    "5"
		    "\0\0\x02\x01\x05\0\0\0\x05\x88\xbe"
		    "\0\0\x02\x01\x05\0\0\0\x03\x88\xbe"
		    "\0\0\x10\x01\x05\0\0\0\x07\x88\x40\x0bgrpc-status\x01"
		    "0"
		    "\0\0\x01\x01\x04\0\0\0\x09\x8e"
		    "\0\0\x01\x01\x05\0\0\0\x09\xbf",
		    { "POST /S/M1", 3 }, { "POST /S/M2", 1 });
}

/* Bytes that were not read: errors after them count, with names only where these are certain. */
static void names_of_errors_are_not_guessed(void **state)
{
	static const char asked[] = PG_START PG_SELECT PG_PARSE PG_DELETE PG_SYNC;
	struct seen s;

	(void)state;
	start(&s);
	give(&s, RAW_HEAD, asked, sizeof(asked) - 1, sizeof(asked) - 1);
	s.written += 50; /* an answer, perhaps both */
	give(&s, RAW_ANSWER, PG_ERROR PG_READY, 42, 42);
	assert_int_equal(s.errors, 1);
	assert_string_equal(s.code, "40P01");
	assert_int_equal(failed_of(&s, "Query SELECT") + failed_of(&s, "Execute DELETE"), 0);
	give(&s, RAW_HEAD, PG_SELECT, sizeof(PG_SELECT) - 1, sizeof(PG_SELECT) - 1);
	give(&s, RAW_ANSWER, PG_ERROR PG_READY, 42, 42);
	assert_int_equal(failed_of(&s, "Query SELECT"), 1);
	/* in the middle of a row that looks like an error's fields */
	s.written += 1000;
	give(&s, RAW_ANSWER, "ERROR\0C40P01\0", 14, 14);
	assert_int_equal(s.errors, 2);
	heads_free(s.heads);
}

/* Of what was not read nothing is made up, and it is said. */
static void bytes_that_were_not_read_are_no_answers(void **state)
{
	static const char bytes[] = "+OK\r\n-ERR a\r\n$1000\r\nxx";
	struct seen s;

	(void)state;
	start(&s);
	give(&s, RAW_HEAD, REDIS, strlen(REDIS), strlen(REDIS));
	give(&s, RAW_ANSWER, bytes, 22 + 1000 + 2 - 2, sizeof(bytes) - 1); /* its value fills it */
	assert_int_equal(s.errors, 1);
	give(&s, RAW_ANSWER, "-ERR b\r\n", 8, 8);
	assert_int_equal(s.errors, 2);
	give(&s, RAW_ANSWER, "+OK\r\n-ERR", 4000, 9); /* the first word is known */
	assert_int_equal(s.errors, 3);
	heads_free(s.heads);
}

/* What follows such bytes in the same send may be a part of a value. */
static void a_gap_ends_the_answers_of_a_send(void **state)
{
	struct seen s;

	(void)state;
	start(&s);
	give(&s, RAW_HEAD, REDIS, strlen(REDIS), strlen(REDIS));
	give(&s, RAW_ANSWER, "-ERR a\r\n$9\r\n", 13 + 4096, 13);
	assert_int_equal(s.errors, 1);
	give(&s, RAW_MORE, "- item\r\n-ERR b\r\n", 17, 17);
	assert_int_equal(s.errors, 1);
	give(&s, RAW_ANSWER, "-ERR c\r\n", 8, 8);
	assert_int_equal(s.errors, 2);
	heads_free(s.heads);
}

/* More codes than there is room for in place of the bytes: their number stays. */
static void errors_of_many_codes_are_joined(void **state)
{
	char bytes[4000] = "";
	struct seen s;
	u32 i, n = 0;

	(void)state;
	for (i = 0; i < 200; i++)
		n += (u32)snprintf(bytes + n, sizeof(bytes) - n, "-E%u x\r\n+\r\n", i % 50);
	start(&s);
	give(&s, RAW_HEAD, REDIS, strlen(REDIS), strlen(REDIS));
	give(&s, RAW_ANSWER, bytes, n, n);
	assert_int_equal(s.errors, 200);
	give(&s, RAW_ANSWER, bytes, 64, 64);
	assert_int_equal(s.errors, 200 + 6);
	heads_free(s.heads);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(each_error_of_redis_counts_once),
		T(each_error_of_memcached_counts_once),
		T(bytes_that_were_not_read_are_no_answers),
		T(a_gap_ends_the_answers_of_a_send),
		T(errors_of_many_codes_are_joined),
		T(errors_of_postgres_have_the_name_of_their_request),
		T(errors_after_another_message),
		T(errors_of_mysql_have_the_name_of_their_request),
		T(errors_of_lines_have_the_name_of_their_request),
		T(errors_after_unanswered_requests_have_no_name),
		T(errors_after_a_cut_client_have_no_name),
		T(answers_without_error_make_no_names),
		T(rows_of_requests_are_counted),
		T(errors_of_http2_have_the_name_of_their_stream),
		T(names_of_errors_are_not_guessed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
