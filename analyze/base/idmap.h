/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A map from numbers to pointers. The numbers come from recordings, so the hash
 * is keyed at random: no recording can choose ids that collide.
 */
#pragma once

#include "format/err.h"
#include "format/event.h"

#include <stddef.h>

struct idmap {
	struct idmap_slot {
		u64 id;
		void *value; /* NULL: free */
	} * slots;
	size_t n;
	size_t cap; /* a power of two, or 0 */
	u64 key;
};

/* Zero-initialised a map is empty. The value of id, or NULL. */
void *idmap_get(const struct idmap *m, u64 id);

/* Sets the value (not NULL) of id; replaces. At most limit ids: more is ERR_DAMAGED. */
int idmap_put(struct idmap *m, u64 id, void *value, size_t limit, struct err *e);

/*
 * Adds size bytes, all 0, as the value of id, which has none yet; NULL: see e. values: what they
 * are, for the message.
 */
void *idmap_add(struct idmap *m, u64 id, size_t size, size_t limit, const char *values,
		struct err *e);

/* Takes id out; returns its value or NULL. */
void *idmap_take(struct idmap *m, u64 id);

/* Steps through the values: at starts as 0. NULL at the end. The map must not change between two
 * steps. */
void *idmap_each(const struct idmap *m, size_t *at);

/*
 * A copy of its slots by id, for what must not depend on the random order, or changes the map. The
 * one after the last has no value. NULL: out of memory.
 */
struct idmap_slot *idmap_sorted(const struct idmap *m, struct err *e);

/*
 * Calls fn with arg for each value, in the order of ids, until it fails: the copy above, so fn may
 * change the map, but must not free values that are still to come. 0, or the error.
 */
int idmap_in_order(const struct idmap *m, int (*fn)(void *arg, void *value, struct err *e),
		   void *arg, struct err *e);

/* Frees the map, not the values. */
void idmap_free(struct idmap *m);

/* Frees the map and the values. */
void idmap_free_all(struct idmap *m);
