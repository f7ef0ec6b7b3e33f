// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Header compression of HTTP/2 (RFC 7541), as far as names and errors of requests need it:
 * method, path, whether the content is gRPC's, status and gRPC's status. Of the table only entries
 * that were seen to be added are known; older ones have higher indexes, so a connection can be
 * joined in the middle.
 */
#include "parse.h"

#include <stdio.h>
#include <stdlib.h>

#define STATIC_N   61
#define TABLE_SIZE 4096 /* bytes, unless the encoder says less */
#define ENTRY_COST 32
#define ENTRIES	   (TABLE_SIZE / ENTRY_COST)
#define TEXT_MAX   NAME_BYTES

/* Which header; others do not matter. */
enum header { OTHER, METHOD, PATH, CONTENT_TYPE, STATUS, GRPC_STATUS };

struct entry {
	u32 size; /* by the RFC */
	u32 name_len;
	u8 header;
	char value[TEXT_MAX]; /* of those that matter; cut */
};

struct hpack {
	struct entry entries[ENTRIES]; /* a ring */
	u32 newest, n;
	u32 size, limit;
};

struct input {
	const u8 *b;
	size_t at, n;
	bool bad;
};

struct text {
	char text[TEXT_MAX];
	u32 len; /* of all of it; decoded */
};

struct hpack *hpack_new(void)
{
	struct hpack *h = calloc(1, sizeof(*h));

	if (h)
		h->limit = TABLE_SIZE;
	return h;
}

void hpack_forget(struct hpack *h)
{
	h->n = 0;
	h->size = 0;
}

static void evict(struct hpack *h, u32 limit)
{
	while (h->n && (h->size > limit || h->n > ENTRIES)) {
		h->n--;
		h->size -= h->entries[(h->newest + ENTRIES - h->n) % ENTRIES].size;
	}
}

static void insert(struct hpack *h, u8 header, const struct text *value, u32 name_len)
{
	u32 size = name_len + value->len + ENTRY_COST;
	struct entry *e;

	evict(h, size > h->limit ? 0 : h->limit - size);
	if (size > h->limit) /* empties the table, as the RFC says */
		return;
	h->newest = (h->newest + 1) % ENTRIES;
	e = &h->entries[h->newest];
	e->size = size;
	e->name_len = name_len;
	e->header = header;
	memcpy(e->value, value->text, sizeof(e->value));
	h->n++;
	h->size += size;
}

/* NULL: added before we looked. */
static const struct entry *entry_at(const struct hpack *h, u32 index)
{
	index -= STATIC_N + 1;
	return index < h->n ? &h->entries[(h->newest + ENTRIES - index) % ENTRIES] : NULL;
}

static u32 read_int(struct input *in, int bits)
{
	u32 max = (1u << bits) - 1, v;
	int shift = 0;
	u8 c;

	if (in->at >= in->n) {
		in->bad = true;
		return 0;
	}
	v = in->b[in->at++] & max;
	if (v < max)
		return v;
	do {
		if (in->at >= in->n || shift > 21) {
			in->bad = true;
			return 0;
		}
		c = in->b[in->at++];
		v += (u32)(c & 127) << shift;
		shift += 7;
	} while (c & 128);
	return v;
}

/*
 * The code of appendix B is canonical: codes of one length follow each other in the order of their
 * symbols, after those that are shorter. Text has none of more than 15 bits.
 */
static const struct {
	u8 bits, n;
	const char *symbols;
} codes[] = {
	{ 5, 10, "012aceiost" },
	{ 6, 26, " %-./3456789=A_bdfghlmnpru" },
	{ 7, 32, ":BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz" },
	{ 8, 6, "&*,;XZ" },
	{ 10, 5, "!\"()?" },
	{ 11, 3, "'+|" },
	{ 12, 2, "#>" },
	{ 13, 6, "\0$@[]~" },
	{ 14, 2, "^}" },
	{ 15, 3, "<`{" },
};

#define LENGTHS (sizeof(codes) / sizeof(codes[0]))

/* The symbol at bit at; its length is added to at. -1: none that text has. */
static int next_symbol(const u8 *b, size_t bits, size_t *at)
{
	u32 code = 0, first = 0;
	size_t i, have = 0;

	for (i = 0; i < LENGTHS; i++) {
		first <<= codes[i].bits - (i ? codes[i - 1].bits : 0);
		for (; have < codes[i].bits; have++, (*at)++) {
			if (*at >= bits)
				return -1;
			code = code << 1 | (b[*at / 8] >> (7 - *at % 8) & 1);
		}
		if (code < first + codes[i].n)
			return code >= first ? (u8)codes[i].symbols[code - first] : -1;
		first += codes[i].n;
	}
	return -1;
}

static bool padding(const u8 *b, size_t bits, size_t at)
{
	if (bits - at > 7)
		return false;
	for (; at < bits; at++)
		if (!(b[at / 8] >> (7 - at % 8) & 1))
			return false;
	return true;
}

