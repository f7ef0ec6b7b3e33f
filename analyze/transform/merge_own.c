// SPDX-License-Identifier: GPL-2.0-or-later
/* The recorders' own streams of several recordings, as one. */
#include "format/facts.h"
#include "format/frame.h"
#include "merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_SIZE (1u << 20)
#define GAP_LEAST  1000000 /* ns between two recordings; less is how long it takes to begin one */

static int flush_own(struct merge *m, bool all, struct err *e)
{
	struct block_info info = { .stream = STREAM_RECORDER };
	size_t at;
	int ret;

	if (!m->own.len || (!all && m->own.len < BLOCK_SIZE))
		return 0;
	for (at = 0; at < m->own.len; at += le_get((u8 *)m->own.data + at + 14, 2))
		info.groups |=
			1u << m->schema->by_id[le_get((u8 *)m->own.data + at + 12, 2)]->group;
	ret = writer_append(m->writer, &info, m->own.data, m->own.len, e);
	buf_clear(&m->own);
	return ret;
}

static int put_fact(struct merge *m, u64 ts, struct err *e, const char *key, const char *value)
{
	struct buf text = { 0 };
	int ret = buf_printf(&text, e, "%s=%s", key, value);

	if (ret == 0)
		ret = record_new(m->schema->by_id[EV_info], ts, 0, text.data, text.len, &m->own, e);
	buf_free(&text);
	return ret < 0 ? ret : flush_own(m, false, e);
}

static bool has_word(const struct buf *list, const char *word)
{
	const char *at = list->len ? list->data : "";
	size_t n;

	for (; *at; at += n + (at[n] == ',')) {
		n = strcspn(at, ",");
		if (n == strlen(word) && memcmp(at, word, n) == 0)
			return true;
	}
	return false;
}

/* Adds the words of a list that it lacks; numbers are moved to where the host's go. */
static int add_words(struct buf *list, const char *words, u64 step, struct err *e)
{
	char word[64];
	size_t n;
	int ret = 0;

	for (; *words && ret == 0; words += n + (words[n] == ',')) {
		n = strcspn(words, ",");
		snprintf(word, sizeof(word), "%.*s", (int)n, words);
		if (step && *words >= '0' && *words <= '9')
			snprintf(word, sizeof(word), "%llu",
				 strtoull(words, NULL, 10) + (unsigned long long)step);
		if (!has_word(list, word))
			ret = buf_printf(list, e, "%s%s", list->len ? "," : "", word);
	}
	return ret;
}

/* When nothing was recorded on a host, between its recordings: "2.gap_ns=FROM TO", on the clock. */
static int put_gaps(struct merge *m, u64 begin, struct err *e)
{
	char key[32], text[64];
	u64 from, to, end;
	u32 i, k;
	int ret = 0;

	for (i = 0; i < m->n && ret == 0; i++) {
		const struct source *s = m->order[i];

		for (k = 0, from = 0; k < i; k++) {
			end = m->order[k]->origin.end + (u64)m->order[k]->shift;
			if (m->order[k]->number == s->number && end > from)
				from = end;
		}
		to = s->origin.begin + (u64)s->shift;
		if (!from || to < from + GAP_LEAST)
			continue;
		snprintf(key, sizeof(key), "%u.gap_ns", s->nth);
		snprintf(text, sizeof(text), "%llu %llu", (unsigned long long)from,
			 (unsigned long long)to);
		ret = put_fact(m, begin, e, key, text);
	}
	return ret;
}

/* What the replay goes by, for all of them together. */
int merge_scope(struct merge *m, struct err *e)
{
	struct buf groups = { 0 }, targets = { 0 };
	u64 begin = UINT64_MAX, t;
	char text[32];
	u32 i;
	int ret = 0;

	for (i = 0; i < m->n && ret == 0; i++) {
		const struct source *s = &m->sources[i];

		t = s->origin.begin + (u64)s->shift;
		begin = t < begin ? t : begin;
		t = s->origin.end + (u64)s->shift;
		m->end = t > m->end ? t : m->end;
		ret = add_words(&groups, s->groups, 0, e);
		if (ret == 0 && strcmp(s->targets, "chosen") != 0)
			ret = add_words(&targets, s->targets, (u64)MERGE_PIDS * s->number, e);
	}
	if (ret == 0 && groups.len)
		ret = put_fact(m, begin, e, "groups", groups.data);
	if (ret == 0) /* threads say it themselves, if no other does */
		ret = put_fact(m, begin, e, "targets", targets.len ? targets.data : "chosen");
	/* all first snapshots are written before the first event */
	for (i = 0, t = 0; i < m->n; i++)
		if (m->sources[i].snapshot_end && !m->sources[i].follows &&
		    m->sources[i].snapshot_end + (u64)m->sources[i].shift > t)
			t = m->sources[i].snapshot_end + (u64)m->sources[i].shift;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)t);
	if (ret == 0 && t)
		ret = put_fact(m, t, e, "snapshot", text);
	if (ret == 0)
		ret = put_fact(m, begin, e, "follow", m->sources[0].follow ? "1" : "0");
	snprintf(text, sizeof(text), "%llu", (unsigned long long)begin);
	if (ret == 0)
		ret = put_fact(m, begin, e, "begin", text);
	snprintf(text, sizeof(text), "%u", m->n_runs);
	if (ret == 0 && m->n_runs > 1)
		ret = put_fact(m, begin, e, "runs", text);
	if (ret == 0)
		ret = put_gaps(m, begin, e);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)m->end);
	if (ret == 0)
		ret = put_fact(m, m->end, e, "stopped", text);
	buf_free(&groups);
	buf_free(&targets);
	return ret;
}

