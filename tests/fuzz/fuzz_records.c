// SPDX-License-Identifier: GPL-2.0-or-later
/* Records of all events through load, all analyses and the report. */
#include "fuzz.h"
#include "recordgen.h"

#include "analyze/analyses/analysis.h"
#include "analyze/render/render.h"
#include "analyze/replay/load.h"

#include <unistd.h>

/* For every fourth size all analyses (NULL), else one of them: that is faster. */
static const char *choose(size_t size)
{
	size_t n;

	for (n = 0; analyses[n]; n++)
		;
	return size % 4 ? analyses[size % n]->name : NULL;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static const enum render_format formats[] = { RENDER_TEXT, RENDER_MARKDOWN, RENDER_JSON };
	struct render_options o = { .format = formats[size / 8 % 3], .width = 80, .name = "fuzz" };
	int fd = fuzz_file("", 0);
	struct buf out = { 0 };
	struct reader *r = NULL;
	struct err e = { 0 };
	sqlite3 *db = NULL;

	recordgen_write(fd, data, size);
	if (reader_open_fd(&r, fd, &e) < 0)
		return 0;
	if (db_open(&db, NULL, true, &e) < 0 || load_recording(db, r, NULL, &e) < 0 ||
	    analyses_run(db, choose(size / 8), &e) < 0 || render_report(&out, db, &o, &e) < 0) {
		if (e.code != ERR_DAMAGED) /* the only reason to refuse such records */
			fuzz_fail(e.text);
	}
	buf_free(&out);
	db_close(db);
	reader_free(r);
	return 0;
}

size_t LLVMFuzzerCustomMutator(u8 *data, size_t size, size_t max, unsigned int seed)
{
	return recordgen_mutate(data, size, max, seed);
}
