// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * symbols: the same recording with names of functions that the recorded host did not have, from
 * debug files with the build-ids of its programs and libraries.
 */
#include "analyze/transform/nameless.h"

#include "analyze/base/outfile.h"
#include "analyze/transform/rewrite.h"
#include "cmd.h"
#include "format/escape.h"
#include "format/frame.h"
#include "remake.h"

#include <stdio.h>
#include <string.h>

#define BLOCK_SIZE (1u << 20)
#define NOT_FOUND  10 /* files that are named */

struct config {
	struct remake_config out;
	const char *debug;
};

CMD_SET_TEXT(set_output, out.output)
CMD_SET_FLAG(set_force, out.force)
CMD_SET_TEXT(set_debug, debug)

static const struct opt opts[] = {
	{ "debug", 0, "DIR",
	  "directory with debug files: .build-id/ab/cdef.debug, or any ELF files; "
	  "default: /usr/lib/debug",
	  set_debug },
	{ "output", 'o', "FILE", "the recording to make; - is standard output", set_output },
	{ "force", 0, NULL, "replace the file if it is there", set_force },
	FILTER_OPTS,
	{ 0 },
};

extern const struct command command_symbols;

static int put_block(struct writer *w, struct buf *out, struct err *e)
{
	struct block_info info = { .stream = STREAM_RECORDER, .groups = 1u << GROUP_recorder };
	int ret = out->len ? writer_append(w, &info, out->data, out->len, e) : 0;

	buf_clear(out);
	return ret;
}

static int put_symbols(struct writer *w, const struct schema *s, const struct nameless *n, u64 ts,
		       struct err *e)
{
	const struct event_desc *to = schema_event(s, "symbol");
	char text[CODE_NAME_TEXT];
	struct buf out = { 0 };
	struct ev_symbol ev;
	int ret = 0;
	u32 i;

	for (i = 0; to && i < n->n && ret == 0; i++) {
		if (!n->frames[i].name)
			continue;
		code_name_symbol(&ev, text, &n->frames[i]);
		ev.h.ts = ts;
		ret = convert_struct(to, &ev, text, strlen(text), &out, e);
		if (ret >= 0)
			ret = out.len > BLOCK_SIZE ? put_block(w, &out, e) : 0;
	}
	if (ret == 0)
		ret = put_block(w, &out, e);
	buf_free(&out);
	return ret;
}

static int copy(struct reader *r, struct writer *w, struct progress *p, struct err *e)
{
	struct rewrite all = {
		.reader = r, .writer = w, .progress = p, .all = reader_state(r)->records
	};

	conversion_make(&all.conversion, reader_schema(r), reader_schema(r));
	return rewrite_blocks(&all, e);
}

/* What was found; and what would have to be looked for, by the build-id that servers of debug files
 * know it by. */
static int print_result(const struct nameless *n, struct err *e)
{
	struct buf text = { 0 };
	u32 i, k, named = 0, missing = 0;
	int ret = 0;

	for (i = 0; i < n->n_files; i++)
		named += nameless_named(n, &n->files[i]);
	ret = buf_printf(&text, e, "%u of %u frames without a name have one now\n", named,
			 n->n + n->n_without);
	for (i = 0; i < n->n_files && ret == 0; i++) {
		const struct nameless_file *f = &n->files[i];

		if (f->found || missing++ >= NOT_FOUND)
			continue;
		ret = buf_printf(&text, e, "not found: build-id ");
		for (k = 0; k < BUILD_ID_SIZE && ret == 0; k++)
			ret = buf_printf(&text, e, "%02x", f->build_id[k]);
		if (ret == 0)
			ret = buf_printf(&text, e, " (%u frames) ", f->n);
		if (ret == 0)
			ret = escape_add(&text, ESCAPE_TEXT, f->path, strlen(f->path), e);
		if (ret == 0)
			ret = buf_printf(&text, e, "\n");
	}
	if (ret == 0 && missing > NOT_FOUND)
		ret = buf_printf(&text, e, "not found: %u more files\n", missing - NOT_FOUND);
	if (ret == 0)
		fputs(text.data, stderr);
	buf_free(&text);
	return ret;
}

static int make(void *arg, struct reader *r, int fd, struct progress *p, struct err *e)
{
	const struct recording_state *st = reader_state(r);
	const struct config *c = arg;
	const struct schema *s = reader_schema(r);
	struct nameless n = { 0 };
	struct writer *w = NULL;
	u8 uuid[16];
	int ret = random_bytes(uuid, sizeof(uuid), e);

	if (ret == 0)
		ret = nameless_read(&n, r, e);
	if (ret == 0)
		ret = nameless_find(&n, c->debug, e);
	if (ret == 0)
		ret = writer_open_as(&w, fd, uuid, st->made | (st->complete ? 0 : FRAME_REPAIRED),
				     s, e);
	if (ret == 0)
		ret = copy(r, w, p, e);
	if (ret == 0)
		ret = put_symbols(w, s, &n, st->ts_max, e);
	if (ret == 0)
		ret = rewrite_info(w, s, st->ts_max, e, "symbols=added");
	if (ret == 0)
		ret = writer_finish(w, e);
	progress_clear(p);
	if (ret == 0)
		ret = print_result(&n, e);
	writer_free(w);
	nameless_free(&n);
	return ret;
}

static int run(int argc, char **argv, struct err *e)
{
	struct config c = { .debug = "/usr/lib/debug" };
	int first = cmd_words(&command_symbols, &c, argc, argv, 1, 1, e);

	return first < 0 ? first : remake(argv[first], &c.out, "naming", make, &c, e);
}

const struct command command_symbols = {
	.name = "symbols",
	.words = "-o FILE RECORDING",
	.doc = "add names of functions from debug files",
	.opts = opts,
	.run = run,
};
