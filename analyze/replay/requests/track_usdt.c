// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Static probes: marks become rows; starts and ends of spans are calls (track_calls.c,
 * track_keyed.c), as are those of functions with a text.
 */
#include "analyze/replay/tasks/threads.h"
#include "analyze/replay/text_ids.h"
#include "track_keyed.h"
#include "track_names.h"

#include <stdlib.h>
#include <string.h>

#define STATEMENT_MAX 95 /* bytes of one as a name, as of other names */

struct usdt {
	struct text_ids texts;
};

/* The text, marked where it ends early; NULL: see e. */
static char *text_of(const struct record *rec, u8 flags, struct err *e)
{
	static const char more[] = " ...";
	size_t n = flags & USDT_TEXT_CUT ? sizeof(more) : 0;
	char *text = calloc(1, rec->tail_len + sizeof(more));

	if (!text) {
		err_set(e, ERR_FAIL, "out of memory for texts");
		return NULL;
	}
	memcpy(text, rec->tail, rec->tail_len);
	memcpy(text + rec->tail_len, more, n);
	return text;
}

/* Its number; BULK_NULL: none was selected, or it could not be read. */
static int text_id(struct replay *r, const struct record *rec, struct span_start *s, u8 flags,
		   struct err *e)
{
	struct usdt *own = r->own[TRACK_usdt];
	bool statement = flags & USDT_TEXT_STATEMENT, new;
	struct call_stat *stat;
	struct thread *t;
	char *text;
	int ret;
	u32 id;

	s->text = BULK_NULL;
	if (flags & USDT_TEXT_UNREAD &&
	    calls_defect(r, s->site, SPAN_NO_TEXT, rec->ts, rec->tid, BULK_NULL, e) < 0)
		return ERR_FAIL;
	if (flags & USDT_TEXT_CUT) {
		stat = calls_stat(r, s->site, e);
		if (!stat)
			return ERR_FAIL;
		stat->cut++;
	}
	if (rec->size <= rec->desc->size || flags & (USDT_TEXT_UNREAD | USDT_TEXT_NULL))
		return 0;
	text = text_of(rec, flags, e);
	if (!text)
		return ERR_FAIL;
	ret = text_ids_get(&own->texts, text, &id, &new, e);
	if (ret == 0 && new)
		ret = row_put(r->db, usdt_text, e, .id = id, .text = text);
	t = ret == 0 && statement && text[0] ? task_thread(r, rec->tid, e) : NULL;
	text[strnlen(text, STATEMENT_MAX)] = '\0';
	if (t)
		ret = names_on_statement(r, t, text, rec->ts, e);
	free(text);
	s->text = id;
	return ret;
}

static s64 argument(const struct ev_usdt *ev, u32 i, u64 value)
{
	return i < ev->args && !(ev->unread & 1u << i) ? (s64)value : BULK_NULL;
}

static int put_mark(struct replay *r, const struct record *rec, const struct span_start *s,
		    struct err *e)
{
	struct thread *t = task_thread(r, rec->tid, e);
	struct row_mark *row;

	if (!t)
		return ERR_FAIL;
	row = bulk_add(r->bulk, mark);
	row->ts = replay_time(r, rec->ts);
	row->tid = rec->tid;
	row->site = s->site;
	row->arg0 = s->args[0];
	row->arg1 = s->args[1];
	row->arg2 = s->args[2];
	row->arg3 = s->args[3];
	row->text = s->text;
	return calls_on_mark(r, s->site, e);
}

static int usdt_on_usdt(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_usdt *ev = rec->event;
	struct span_start s = {
		.site = ev->site,
		.n_args = SITE_ARGS_MAX,
		.args = { argument(ev, 0, ev->arg0), argument(ev, 1, ev->arg1),
			  argument(ev, 2, ev->arg2), argument(ev, 3, ev->arg3) },
	};

	if (!rec->tid)
		return 0;
	if (ev->which == USDT_END)
		return calls_end_span(r, rec, ev->site, s.args[0], e);
	if (ev->which == USDT_KEYED_END)
		return keyed_on(r, rec, &s, true, e);
	if (text_id(r, rec, &s, ev->unread, e) < 0)
		return ERR_FAIL;
	if (ev->which == USDT_KEYED_BEGIN)
		return keyed_on(r, rec, &s, false, e);
	return ev->which == USDT_BEGIN ? calls_begin_span(r, rec, &s, e) : put_mark(r, rec, &s, e);
}

/* A call as others, but for its text. */
static int usdt_on_call_text(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_call_text *ev = rec->event;
	struct span_start s = {
		.site = ev->site,
		.sp = ev->sp,
		.n_args = ev->args,
		.args = { ev->arg0, ev->arg1, ev->arg2, ev->arg3 },
	};

	if (!rec->tid)
		return 0;
	if (text_id(r, rec, &s, ev->unread | USDT_TEXT_STATEMENT, e) < 0)
		return ERR_FAIL;
	return calls_begin_span(r, rec, &s, e);
}

static void usdt_free(void *slot)
{
	text_ids_free(&((struct usdt *)slot)->texts);
}

static const struct handler handlers[] = {
	{ EV_usdt, false, usdt_on_usdt },
	{ EV_call_text, false, usdt_on_call_text },
	{ 0 },
};

const struct tracker track_usdt = {
	.name = "usdt",
	.handlers = handlers,
	.of_replay = sizeof(struct usdt),
	.free = usdt_free,
};
