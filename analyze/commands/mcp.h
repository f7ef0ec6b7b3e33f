/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Model Context Protocol: JSON-RPC, one message per line. What comes in is untrusted; SQLite
 * reads its JSON. The tools are other commands of obsanalyze, which the caller runs.
 */
#pragma once

#include "format/buf.h"

#include <sqlite3.h>
#include <stdbool.h>

#define MCP_LINE_MAX   (1 << 20) /* bytes of a message that comes in */
#define MCP_ANSWER_MAX 100000	 /* bytes of text of an answer; the rest is cut */
#define MCP_WORDS_MAX  24

struct mcp {
	sqlite3 *json;	    /* reads JSON: mcp_open */
	char *const *files; /* that may be asked */
	int n_files;
	/*
	 * Runs a command and appends what it prints: text, or for image a PNG. words end with NULL;
	 * a word that is empty stands for a directory for the image. 1: it failed and out says why.
	 */
	int (*run)(void *arg, char *const *words, bool image, struct buf *out, struct err *e);
	void *arg;
};

int mcp_open(struct mcp *m, struct err *e);
void mcp_close(struct mcp *m);

/* Appends the answer to a message, a line; nothing if it needs none. text ends with NUL. */
int mcp_answer(struct mcp *m, const char *text, size_t n, struct buf *out, struct err *e);
