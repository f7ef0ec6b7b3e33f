// SPDX-License-Identifier: GPL-2.0-or-later
/* The dictionary of names of requests. */
#include "request_names.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS (4 * NAMES_MAX) /* of the hash table: never more than a quarter full */

struct name {
	enum protocol protocol;
	char text[NAME_BYTES];
};

struct request_names {
	pthread_mutex_t lock;
	u32 n;
	struct name list[NAMES_MAX];
	u16 slots[SLOTS]; /* ids; 0: free */
};

int request_names_new(struct request_names **ret, struct err *e)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return err_set(e, ERR_FAIL, "out of memory for names of requests");
	pthread_mutex_init(&(*ret)->lock, NULL);
	return 0;
}

void request_names_free(struct request_names *n)
{
	if (n)
		pthread_mutex_destroy(&n->lock);
	free(n);
}

static u32 hash(enum protocol protocol, const char *text)
{
	u64 h = 14695981039346656037ull ^ protocol;

	for (; *text; text++)
		h = (h ^ (u8)*text) * 1099511628211ull;
	return (u32)(h ^ h >> 32);
}

/* With the lock held. */
static u32 find_or_add(struct request_names *n, enum protocol protocol, const char *text, u32 limit)
{
	u32 slot = hash(protocol, text) % SLOTS;
	struct name *name;

	for (; n->slots[slot]; slot = (slot + 1) % SLOTS) {
		name = &n->list[n->slots[slot] - 1];
		if (name->protocol == protocol && strcmp(name->text, text) == 0)
			return n->slots[slot];
	}
	if (n->n >= limit)
		return 0;
	name = &n->list[n->n++];
	name->protocol = protocol;
	snprintf(name->text, sizeof(name->text), "%s", text);
	n->slots[slot] = (u16)n->n;
	return n->n;
}

u32 request_names_id(struct request_names *n, enum protocol protocol, const char *text)
{
	char cut[NAME_BYTES];
	u32 id;

	snprintf(cut, sizeof(cut), "%s", text);
	pthread_mutex_lock(&n->lock);
	id = find_or_add(n, protocol, cut, NAMES_MAX - 1);
	if (!id)
		id = find_or_add(n, PROTOCOL_UNKNOWN, "other", NAMES_MAX);
	pthread_mutex_unlock(&n->lock);
	return id;
}

u32 request_names_other(struct request_names *n)
{
	u32 id;

	pthread_mutex_lock(&n->lock);
	id = find_or_add(n, PROTOCOL_UNKNOWN, "other", NAMES_MAX);
	pthread_mutex_unlock(&n->lock);
	return id;
}

u32 request_names_count(struct request_names *n)
{
	u32 count;

	pthread_mutex_lock(&n->lock);
	count = n->n;
	pthread_mutex_unlock(&n->lock);
	return count;
}

enum protocol request_names_get(struct request_names *n, u32 id, char *text)
{
	enum protocol protocol;

	pthread_mutex_lock(&n->lock);
	protocol = n->list[id - 1].protocol;
	memcpy(text, n->list[id - 1].text, NAME_BYTES);
	pthread_mutex_unlock(&n->lock);
	return protocol;
}
