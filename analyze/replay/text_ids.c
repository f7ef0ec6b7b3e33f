// SPDX-License-Identifier: GPL-2.0-or-later
/* Texts by their hashes. */
#include "text_ids.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_LIMIT  200000 /* different texts */
#define TEXTS_BYTES (64u << 20)
#define TEXT_PROBES 8

struct text {
	u32 id;
	char text[];
};

static u64 hash_text(const char *text)
{
	u64 h = 0xcbf29ce484222325u;

	for (; *text; text++)
		h = (h ^ (u8)*text) * 0x100000001b3u;
	return h;
}

int text_ids_get(struct text_ids *t, const char *text, u32 *ret_id, bool *ret_new, struct err *e)
{
	size_t size = sizeof(struct text) + strlen(text) + 1;
	u64 h = hash_text(text);
	struct text *p = NULL;
	int i;

	*ret_id = 0;
	*ret_new = false;
	for (i = 0; i < TEXT_PROBES && (p = idmap_get(&t->index, h + i)); i++)
		if (strcmp(p->text, text) == 0) {
			*ret_id = p->id;
			return 0;
		}
	if (i == TEXT_PROBES || t->n >= TEXT_LIMIT || t->bytes + size > TEXTS_BYTES)
		return 0;
	p = malloc(size);
	if (!p)
		return err_set(e, ERR_FAIL, "out of memory for texts");
	p->id = t->n + 1;
	memcpy(p->text, text, size - sizeof(*p));
	if (idmap_put(&t->index, h + i, p, TEXT_LIMIT, e) < 0) {
		free(p);
		return ERR_FAIL;
	}
	*ret_id = ++t->n;
	*ret_new = true;
	t->bytes += size;
	return 0;
}

void text_ids_free(struct text_ids *t)
{
	idmap_free_all(&t->index);
}
