/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source lines of addresses, by section .debug_line (DWARF 2 to 5, section 6.2). Untrusted. */
#pragma once

#include "code_name.h"

#include <stdbool.h>
#include <stddef.h>

struct line_bytes {
	const u8 *at;
	size_t n;
};

/* Content of sections, unpacked. */
struct line_table {
	struct line_bytes lines;	/* .debug_line */
	struct line_bytes line_strings; /* .debug_line_str */
	struct line_bytes strings;	/* .debug_str */
	bool big;			/* big-endian */
};

/* Sets line and file of names in the table that have none. The line of inlined code is its own. */
void line_table_find(struct code_names *names, const struct line_table *t);
