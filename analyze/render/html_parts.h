/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all HTML pages share: their head, and pictures that may be missing. */
#pragma once

#include "pictures.h"

/* Pictures that a page has not got. */
struct html_missing {
	int n;
	char why[sizeof(((struct err *)0)->text)]; /* the first one */
};

/*
 * Appends everything up to the start of <main>. name: of what is shown, bytes of others; page:
 * report or comparison; title: stands before the name in the heading.
 */
int html_head(struct buf *out, const char *name, const char *page, const char *title,
	      struct err *e);

/* The same up to the start of <body>, without a heading. */
int html_open(struct buf *out, const char *name, const char *page, struct err *e);

/* Appends the picture with its caption if there is something to draw; else counts it. */
int html_picture(struct buf *out, sqlite3 *db, const struct picture *pic, struct html_missing *m,
		 struct err *e);

/* Appends a paragraph if pictures are missing. */
int html_say_missing(struct buf *out, const struct html_missing *m, struct err *e);
