/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Protocol Buffers, the writing half: a field is a tag (number and wire type) and a value. A
 * failure is kept: what follows it does nothing.
 */
#pragma once

#include "format/buf.h"
#include "format/event.h"

#define VARINT_MAX 10

/* Seven bits a byte, the lowest first, in at most VARINT_MAX bytes. Returns how many. */
size_t varint(u8 *to, u64 value);

enum wire { WIRE_VARINT = 0, WIRE_BYTES = 2 };

/* The tag of a field. */
#define TAG(number, wire) ((number) << 3 | WIRE_##wire)

/* Tags of Perfetto's fields: PF_<message>_<name>. */
enum perfetto_field {
#define FIELD(message, name, number, wire) PF_##message##_##name = TAG(number, wire),
#include "perfetto.def"
#undef FIELD
};

struct pb {
	struct buf b;
	struct err *e;
	int failed; /* negative: see e */
};

/* A number; negative ones take ten bytes. */
void pb_number(struct pb *p, u32 tag, u64 value);
void pb_bytes(struct pb *p, u32 tag, const void *data, size_t n);
void pb_text(struct pb *p, u32 tag, const char *text);

/* A message: what is written between the two is in it. pb_open returns what pb_close takes. */
size_t pb_open(struct pb *p, u32 tag);
void pb_close(struct pb *p, size_t at);
