// SPDX-License-Identifier: GPL-2.0-or-later
/* Records of the errors in answers, in place of the bytes. */
#include "parse.h"

/* The first answer of a send, if it reports an error, is no run of its own. */
static void take_first(struct ev_answer *ev, struct errors_found *f, char *code)
{
	struct error_run *run = f->runs;

	if (!f->n || run->first || run->name)
		return;
	ev->status = run->status;
	memcpy(code, run->code, sizeof(run->code));
	run->first++;
	if (--run->count == 0)
		memmove(run, run + 1, --f->n * sizeof(*run));
}

static u16 more_size(const struct error_run *run)
{
	return sizeof(struct ev_answer_more) + ((strlen(run->code) + 7) & ~7u);
}

/* As many as there is room for; at least one. */
static void fit(struct request_names *names, struct errors_found *f, size_t room)
{
	size_t sum = 0;
	int i;

	for (i = 0; i < f->n && sum + more_size(&f->runs[i]) <= room; i++)
		sum += more_size(&f->runs[i]);
	if (i < f->n)
		errors_shorten(f, i, request_names_other(names));
}

static int add_errors(struct request_names *names, const struct ev_answer *ev,
		      struct errors_found *f, size_t room, struct buf *out, struct err *e)
{
	struct ev_answer_more more = {
		.h = { ev->h.ts, ev->h.tid, EV_answer_more, 0 },
		.conn = ev->conn,
	};
	int i, ret = 0;

	fit(names, f, room);
	for (i = 0; i < f->n && ret == 0 && room >= more_size(&f->runs[i]); i++) {
		more.h.size = more_size(&f->runs[i]);
		more.first = f->runs[i].first;
		more.errors = f->runs[i].count;
		more.status = f->runs[i].status;
		more.protocol = f->runs[i].protocol;
		more.name = f->runs[i].name;
		room -= more.h.size;
		buf_add(out, &more, sizeof(more), e);
		ret = buf_add(out, f->runs[i].code, more.h.size - sizeof(more), e);
	}
	return ret;
}

int answer_put(struct stream *s, struct request_names *names, const struct ev_raw *raw,
	       struct buf *out, struct err *e)
{
	struct ev_answer ev = {
		.h = { raw->h.ts, raw->h.tid, EV_answer, sizeof(ev) },
		.conn = raw->conn,
		.pos = raw->pos,
		.len = raw->len,
		.protocol = s->conn == raw->conn ? s->protocol : PROTOCOL_UNKNOWN,
	};
	struct errors_found f = { .names = names, .lost = raw->len > raw->n };
	char code[sizeof(f.runs->code)] = "";
	int ret;

	if (answers_known(ev.protocol)) {
		f.lost = false;
		answers_read(s, &f, raw);
		if (raw->h.type == RAW_ANSWER)
			take_first(&ev, &f, code);
	} else if (raw->h.type == RAW_ANSWER && ev.protocol <= PROTOCOL_HTTP1) {
		ev.status = http1_status(raw->bytes, raw->n);
		if (ev.status)
			ev.protocol = PROTOCOL_HTTP1;
	}
	ev.flags = f.lost || f.missed ? ANSWER_MORE : answers_known(ev.protocol) ? ANSWER_WHOLE : 0;
	ev.h.size += (strlen(code) + 7) & ~7u;
	buf_add(out, &ev, sizeof(ev), e);
	ret = buf_add(out, code, ev.h.size - sizeof(ev), e);
	return ret < 0 ? ret : add_errors(names, &ev, &f, raw->h.size - ev.h.size, out, e);
}
