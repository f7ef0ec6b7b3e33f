// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of requests out of the bytes that servers receive. */
#include "record/requests/parse.h"
#include "tests/lib/received.h"

static void redis_commands_are_counted(void **state)
{
	(void)state;
	NAMES_ARE(
		"*2\r\n$3\r\nget\r\n$3\r\nabc\r\n*3\r\n$3\r\nSET\r\n$1\r\na\r\n$14\r\n*1\r\n$4\r\nPING\r\n\r\n"
		"*2\r\n$3\r\nGET\r\n$1\r\na\r\n*2\r\n$9\r\nmyservice\r\n$1\r\na\r\nPING\r\n",
		{ "GET", 2 }, { "SET", 1 }, { "PING", 1 }, { "unknown command", 1 },
		{ "MYSERVICE", 0 });
}

/* What a group of commands is asked for is of its name: no value, and not what is cut off. */
static void subcommands_of_redis_are_named(void **state)
{
	(void)state;
	NAMES_ARE("*4\r\n$6\r\nCLIENT\r\n$5\r\npause\r\n$4\r\n2500\r\n$5\r\nWRITE\r\n"
		  "config  set maxclients 3\r\nCONFIG secret\r\nCONFIG\r\n"
		  "*2\r\n$3\r\nGET\r\n$3\r\nset\r\n*2\r\n$6\r\nCONFIG\r\n$99\r\nse",
		  { "CLIENT PAUSE", 1 }, { "CONFIG SET", 1 }, { "CONFIG", 3 }, { "GET", 1 });
}

/* Headers of 3 KB in two receives, with a request after them in the second. */
static void long_headers_may_be_cut(void **state)
{
	char bytes[4096];
	struct seen s;
	size_t n, cut;

	(void)state;
	n = (size_t)snprintf(bytes, sizeof(bytes),
			     "GET /a HTTP/1.1\r\nCookie: %03000d\r\n\r\nGET /b HTTP/1.1\r\n\r\n",
			     0);
	for (cut = 1; cut < n; cut += 97) {
		start(&s);
		give(&s, RAW_HEAD, bytes, cut, cut);
		give(&s, RAW_HEAD, bytes + cut, n - cut, n - cut);
		assert_int_equal(count_of(&s, "GET /a"), 1);
		assert_int_equal(count_of(&s, "GET /b"), 1);
		heads_free(s.heads);
	}
}

/* Records of one CPU come before those of another: 20 requests, the second half first. */
/* A receive at ts among the records of one CPU; what comes before it in the connection is at pos.
 */
static void add_receive(struct buf *cpu, u64 ts, u32 pos, const char *bytes, u32 len)
{
	u64 whole[(sizeof(struct ev_raw) + 256) / 8] = { 0 };
	struct ev_raw *raw = (struct ev_raw *)whole;
	const struct ev_header other = { ts, 1, EV_segment, sizeof(struct ev_header) };

	raw->h = (struct ev_header){ ts, 1, RAW_HEAD, sizeof(whole) };
	raw->conn = 1;
	raw->pos = pos;
	raw->len = raw->n = len;
	memcpy(raw->bytes, bytes, len);
	assert_int_equal(buf_add(cpu, &other, sizeof(other), NULL), 0);
	assert_int_equal(buf_add(cpu, raw, raw->h.size, NULL), 0);
}

