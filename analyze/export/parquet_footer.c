// SPDX-License-Identifier: GPL-2.0-or-later
/* The footer: columns, row groups with the statistics of each column, and how values are ordered.
 */
#include "format/version.h"
#include "parquet_file.h"
#include "thrift.h"

#include <string.h>

#define CREATED_BY "obsanalyze " OBS_VERSION
#define CODEC_ZSTD 6
#define OPTIONAL   1
#define UTF8	   0

/* The numbers of fields are those of parquet.thrift. */
static void add_schema(struct thrift *t, const struct parquet *p)
{
	int i;

	thrift_list(t, 2, THRIFT_STRUCT, (size_t)p->n + 1);
	thrift_struct(t, 0);
	thrift_text(t, 4, "schema", strlen("schema"));
	thrift_number(t, 5, THRIFT_I32, p->n);
	thrift_end(t);
	for (i = 0; i < p->n; i++) {
		const struct column *c = &p->columns[i];

		thrift_struct(t, 0);
		thrift_number(t, 1, THRIFT_I32, c->kind->physical);
		thrift_number(t, 3, THRIFT_I32, OPTIONAL);
		thrift_text(t, 4, c->desc->name, strlen(c->desc->name));
		if (c->kind->type == 'T')
			thrift_number(t, 6, THRIFT_I32, UTF8);
		thrift_end(t);
	}
}

static void add_statistics(struct thrift *t, const struct chunk *k, bool text)
{
	bool known = k->rows > k->nulls && !k->least.long_text && !k->most.long_text;

	thrift_struct(t, 12);
	thrift_number(t, 3, THRIFT_I64, k->nulls);
	if (known && (text || k->least.n)) {
		thrift_text(t, 5, k->most.bytes, k->most.n);
		thrift_text(t, 6, k->least.bytes, k->least.n);
	}
	thrift_end(t);
}

static void add_chunk(struct thrift *t, const struct column *c, const struct chunk *k)
{
	thrift_struct(t, 0);
	thrift_number(t, 2, THRIFT_I64, (s64)k->offset);
	thrift_struct(t, 3);
	thrift_number(t, 1, THRIFT_I32, c->kind->physical);
	thrift_list(t, 2, THRIFT_I32, 2);
	thrift_number(t, 0, THRIFT_I32, RLE);
	thrift_number(t, 0, THRIFT_I32, c->kind->encoding);
	thrift_list(t, 3, THRIFT_TEXT, 1);
	thrift_text(t, 0, c->desc->name, strlen(c->desc->name));
	thrift_number(t, 4, THRIFT_I32, CODEC_ZSTD);
	thrift_number(t, 5, THRIFT_I64, k->rows);
	thrift_number(t, 6, THRIFT_I64, (s64)k->raw);
	thrift_number(t, 7, THRIFT_I64, (s64)k->packed);
	thrift_number(t, 9, THRIFT_I64, (s64)k->offset);
	add_statistics(t, k, c->kind->type == 'T');
	thrift_end(t);
	thrift_end(t);
}

static void add_groups(struct thrift *t, const struct parquet *p)
{
	const struct chunk *k = (const struct chunk *)p->chunks.data;
	size_t groups = p->chunks.len / sizeof(*k) / (size_t)p->n, g;
	int i;

	thrift_list(t, 4, THRIFT_STRUCT, groups);
	for (g = 0; g < groups; g++, k += p->n) {
		u64 raw = 0, packed = 0;

		thrift_struct(t, 0);
		thrift_list(t, 1, THRIFT_STRUCT, (size_t)p->n);
		for (i = 0; i < p->n; i++) {
			add_chunk(t, &p->columns[i], &k[i]);
			raw += k[i].raw;
			packed += k[i].packed;
		}
		thrift_number(t, 2, THRIFT_I64, (s64)raw);
		thrift_number(t, 3, THRIFT_I64, k->rows);
		thrift_number(t, 6, THRIFT_I64, (s64)packed);
		thrift_end(t);
	}
}

/* Readers trust min and max only where this says how values are ordered: as their types are. */
static void add_orders(struct thrift *t, const struct parquet *p)
{
	int i;

	thrift_list(t, 7, THRIFT_STRUCT, (size_t)p->n);
	for (i = 0; i < p->n; i++) {
		thrift_struct(t, 0);
		thrift_struct(t, 1);
		thrift_end(t);
		thrift_end(t);
	}
}

int parquet_footer(struct parquet *p, struct err *e)
{
	struct thrift t = { .out = &p->page, .e = e };

	buf_clear(&p->page);
	thrift_number(&t, 1, THRIFT_I32, 1);
	add_schema(&t, p);
	thrift_number(&t, 3, THRIFT_I64, (s64)p->all_rows);
	add_groups(&t, p);
	thrift_text(&t, 6, CREATED_BY, strlen(CREATED_BY));
	add_orders(&t, p);
	thrift_end(&t);
	return t.failed;
}
