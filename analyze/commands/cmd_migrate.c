// SPDX-License-Identifier: GPL-2.0-or-later
/* migrate: an older recording, laid out by the schema of this program. */
#include "analyze/transform/rewrite.h"

#include "cmd.h"
#include "format/frame.h"
#include "remake.h"

#include <stdio.h>

static const struct opt opts[] = {
	REMAKE_OPTS,
	FILTER_OPTS,
	{ 0 },
};

extern const struct command command_migrate;

static int events_changed(const struct conversion *c)
{
	int i, n = 0;

	for (i = 0; i < SCHEMA_EVENT_MAX; i++)
		n += c->from->by_id[i] && !c->same[i];
	return n;
}

static int make(void *arg, struct reader *r, int fd, struct progress *p, struct err *e)
{
	const struct recording_state *st = reader_state(r);
	const struct schema *from = reader_schema(r);
	struct rewrite w = { .reader = r, .progress = p, .all = st->records };
	u32 flags = st->made | FRAME_MIGRATED | (st->complete ? 0 : FRAME_REPAIRED);
	struct schema *to = NULL;
	int ret = schema_union(&to, &from, 1, e);

	(void)arg;
	if (ret < 0)
		return ret;
	conversion_make(&w.conversion, from, to);
	ret = writer_open_as(&w.writer, fd, st->uuid, flags, to, e);
	if (ret == 0)
		ret = rewrite_blocks(&w, e);
	if (ret == 0)
		ret = rewrite_info(w.writer, to, st->ts_max, e,
				   "migrated=from format %u.%u, %d events converted", st->major,
				   st->minor, events_changed(&w.conversion));
	if (ret == 0)
		ret = writer_finish(w.writer, e);
	progress_clear(p);
	if (ret == 0)
		fprintf(stderr, "%llu records; %d events converted\n", (unsigned long long)w.done,
			events_changed(&w.conversion));
	writer_free(w.writer);
	schema_free(to);
	return ret;
}

static int run(int argc, char **argv, struct err *e)
{
	struct remake_config c = { 0 };
	int first = cmd_words(&command_migrate, &c, argc, argv, 1, 1, e);

	return first < 0 ? first : remake(argv[first], &c, "migrating", make, NULL, e);
}

const struct command command_migrate = {
	.name = "migrate",
	.words = "-o FILE RECORDING",
	.doc = "convert an older recording to the present schema",
	.opts = opts,
	.run = run,
};