/* The thread goes to another CPU after each receive; one request may take several of them. */
static void receives_on_several_cpus_are_read_in_order(void **state)
{
	static const char sent[] = "*3\r\n$6\r\nAPPEND\r\n$1\r\nk\r\n$30\r\n"
				   "*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPING\r\nxx\r\n"
				   "*2\r\n$6\r\nSTRLEN\r\n$1\r\nk\r\n";
	static const u32 size = 7, passes[] = { 21, 35, 1000 };
	struct buf cpus[3] = { 0 };
	struct batch batches[3];
	struct seen s;
	u32 pos, n = strlen(sent), i, pass, at;
	u64 ts = 0;

	(void)state;
	start(&s);
	for (i = 0; i < 3; i++)
		batches[i] = (struct batch){ &cpus[i], 0 };
	for (pos = 0; pos < n; pos += size) /* the first bytes are on the last CPU */
		add_receive(&cpus[2 - pos / size % 3], ts += 5, pos, sent + pos,
			    n - pos < size ? n - pos : size);
	for (pass = 0; pass < 3; pass++)
		assert_int_equal(heads_filter(s.heads, batches, 3, passes[pass], NULL), 0);
	for (i = 0; i < 3; i++) {
		assert_int_equal(batches[i].seen, cpus[i].len);
		for (at = 0; at < cpus[i].len;
		     at += ((struct ev_header *)(cpus[i].data + at))->size)
			see(&s, (const struct ev_header *)(cpus[i].data + at));
		buf_free(&cpus[i]);
	}
	assert_int_equal(s.all, 2);
	assert_int_equal(count_of(&s, "APPEND"), 1);
	assert_int_equal(count_of(&s, "STRLEN"), 1);
	assert_int_equal(s.flags & HEAD_AT_LEAST, 0);
	heads_free(s.heads);
}

/* What the filter leaves is raw, and it says from where on. */
static void later_receives_are_left(void **state)
{
	static const char get[] = "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n";
	struct buf cpu = { 0 };
	struct batch batch = { &cpu, 0 };
	const struct ev_raw *left;
	struct seen s;

	(void)state;
	start(&s);
	add_receive(&cpu, 10, 0, get, strlen(get));
	add_receive(&cpu, 20, strlen(get), get, strlen(get));
	assert_int_equal(heads_filter(s.heads, &batch, 1, 19, NULL), 0);
	left = (const struct ev_raw *)(cpu.data + batch.seen);
	assert_in_range(batch.seen, 1, cpu.len - 1);
	assert_int_equal(left->h.type, RAW_HEAD);
	assert_int_equal(left->h.ts, 20);
	assert_int_equal(heads_filter(s.heads, &batch, 1, 20, NULL), 0);
	assert_int_equal(batch.seen, cpu.len);
	buf_free(&cpu);
	heads_free(s.heads);
}

/* A value's bytes that come before others that were read already are not taken for requests. */
static void receives_from_before_have_no_names(void **state)
{
	static const char ping[] = "*1\r\n$4\r\nPING\r\n";
	struct seen s;

	(void)state;
	start(&s);
	give(&s, RAW_HEAD, ping, strlen(ping), strlen(ping));
	s.pos = 1000;
	give(&s, RAW_HEAD, ping, strlen(ping), strlen(ping));
	s.pos = 500;
	give(&s, RAW_HEAD, ping, strlen(ping), strlen(ping));
	assert_int_equal(count_of(&s, "PING"), 2);
	assert_int_equal(s.flags & HEAD_AT_LEAST, HEAD_AT_LEAST);
	heads_free(s.heads);
}

static void memcached_commands_are_counted(void **state)
{
	static const char binary[] = "\x80\0\0\x03\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\0\0\0\0\0key"
				     "\x80\x0a\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

	(void)state;
	NAMES_ARE(
		"set a 0 0 7\r\nget b\r\n\r\nget a\r\nget a b c\r\ngets a\r\ndelete a noreply\r\n",
		{ "set", 1 }, { "get", 2 }, { "gets", 1 }, { "delete", 0 });
	check_names(binary, sizeof(binary) - 1,
		    (const struct expected_name[]){ { "get", 1 }, { "noop", 1 }, { 0 } });
}

