/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replies of servers: where one ends. */
#ifndef VALIDATE_REPLY_H
#define VALIDATE_REPLY_H

#include <stdbool.h>
#include <stddef.h>

enum protocol {
	PROTOCOL_REDIS,
	PROTOCOL_MEMCACHED,
	PROTOCOL_HTTP,
	PROTOCOL_LINE, /* one line asks, one line answers */
};

/* Returns how many bytes the reply at data has in all, which may be more than there are at data,
 * or 0 if that is not known yet, or -1 if it is no reply. *error: the server said that it failed.
 */
long reply_length(enum protocol p, const char *data, size_t n, bool *error);

#endif
