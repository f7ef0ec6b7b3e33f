// SPDX-License-Identifier: GPL-2.0-or-later
/* HTTP/1 (RFC 9112): request lines, and the lengths of bodies. */
#include "parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define SEGMENTS_MAX 8	/* of a path that are kept */
#define SEGMENT_MAX  40 /* longer ones are values */
#define BODY_MAX     (1ull << 40)

static const char *const methods[] = { "GET",	"POST",	   "PUT",   "HEAD",    "DELETE",
				       "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND" };

bool http1_starts(const u8 *b, size_t n, size_t *method)
{
	size_t i, k;

	for (i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		k = strlen(methods[i]);
		if (n < k + 2 || memcmp(b, methods[i], k) != 0 || b[k] != ' ')
			continue;
		*method = k;
		return b[k + 1] == '/' || b[k + 1] == '*' || (b[k + 1] | 32) == 'h' ||
		       strcmp(methods[i], "CONNECT") == 0;
	}
	return false;
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'f');
}

/* Numbers, hexadecimal ids, uuids, base64, addresses, escapes: what differs from request to
 * request. */
static bool is_value(const char *s, size_t n)
{
	size_t digits = 0, hex = 0, upper = 0, lower = 0, odd = 0, i;

	for (i = 0; i < n; i++) {
		digits += s[i] >= '0' && s[i] <= '9';
		hex += is_hex(s[i]) || s[i] == '-';
		upper += s[i] >= 'A' && s[i] <= 'Z';
		lower += s[i] >= 'a' && s[i] <= 'z';
		odd += s[i] <= ' ' || s[i] > '~' || strchr("%@=+~,;:!$&'()*\"<>\\^`{|}[]", s[i]);
	}
	return n && (digits == n || digits >= 4 || odd || n > SEGMENT_MAX || (hex == n && n >= 8) ||
		     (n >= 16 && digits && upper && lower) || (n >= 20 && upper > 2 && lower > 2));
}

void path_template(char *ret, size_t size, const char *path, size_t n)
{
	size_t at = 0, out = 0, from, k;
	int segments = 0;

	while (at < n && path[at] != '?' && path[at] != '#' && path[at] != ' ')
		at++;
	n = at;
	for (at = 0; at < n && out + 1 < size;) {
		if (path[at] == '/') {
			ret[out++] = path[at++];
			continue;
		}
		for (from = at; at < n && path[at] != '/'; at++)
			;
		if (++segments > SEGMENTS_MAX) {
			out += snprintf(ret + out, size - out, "...");
			break;
		}
		k = at - from;
		if (is_value(path + from, k))
			out += snprintf(ret + out, size - out, ":id");
		else
			out += snprintf(ret + out, size - out, "%.*s", (int)k, path + from);
	}
	ret[out < size ? out : size - 1] = '\0';
}

/* Offset after the scheme and host of "http://host/path"; a proxy's clients send such. */
static size_t path_start(const u8 *b, size_t at, size_t end)
{
	size_t slash;

	if (at < end && b[at] == '/')
		return at;
	slash = seek(b, at, end, '/');
	if (slash + 1 >= end || b[slash + 1] != '/')
		return end;
	return seek(b, slash + 2, end, '/');
}

static void name_request(struct found *f, const u8 *b, size_t at, size_t method, size_t end)
{
	char name[NAME_BYTES];
	size_t path = path_start(b, at + method + 1, end);
	int k = snprintf(name, sizeof(name), "%.*s ", (int)method, (const char *)b + at);

	if (path < end)
		path_template(name + k, sizeof(name) - k, (const char *)b + path, end - path);
	else
		name[k - 1] = '\0';
	found_add(f, at, PROTOCOL_HTTP1, name);
}

/* The end of the headers that start at; n: it is not here. */
static size_t headers_end(const u8 *b, size_t at, size_t n)
{
	for (at = seek(b, at, n, '\n'); at < n; at = seek(b, at + 1, n, '\n')) {
		if (at + 1 < n && b[at + 1] == '\n')
			return at + 2;
		if (at + 2 < n && b[at + 1] == '\r' && b[at + 2] == '\n')
			return at + 3;
	}
	return n + 1;
}

static bool is_field(const u8 *b, size_t at, size_t line, const char *name)
{
	size_t n = strlen(name);

	return line - at > n && strncasecmp((const char *)b + at, name, n) == 0;
}

/* Bytes of the body by the headers; false: they do not say. */
static bool body_length(const u8 *b, size_t at, size_t end, u64 *ret, bool *ret_expects)
{
	static const char length[] = "content-length:";
	size_t line;

	*ret_expects = false;
	for (*ret = 0; at < end; at = line + 1) {
		line = seek(b, at, end, '\n');
		if (is_field(b, at, line, length)) {
			at += sizeof(length) - 1;
			while (at < line && b[at] == ' ')
				at++;
			for (; at < line && b[at] >= '0' && b[at] <= '9' && *ret < BODY_MAX; at++)
				*ret = *ret * 10 + b[at] - '0';
			if (*ret >= BODY_MAX)
				return false;
		} else if (is_field(b, at, line, "transfer-encoding:")) {
			return false;
		} else if (is_field(b, at, line, "expect:")) {
			*ret_expects = true;
		}
		if (line == end)
			break;
	}
	return true;
}

u64 parse_http1(struct stream *s, struct found *f, const u8 *b, size_t n)
{
	size_t method, line, end;
	u64 at = 0, body;

	(void)s;
	while (at < n) {
		if (b[at] == '\r' || b[at] == '\n') { /* may stand before a request */
			at++;
			continue;
		}
		if (!http1_starts(b + at, n - at, &method)) {
			f->incomplete = n - at < 10;
			f->lost = !f->incomplete;
			return at;
		}
		line = seek(b, at, n, '\n');
		end = line < n ? headers_end(b, line, n) : n + 1;
		f->incomplete = end > n && n - at < CARRY_MAX;
		if (f->incomplete)
			return at;
		name_request(f, b, at, method, line);
		if (end > n || !body_length(b, line, end, &body, &f->expects)) {
			f->lost = true;
			return at;
		}
		at = end + body;
	}
	return at;
}
