// SPDX-License-Identifier: GPL-2.0-or-later
/* Open addressing with linear probing, at most half full; removal shifts back. */
#include "idmap.h"

#include "format/grow.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Unpredictable enough against files made in advance. */
static u64 random_key(const void *salt)
{
	u64 key = (u64)(uintptr_t)salt ^ (u64)time(NULL) << 20 ^ (u64)clock();
	FILE *f = fopen("/dev/urandom", "rb");

	if (f) {
		if (fread(&key, sizeof(key), 1, f) != 1)
			key ^= 0x9e3779b97f4a7c15u;
		fclose(f);
	}
	return key;
}

static size_t home(const struct idmap *m, u64 id)
{
	u64 h = (id ^ m->key) * 0x9e3779b97f4a7c15u;

	h = (h ^ h >> 32) * 0xd6e8feb86659fd93u;
	return (h ^ h >> 32) & (m->cap - 1);
}

/* The slot of id, or the free slot where it would go. */
static size_t find(const struct idmap *m, u64 id)
{
	size_t i = home(m, id);

	while (m->slots[i].value && m->slots[i].id != id)
		i = (i + 1) & (m->cap - 1);
	return i;
}

void *idmap_get(const struct idmap *m, u64 id)
{
	return m->cap ? m->slots[find(m, id)].value : NULL;
}

static int grow(struct idmap *m, struct err *e)
{
	struct idmap bigger = { .cap = m->cap ? 2 * m->cap : 64, .n = m->n };
	size_t i;

	bigger.key = m->cap ? m->key : random_key(m);
	if (grow_ask(bigger.cap * sizeof(*bigger.slots), e) < 0)
		return ERR_FAIL;
	bigger.slots = calloc(bigger.cap, sizeof(*bigger.slots));
	if (!bigger.slots)
		return err_set(e, ERR_FAIL, "out of memory for %zu ids", bigger.cap);
	for (i = 0; i < m->cap; i++)
		if (m->slots[i].value)
			bigger.slots[find(&bigger, m->slots[i].id)] = m->slots[i];
	free(m->slots);
	*m = bigger;
	return 0;
}

int idmap_put(struct idmap *m, u64 id, void *value, size_t limit, struct err *e)
{
	size_t i;

	if (2 * (m->n + 1) > m->cap && grow(m, e) < 0)
		return ERR_FAIL;
	i = find(m, id);
	if (!m->slots[i].value && m->n++ >= limit) {
		m->n--;
		return err_set(e, ERR_DAMAGED,
			       "the recording claims more than %zu threads, files or requests at a "
			       "time",
			       limit);
	}
	m->slots[i] = (struct idmap_slot){ id, value };
	return 0;
}

void *idmap_take(struct idmap *m, u64 id)
{
	size_t i, j, h;
	void *value;

	if (!m->cap)
		return NULL;
	i = find(m, id);
	value = m->slots[i].value;
	if (!value)
		return NULL;
	m->n--;
	for (j = i;;) {
		m->slots[i].value = NULL;
		do {
			j = (j + 1) & (m->cap - 1);
			if (!m->slots[j].value)
				return value;
			h = home(m, m->slots[j].id);
			/* j may move to i unless its home lies between them */
		} while (i <= j ? (i < h && h <= j) : (i < h || h <= j));
		m->slots[i] = m->slots[j];
		i = j;
	}
}

void *idmap_add(struct idmap *m, u64 id, size_t size, size_t limit, const char *values,
		struct err *e)
{
	void *value = calloc(1, size);

	if (!value) {
		err_set(e, ERR_FAIL, "out of memory for %s", values);
	} else if (idmap_put(m, id, value, limit, e) < 0) {
		free(value);
		value = NULL;
	}
	return value;
}

void *idmap_each(const struct idmap *m, size_t *at)
{
	while (*at < m->cap) {
		void *value = m->slots[(*at)++].value;

		if (value)
			return value;
	}
	return NULL;
}

static int by_id(const void *a, const void *b)
{
	u64 x = ((const struct idmap_slot *)a)->id, y = ((const struct idmap_slot *)b)->id;

	return x < y ? -1 : x > y;
}

struct idmap_slot *idmap_sorted(const struct idmap *m, struct err *e)
{
	struct idmap_slot *list = malloc((m->n + 1) * sizeof(*list));
	size_t i, n = 0;

	if (!list) {
		err_set(e, ERR_FAIL, "out of memory for %zu ids", m->n);
		return NULL;
	}
	for (i = 0; i < m->cap; i++)
		if (m->slots[i].value)
			list[n++] = m->slots[i];
	list[n] = (struct idmap_slot){ 0 };
	qsort(list, n, sizeof(*list), by_id);
	return list;
}

int idmap_in_order(const struct idmap *m, int (*fn)(void *arg, void *value, struct err *e),
		   void *arg, struct err *e)
{
	struct idmap_slot *list = idmap_sorted(m, e);
	int ret = list ? 0 : ERR_FAIL;
	size_t i;

	for (i = 0; ret == 0 && list[i].value; i++)
		ret = fn(arg, list[i].value, e);
	free(list);
	return ret;
}

void idmap_free(struct idmap *m)
{
	free(m->slots);
	*m = (struct idmap){ 0 };
}

void idmap_free_all(struct idmap *m)
{
	size_t i;

	for (i = 0; i < m->cap; i++)
		free(m->slots[i].value);
	idmap_free(m);
}
