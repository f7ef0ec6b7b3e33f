// SPDX-License-Identifier: GPL-2.0-or-later
/* Pauses of parts of servers. */
#include "pause_parts.h"

#include "analyze/analyses/verdict/verdict.h"

#include <stdlib.h>

#define PAUSES_OF_PARTS 200
#define PART_REQUESTS	100 /* fewer have no p99 */
#define NEARLY_ALL	0.9 /* of a pause */
#define NAMES_LIMIT	(PARTS_MOST * 2)

static u64 key_of(u32 server, s64 name)
{
	return (u64)server << 32 | (u32)name;
}

static int add_part(struct pause_parts *p, struct idmap *map, u64 key, const struct pause_part *of,
		    struct err *e)
{
	p->of[p->n++] = *of;
	return idmap_put(map, key, (void *)(uintptr_t)p->n, NAMES_LIMIT, e);
}

/* Processes that answer on several connections, next to others of their server. */
static int read_services(struct pause_parts *p, sqlite3 *db, struct err *e)
{
	static const char sql[] =
		"SELECT id, server FROM service s WHERE connections > 1 AND requests >= ?1 AND EXISTS (SELECT 1"
		" FROM service o WHERE o.server=s.server AND o.id<>s.id AND o.requests > 0)"
		" ORDER BY requests DESC, id LIMIT ?2";
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, sql, "ii", (s64)PART_REQUESTS, (s64)PARTS_MOST / 2);

	if (ret < 0)
		return ret;
	while (ret >= 0 && (ret = db_step(q, e)) > 0) {
		struct pause_part of = { .service = sqlite3_column_int64(q, 0),
					 .server = sqlite3_column_int64(q, 1) };

		ret = add_part(p, &p->services, (u64)of.service, &of, e);
	}
	return db_end(q, ret);
}

static int read_names(struct pause_parts *p, sqlite3 *db, const s64 *servers, u32 n, struct err *e)
{
	static const char sql[] =
		"SELECT r.name, s.server FROM request_stat r JOIN service s ON s.id=r.service JOIN request_name"
		" n ON n.id=r.name WHERE readable(n.protocol) AND NOT awaits(n.protocol, n.name) GROUP BY"
		" r.name, s.server HAVING sum(r.exchanges) >= ?1 ORDER BY sum(r.exchanges) DESC LIMIT ?2";
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, sql, "ii", (s64)PART_REQUESTS, (s64)PARTS_MOST / 2);
	u32 slot;

	if (ret < 0)
		return ret;
	while (ret >= 0 && (ret = db_step(q, e)) > 0) {
		struct pause_part of = { .name = sqlite3_column_int64(q, 0),
					 .server = sqlite3_column_int64(q, 1) };

		for (slot = 0; slot < n && servers[slot] != of.server; slot++)
			;
		if (slot < n)
			ret = add_part(p, &p->names, key_of(slot, of.name), &of, e);
	}
	return db_end(q, ret);
}

int parts_read(struct pause_parts *p, sqlite3 *db, const s64 *servers, u32 n, s64 duration,
	       struct err *e)
{
	int ret = read_services(p, db, e);

	if (ret == 0)
		ret = read_names(p, db, servers, n, e);
	return ret == 0 ? silences_begin(&p->silences, p->n, duration, e) : ret;
}

static s64 answered(const struct row_request *row)
{
	return row->first_send != BULK_NULL ? row->first_send : row->ts + row->dur;
}

/* Slots of the parts that a request belongs to, 1 more than each; 0: none. */
static void slots_of(const struct pause_parts *p, u32 server, const struct row_request *row,
		     u32 ret[2])
{
	ret[0] = (u32)(uintptr_t)idmap_get(&p->services, (u64)row->service);
	ret[1] = row->name == BULK_NULL
			 ? 0
			 : (u32)(uintptr_t)idmap_get(&p->names, key_of(server, row->name));
}

void parts_take(struct pause_parts *p, u32 server, const struct row_request *row,
		void (*take)(struct silences *s, u32 slot, s64 arrival, s64 end))
{
	u32 slots[2], i;

	slots_of(p, server, row, slots);
	for (i = 0; i < 2; i++)
		if (slots[i])
			take(&p->silences, slots[i] - 1, row->ts - row->queued, answered(row));
}

