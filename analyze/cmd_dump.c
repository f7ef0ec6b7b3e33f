// SPDX-License-Identifier: GPL-2.0-or-later
/* dump: the records themselves, a line each, in order of time. */
#include "cmd.h"
#include "format/recording.h"
#include "record_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct config {
	bool json;
	const char *event;
	u32 tid;		     /* 0: all */
	unsigned long long from, to; /* ns since the first event; to 0: the end */
};

static int set_json(void *config, const char *arg, struct err *e)
{
	(void)arg;
	(void)e;
	((struct config *)config)->json = true;
	return 0;
}

static int set_event(void *config, const char *arg, struct err *e)
{
	(void)e;
	((struct config *)config)->event = arg;
	return 0;
}

static int set_tid(void *config, const char *arg, struct err *e)
{
	char *end;
	unsigned long tid = strtoul(arg, &end, 10);

	if (end == arg || *end || !tid || tid > UINT32_MAX)
		return err_set(e, ERR_FAIL, "--tid needs a thread id, not %.40s", arg);
	((struct config *)config)->tid = tid;
	return 0;
}

static int set_from(void *config, const char *arg, struct err *e)
{
	return opt_seconds(&((struct config *)config)->from, "from", arg, e);
}

static int set_to(void *config, const char *arg, struct err *e)
{
	return opt_seconds(&((struct config *)config)->to, "to", arg, e);
}

static const struct opt opts[] = {
	{ "json", 'j', NULL, "one JSON object a line", set_json },
	{ "event", 'e', "NAME", "only records of this event", set_event },
	{ "tid", 't', "TID", "only records of this thread", set_tid },
	{ "from", 0, "SECONDS", "from this time after the first event on", set_from },
	{ "to", 0, "SECONDS", "up to this time after the first event", set_to },
	{ 0 },
};

extern const struct command command_dump;

static int print(struct reader *r, const struct config *c, struct err *e)
{
	struct buf line = { 0 };
	struct record rec;
	int ret;

	while ((ret = reader_next(r, &rec, e)) > 0) {
		if ((c->event && strcmp(c->event, rec.desc->name) != 0) ||
		    (c->tid && rec.tid != c->tid))
			continue;
		buf_clear(&line);
		ret = c->json ? record_json(&line, &rec, e)
			      : record_text(&line, &rec, reader_schema(r), e);
		if (ret == 0)
			ret = buf_add(&line, "\n", 1, e);
		if (ret < 0)
			break;
		if (fwrite(line.data, 1, line.len, stdout) != line.len) {
			/* a reader that has seen enough (head) is no failure */
			ret = errno == EPIPE ? 0
					     : err_errno(e, ERR_FAIL, "cannot write the output");
			break;
		}
	}
	buf_free(&line);
	return ret;
}

static int run(int argc, char **argv, struct err *e)
{
	struct config c = { 0 };
	const struct recording_state *st;
	struct reader *r;
	int first = cmd_words(&command_dump, &c, argc, argv, 1, 1, e);
	int ret = first < 0 ? first : reader_open(&r, argv[first], e);

	if (ret < 0)
		return ret;
	st = reader_state(r);
	if (c.event && !schema_event(reader_schema(r), c.event)) {
		ret = err_set(e, ERR_FAIL,
			      "the recording knows no event %.40s; obsanalyze schema lists "
			      "events",
			      c.event);
	} else {
		reader_limit(r, st->ts_min + c.from, c.to ? st->ts_min + c.to : UINT64_MAX);
		ret = print(r, &c, e);
	}
	if (ret == 0 && (!st->complete || st->damaged))
		ret = cmd_damaged(argv[first]);
	reader_free(r);
	return ret;
}

const struct command command_dump = {
	.name = "dump",
	.words = "RECORDING",
	.doc = "print the records, a line each",
	.opts = opts,
	.run = run,
};
