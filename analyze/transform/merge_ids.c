// SPDX-License-Identifier: GPL-2.0-or-later
/* Ids of recordings that are merged: by what they stand for. */
#include "merge_ids.h"

#include "format/name_ids.h"

#include <stdlib.h>
#include <string.h>

#define PROBES 8 /* of equal hashes: further contents are never equal to another */

static const u32 limits[MERGE_KINDS] = {
	[MERGE_SITE] = 1u << 20,
	[MERGE_NAME] = OWN_NAMES,
};

struct content {
	u32 id, size;
	u8 bytes[];
};

struct moved_id {
	u32 id;
	u32 first; /* the recording that had the content first */
};

static u64 hash_of(const void *bytes, size_t n, u64 h)
{
	const u8 *at = bytes;

	for (; n; n--)
		h = (h ^ *at++) * 0x100000001b3u;
	return h;
}

/* An id that nothing has, the wanted one if it can be. *ret is the limit if there is none. */
static int take_id(struct merge_table *t, u32 limit, u64 wanted, u32 *ret, struct err *e)
{
	while (t->free < limit && idmap_get(&t->taken, t->free))
		t->free++;
	*ret = wanted < limit && !idmap_get(&t->taken, wanted) ? (u32)wanted : t->free;
	return *ret < limit ? idmap_put(&t->taken, *ret, t, limit, e) : 0;
}

static int put_moved(struct merge_table *t, u32 limit, u32 nth, u64 id, struct moved_id to,
		     struct err *e)
{
	struct moved_id *moved = idmap_add(&t->moved, (u64)nth << 32 | (u32)id, sizeof(*moved),
					   (size_t)limit * 4, "ids", e);

	if (!moved)
		return ERR_FAIL;
	*moved = to;
	return 0;
}

/* The recording's id of this content, all bytes of which count. */
static int read_id(struct merge_ids *m, enum merge_kind kind, u32 nth, u64 id, const struct buf *of,
		   struct err *e)
{
	struct merge_table *t = &m->tables[kind];
	struct moved_id to = { .first = nth };
	struct content *c = NULL;
	u64 h = hash_of(of->data, of->len, 0xcbf29ce484222325u);
	int i, ret;

	if (idmap_get(&t->moved, (u64)nth << 32 | (u32)id))
		return 0; /* the first record of an id counts */
	for (i = 0; i < PROBES && (c = idmap_get(&t->contents, h + (u64)i)); i++)
		if (c->size == of->len && memcmp(c->bytes, of->data, of->len) == 0)
			return put_moved(t, limits[kind], nth, id, (struct moved_id){ c->id, 0 },
					 e);
	ret = take_id(t, limits[kind], id, &to.id, e);
	if (ret < 0 || to.id >= limits[kind])
		return ret;
	if (i < PROBES) {
		c = idmap_add(&t->contents, h + (u64)i, sizeof(*c) + of->len, limits[kind], "ids",
			      e);
		if (!c)
			return ERR_FAIL;
		c->id = to.id;
		c->size = (u32)of->len;
		memcpy(c->bytes, of->data, of->len);
	}
	return put_moved(t, limits[kind], nth, id, to, e);
}

static int read_record(struct merge_ids *m, u32 nth, u32 host, const struct record *rec,
		       struct buf *of, struct err *e)
{
	struct ev_site site;
	struct ev_request_name name;
	int ret;

	buf_clear(of);
	ret = buf_add(of, &host, sizeof(host), e);
	if (rec->type == EV_site) {
		memcpy(&site, rec->event, sizeof(site));
		memset(&site.h, 0, sizeof(site.h));
		site.id = 0;
		ret = ret < 0 ? ret : buf_add(of, &site, sizeof(site), e);
	} else {
		memcpy(&name, rec->event, sizeof(name));
		ret = ret < 0 ? ret : buf_add(of, &name.protocol, sizeof(name.protocol), e);
	}
	if (ret == 0)
		ret = buf_add(of, rec->tail, rec->tail_len, e);
	if (ret < 0)
		return ret;
	return rec->type == EV_site ? read_id(m, MERGE_SITE, nth,
					      ((const struct ev_site *)rec->event)->id, of, e)
	       : name.id	    ? read_id(m, MERGE_NAME, nth, name.id, of, e)
				    : 0;
}

int merge_ids_read(struct merge_ids *m, u32 nth, u32 host, struct reader *reader, struct err *e)
{
	struct buf of = { 0 };
	struct record rec;
	int ret;

	m->tables[MERGE_NAME].free = m->tables[MERGE_NAME].free ? m->tables[MERGE_NAME].free : 1;
	reader_choose(reader, &(struct reader_choice){ 0, UINT64_MAX, 1u << GROUP_recorder, -1 });
	while ((ret = reader_next(reader, &rec, e)) > 0) {
		if (rec.event && (rec.type == EV_site || rec.type == EV_request_name))
			ret = read_record(m, nth, host, &rec, &of, e);
		if (ret < 0)
			break;
	}
	buf_free(&of);
	reader_rewind(reader);
	return ret;
}

int merge_ids_move(struct merge_ids *m, enum merge_kind kind, u32 nth, u64 *id, struct err *e)
{
	struct merge_table *t = &m->tables[kind];
	const struct moved_id *to = idmap_get(&t->moved, (u64)nth << 32 | (u32)*id);
	u32 taken;
	int ret;

	if (to) {
		*id = to->id;
		return 0;
	}
	ret = take_id(t, limits[kind], *id, &taken, e); /* what it stands for was lost */
	if (ret < 0 || taken >= limits[kind]) {
		*id = 0;
		return ret;
	}
	ret = put_moved(t, limits[kind], nth, *id, (struct moved_id){ taken, nth }, e);
	*id = taken;
	return ret;
}

bool merge_ids_first(struct merge_ids *m, enum merge_kind kind, u32 nth, u64 id)
{
	const struct moved_id *to = idmap_get(&m->tables[kind].moved, (u64)nth << 32 | (u32)id);

	return !to || to->first == nth;
}

void merge_ids_free(struct merge_ids *m)
{
	int i;

	for (i = 0; i < MERGE_KINDS; i++) {
		idmap_free_all(&m->tables[i].contents);
		idmap_free(&m->tables[i].taken);
		idmap_free_all(&m->tables[i].moved);
	}
}