static void http_requests_are_counted(void **state)
{
	struct seen s;

	(void)state;
	start(&s);
#define ONE "POST /p HTTP/1.1\r\nHost: x\r\ncontent-LENGTH:  20\r\n\r\nGET /no HTTP/1.1\r\n\r\n"
	give(&s, RAW_HEAD, ONE "GET /a HTTP/1.1\r\n\r\n" ONE, 2 * strlen(ONE) + 19,
	     2 * strlen(ONE) + 19);
	assert_int_equal(count_of(&s, "POST /p"), 2);
	assert_int_equal(count_of(&s, "GET /a"), 1);
	assert_int_equal(s.all, 3);
	assert_int_equal(s.flags & HEAD_AT_LEAST, 0);
	heads_free(s.heads);
	start(&s); /* a body in many receives, of which only the first bytes were read */
	give(&s, RAW_HEAD, "PUT /big HTTP/1.1\r\nContent-Length: 100000\r\n\r\n", 2000, 46);
	give(&s, RAW_HEAD, "GET /no HTTP/1.1\r\n\r\n", 98046, 20);
	give(&s, RAW_HEAD, "GET /yes HTTP/1.1\r\n\r\n", 21, 21);
	assert_int_equal(count_of(&s, "GET /no"), 0);
	assert_int_equal(count_of(&s, "GET /yes"), 1);
	heads_free(s.heads);
}

static void paths_become_templates(void **state)
{
	static const char *const paths[][2] = {
		{ "/", "/" },
		{ "/report/17?user=4", "/report/:id" },
		{ "/v1/users/01234567-89ab-cdef-0123-456789abcdef/posts", "/v1/users/:id/posts" },
		{ "/o/deadbeefcafe", "/o/:id" },
		{ "/t/QmFzZTY0IGVuY29kZWQgdGV4dA", "/t/:id" },
		{ "/u/someone%40example.com/x", "/u/:id/x" },
		{ "/static/app.css", "/static/app.css" },
		{ "/a/b/c/d/e/f/g/h/i/j", "/a/b/c/d/e/f/g/h/..." },
		{ "/pkg.Service/GetThing", "/pkg.Service/GetThing" },
	};
	char text[NAME_BYTES], tiny[4];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		path_template(text, sizeof(text), paths[i][0], strlen(paths[i][0]));
		assert_string_equal(text, paths[i][1]);
		path_template(tiny, sizeof(tiny), paths[i][0], strlen(paths[i][0]));
	}
}

static void statements_are_counted(void **state)
{
	static const char postgres[] = "\0\0\0\x0f\0\x03\0\0user\0a\0"
				       "Q\0\0\0\x1c/* x */ (Select secret)\0"
				       "P\0\0\0\x11s\0update t\0\0\0"
				       "B\0\0\0\x0d\0s\0\0\0\0\0\0\0"
				       "E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04"
				       "Q\0\0\0\x0dsecret 1\0X\0\0\0\x04";
	static const char mysql[] =
		"\x20\0\0\x01\x8d\xa6\x0f\0\0\0\0\x01\x21\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
		"\0\0\0\0\0\0\0\0"
		"\x09\0\0\0\x03insert 1\x01\0\0\0\x0e\x0b\0\0\0\x03\0\x01select 1"
		"\x05\0\0\0\x17\x01\0\0\0\x05\0\0\0\x19\x01\0\0\0";

	(void)state;
	check_names(postgres, sizeof(postgres) - 1,
		    (const struct expected_name[]){ { "Query SELECT", 1 },
						    { "Execute UPDATE", 1 },
						    { "Query other", 1 },
						    { 0 } });
	struct seen s;

	start(&s);
	give(&s, RAW_HEAD, mysql, 36, 36);
	give(&s, RAW_HEAD, mysql + 36, sizeof(mysql) - 1 - 36, sizeof(mysql) - 1 - 36);
	assert_int_equal(count_of(&s, "Query INSERT"), 1);
	assert_int_equal(count_of(&s, "Query SELECT"), 1);
	assert_int_equal(count_of(&s, "Ping"), 1);
	assert_int_equal(count_of(&s, "Execute"), 1);
	assert_int_equal(s.all, 4);
	heads_free(s.heads);
}

