// SPDX-License-Identifier: GPL-2.0-or-later
/* A schema block: what is accepted can be written, read again, and used. */
#include "fuzz.h"

#include "format/schema.h"

#include <string.h>

static void use(const struct schema *s)
{
	static u64 scratch[EV_SIZE_MAX / 8], record[EV_SIZE_MAX / 8];
	const struct event_desc *ev;
	size_t len;
	int i, f;

	for (i = 0; i < SCHEMA_EVENT_MAX; i++) {
		ev = s->by_id[i];
		if (!ev)
			continue;
		schema_project(s, i, (const u8 *)record, scratch);
		event_tail(ev, (const u8 *)record, ev->size, &len);
		for (f = 0; f < ev->n_fields; f++)
			if (ev->fields[f].size <= 8)
				field_value(&ev->fields[f], (const u8 *)record);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct schema *s = NULL, *again = NULL;
	struct buf text = { 0 }, twice = { 0 };
	struct err e = { 0 };

	if (schema_parse(&s, (const char *)data, size, &e) < 0)
		return 0;
	use(s);
	if (schema_write(s, &text, &e) < 0 || schema_parse(&again, text.data, text.len, &e) < 0 ||
	    schema_write(again, &twice, &e) < 0 || text.len != twice.len ||
	    memcmp(text.data, twice.data, text.len) != 0)
		fuzz_fail("a schema is written otherwise than read");
	schema_free(s);
	schema_free(again);
	buf_free(&text);
	buf_free(&twice);
	return 0;
}
