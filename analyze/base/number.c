// SPDX-License-Identifier: GPL-2.0-or-later
/* Numbers for people. */
#include "number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FACTOR_MOST 10000

static const struct scale {
	const char *unit;
	double above; /* used from here on */
	double divide;
	const char *suffix;
} scales[] = {
	{ "ns", 1e9, 1e9, " s" },     { "ns", 1e6, 1e6, " ms" },    { "ns", 1e3, 1e3, " us" },
	{ "ns", 0, 1, " ns" },	      { "bytes", 1e9, 1e9, " GB" }, { "bytes", 1e6, 1e6, " MB" },
	{ "bytes", 1e3, 1e3, " kB" }, { "bytes", 0, 1, " B" },	    { "%", 0, 1, "" },
};

/* 1234567 -> "1,234,567" */
static void separate(char *text, size_t size, double value)
{
	char plain[64];
	size_t n, i, k = 0;

	snprintf(plain, sizeof(plain), "%.0f", value);
	n = strlen(plain);
	for (i = 0; i < n && k + 2 < size; i++) {
		text[k++] = plain[i];
		if (plain[i] != '-' && (n - i - 1) % 3 == 0 && i + 1 < n)
			text[k++] = ',';
	}
	text[k] = '\0';
}

struct counted counted(double n)
{
	struct counted c;

	separate(c.text, sizeof(c.text), n);
	return c;
}

struct digits all_digits(double v)
{
	struct digits d;
	size_t whole;

	if (!isfinite(v)) {
		snprintf(d.text, sizeof(d.text), v < 0 ? "-Inf" : "Inf");
		return d;
	}
	snprintf(d.text, sizeof(d.text), "%.15g", v);
	whole = strspn(d.text, "-0123456789");
	if (d.text[whole] != '.') {
		memmove(d.text + whole + 2, d.text + whole, strlen(d.text + whole) + 1);
		memcpy(d.text + whole, ".0", 2);
	}
	return d;
}

/* "-0.0" is what is left of -0.04: zero has no sign. */
static void drop_sign(char *text)
{
	if (text[0] == '-' && strpbrk(text, "123456789") == NULL)
		memmove(text, text + 1, strlen(text));
}

/* Three significant digits: 1.75, 17.5, 175. */
static int decimals(double v)
{
	return fabs(v) < 9.995 ? 2 : fabs(v) < 99.95 ? 1 : 0;
}

bool factor_text(char *text, size_t size, double value)
{
	bool precise = !(value > FACTOR_MOST);
	double v = precise ? value : FACTOR_MOST;

	snprintf(text, size, "%.*f", v < 10 ? 2 : v < 100 ? 1 : 0, v);
	return precise;
}

void number_text(char *text, size_t size, double value, const char *unit)
{
	double magnitude = fabs(value), v;
	size_t i;

	if (isnan(value)) {
		snprintf(text, size, "-");
		return;
	}
	for (i = 0; i < sizeof(scales) / sizeof(scales[0]); i++) {
		if (strcmp(scales[i].unit, unit) != 0 || magnitude < 0.9995 * scales[i].above)
			continue;
		v = value / scales[i].divide;
		snprintf(text, size, "%.*f%s",
			 strcmp(unit, "%") == 0	 ? 1
			 : scales[i].divide == 1 ? 0
						 : decimals(v),
			 v, scales[i].suffix);
		drop_sign(text);
		return;
	}
	if (value == floor(value) || magnitude >= 1000)
		separate(text, size, value);
	else
		snprintf(text, size, "%.*f", decimals(value), value);
	drop_sign(text);
}