static void errors_are_seen(void **state)
{
	static const struct {
		const char *request;
		u32 n;
		const char *answer;
		u32 m;
		u16 status;
		const char *code;
	} cases[] = {
		{ "GET / HTTP/1.1\r\n\r\n", 18, "HTTP/1.1 503 x", 14, 503, "" },
		{ "GET / HTTP/1.1\r\n\r\n", 18, "HTTP/1.1 301 x", 14, 0, "" },
		{ "PING\r\n", 6, "-MOVED 1 secret\r\n", 17, 1, "MOVED" },
		{ "PING\r\n", 6, "-secret\r\n", 9, 1, "" },
		{ "get a\r\n", 7, "SERVER_ERROR out\r\n", 18, 1, "SERVER_ERROR" },
		{ "get a\r\n", 7, "-ERR\r\n", 6, 0, "" },
		/* MariaDB's client has capabilities where MySQL's has zeros */
		{ "\x24\0\0\x01\x8d\xa6\x0f\0\0\0\0\x01\x21\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
		  "\x1d\0\0\0app\0",
		  40, "\x4c\0\0\x02\xff\x15\x04#28000Access", 19, 1045, "28000" },
		{ "\0\0\0\x08\x04\xd2\x16/", 8, "E\0\0\0\x20SERROR\0VERROR\0C40P01\0Msecret\0\0",
		  35, 1, "40P01" },
	};
	struct seen s;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		start(&s);
		give(&s, RAW_HEAD, cases[i].request, cases[i].n, cases[i].n);
		give(&s, RAW_ANSWER, cases[i].answer, cases[i].m, cases[i].m);
		assert_int_equal(s.status, cases[i].status);
		assert_string_equal(s.code, cases[i].code);
		heads_free(s.heads);
	}
}

static void names_are_bounded(void **state)
{
	struct request_names *n;
	char text[32];
	u32 i;

	(void)state;
	assert_int_equal(request_names_new(&n, NULL), 0);
	for (i = 0; i < 2 * NAMES_MAX; i++) {
		snprintf(text, sizeof(text), "GET /%u", i);
		assert_in_range(request_names_id(n, PROTOCOL_HTTP1, text), 1, NAMES_MAX);
	}
	assert_int_equal(request_names_count(n), NAMES_MAX);
	assert_int_equal(request_names_id(n, PROTOCOL_HTTP1, "GET /1"), 2);
	assert_int_equal(request_names_id(n, PROTOCOL_HTTP1, "GET /more"), request_names_other(n));
	request_names_free(n);
}

/*
 * TLS: a handshake has its name, also if its head and the rest are read one after the other. A
 * connection from before is encrypted, even if the first receive has the end of a message.
 */
static void handshakes_have_a_name(void **state)
{
	static const char hello[] = "\x16\x03\x01\0\x05hello", data[] = "\x17\x03\x03\0\x05hello";
	struct seen s;

	(void)state;
	start(&s);
	give(&s, RAW_HEAD, hello, 5, 5);
	assert_string_equal(last_of(&s), "TLS handshake");
	give(&s, RAW_HEAD, hello + 5, 5, 5);
	assert_string_equal(last_of(&s), "encrypted");
	heads_free(s.heads);
	start(&s);
	s.pos = 1000;
	give(&s, RAW_HEAD, data + 5, 5, 5);
	assert_string_equal(last_of(&s), "");
	give(&s, RAW_HEAD, data, 5, 5);
	assert_string_equal(last_of(&s), "encrypted");
	heads_free(s.heads);
}

/*
 * TLS 1.2: the client sends records of type handshake again. Also if the first one comes byte by
 * byte, or plain text comes before it; the handshake of a connection from before was then.
 */
static void a_connection_has_one_handshake(void **state)
{
	static const char hello[] = "\x16\x03\x01\0\x05hello", key[] = "\x16\x03\x03\0\x03key";
	static const struct {
		const char *plain; /* before it */
		u32 n_plain, pos, cut;
		const char *name;
	} cases[] = {
		{ "", 0, 0, 10, "TLS handshake" },
		{ "", 0, 0, 1, "TLS handshake" },
		{ "", 0, 1, 5, "TLS handshake" },
		{ "\0\0\0\x08\x04\xd2\x16\x2f", 8, 0, 10, "TLS handshake" }, /* PostgreSQL */
		{ "", 0, 1000, 10, "encrypted" },
	};
	struct seen s;
	const char *name;
	u32 i, k;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		start(&s);
		s.pos = cases[i].pos;
		if (cases[i].n_plain)
			give(&s, RAW_HEAD, cases[i].plain, cases[i].n_plain, cases[i].n_plain);
		give(&s, RAW_HEAD, hello, cases[i].cut, cases[i].cut);
		name = last_of(&s); /* with the second receive, if the first is too short */
		if (cases[i].cut < 10)
			give(&s, RAW_HEAD, hello + cases[i].cut, 10 - cases[i].cut,
			     10 - cases[i].cut);
		assert_string_equal(*name ? name : last_of(&s), cases[i].name);
		for (k = 0; k < 2; k++) {
			give(&s, RAW_HEAD, key, 8, 8);
			assert_string_equal(last_of(&s), "encrypted");
		}
		heads_free(s.heads);
	}
}

