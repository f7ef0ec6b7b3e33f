// SPDX-License-Identifier: GPL-2.0-or-later
/* Thrift's compact protocol, the writing half. */
#include "thrift.h"

#include "protobuf.h"

#define TYPE_LIST  9
#define SHORT_LIST 15 /* lengths below it share a byte with the type */

static void add(struct thrift *t, const void *data, size_t n)
{
	if (t->failed == 0)
		t->failed = buf_add(t->out, data, n, t->e);
}

static void add_varint(struct thrift *t, u64 value)
{
	u8 bytes[VARINT_MAX];

	add(t, bytes, varint(bytes, value));
}

static void add_zigzag(struct thrift *t, s64 value)
{
	add_varint(t, (u64)value << 1 ^ (u64)(value >> 63));
}

/* Numbers of fields rise by less than 16. */
static void add_field(struct thrift *t, int field, int type)
{
	u8 head;

	if (!field)
		return;
	head = (u8)((field - t->last[t->depth]) << 4 | type);
	t->last[t->depth] = field;
	add(t, &head, 1);
}

void thrift_number(struct thrift *t, int field, enum thrift_type type, s64 value)
{
	add_field(t, field, type);
	add_zigzag(t, value);
}

void thrift_text(struct thrift *t, int field, const void *data, size_t n)
{
	add_field(t, field, THRIFT_TEXT);
	add_varint(t, n);
	add(t, data, n);
}

void thrift_struct(struct thrift *t, int field)
{
	add_field(t, field, THRIFT_STRUCT);
	if (t->depth + 1 < THRIFT_DEPTH)
		t->last[++t->depth] = 0;
	else if (t->failed == 0)
		t->failed = err_set(t->e, ERR_FAIL, "structs of Thrift are too deep");
}

void thrift_end(struct thrift *t)
{
	add(t, "", 1);
	if (t->depth > 0)
		t->depth--;
}

void thrift_list(struct thrift *t, int field, enum thrift_type type, size_t n)
{
	u8 head = (u8)((n < SHORT_LIST ? n : SHORT_LIST) << 4 | type);

	add_field(t, field, TYPE_LIST);
	add(t, &head, 1);
	if (n >= SHORT_LIST)
		add_varint(t, n);
}
