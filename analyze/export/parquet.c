// SPDX-License-Identifier: GPL-2.0-or-later
#include "parquet_file.h"

#include "analyze/store/row_types.h"
#include "format/escape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GROUP_ROWS 131072
#define GROUP_TEXT (16u << 20)	/* bytes of one column, in a row group */
#define ENOUGH	   (256u << 10) /* bytes of a write */
#define MAGIC	   "PAR1"

static const struct kind kinds[] = {
	{ 'I', 2, DELTA_BINARY_PACKED },
	{ 'R', 5, PLAIN },
	{ 'T', 6, PLAIN },
};

static int flush(struct parquet *p, struct err *e)
{
	size_t at = 0;
	ssize_t n;

	while (at < p->out.len) {
		n = write(p->fd, p->out.data + at, p->out.len - at);
		if (n < 0 && errno != EINTR)
			return err_errno(e, ERR_FAIL, "cannot write a Parquet file");
		at += n > 0 ? (size_t)n : 0;
	}
	buf_clear(&p->out);
	return 0;
}

static int write_out(struct parquet *p, const struct buf *b, struct err *e)
{
	int ret = buf_add(&p->out, b->data, b->len, e);

	p->offset += b->len;
	return ret < 0 || p->out.len < ENOUGH ? ret : flush(p, e);
}

int parquet_open(struct parquet **ret, int fd, const struct column_desc *columns, int n,
		 struct err *e)
{
	struct parquet *p = calloc(1, sizeof(*p));
	size_t k;
	int i;

	if (p)
		p->columns = calloc((size_t)n, sizeof(*p->columns));
	if (p)
		p->zstd = ZSTD_createCCtx();
	if (!p || !p->columns || !p->zstd) {
		parquet_free(p);
		return err_set(e, ERR_FAIL, "out of memory for a Parquet file");
	}
	p->fd = fd;
	p->n = n;
	for (i = 0; i < n; i++) {
		p->columns[i].desc = &columns[i];
		for (k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
			if (kinds[k].type == columns[i].type[0])
				p->columns[i].kind = &kinds[k];
	}
	*ret = p;
	return buf_add(&p->head, MAGIC, strlen(MAGIC), e) == 0 ? write_out(p, &p->head, e)
							       : ERR_FAIL;
}

void parquet_free(struct parquet *p)
{
	int i;

	if (!p)
		return;
	for (i = 0; p->columns && i < p->n; i++) {
		buf_free(&p->columns[i].values);
		buf_free(&p->columns[i].text);
	}
	free(p->columns);
	buf_free(&p->chunks);
	buf_free(&p->page);
	buf_free(&p->packed);
	buf_free(&p->head);
	buf_free(&p->out);
	ZSTD_freeCCtx(p->zstd);
	free(p);
}

/* ---- values ---- */

int parquet_numbers(struct parquet *p, int column, const s64 *values, u32 n, struct err *e)
{
	struct column *c = &p->columns[column];
	u32 i;

	for (i = 0; i < n; i++)
		c->nulls += values[i] == BULK_NULL;
	return buf_add(&c->values, values, (size_t)n * sizeof(*values), e);
}

/* Text is ordered by its bytes. */
static void widen(struct extreme *b, const char *text, size_t n, int sign, bool first)
{
	int order = memcmp(text, b->bytes, n < b->n ? n : b->n);

	if (order == 0)
		order = n < b->n ? -1 : n > b->n;
	if (b->long_text || (!first && order * sign <= 0))
		return;
	b->long_text = n > sizeof(b->bytes);
	b->n = b->long_text ? 0 : (u32)n;
	memcpy(b->bytes, text, b->n);
}

int parquet_text(struct parquet *p, int column, const char *text, size_t n, struct err *e)
{
	struct column *c = &p->columns[column];
	size_t at = c->text.len, rows = c->values.len / sizeof(s64);
	bool first = rows == c->nulls;
	u8 size[4] = { 0 };
	s64 length;
	u32 i;
	int ret;

	if (!text)
		return parquet_numbers(p, column, &(s64){ BULK_NULL }, 1, e);
	buf_add(&c->text, size, sizeof(size), e);
	ret = escape_add(&c->text, ESCAPE_DATA, text, n, e);
	if (ret < 0)
		return ret;
	length = (s64)(c->text.len - at - sizeof(size));
	for (i = 0; i < sizeof(size); i++)
		c->text.data[at + i] = (char)(length >> 8 * i);
	widen(&c->least, c->text.data + at + sizeof(size), (size_t)length, -1, first);
	widen(&c->most, c->text.data + at + sizeof(size), (size_t)length, 1, first);
	return buf_add(&c->values, &length, sizeof(length), e);
}

static int write_column(struct parquet *p, struct column *c, struct err *e)
{
	struct chunk k = { .offset = p->offset, .rows = p->rows, .nulls = c->nulls };
	int ret = parquet_page(p, c, e);

	if (ret == 0)
		ret = write_out(p, &p->head, e);
	if (ret == 0)
		ret = write_out(p, &p->packed, e);
	if (ret < 0)
		return ret;
	k.packed = p->head.len + p->packed.len;
	k.raw = p->head.len + p->page.len;
	k.least = c->least;
	k.most = c->most;
	buf_clear(&c->values);
	buf_clear(&c->text);
	c->nulls = 0;
	c->least = c->most = (struct extreme){ 0 };
	return buf_add(&p->chunks, &k, sizeof(k), e);
}

static int write_group(struct parquet *p, struct err *e)
{
	int i, ret = 0;

	for (i = 0; i < p->n && ret == 0; i++)
		ret = write_column(p, &p->columns[i], e);
	p->all_rows += p->rows;
	p->rows = 0;
	return ret;
}

int parquet_rows(struct parquet *p, u32 n, struct err *e)
{
	bool full;
	int i;

	p->rows += n;
	full = p->rows >= GROUP_ROWS;
	for (i = 0; i < p->n; i++)
		full |= p->columns[i].text.len >= GROUP_TEXT;
	return full ? write_group(p, e) : 0;
}

int parquet_finish(struct parquet *p, struct err *e)
{
	u8 size[4];
	u32 i;
	int ret = p->rows ? write_group(p, e) : 0;

	if (ret == 0)
		ret = parquet_footer(p, e);
	for (i = 0; i < sizeof(size); i++)
		size[i] = (u8)(p->page.len >> 8 * i);
	if (ret == 0)
		ret = buf_add(&p->page, size, sizeof(size), e);
	if (ret == 0)
		ret = buf_add(&p->page, MAGIC, strlen(MAGIC), e);
	if (ret == 0)
		ret = write_out(p, &p->page, e);
	return ret < 0 ? ret : flush(p, e);
}
