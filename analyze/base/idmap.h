/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A map from numbers to pointers. The numbers come from recordings, so the hash
 * is keyed at random: no recording can choose ids that collide.
 */
#ifndef OBS_IDMAP_H
#define OBS_IDMAP_H

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

/* Takes id out; returns its value or NULL. */
void *idmap_take(struct idmap *m, u64 id);

/* Steps through the values: at starts as 0. NULL at the end. The map must not change between two
 * steps. */
void *idmap_each(const struct idmap *m, size_t *at);

/* Frees the map, not the values. */
void idmap_free(struct idmap *m);

#endif
