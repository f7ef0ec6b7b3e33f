/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replies of servers: where one ends. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum protocol {
	PROTOCOL_REDIS,
	PROTOCOL_MEMCACHED,
	PROTOCOL_HTTP,
	PROTOCOL_LINE, /* one line asks, one line answers */
	PROTOCOL_POSTGRES,
};

/* Returns how many bytes the reply at data has in all, which may be more than there are at data,
 * or 0 if that is not known yet, or -1 if it is no reply. *error: the server said that it failed.
 */
long reply_length(enum protocol p, const char *data, size_t n, bool *error);

/* Sends what a client sends first; false: nothing. */
bool greets(enum protocol p, int fd);

/* A statement as a message; returns its bytes. */
size_t postgres_query(char *text, size_t n, size_t size);

/* Receives; *ns: when the last segment of these bytes reached the socket, since 1970; 0: not known.
 */
ssize_t reply_receive(int fd, void *to, size_t n, uint64_t *ns);
void reply_wants_times(int fd);
