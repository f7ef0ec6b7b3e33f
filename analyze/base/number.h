/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers as text for people. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A count as sentences write it: counted(164112).text is "164,112". */
struct counted {
	char text[32];
};
struct counted counted(double n);

/*
 * A number with its unit, in three significant digits: ns as ns, us, ms or s; 1/s and counts with
 * separators; bytes as kB, MB, GB; % with one decimal. "-" for NAN.
 */
void number_text(char *text, size_t size, double value, const char *unit);

/*
 * A factor without its x: 1.75, 17.5, 175. false: it is larger than the largest that an estimate
 * can be precise to, which is the text.
 */
bool factor_text(char *text, size_t size, double value);

/*
 * All 15 digits that are sure, with a point ("1.0", "4.5e-05"), as SQLite writes numbers.
 * SQLite 3.43 and later differ from earlier versions in the last one.
 */
struct digits {
	char text[32];
};
struct digits all_digits(double v);
