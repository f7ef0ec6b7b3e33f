// SPDX-License-Identifier: GPL-2.0-or-later
/* One record as a line. */
#include "record_text.h"

#include "format/escape.h"
#include "format/syscall.h"

#include <inttypes.h>
#include <string.h>

/* The call's table, if the event says which; else the one of x86_64. */
static u8 abi_of(const struct record *rec)
{
	const struct field_desc *f = event_field(rec->desc, "abi");

	return f ? field_value(f, rec->raw) : ABI_X86_64;
}

static int add_quoted(struct buf *out, const char *text, size_t n, struct err *e)
{
	int ret = buf_add(out, "\"", 1, e);

	if (ret == 0)
		ret = escape_add(out, ESCAPE_JSON, text, n, e);
	return ret < 0 ? ret : buf_add(out, "\"", 1, e);
}

static int add_address(struct buf *out, const u8 *a, struct err *e)
{
	int i, ret = buf_printf(out, e, "0x");

	for (i = 0; i < 16 && ret == 0; i++)
		ret = buf_printf(out, e, "%02x", a[i]);
	return ret;
}

static bool is_signed(const struct field_desc *f)
{
	return f->type == TYPE_s32 || f->type == TYPE_s64;
}

static int add_value(struct buf *out, const struct record *rec, const struct schema *s,
		     const struct field_desc *f, struct err *e)
{
	const u8 *at = rec->raw + f->offset;
	u64 v;

	if (f->type == TYPE_comm16)
		return add_quoted(out, (const char *)at, strnlen((const char *)at, f->size), e);
	if (f->type == TYPE_addr16)
		return add_address(out, at, e);
	v = field_value(f, rec->raw);
	if (f->kind == KIND_SYSCALL && s && syscall_find(abi_of(rec), v))
		return buf_printf(out, e, "%s", syscall_find(abi_of(rec), v)->name);
	if (f->kind == KIND_GROUP && s && v < GROUP_MAX && s->groups[v].name[0])
		return buf_printf(out, e, "%s", s->groups[v].name);
	if (f->kind == KIND_ADDRESS && s)
		return buf_printf(out, e, "0x%" PRIx64, v);
	return is_signed(f) ? buf_printf(out, e, "%" PRId64, (s64)v)
			    : buf_printf(out, e, "%" PRIu64, v);
}

int record_text(struct buf *out, const struct record *rec, const struct schema *s, struct err *e)
{
	int i, ret;

	ret = buf_printf(out, e, "%" PRIu64 " %u %s", rec->ts, rec->tid, rec->desc->name);
	for (i = 0; i < rec->desc->n_fields && ret == 0; i++) {
		ret = buf_printf(out, e, " %s=", rec->desc->fields[i].name);
		if (ret == 0)
			ret = add_value(out, rec, s, &rec->desc->fields[i], e);
	}
	if (ret == 0 && rec->desc->tail[0]) {
		ret = buf_printf(out, e, " %s=", rec->desc->tail);
		if (ret == 0)
			ret = add_quoted(out, rec->tail, rec->tail_len, e);
	}
	return ret;
}

int record_json(struct buf *out, const struct record *rec, struct err *e)
{
	int i, ret;

	if (rec->stream == STREAM_RECORDER)
		ret = buf_printf(out, e, "{\"ts\": %" PRIu64 ", \"ring\": null", rec->ts);
	else
		ret = buf_printf(out, e, "{\"ts\": %" PRIu64 ", \"ring\": %u", rec->ts,
				 rec->stream);
	if (ret == 0)
		ret = buf_printf(out, e, ", \"tid\": %u, \"event\": \"%s\"", rec->tid,
				 rec->desc->name);
	for (i = 0; i < rec->desc->n_fields && ret == 0; i++) {
		const struct field_desc *f = &rec->desc->fields[i];
		bool quote = f->type == TYPE_addr16;

		ret = buf_printf(out, e, ", \"%s\": %s", f->name, quote ? "\"" : "");
		if (ret == 0)
			ret = add_value(out, rec, NULL, f, e);
		if (ret == 0 && quote)
			ret = buf_printf(out, e, "\"");
	}
	if (ret == 0 && rec->desc->tail[0]) {
		ret = buf_printf(out, e, ", \"%s\": ", rec->desc->tail);
		if (ret == 0)
			ret = add_quoted(out, rec->tail, rec->tail_len, e);
	}
	return ret < 0 ? ret : buf_printf(out, e, "}");
}
