/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first screen of the HTML report. */
#pragma once

#include "screen.h"

/* Appends everything from <header> to what comes before the folded questions; opens <main>. */
int html_screen(struct buf *out, const struct screen *s, sqlite3 *db,
		const struct render_options *o, struct err *e);
