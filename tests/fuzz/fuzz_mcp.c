// SPDX-License-Identifier: GPL-2.0-or-later
/* Messages of the Model Context Protocol: every answer is JSON, on one line, and names no other
 * file. */
#include "fuzz.h"

#include "analyze/commands/mcp.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

static char *files[] = { "/data/one.obs", "two.obs" };

/* What stands after "--" are files of the list and texts; text comes back as it is. */
static int echo(void *arg, char *const *words, bool image, struct buf *out, struct err *e)
{
	int i, ret = 0;

	(void)arg;
	for (i = 0; words[i] && ret == 0; i++)
		ret = buf_add(out, words[i], strlen(words[i]), e);
	if (i < 2 || i > MCP_WORDS_MAX)
		fuzz_fail("a command without words, or with too many");
	return ret < 0 ? ret : image;
}

static void check(struct mcp *m, const struct buf *out)
{
	sqlite3_stmt *s = NULL;

	if (!out->len)
		return;
	if (out->data[out->len - 1] != '\n' ||
	    memchr(out->data, '\n', out->len) != out->data + out->len - 1)
		fuzz_fail("an answer is not one line");
	if (sqlite3_prepare_v2(m->json, "SELECT json_valid(?1)", -1, &s, NULL) != SQLITE_OK ||
	    sqlite3_bind_text(s, 1, out->data, out->len - 1, SQLITE_STATIC) != SQLITE_OK ||
	    sqlite3_step(s) != SQLITE_ROW || sqlite3_column_int(s, 0) != 1)
		fuzz_fail("an answer is no JSON");
	sqlite3_finalize(s);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct mcp m = { .files = files, .n_files = 2, .run = echo };
	char *text = fuzz_text(data, size);
	struct buf out = { 0 };
	struct err e = { 0 };

	if (!m.json && mcp_open(&m, &e) < 0)
		fuzz_fail("no memory for JSON");
	if (mcp_answer(&m, text, size, &out, &e) < 0)
		fuzz_fail("no answer");
	check(&m, &out);
	buf_free(&out);
	free(text);
	return 0;
}
