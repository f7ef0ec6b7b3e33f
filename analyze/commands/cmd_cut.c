// SPDX-License-Identifier: GPL-2.0-or-later
/* cut: a part of a recording, as a recording of its own. */
#include "analyze/base/outfile.h"
#include "analyze/base/progress.h"
#include "analyze/transform/excerpt.h"
#include "cmd.h"

#include <stdio.h>
#include <string.h>

struct config {
	struct filter filter; /* first: its options look for it there */
	const char *output;
	bool force;
};

CMD_SET_TEXT(set_output, output)
CMD_SET_FLAG(set_force, force)

static const struct opt opts[] = {
	FILTER_OPTS,
	{ "output", 'o', "FILE", "the recording to make; - is standard output", set_output },
	{ "force", 0, NULL, "replace the file if it is there", set_force },
	{ 0 },
};

extern const struct command command_cut;

static int cut(struct reader *r, const struct config *c, struct err *e)
{
	struct excerpt_summary s;
	struct outfile o;
	struct progress p;
	int ret;

	progress_start(&p, "cutting", "records"); /* before a file is made that would be left */
	ret = outfile_open(&o, c->output, c->force, e);
	if (ret == 0) {
		reader_watch(r, progress_tick, &p);
		ret = excerpt_make(&s, r, &c->filter, o.fd, e);
	}
	if (ret == 0)
		ret = outfile_keep(&o, e);
	progress_clear(&p);
	if (ret == 0)
		fprintf(stderr, "%llu records, from %.6f s to %.6f s\n",
			(unsigned long long)s.records, (double)s.from / 1e9, (double)s.to / 1e9);
	outfile_close(&o);
	progress_end(&p);
	return ret;
}

static int run(int argc, char **argv, struct err *e)
{
	struct config c = { 0 };
	struct reader *r;
	int first = cmd_words(&command_cut, &c, argc, argv, 1, 1, e), ret;

	if (first < 0)
		return first;
	if (!c.output)
		return err_set(e, ERR_FAIL, "name the recording to make with -o");
	ret = reader_open(&r, argv[first], e);
	if (ret < 0)
		return ret;
	ret = cut(r, &c, e);
	if (ret == 0 && (!reader_state(r)->sound || reader_state(r)->damaged))
		ret = cmd_damaged(argv[first]);
	reader_free(r);
	return ret;
}

const struct command command_cut = {
	.name = "cut",
	.words = "-o FILE RECORDING",
	.doc = "create a recording of a part: by time, process or name",
	.opts = opts,
	.run = run,
};