/* How the recordings were put together, for people and for programs. */
int merge_offsets(struct merge *m, struct err *e)
{
	struct buf all = { 0 };
	char key[64], value[64];
	u32 i, k;
	int ret;

	ret = buf_printf(&all, e, "%u recordings of %u host%s", m->n, m->n_hosts,
			 m->n_hosts > 1 ? "s" : "");
	for (i = 0; i < m->n && ret == 0; i++) {
		const struct source *s = &m->sources[i];
		const struct {
			const char *key;
			s64 value;
		} facts[] = {
			{ "clock_shift_ns", s->shift },
			{ "clock_error_ns", (s64)s->error },
			{ "pid_offset", (s64)MERGE_PIDS * s->number },
			{ "cpu_offset", (s64)MERGE_CPUS * s->number },
		};

		for (k = 0; k < sizeof(facts) / sizeof(facts[0]) && ret == 0; k++) {
			snprintf(key, sizeof(key), "%u.%s", s->nth, facts[k].key);
			snprintf(value, sizeof(value), "%lld", (long long)facts[k].value);
			ret = put_fact(m, m->end, e, key, value);
		}
		if (ret == 0 && i)
			ret = buf_printf(&all, e,
					 "; recording %u: process ids +%u, CPUs +%u, clock %+.9f s "
					 "+-%.3g us",
					 s->nth, MERGE_PIDS * s->number, MERGE_CPUS * s->number,
					 (double)s->shift / 1e9, (double)s->error / 1e3);
	}
	if (ret == 0)
		ret = put_fact(m, m->end, e, "merged", all.data);
	buf_free(&all);
	return ret;
}

/* A fact of the first stands as it is; "2.host" is the second's. */
static int take_fact(struct merge *m, const struct source *s, const struct record *rec,
		     struct err *e)
{
	enum fact_merge how = fact_find(rec->tail, rec->tail_len)->merge;
	bool frame = how == MERGE_FRAME;
	struct buf text = { 0 };
	int ret = 0;

	/* a host's later recording begins with a later snapshot */
	if (how == MERGE_RESTATED || (frame && !s->follows))
		return 0;
	/* what one is a part of is not said of all */
	if ((s->nth > 1 && !frame) || how == MERGE_NUMBERED)
		ret = buf_printf(&text, e, "%u.", s->nth);
	if (ret == 0)
		ret = buf_add(&text, rec->tail, rec->tail_len, e);
	if (ret == 0)
		ret = record_new(m->schema->by_id[EV_info], rec->ts + (u64)s->shift, 0, text.data,
				 text.len, &m->own, e);
	buf_free(&text);
	return ret < 0 ? ret : flush_own(m, false, e);
}

/* A call that was under way when a recording ended is written by the host's next one, from its
 * entry on. */
static bool goes_on(const struct merge *m, const struct source *s, const struct record *rec)
{
	u8 flags = 0;
	u32 i;

	if (rec->type == EV_syscall && rec->event)
		flags = ((const struct ev_syscall *)rec->event)->flags;
	else if (rec->type == EV_syscall_args && rec->event)
		flags = ((const struct ev_syscall_args *)rec->event)->flags;
	for (i = 0; flags & SYSCALL_UNFINISHED && i < m->n; i++)
		if (m->sources[i].number == s->number &&
		    m->sources[i].origin.begin > s->origin.begin)
			return true;
	return false;
}

/* The list of targets of all does not show that a thread is one of this recording. */
static void mark_target(const struct merge *m, const struct source *s, u8 *record,
			const struct ev_thread *ev)
{
	const struct field_desc *f = event_field(m->schema->by_id[EV_thread], "target");
	const struct buf list = { .data = (char *)s->targets, .len = strlen(s->targets) };
	char pid[16];

	snprintf(pid, sizeof(pid), "%u", ev->pid);
	if (f && has_word(&list, pid))
		le_put(record + f->offset, 1, f->size);
}

static int take_own(struct merge *m, const struct source *s, struct err *e)
{
	const struct record *rec = &s->next;
	int at;

	if (rec->type == EV_info && rec->event)
		return take_fact(m, s, rec, e);
	if (goes_on(m, s, rec))
		return 0;
	if (rec->type == EV_site && rec->event &&
	    !merge_ids_first(&m->ids, MERGE_SITE, s->nth, ((const struct ev_site *)rec->event)->id))
		return 0;
	at = conversion_put(&s->conversion, rec->raw, &m->own, e);
	if (at < 0)
		return at;
	if (rec->type == EV_thread && rec->event)
		mark_target(m, s, (u8 *)m->own.data + at, rec->event);
	if (source_move(s, m->schema->by_id[rec->type], (u8 *)m->own.data + at, e) < 0)
		return (int)e->code;
	return flush_own(m, false, e);
}

static int advance(struct source *s, struct err *e)
{
	int ret = reader_next(s->reader, &s->next, e);

	s->more = ret > 0;
	return ret < 0 ? ret : 0;
}

/* The recorders' streams become one, in order of time. */
int merge_own(struct merge *m, struct err *e)
{
	struct source *first;
	int ret = 0;
	u32 i;

	for (i = 0; i < m->n && ret == 0; i++) {
		reader_limit(m->sources[i].reader, UINT64_MAX, UINT64_MAX);
		ret = advance(&m->sources[i], e);
	}
	while (ret == 0) {
		first = NULL;
		for (i = 0; i < m->n; i++) {
			struct source *s = m->order[i];

			if (s->more && (!first || s->next.ts + (u64)s->shift <
							  first->next.ts + (u64)first->shift))
				first = s;
		}
		if (!first)
			break;
		ret = take_own(m, first, e);
		if (ret == 0)
			ret = advance(first, e);
	}
	return ret < 0 ? ret : flush_own(m, true, e);
}
