// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of requests of HTTP/2 and gRPC out of the bytes that servers receive. */
#include "record/requests/parse.h"
#include "tests/lib/received.h"

/* RFC 7541, C.4: Huffman codes and the dynamic table. */
static void http2_streams_are_counted(void **state)
{
	static const char bytes[] =
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
		"\0\0\0\x04\0\0\0\0\0"
		"\0\0\x11\x01\x05\0\0\0\x01\x82\x86\x84\x41\x8c\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff"
		"\0\0\x0c\x01\x05\0\0\0\x03\x82\x86\x84\xbe\x58\x86\xa8\xeb\x10\x64\x9c\xbf"
		"\0\0\x0c\x01\x04\0\0\0\x05\x83\x86\x44\x04/a/7\xbe\x41\x01x"
		"\0\0\x05\0\x01\0\0\0\x05hello"
		"\0\0\x03\x01\x05\0\0\0\x07\x83\x86\xbf";
	struct seen s;

	(void)state;
	start(&s);
	give(&s, RAW_HEAD, bytes, sizeof(bytes) - 1, sizeof(bytes) - 1);
	assert_int_equal(count_of(&s, "GET /"), 2);
	assert_int_equal(count_of(&s, "POST /a/:id"), 2);
	assert_int_equal(s.all, 4);
	heads_free(s.heads);
	NAMES_ARE("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
		  "\0\0\x03\x01\x05\0\0\0\x01\x82\x86\x84"
		  "\0\0\x05\0\x01\0\0\0\x01hello"
		  "\0\0\x03\x01\x05\0\0\0\x03\x82\x86\x85",
		  { "GET /", 1 }, { "GET /index.html", 1 });
}

/* From the middle of a connection on; and what only looks like a frame there. */
static void http2_is_known_from_the_middle(void **state)
{
	static const char bytes[] = "\0\0\x08\x06\0\0\0\0\0ABCDEFGH"
				    "\0\0\x04\x08\0\0\0\0\x07\0\0\x01\0"
				    "\0\0\x03\x01\x05\0\0\0\x09\x82\x86\x84";
	static const struct {
		const char *bytes;
		u32 n;
	} others[] = {
		{ "\0\0\x08\x06\x02\0\0\0\0ABCDEFGH", 17 }, /* flags that it has not */
		{ "\0\0\x07\x06\0\0\0\0\0ABCDEFG", 16 },    /* length */
		{ "\0\0\x08\x06\0\0\0\0\x01"
		  "ABCDEFGH",
		  17 },						    /* stream */
		{ "\0\0\x08\x06\0\x80\0\0\0ABCDEFGH", 17 },	    /* reserved bit */
		{ "\0\0\x08\x06\0\0\0\0\0ABCDEFG", 16 },	    /* cut */
		{ "\0\0\x08\x06\0\0\0\0\0ABCDEFGHI", 18 },	    /* more */
		{ "\0\0\x04\x05\0\0\0\0\x01\0\0\0\x02", 13 },	    /* a promise of a client */
		{ "\0\0\x03\x01\x05\x80\0\0\x09\x82\x86\x84", 12 }, /* reserved bit of a stream */
		{ "\0\0\0\0\0\0\0\0\x01", 9 }, /* DATA alone: a number and an odd byte */
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff", 9 },
		{ "\0", 1 },
	};
	struct seen s;
	size_t i;

	(void)state;
	start(&s);
	s.pos = 4711;
	give(&s, RAW_HEAD, bytes, 17, 17);
	assert_int_equal(s.all, 0);
	assert_true(s.flags & HEAD_QUIET); /* it has no answer as requests have one */
	s.flags = 0;
	give(&s, RAW_HEAD, bytes + 17, sizeof(bytes) - 1 - 17, sizeof(bytes) - 1 - 17);
	assert_int_equal(count_of(&s, "GET /"), 1);
	assert_int_equal(s.all, 1);
	assert_false(s.flags & HEAD_QUIET);
	heads_free(s.heads);
	assert_int_equal(protocol_detect((const u8 *)bytes, sizeof(bytes) - 1, false),
			 PROTOCOL_HTTP2);
	assert_int_equal(protocol_detect((const u8 *)bytes, sizeof(bytes) - 1, true),
			 PROTOCOL_UNKNOWN);
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_int_not_equal(
			protocol_detect((const u8 *)others[i].bytes, others[i].n, false),
			PROTOCOL_HTTP2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(http2_streams_are_counted),
		T(http2_is_known_from_the_middle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
