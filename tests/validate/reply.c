// SPDX-License-Identifier: GPL-2.0-or-later
/* Where a reply ends, in the protocols that the load generator speaks. */
#define _GNU_SOURCE /* memmem */
#include "reply.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>

#define DEPTH_MAX 8

/* Bytes of the line at data with its end; 0: no end yet. */
static long line_length(const char *data, size_t n)
{
	const char *end = memchr(data, '\n', n);

	return end ? end - data + 1 : 0;
}

static long redis_length(const char *data, size_t n, bool *error, int depth)
{
	long line = n ? line_length(data, n) : 0, count, at, part;

	if (line == 0)
		return 0;
	switch (data[0]) {
	case '-':
		*error = true;
		return line;
	case '+':
	case ':':
		return line;
	case '$':
		count = strtol(data + 1, NULL, 10);
		return count < 0 ? line : line + count + 2;
	case '*':
		count = strtol(data + 1, NULL, 10);
		for (at = line; count > 0; count--, at += part) {
			part = depth < DEPTH_MAX && (size_t)at < n
				       ? redis_length(data + at, n - at, error, depth + 1)
				       : 0;
			if (part <= 0)
				return part;
		}
		return at;
	default:
		return -1;
	}
}

static long memcached_length(const char *data, size_t n, bool *error)
{
	long line = line_length(data, n), flags, bytes;
	char *end;

	if (line == 0)
		return 0;
	if (strncmp(data, "VALUE ", 6) != 0) {
		*error = strncmp(data, "STORED", 6) != 0;
		return line;
	}
	end = memchr(data + 6, ' ', line - 6);
	if (!end)
		return -1;
	flags = strtol(end + 1, &end, 10);
	bytes = strtol(end, NULL, 10);
	return flags < 0 || bytes < 0 ? -1 : line + bytes + 2 + 5; /* CR LF END CR LF */
}

static long http_length(const char *data, size_t n, bool *error)
{
	static const char field[] = "\r\ncontent-length:";
	const char *end = memmem(data, n, "\r\n\r\n", 4), *at;
	long length = 0;

	if (!end)
		return 0;
	if (n < 13 || strncmp(data, "HTTP/1.", 7) != 0)
		return -1;
	*error = data[9] != '2';
	for (at = data; at < end; at++)
		if (strncasecmp(at, field, sizeof(field) - 1) == 0)
			length = strtol(at + sizeof(field) - 1, NULL, 10);
	return length < 0 ? -1 : end + 4 - data + length;
}

static long postgres_length(const char *data, size_t n, bool *error)
{
	size_t at = 0;
	uint32_t part;

	while (n - at >= 5) {
		memcpy(&part, data + at + 1, sizeof(part));
		part = ntohl(part) + 1;
		*error |= data[at] == 'E';
		if (data[at] == 'Z')
			return at + part;
		if (part > n - at)
			return 0;
		at += part;
	}
	return 0;
}

long reply_length(enum protocol p, const char *data, size_t n, bool *error)
{
	*error = false;
	switch (p) {
	case PROTOCOL_REDIS:
		return redis_length(data, n, error, 0);
	case PROTOCOL_MEMCACHED:
		return memcached_length(data, n, error);
	case PROTOCOL_HTTP:
		return http_length(data, n, error);
	case PROTOCOL_LINE:
		return line_length(data, n);
	case PROTOCOL_POSTGRES:
		return postgres_length(data, n, error);
	}
	return -1;
}

bool greets(enum protocol p, int fd)
{
	static const char startup[] = "\0\0\0\x29\0\3\0\0user\0postgres\0database\0postgres\0";

	return p == PROTOCOL_POSTGRES && send(fd, startup, sizeof(startup), MSG_NOSIGNAL) > 0;
}

size_t postgres_query(char *text, size_t n, size_t size)
{
	uint32_t length = htonl(4 + n + 1);

	if (n + 6 > size)
		return n;
	memmove(text + 5, text, n);
	text[0] = 'Q';
	memcpy(text + 1, &length, sizeof(length));
	text[n + 5] = '\0';
	return n + 6;
}

void reply_wants_times(int fd)
{
	int one = 1;

	setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof(one));
}

ssize_t reply_receive(int fd, void *to, size_t n, uint64_t *ns)
{
	char control[256] __attribute__((aligned(8)));
	struct iovec v = { to, n };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	ssize_t got = recvmsg(fd, &m, 0);
	struct cmsghdr *c;
	struct timespec t;

	for (c = got > 0 ? CMSG_FIRSTHDR(&m) : NULL; c; c = CMSG_NXTHDR(&m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPNS)
			continue;
		memcpy(&t, CMSG_DATA(c), sizeof(t));
		*ns = t.tv_sec * 1000000000ull + t.tv_nsec;
	}
	return got;
}