int parts_found(struct pause_parts *p, struct err *e)
{
	size_t i;

	silences_end(&p->silences, PAUSES_OF_PARTS);
	p->n_v = p->silences.n;
	p->v = calloc(p->n_v ? p->n_v : 1, sizeof(*p->v));
	if (!p->v)
		return err_set(e, ERR_FAIL, "out of memory for pauses");
	for (i = 0; i < p->n_v; i++) {
		const struct silence *s = &p->silences.v[i];
		const struct pause_part *of = &p->of[s->server];

		p->v[i] = (struct pause){ .server = of->server,
					  .service = of->service,
					  .name = of->name,
					  .start = s->start,
					  .end = s->end,
					  .edge = s->edge };
	}
	return 0;
}

/* Whether one that can count starts before end; from the first on that ends after the arrival. */
static bool in_pause(const struct pause_parts *p, size_t first, size_t last, s64 end)
{
	size_t i;

	for (i = first; i < last && p->v[i].start < end; i++)
		if (p->v[i].end - p->v[i].start >= SHORT_PAUSE)
			return true;
	return false;
}

void parts_wait(struct pause_parts *p, u32 server, const struct row_request *row, s64 rowid)
{
	s64 arrival = row->ts - row->queued, end = answered(row);
	u32 slots[2], k;
	size_t i, last;

	slots_of(p, server, row, slots);
	for (k = 0; k < 2; k++) {
		last = slots[k] ? p->silences.first[slots[k]] : 0;
		i = slots[k] ? silences_after(&p->silences, slots[k] - 1, arrival) : 0;
		if (slots[k] && !in_pause(p, i, last, end))
			hist_add(&p->of[slots[k] - 1].outside,
				 end > arrival ? (u64)(end - arrival) : 0);
		for (; i < last && p->v[i].end <= end; i++)
			pause_waited(&p->v[i], row, rowid, end);
	}
}

/*
 * ns of it that the longest pause of its whole server lasts. Silences between the answers of others
 * are many: together they may cover all of it, though others are answered.
 */
static s64 covered(const struct pause *part, const struct pause *v, size_t n)
{
	s64 most = 0, within;
	size_t i;

	for (i = 0; i < n; i++) {
		within = v[i].server == part->server ? pause_within(&v[i], part->start, part->end)
						     : 0;
		most = within > most ? within : most;
	}
	return most;
}

static int longest_first(const void *a, const void *b)
{
	const struct pause *x = a, *y = b;
	s64 m = x->end - x->start, n = y->end - y->start;

	if (m != n)
		return m > n ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->name > y->name) - (x->name < y->name);
}

static bool matters(const struct pause *part)
{
	return part->several && part->end - part->start >= SHORT_PAUSE && part->usual > 0;
}

/*
 * Others were answered in the middle of a pause of this name: then those that a pause of the whole
 * server covers may be of the name as well, while no other request came.
 */
static bool is_cut(const struct pause_parts *p, const struct pause *of)
{
	size_t i;

	for (i = 0; i < p->n_v; i++) {
		const struct pause *o = &p->v[i];

		if (of->name && o->name == of->name && o->server == of->server && matters(o) &&
		    (double)o->covered < NEARLY_ALL * (double)(o->end - o->start))
			return true;
	}
	return false;
}

void parts_choose(struct pause_parts *p, const struct pause *v, size_t n)
{
	size_t i, kept = 0;
	u32 slot;

	for (slot = 0; slot < p->n; slot++)
		for (i = p->silences.first[slot]; i < p->silences.first[slot + 1]; i++)
			if (p->of[slot].outside.n >= PART_REQUESTS)
				p->v[i].usual = verdict_quantile(&p->of[slot].outside, 0.99);
	qsort(p->v, p->n_v, sizeof(*p->v), longest_first);
	for (i = 0; i < p->n_v; i++)
		p->v[i].covered = covered(&p->v[i], v, n);
	for (i = 0; i < p->n_v; i++)
		p->v[i].cut = is_cut(p, &p->v[i]);
	for (i = 0; i < p->n_v; i++) {
		const struct pause *of = &p->v[i];

		if (matters(of) && (of->cut || 2 * of->covered <= of->end - of->start))
			p->v[kept++] = *of;
	}
	p->n_v = kept;
}

void parts_free(struct pause_parts *p)
{
	u32 i;

	for (i = 0; i < p->n; i++)
		hist_free(&p->of[i].outside);
	idmap_free(&p->services);
	idmap_free(&p->names);
	silences_free(&p->silences);
	free(p->v);
}
