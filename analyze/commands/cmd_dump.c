// SPDX-License-Identifier: GPL-2.0-or-later
/* dump: the records themselves, a line each, in order of time. */
#include "analyze/base/progress.h"
#include "analyze/transform/process_state.h"
#include "cmd.h"
#include "format/recording.h"
#include "record_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OUTPUT 65536 /* bytes that are written at a time */

struct config {
	struct filter filter; /* first: its options look for it there */
	bool json;
	const char *event;
	u32 tid; /* 0: all */
	bool terminal;
};

CMD_SET_FLAG(set_json, json)
CMD_SET_TEXT(set_event, event)

static int set_tid(void *config, const char *arg, struct err *e)
{
	char *end;
	unsigned long tid = strtoul(arg, &end, 10);

	if (end == arg || *end || !tid || tid > UINT32_MAX)
		return err_set(e, ERR_FAIL, "--tid needs a thread id, not %.40s", arg);
	((struct config *)config)->tid = tid;
	return 0;
}

static const struct opt opts[] = {
	{ "json", 'j', NULL, "one JSON object per line", set_json },
	{ "event", 'e', "NAME", "only records of this event", set_event },
	{ "tid", 't', "TID", "only records of this thread", set_tid },
	FILTER_OPTS,
	JOBS_OPT,
	{ 0 },
};

extern const struct command command_dump;

/* 1: the reader is gone. */
static int write_lines(struct buf *lines, struct err *e)
{
	size_t n = lines->len;

	buf_clear(lines);
	if (n && fwrite(lines->data, 1, n, stdout) != n)
		/* a reader that has seen enough (head) is no failure */
		return errno == EPIPE ? 1 : err_errno(e, ERR_FAIL, "cannot write the output");
	return 0;
}

/* Adds a line; on a terminal it is written at once. */
static int print_line(struct buf *lines, const struct record *rec, const struct schema *s,
		      const struct config *c, struct err *e)
{
	int ret = c->json ? record_json(lines, rec, e) : record_text(lines, rec, s, e);

	if (ret == 0)
		ret = buf_add(lines, "\n", 1, e);
	return ret == 0 && (c->terminal || lines->len >= OUTPUT) ? write_lines(lines, e) : ret;
}

/* Of the recorder's stream come what was written within the time, and facts on the whole. */
static bool wanted(struct process_state *state, const struct record *rec, const struct config *c,
		   u64 from, u64 to)
{
	if (rec->ts < from || rec->ts >= to)
		return false;
	if ((c->event && strcmp(c->event, rec->desc->name) != 0) || (c->tid && rec->tid != c->tid))
		return false;
	return !state || process_state_wants(state, rec);
}

static int print(struct reader *r, struct process_state *state, const struct config *c, u64 from,
		 u64 to, struct err *e)
{
	struct buf lines = { 0 };
	struct record rec;
	bool before, none = true;
	int ret, wrote;

	while ((ret = reader_next(r, &rec, e)) > 0) {
		/* who is chosen by this very record, or leaves with it, has it */
		before = wanted(state, &rec, c, from, to);
		ret = state && (rec.stream != STREAM_RECORDER ||
				(rec.type == EV_thread && process_state_later(state, &rec)))
			      ? process_state_take(state, &rec, e)
			      : 0;
		if (ret == 0 && (before || wanted(state, &rec, c, from, to))) {
			ret = print_line(&lines, &rec, reader_schema(r), c, e);
			none = false;
		}
		if (ret != 0)
			break;
	}
	wrote = write_lines(&lines, ret < 0 ? NULL : e);
	ret = ret < 0 ? ret : wrote;
	if (ret == 0 && none && state)
		ret = process_state_any(state, e);
	if (ret == 0 && none) /* silence could be taken for a failure */
		fprintf(stderr, "obsanalyze: no record matches\n");
	buf_free(&lines);
	return ret > 0 ? 0 : ret;
}

/* Who is there when the recording begins. */
static int first_pass(struct process_state *state, struct reader *r, struct err *e)
{
	struct record rec;
	int ret = process_state_names(state, r, e);

	reader_limit(r, UINT64_MAX, UINT64_MAX);
	while (ret >= 0 && (ret = reader_next(r, &rec, e)) > 0)
		ret = process_state_first(state, &rec, e);
	reader_rewind(r);
	return ret;
}

static int dump(struct reader *r, const struct config *c, struct err *e)
{
	struct process_state *state = NULL;
	struct origin o;
	u64 from, to;
	int ret = origin_read(&o, r, e);

	if (c->event && !schema_event(reader_schema(r), c->event))
		return err_set(e, ERR_FAIL,
			       "the recording knows no event %.40s; obsanalyze schema lists "
			       "events",
			       c->event);
	if (ret == 0)
		ret = filter_times(&from, &to, &c->filter, &o, e);
	if (ret < 0)
		return ret;
	if (!filter_chooses(&c->filter)) {
		reader_limit(r, from, to);
		return print(r, NULL, c, from, to, e);
	}
	ret = process_state_open(&state, &c->filter, r, e);
	if (ret == 0)
		ret = first_pass(state, r, e);
	/* of the time before, only children and requests of those who are meant */
	reader_excerpt(r, from, to, 1u << GROUP_core | 1u << GROUP_block);
	if (ret == 0)
		ret = print(r, state, c, from, to, e);
	process_state_free(state);
	return ret;
}

static int run(int argc, char **argv, struct err *e)
{
	struct config c = { 0 };
	const struct recording_state *st;
	struct progress p;
	struct reader *r;
	int first = cmd_words(&command_dump, &c, argc, argv, 1, 1, e);
	int ret = first < 0 ? first : reader_open(&r, argv[first], e);

	if (ret < 0)
		return ret;
	st = reader_state(r);
	reader_ahead(r, c.filter.cpus);
	progress_show(&p, "dumping", "records");
	c.terminal = isatty(STDOUT_FILENO);
	if (!c.terminal) /* lines on a terminal are progress enough */
		reader_watch(r, progress_tick, &p);
	ret = dump(r, &c, e);
	progress_end(&p);
	if (ret == 0 && (!st->sound || st->damaged))
		ret = cmd_damaged(argv[first]);
	reader_free(r);
	return ret;
}

const struct command command_dump = {
	.name = "dump",
	.words = "RECORDING",
	.doc = "print the records, one per line",
	.opts = opts,
	.run = run,
};
