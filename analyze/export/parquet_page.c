// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pages: the values of a column in a row group, without NULLs, their header and statistics,
 * compressed. How values become bytes is in parquet_values.c.
 */
#include "analyze/store/row_types.h"
#include "parquet_file.h"
#include "parquet_values.h"
#include "thrift.h"

#include <math.h>
#include <string.h>

#define PAGE_MAX   (1u << 30)
#define ZSTD_LEVEL 1

static void bound_number(struct extreme *b, const void *value)
{
	b->n = 8;
	memcpy(b->bytes, value, 8);
}

/* Leaves out NULL; returns how many values there are. */
static u32 squeeze(s64 *values, u32 n)
{
	u32 i, k = 0;

	for (i = 0; i < n; i++)
		if (values[i] != BULK_NULL)
			values[k++] = values[i];
	return k;
}

static void bound_integers(struct column *c, const s64 *values, u32 n)
{
	s64 least = INT64_MAX, most = INT64_MIN;
	u32 i;

	for (i = 0; i < n; i++) {
		least = values[i] < least ? values[i] : least;
		most = values[i] > most ? values[i] : most;
	}
	if (n) {
		bound_number(&c->least, &least);
		bound_number(&c->most, &most);
	}
}

static void bound_reals(struct column *c, const s64 *values, u32 n)
{
	double least = INFINITY, most = -INFINITY, v;
	u32 i;

	for (i = 0; i < n; i++) {
		memcpy(&v, &values[i], sizeof(v));
		least = v < least ? v : least;
		most = v > most ? v : most;
	}
	/* the format wants zeros of these signs */
	least = least == 0 ? -0.0 : least;
	most = most == 0 ? 0.0 : most;
	if (n) {
		bound_number(&c->least, &least);
		bound_number(&c->most, &most);
	}
}

static int encode(struct parquet *p, struct column *c, struct err *e)
{
	s64 *values = (s64 *)c->values.data;
	u32 n;
	int ret;

	buf_clear(&p->page);
	ret = page_levels(&p->page, values, p->rows, c->nulls, e);
	if (ret < 0)
		return ret;
	if (c->kind->type == 'T')
		return c->text.len ? buf_add(&p->page, c->text.data, c->text.len, e) : 0;
	n = squeeze(values, p->rows);
	if (c->kind->type == 'I') {
		bound_integers(c, values, n);
		return page_deltas(&p->page, values, n, e);
	}
	bound_reals(c, values, n);
	return n ? buf_add(&p->page, values, (size_t)n * 8, e) : 0;
}

static int pack(struct parquet *p, struct err *e)
{
	size_t n;

	if (p->page.len > PAGE_MAX)
		return err_set(e, ERR_FAIL, "a page of Parquet is too large");
	buf_clear(&p->packed);
	if (buf_reserve(&p->packed, ZSTD_compressBound(p->page.len), e) < 0)
		return ERR_FAIL;
	n = ZSTD_compressCCtx(p->zstd, p->packed.data, p->packed.cap, p->page.data, p->page.len,
			      ZSTD_LEVEL);
	if (ZSTD_isError(n))
		return err_set(e, ERR_FAIL, "zstd refuses a page: %s", ZSTD_getErrorName(n));
	p->packed.len = n;
	return 0;
}

/* The numbers of fields are those of parquet.thrift. */
static int add_page_header(struct parquet *p, const struct column *c, struct err *e)
{
	struct thrift t = { .out = &p->head, .e = e };

	buf_clear(&p->head);
	thrift_number(&t, 1, THRIFT_I32, 0); /* a data page */
	thrift_number(&t, 2, THRIFT_I32, (s64)p->page.len);
	thrift_number(&t, 3, THRIFT_I32, (s64)p->packed.len);
	thrift_struct(&t, 5);
	thrift_number(&t, 1, THRIFT_I32, p->rows);
	thrift_number(&t, 2, THRIFT_I32, c->kind->encoding);
	thrift_number(&t, 3, THRIFT_I32, RLE);
	thrift_number(&t, 4, THRIFT_I32, RLE);
	thrift_end(&t);
	thrift_end(&t);
	return t.failed;
}

int parquet_page(struct parquet *p, struct column *c, struct err *e)
{
	int ret = encode(p, c, e);

	if (ret == 0)
		ret = pack(p, e);
	return ret < 0 ? ret : add_page_header(p, c, e);
}