static void put(struct text *t, char c)
{
	if (t->len + 1 < TEXT_MAX)
		t->text[t->len] = c;
	t->len++;
}

static void read_text(struct input *in, struct text *ret)
{
	bool huffman = in->at < in->n && in->b[in->at] & 128;
	u32 len = read_int(in, 7), i;
	size_t bits = (size_t)len * 8, at = 0;
	int c;

	memset(ret, 0, sizeof(*ret));
	if (in->bad || len > in->n - in->at) {
		in->bad = true;
		return;
	}
	for (i = 0; !huffman && i < len; i++)
		put(ret, (char)in->b[in->at + i]);
	while (huffman && !padding(in->b + in->at, bits, at)) {
		c = next_symbol(in->b + in->at, bits, &at);
		if (c < 0) { /* no text: of a length that is not known */
			in->bad = true;
			break;
		}
		put(ret, (char)c);
	}
	in->at += len;
}

static u8 header_of(const char *name)
{
	static const char *const names[] = { [METHOD] = ":method",
					     [PATH] = ":path",
					     [CONTENT_TYPE] = "content-type",
					     [STATUS] = ":status",
					     [GRPC_STATUS] = "grpc-status" };
	u8 h = GRPC_STATUS;

	while (h && strcmp(name, names[h]) != 0)
		h--;
	return h;
}

/* What a name from the static table is, and the length of its text. */
static u8 static_header(u32 index, u32 *len)
{
	static const u8 lengths[STATIC_N + 1] = {
		0, 10, 7,  7,  5,  5,  7,  7,  7,  7,  7,  7,  7, 7,  7,  14, 15, 15, 13, 6,  27,
		3, 5,  13, 13, 19, 16, 16, 14, 16, 13, 12, 6,  4, 4,  6,  7,  4,  4,  8,  17, 13,
		8, 19, 13, 4,  8,  12, 18, 19, 5,  7,  7,  11, 6, 10, 25, 17, 10, 4,  3,  16,
	};

	*len = lengths[index];
	if (index == 2 || index == 3)
		return METHOD;
	if (index == 4 || index == 5)
		return PATH;
	if (index >= 8 && index <= 14)
		return STATUS;
	return index == 31 ? CONTENT_TYPE : OTHER;
}

static void use(struct headers *r, u8 header, const char *value)
{
	if (header == METHOD)
		snprintf(r->method, sizeof(r->method), "%.15s", value);
	if (header == PATH) {
		snprintf(r->path, sizeof(r->path), "%s", value);
		r->has_path = true;
	}
	if (header == CONTENT_TYPE)
		r->grpc = strncmp(value, "application/grpc", 16) == 0;
	if (header == STATUS)
		r->status = (u16)strtoul(value, NULL, 10);
	if (header == GRPC_STATUS && value[0] >= '0' && value[0] <= '9')
		r->grpc_status = (u16)strtoul(value, NULL, 10);
}

static void indexed(struct hpack *h, struct headers *r, u32 index)
{
	static const char *const values[] = {
		[2] = "GET", "POST", "/",   "/index.html", [8] = "200", "204",
		"206",	     "304",  "400", "404",	   "500"
	};
	const struct entry *e = index > STATIC_N ? entry_at(h, index) : NULL;
	u32 len;

	if (e)
		use(r, e->header, e->value);
	else if (index < sizeof(values) / sizeof(values[0]) && values[index])
		use(r, static_header(index, &len), values[index]);
}

static void literal(struct hpack *h, struct headers *r, struct input *in, u32 index, bool add)
{
	const struct entry *e = index > STATIC_N ? entry_at(h, index) : NULL;
	struct text name, value;
	u8 header = OTHER;
	u32 len = 0;

	if (!index) {
		read_text(in, &name);
		header = header_of(name.text);
		len = name.len;
	} else if (index <= STATIC_N) {
		header = static_header(index, &len);
	} else if (e) {
		header = e->header;
		len = e->name_len;
	}
	if (!in->bad)
		read_text(in, &value);
	if (in->bad)
		return;
	use(r, header, value.text);
	if (add)
		insert(h, header, &value, len);
}

bool hpack_decode(struct hpack *h, const u8 *b, size_t n, struct headers *ret)
{
	struct input in = { .b = b, .n = n };

	*ret = (struct headers){ .grpc_status = -1 };
	while (in.at < in.n && !in.bad) {
		u8 c = in.b[in.at];

		if (c & 0x80) {
			indexed(h, ret, read_int(&in, 7));
		} else if (c & 0x40) {
			literal(h, ret, &in, read_int(&in, 6), true);
		} else if (c & 0x20) {
			h->limit = read_int(&in, 5);
			h->limit = h->limit < TABLE_SIZE ? h->limit : TABLE_SIZE;
			evict(h, h->limit);
		} else {
			literal(h, ret, &in, read_int(&in, 4), false);
		}
	}
	if (in.bad)
		hpack_forget(h);
	return !in.bad;
}