/* Bytes of no protocol, and what looks like one but is not, have no names; nothing is read beyond
 * its end. */
static void other_bytes_have_no_names(void **state)
{
	static const char *const texts[] = {
		"\x16\x03\x01\x02",  "GETAWAY /x",	    "get",	     "*x\r\n",
		"Q\xff\xff\xff\xff", "secret password\r\n", "HELO mail\r\n", "\x80"
	};
	struct seen s;
	u32 seed = 1, i, k;
	u8 bytes[300];

	(void)state;
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		start(&s);
		give(&s, RAW_HEAD, texts[i], strlen(texts[i]), strlen(texts[i]));
		assert_int_equal(s.all, 0);
		heads_free(s.heads);
	}
	start(&s);
	for (i = 0; i < 20000; i++) {
		for (k = 0; k < sizeof(bytes); k++)
			bytes[k] = (seed = seed * 1103515245 + 12345) >> 24;
		s.conn = i % 7 + 1;
		memcpy(bytes, i & 1 ? "*2\r\n$3\r\nGET\r\n$" : "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		       i & 2 ? 15 : 0);
		give(&s, RAW_HEAD, bytes, sizeof(bytes) + i % 5, i % sizeof(bytes));
	}
	heads_free(s.heads);
}

/* The rest after bytes that are received in parts; n parts. */
static void rests_are(const char *const *parts, const u64 *want, int n)
{
	struct seen s;
	int i;

	start(&s);
	for (i = 0; i < n; i++) {
		give(&s, RAW_HEAD, parts[i], strlen(parts[i]), strlen(parts[i]));
		assert_int_equal(s.rest, want[i]);
	}
	heads_free(s.heads);
}

#define RESTS(n, want, ...) rests_are((const char *const[]){ __VA_ARGS__ }, (const u64[])want, n)
#define LIST(...)           \
	{                   \
		__VA_ARGS__ \
	}

static void a_head_announces_the_rest(void **state)
{
	(void)state;
	RESTS(4, LIST(0, 9, 5, 0), "PUT /a HTTP/1.1\r\nContent-", "Length: 9\r\n\r\n", "1234",
	      "56789");
	RESTS(2, LIST(6, 0),
	      "GET /a HTTP/1.1\r\n\r\nPUT /b HTTP/1.1\r\nContent-Length: 9\r\n\r\n123",
	      "456789GET /c HTTP/1.1\r\n\r\n");
	RESTS(1, LIST(7), "*2\r\n$3\r\nGET\r\n$5\r\n");
	/* the client waits for permission; its length is not known */
	RESTS(2, LIST(0, 5), "PUT /a HTTP/1.1\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n",
	      "1234");
	RESTS(1, LIST(0), "PUT /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(redis_commands_are_counted),
		T(subcommands_of_redis_are_named),
		T(long_headers_may_be_cut),
		T(receives_on_several_cpus_are_read_in_order),
		T(later_receives_are_left),
		T(receives_from_before_have_no_names),
		T(memcached_commands_are_counted),
		T(http_requests_are_counted),
		T(paths_become_templates),
		T(statements_are_counted),
		T(errors_are_seen),
		T(names_are_bounded),
		T(handshakes_have_a_name),
		T(a_connection_has_one_handshake),
		T(other_bytes_have_no_names),
		T(a_head_announces_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
