// SPDX-License-Identifier: GPL-2.0-or-later
/* One record as a line. */
#include "record_text.h"

#include "format/escape.h"
#include "format/syscall.h"

#include <string.h>

#define ROOM 128 /* bytes of a name, a number and what is around them */

static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233"
			    "34353637383940414243444546474849505152535455565758596061626364656667"
			    "6869707172737475767778798081828384858687888990919293949596979899";

/* Dump is mostly names and numbers: room is made for several at once, then they are only put. */
static char *room(struct buf *out, struct err *e)
{
	if (out->cap - out->len <= ROOM && buf_reserve(out, ROOM + 1, e) < 0)
		return NULL;
	return out->data + out->len;
}

static int done(struct buf *out, char *at)
{
	*at = '\0';
	out->len = (size_t)(at - out->data);
	return 0;
}

#define PUT(at, text) ((char *)memcpy(at, text, sizeof(text) - 1) + sizeof(text) - 1)

/* A name of a schema; its whole array is copied. */
static char *put_name(char *at, const char name[SCHEMA_NAME_MAX])
{
	memcpy(at, name, SCHEMA_NAME_MAX);
	return at + strlen(name);
}

static char *put_decimal(char *at, u64 v)
{
	char text[20], *p = text + sizeof(text);

	for (; v >= 100; v /= 100)
		memcpy(p -= 2, pairs + 2 * (v % 100), 2);
	if (v >= 10)
		memcpy(p -= 2, pairs + 2 * v, 2);
	else
		*--p = (char)('0' + v);
	memcpy(at, p, (size_t)(text + sizeof(text) - p));
	return at + (text + sizeof(text) - p);
}

static char *put_hex(char *at, const u8 *bytes, int n)
{
	for (; n > 0; n--, bytes++) {
		*at++ = "0123456789abcdef"[*bytes >> 4];
		*at++ = "0123456789abcdef"[*bytes & 15];
	}
	return at;
}

static char *put_pointer(char *at, u64 v)
{
	int bits = 60;

	while (bits && !(v >> bits))
		bits -= 4;
	for (; bits >= 0; bits -= 4)
		*at++ = "0123456789abcdef"[v >> bits & 15];
	return at;
}

/* The call's table, if the event says which; else the one of x86_64. */
static u8 abi_of(const struct record *rec)
{
	int i;

	for (i = 0; i < rec->desc->n_fields; i++)
		if (rec->desc->fields[i].kind == KIND_ABI)
			return field_value(&rec->desc->fields[i], rec->raw);
	return ABI_X86_64;
}

static int add_quoted(struct buf *out, const char *text, size_t n, struct err *e)
{
	buf_add(out, "\"", 1, e);
	escape_add(out, ESCAPE_JSON, text, n, e);
	return buf_add(out, "\"", 1, e);
}

static bool is_signed(const struct field_desc *f)
{
	return f->type == TYPE_s32 || f->type == TYPE_s64;
}

/* at: in room, after its name. */
static int add_value(struct buf *out, char *at, const struct record *rec, const struct schema *s,
		     const struct field_desc *f, struct err *e)
{
	const struct syscall_desc *call;
	u64 v;

	if (f->type == TYPE_comm16) {
		const char *text = (const char *)rec->raw + f->offset;

		done(out, at);
		return add_quoted(out, text, strnlen(text, f->size), e);
	}
	if (f->type == TYPE_addr16)
		return done(out, put_hex(PUT(at, "0x"), rec->raw + f->offset, 16));
	v = field_value(f, rec->raw);
	call = f->kind == KIND_SYSCALL && s ? syscall_find(abi_of(rec), v) : NULL;
	if (call) {
		done(out, at);
		return buf_add(out, call->name, strlen(call->name), e);
	}
	if (f->kind == KIND_GROUP && s && v < GROUP_MAX && s->groups[v].name[0])
		return done(out, put_name(at, s->groups[v].name));
	if (f->kind == KIND_ADDRESS && s)
		return done(out, put_pointer(PUT(at, "0x"), v));
	if (is_signed(f) && (s64)v < 0)
		return done(out, put_decimal(PUT(at, "-"), 0 - v));
	return done(out, put_decimal(at, v));
}

static int add_tail(struct buf *out, const struct record *rec, bool json, struct err *e)
{
	char *at = room(out, e);

	if (!at)
		return ERR_FAIL;
	at = put_name(json ? PUT(at, ", \"") : PUT(at, " "), rec->desc->tail);
	done(out, json ? PUT(at, "\": ") : PUT(at, "="));
	return add_quoted(out, rec->tail, rec->tail_len, e);
}

int record_text(struct buf *out, const struct record *rec, const struct schema *s, struct err *e)
{
	char *at = room(out, e);
	int i, ret = 0;

	if (!at)
		return ERR_FAIL;
	at = PUT(put_decimal(at, rec->ts), " ");
	at = PUT(put_decimal(at, rec->tid), " ");
	done(out, put_name(at, rec->desc->name));
	for (i = 0; i < rec->desc->n_fields && ret == 0; i++) {
		at = room(out, e);
		if (!at)
			return ERR_FAIL;
		at = PUT(put_name(PUT(at, " "), rec->desc->fields[i].name), "=");
		ret = add_value(out, at, rec, s, &rec->desc->fields[i], e);
	}
	return ret == 0 && rec->desc->tail[0] ? add_tail(out, rec, false, e) : ret;
}

static int add_json_field(struct buf *out, const struct record *rec, const struct field_desc *f,
			  struct err *e)
{
	bool quote = f->type == TYPE_addr16;
	char *at = room(out, e);
	int ret;

	if (!at)
		return ERR_FAIL;
	at = put_name(PUT(at, ", \""), f->name);
	ret = add_value(out, quote ? PUT(at, "\": \"") : PUT(at, "\": "), rec, NULL, f, e);
	return ret == 0 && quote ? buf_add(out, "\"", 1, e) : ret;
}

int record_json(struct buf *out, const struct record *rec, struct err *e)
{
	char *at = room(out, e);
	int i, ret = 0;

	if (!at)
		return ERR_FAIL;
	at = PUT(put_decimal(PUT(at, "{\"ts\": "), rec->ts), ", \"ring\": ");
	at = rec->stream == STREAM_RECORDER ? PUT(at, "null") : put_decimal(at, rec->stream);
	at = PUT(put_decimal(PUT(at, ", \"tid\": "), rec->tid), ", \"event\": \"");
	done(out, PUT(put_name(at, rec->desc->name), "\""));
	for (i = 0; i < rec->desc->n_fields && ret == 0; i++)
		ret = add_json_field(out, rec, &rec->desc->fields[i], e);
	if (ret == 0 && rec->desc->tail[0])
		ret = add_tail(out, rec, true, e);
	return ret < 0 ? ret : buf_add(out, "}", 1, e);
}
