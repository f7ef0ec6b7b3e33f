// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * repair: a cut or damaged recording gets an index and an end. Every block that can be read is
 * copied byte by byte; the original stays as it is.
 */
#include "analyze/transform/rewrite.h"

#include "cmd.h"
#include "format/frame.h"
#include "remake.h"

#include <stdio.h>
#include <stdlib.h>

static const struct opt opts[] = {
	REMAKE_OPTS,
	FILTER_OPTS,
	{ 0 },
};

extern const struct command command_repair;

/* Which blocks can be read: the file's first bytes say whether anything is missing. */
static int check_blocks(struct reader *r, bool *bad, size_t *ret_bad, struct progress *p,
			struct err *e)
{
	struct buf packed = { 0 }, records = { 0 };
	size_t i, n;
	int ret = 0;

	reader_blocks(r, &n);
	*ret_bad = 0;
	for (i = 0; i < n && ret == 0; i++) {
		ret = reader_block(r, i, &packed, &records, e);
		bad[i] = ret == ERR_DAMAGED;
		*ret_bad += bad[i];
		if (ret == ERR_DAMAGED)
			ret = 0;
		if (ret == 0)
			ret = progress_tick(p, i, n, e);
	}
	buf_free(&packed);
	buf_free(&records);
	return ret;
}

static int copy_blocks(struct reader *r, struct writer *w, const bool *bad, struct err *e)
{
	struct buf packed = { 0 }, records = { 0 };
	const struct block_info *b;
	size_t i, n;
	int ret = 0;

	b = reader_blocks(r, &n);
	for (i = 0; i < n && ret == 0; i++) {
		if (bad[i])
			continue;
		ret = reader_block(r, i, &packed, &records, e);
		if (ret == 0)
			ret = writer_copy(w, &b[i], packed.data, e);
	}
	buf_free(&packed);
	buf_free(&records);
	return ret;
}

static int make(void *arg, struct reader *r, int fd, struct progress *p, struct err *e)
{
	const struct recording_state *st = reader_state(r);
	struct writer *w = NULL;
	size_t n, n_bad = 0;
	bool *bad, whole;
	u32 flags;
	int ret;

	(void)arg;
	p->unit = "blocks";
	reader_blocks(r, &n);
	bad = calloc(n + 1, sizeof(*bad));
	if (!bad)
		return err_set(e, ERR_FAIL, "out of memory for the list of blocks");
	ret = check_blocks(r, bad, &n_bad, p, e);
	whole = st->complete && !n_bad;
	flags = st->made | (whole ? 0 : FRAME_REPAIRED);
	if (ret == 0)
		ret = writer_open_as(&w, fd, st->uuid, flags, reader_schema(r), e);
	if (ret == 0)
		ret = copy_blocks(r, w, bad, e);
	if (ret == 0 && !whole)
		ret = rewrite_info(
			w, reader_schema(r), st->ts_max, e,
			"repaired=%zu of %zu blocks were kept, %llu bytes belonged to no "
			"block",
			n - n_bad, n, (unsigned long long)st->ignored);
	if (ret == 0)
		ret = writer_finish(w, e);
	progress_clear(p);
	if (ret == 0 && whole)
		fprintf(stderr, "the recording was complete: this is a copy\n");
	else if (ret == 0)
		fprintf(stderr, "%zu of %zu blocks were kept, %llu bytes belonged to no block\n",
			n - n_bad, n, (unsigned long long)st->ignored);
	writer_free(w);
	free(bad);
	return ret;
}

static int run(int argc, char **argv, struct err *e)
{
	struct remake_config c = { .mends = true };
	int first = cmd_words(&command_repair, &c, argc, argv, 1, 1, e);

	return first < 0 ? first : remake(argv[first], &c, "repairing", make, NULL, e);
}

const struct command command_repair = {
	.name = "repair",
	.words = "-o FILE RECORDING",
	.doc = "rebuild the index of a truncated or damaged recording",
	.opts = opts,
	.run = run,
};
