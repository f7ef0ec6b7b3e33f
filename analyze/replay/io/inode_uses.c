// SPDX-License-Identifier: GPL-2.0-or-later
#include "inode_uses.h"

#include "analyze/base/limits.h"

#include <stdlib.h>

#define PROBES 8 /* different pairs may have the same hash: the next numbers are tried */

u64 inode_hash(u32 pid, u32 dev, u64 ino)
{
	u64 h = ((u64)pid << 32 | dev) * 0x9e3779b97f4a7c15u;

	h = (h ^ h >> 29 ^ ino) * 0xd6e8feb86659fd93u;
	return h ^ h >> 32;
}

void *inode_use_of(struct idmap *m, u32 pid, u32 dev, u64 ino, size_t size, struct err *e)
{
	u64 h = inode_hash(pid, dev, ino);
	struct inode_use *u;
	int i;

	for (i = 0; i < PROBES; i++) {
		u = idmap_get(m, h + i);
		if (!u)
			break;
		if (u->pid == pid && u->dev == dev && u->ino == ino)
			return u;
	}
	if ((i == PROBES || m->n >= PAIR_LIMIT) && (pid || dev || ino))
		return inode_use_of(m, 0, 0, 0, size, e);
	u = calloc(1, size);
	if (!u) {
		err_set(e, ERR_FAIL, "out of memory for files");
		return NULL;
	}
	*u = (struct inode_use){ pid, dev, ino };
	if (idmap_put(m, h + i, u, PAIR_LIMIT + 1, e) < 0) {
		free(u);
		return NULL;
	}
	return u;
}

static int by_inode(const void *a, const void *b)
{
	const struct inode_use *x = *(struct inode_use *const *)a;
	const struct inode_use *y = *(struct inode_use *const *)b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

struct inode_use **inode_uses_sorted(const struct idmap *m, size_t *ret_n, struct err *e)
{
	struct inode_use **list = calloc(m->n + 1, sizeof(*list)), *u;
	size_t at = 0;

	*ret_n = 0;
	if (!list)
		err_set(e, ERR_FAIL, "out of memory for files");
	while (list && (u = idmap_each(m, &at)))
		list[(*ret_n)++] = u;
	if (list)
		qsort(list, *ret_n, sizeof(*list), by_inode);
	return list;
}

void inode_uses_free(struct idmap *m)
{
	idmap_free_all(m);
}
