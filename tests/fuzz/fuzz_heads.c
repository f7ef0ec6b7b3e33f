// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bytes that servers receive and send, and statements: pieces of up to four connections on two
 * CPUs. Each has 4 bytes before it: connection, kind and CPU, bytes that are received but not
 * there, and its size.
 */
#include "fuzz.h"

#include "record/requests/heads.h"

#include <stdlib.h>
#include <string.h>

#define ANSWER 4 /* kind of a piece */
#define MISSED 8 /* bytes before it were missed */
#define CPU    16
#define MORE   64  /* of the same receive or send */
#define TEXT   128 /* a statement */
#define PASS   32  /* the filter sees what there is, but for what is as late as it */

static void add_piece(struct buf *records, const u8 *head, const u8 *bytes, u32 n, u32 *pos, u64 ts)
{
	u32 size = n < HEAD_SHORT ? HEAD_SHORT : (n + 7) & ~7u;
	struct ev_raw *raw;

	if (buf_reserve(records, sizeof(*raw) + size, NULL) < 0)
		abort();
	raw = (struct ev_raw *)(records->data + records->len);
	memset(raw, 0, sizeof(*raw) + size);
	*pos += head[0] & MISSED;
	raw->h.ts = ts;
	raw->h.type = (head[0] & ANSWER ? RAW_ANSWER : RAW_HEAD) + !!(head[0] & MORE);
	raw->h.size = sizeof(*raw) + size;
	raw->conn = 1 + (head[0] & 3);
	raw->pos = *pos;
	raw->n = n;
	raw->len = n + head[1] * 8;
	memcpy(raw->bytes, bytes, n);
	*pos += raw->len;
	records->len += raw->h.size;
}

static void add_statement(struct buf *records, const u8 *bytes, u32 n, u64 ts)
{
	u64 room[(sizeof(struct ev_call_text) + USDT_TEXT_MAX) / 8] = { 0 };
	struct ev_call_text *ev = (void *)room;

	ev->h = (struct ev_header){ ts, 0, EV_call_text, sizeof(room) };
	memcpy(ev->text, bytes, n < USDT_TEXT_MAX ? n : USDT_TEXT_MAX - 1);
	if (buf_add(records, room, sizeof(room), NULL) < 0)
		abort();
}

/* No digit starts a number in what is written of a statement. */
static void check_statement(const struct ev_call_text *ev)
{
	size_t n = strnlen(ev->text, ev->h.size - sizeof(*ev)), i;

	for (i = 0; i < n; i++)
		if (ev->text[i] == '\'' || (ev->text[i] >= '0' && ev->text[i] <= '9' &&
					    (!i || strchr(" =(,", ev->text[i - 1]))))
			fuzz_fail("a statement has a value");
}

/* Whole records, as many of the group as there were, none longer; none is raw. */
static int check(const struct buf *records)
{
	int pieces = 0;
	const struct ev_header *h;
	size_t at;

	for (at = 0; at < records->len; at += h->size) {
		h = (const struct ev_header *)(records->data + at);
		if (h->size < sizeof(*h) || h->size % 8 || h->size > records->len - at)
			fuzz_fail("a record is cut");
		if (h->type == EV_call_text)
			check_statement((const struct ev_call_text *)h);
		if (h->type == EV_head || h->type == EV_answer || h->type == EV_call_text)
			pieces++;
		else if (h->type != EV_head_more && h->type != EV_answer_more &&
			 h->type != EV_request_name)
			fuzz_fail("another record");
	}
	return pieces;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	/* few streams: each is a page to free; with 3, connections 1 and 4 take turns */
	struct heads_config c = { .bytes = size % 3 * 20, .streams = 3 + size % 2 };
	struct buf cpus[2] = { 0 };
	struct batch batches[2] = { { &cpus[0], 0 }, { &cpus[1], 0 } };
	struct heads *h = NULL;
	u32 pos[8] = { 0 }, n;
	struct err e = { 0 };
	int pieces = 0;

	if (heads_new(&h, &c, &e) < 0)
		abort();
	while (size >= 4) {
		n = (data[2] | data[3] << 8) % (HEAD_PIECE + 1);
		n = n < size - 4 ? n : size - 4;
		if (data[0] & TEXT)
			add_statement(&cpus[!!(data[0] & CPU)], data + 4, n, ++pieces);
		else
			add_piece(&cpus[!!(data[0] & CPU)], data, data + 4, n, &pos[data[0] & 7],
				  ++pieces);
		if (data[0] & PASS && heads_filter(h, batches, 2, pieces - 1, &e) < 0)
			fuzz_fail("the filter failed");
		data += 4 + n;
		size -= 4 + n;
	}
	if (heads_filter(h, batches, 2, UINT64_MAX, &e) < 0)
		fuzz_fail("the filter failed");
	if (check(&cpus[0]) + check(&cpus[1]) != pieces)
		fuzz_fail("not one record for each piece");
	buf_free(&cpus[0]);
	buf_free(&cpus[1]);
	heads_free(h);
	return 0;
}
