// SPDX-License-Identifier: GPL-2.0-or-later
/* Which protocol a connection speaks. */
#include "parse.h"

#include <stdio.h>

static bool starts(const u8 *b, size_t n, const char *text)
{
	size_t k = strlen(text);

	return n >= k && memcmp(b, text, k) == 0;
}

static bool is_tls(const u8 *b, size_t n)
{
	return n >= 5 && (b[0] == TLS_HANDSHAKE || b[0] == TLS_DATA) && b[1] == 3 && b[2] <= 4 &&
	       (b[3] << 8 | b[4]) <= 16640;
}

static bool is_redis(const u8 *b, size_t n)
{
	struct stream s = { 0 };
	struct found f = { 0 };
	char word[33];
	size_t i;

	if (n >= 4 && b[0] == '*' && b[1] > '0' && b[1] <= '9') {
		parse_redis(&s, &f, b, n);
		return !f.lost;
	}
	for (i = 0; i < n && i < 32 && b[i] >= 'A' && b[i] <= 'Z'; i++)
		word[i] = (char)b[i];
	word[i] = '\0';
	return i && i < n && (b[i] == '\r' || b[i] == ' ') && redis_knows(word) &&
	       seek(b, i, n, '\n') < n;
}

static bool is_memcached(const u8 *b, size_t n)
{
	char word[33];
	size_t i;

	if (n >= 24 && b[0] == 0x80 && b[1] < 0x40 && !b[5] && be32(b + 8) < 1u << 24)
		return (u32)(b[2] << 8 | b[3]) + b[4] <= be32(b + 8);
	for (i = 0; i < n && i < 32 && ((b[i] >= 'a' && b[i] <= 'z') || b[i] == '_'); i++)
		word[i] = (char)b[i];
	word[i] = '\0';
	return i && i < n && (b[i] == '\r' || b[i] == ' ') && memcached_knows(word) &&
	       seek(b, i, n, '\n') < n;
}

/* A query, parse or bind message that ends with these bytes, or with a sync message after. */
static bool is_postgres(const u8 *b, size_t n, bool start)
{
	u32 len, at = 0;
	int messages = 0;

	if (n < 8)
		return false;
	len = be32(b);
	if (start && len >= 8 && len <= 10000 &&
	    (be32(b + 4) == 0x00030000 || be32(b + 4) == 0x00030002 || be32(b + 4) == 80877103 ||
	     be32(b + 4) == 80877104 || be32(b + 4) == 80877102))
		return true;
	while (!start && n - at >= 5 && b[at] && strchr("QPBDESCH", b[at]) && messages < 16) {
		len = be32(b + at + 1);
		if (len < 4 || len > n - at - 1)
			break;
		if (b[at] == 'Q' && (len < 5 || b[at + len]))
			return false;
		at += len + 1;
		messages++;
	}
	return messages && at == n && b[0] != 'S' && b[0] != 'C';
}

/* A command packet that fills these bytes; at the start the answer to the server's greeting. */
static bool is_mysql(const u8 *b, size_t n, bool start)
{
	u32 len;

	if (n < 5)
		return false;
	len = b[0] | b[1] << 8 | b[2] << 16;
	/* capabilities, maximal packet, character set, 19 zeros; MariaDB: more capabilities */
	if (start && b[3] == 1)
		return n >= 36 && len >= 32 && (b[5] & 0x82) && !memcmp(b + 17, b + 18, 14) &&
		       !b[17];
	return !start && b[3] == 0 && len == n - 4 && b[4] && b[4] <= 0x1f;
}

/* Does the frame that begins here have the stream, the length and the flags of its type? */
static bool is_frame(const u8 *b, u32 len, u32 id)
{
	static const struct {
		u8 flags, stream; /* 0: of the connection, 1: of a stream that the client opened */
		u16 least, most, unit;
	} types[] = {
		{ 0x09, 1, 0, 0xffff, 1 }, /* DATA */
		{ 0x2d, 1, 1, 0xffff, 1 }, /* HEADERS */
		{ 0x00, 1, 5, 5, 1 },	   /* PRIORITY */
		{ 0x00, 1, 4, 4, 1 },	   /* RST_STREAM */
		{ 0x01, 0, 0, 0xffff, 6 }, /* SETTINGS */
		{ 0x00, 1, 1, 0, 1 },	   /* PUSH_PROMISE: of servers only */
		{ 0x01, 0, 8, 8, 1 },	   /* PING */
		{ 0x00, 0, 8, 0xffff, 1 }, /* GOAWAY */
		{ 0x00, 2, 4, 4, 1 },	   /* WINDOW_UPDATE */
	};
	u8 type = b[3];

	if (type >= sizeof(types) / sizeof(types[0]) || (b[4] & ~types[type].flags) || b[5] & 0x80)
		return false;
	return len >= types[type].least && len <= types[type].most && !(len % types[type].unit) &&
	       (types[type].stream == 2 ? !id || (id & 1)
		: types[type].stream	? id & 1
					: !id);
}

/*
 * Frames of HTTP/2 that fill these bytes, in the middle of a connection: one at least is not DATA,
 * whose type and flags may be 0, as the bytes of any number are.
 */
static bool is_http2(const u8 *b, size_t n)
{
	bool other = false;
	size_t at = 0;
	u32 len;

	while (n - at >= 9) {
		len = be32(b + at) >> 8;
		if (!is_frame(b + at, len, be32(b + at + 5)) || len > n - at - 9)
			return false;
		other |= b[at + 3] != 0;
		at += 9 + len;
	}
	return other && at == n;
}

enum protocol protocol_detect(const u8 *b, size_t n, bool start)
{
	size_t method;

	if (starts(b, n, "PRI * HTTP/2.0\r\n"))
		return PROTOCOL_HTTP2;
	if (http1_starts(b, n, &method))
		return PROTOCOL_HTTP1;
	if (is_tls(b, n))
		return PROTOCOL_TLS;
	if (is_redis(b, n))
		return PROTOCOL_REDIS;
	if (is_memcached(b, n))
		return PROTOCOL_MEMCACHED;
	if (!start && is_http2(b, n))
		return PROTOCOL_HTTP2;
	if (is_postgres(b, n, start))
		return PROTOCOL_POSTGRES;
	return is_mysql(b, n, start) ? PROTOCOL_MYSQL : PROTOCOL_UNKNOWN;
}

parse_fn *parser_of(u8 protocol)
{
	static parse_fn *const parsers[] = {
		[PROTOCOL_HTTP1] = parse_http1,		[PROTOCOL_HTTP2] = parse_http2,
		[PROTOCOL_GRPC] = parse_http2,		[PROTOCOL_REDIS] = parse_redis,
		[PROTOCOL_MEMCACHED] = parse_memcached, [PROTOCOL_POSTGRES] = parse_postgres,
		[PROTOCOL_MYSQL] = parse_mysql,
	};

	return protocol < sizeof(parsers) / sizeof(parsers[0]) ? parsers[protocol] : NULL;
}

u16 http1_status(const u8 *b, size_t n)
{
	u16 status = 0;
	int i;

	if (n < 12 || !starts(b, n, "HTTP/1."))
		return 0;
	for (i = 9; i < 12; i++)
		status = b[i] >= '0' && b[i] <= '9' ? status * 10 + b[i] - '0' : 0;
	return status >= 400 && status < 600 ? status : 0;
}
