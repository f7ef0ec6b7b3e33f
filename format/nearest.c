// SPDX-License-Identifier: GPL-2.0-or-later
/* What a misspelt word was meant to be. */
#include "nearest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* The most edits at which a word of this length is still taken for another. */
static size_t tolerated(size_t len)
{
	return len < 3 ? 0 : len < 6 ? 1 : len < 9 ? 2 : 3;
}

static size_t min3(size_t a, size_t b, size_t c)
{
	return a < b ? (a < c ? a : c) : (b < c ? b : c);
}

static bool same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Insertions, deletions, replacements, and swaps of neighbours: optimal string alignment. */
static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
	size_t rows[3][NEAREST_MAX + 1], i, j;
	size_t *before = rows[0], *last = rows[1], *now = rows[2], *spare;

	for (j = 0; j <= m; j++)
		last[j] = before[j] = j;
	for (i = 1; i <= n; i++) {
		now[0] = i;
		for (j = 1; j <= m; j++) {
			now[j] = min3(last[j] + 1, now[j - 1] + 1,
				      last[j - 1] + !same(a[i - 1], b[j - 1]));
			if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) &&
			    same(a[i - 2], b[j - 1]) && before[j - 2] + 1 < now[j])
				now[j] = before[j - 2] + 1;
		}
		spare = before;
		before = last;
		last = now;
		now = spare;
	}
	return last[m];
}

struct nearest nearest_to(const char *word, size_t len)
{
	struct nearest n = { .word = word, .len = len, .edits = tolerated(len) + 1 };

	return n;
}

void nearest_offer(struct nearest *n, const char *candidate, size_t len)
{
	size_t edits;

	if (len >= NEAREST_MAX || n->len >= NEAREST_MAX || !len)
		return;
	if (len == n->len && memcmp(candidate, n->word, len) == 0)
		return; /* the word is spelt as it should be: something else is wrong */
	edits = distance(n->word, n->len, candidate, len);
	if (edits >= n->edits)
		return;
	n->edits = edits;
	memcpy(n->found, candidate, len);
	n->found[len] = '\0';
}

void nearest_offer_list(struct nearest *n, const char *list)
{
	size_t len;

	for (; *list; list += len + (list[len] == '|')) {
		len = strcspn(list, "|");
		nearest_offer(n, list, len);
	}
}

void nearest_say(const struct nearest *n, const char *prefix, struct err *e)
{
	size_t at;

	if (!e || !n->found[0])
		return;
	at = strlen(e->text);
	snprintf(e->text + at, sizeof(e->text) - at, "; did you mean %s%s?", prefix, n->found);
}
