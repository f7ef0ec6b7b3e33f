// SPDX-License-Identifier: GPL-2.0-or-later
/* A pattern for names of threads, as tables. */
#include "comm_glob.h"

#include <string.h>

#define PARTS_MAX 31
#define COMM_MAX  15 /* the kernel keeps no more of a name */

/* Marks the characters of the set that starts at p, after its bracket; NULL: it does not end. */
static const char *add_set(struct comm_glob *g, const char *p, u32 bit)
{
	bool in[256] = { false }, invert = *p == '!' || *p == '^';
	int c, last;

	p += invert;
	do {
		if (!*p)
			return NULL;
		c = (unsigned char)*p++;
		last = c;
		if (*p == '-' && p[1] && p[1] != ']') {
			last = (unsigned char)p[1];
			p += 2;
		}
		for (; c <= last; c++)
			in[c] = true;
	} while (*p != ']');
	for (c = 1; c < 256; c++)
		if (in[c] != invert)
			g->matches[c] |= bit;
	return p + 1;
}

int comm_glob_make(struct comm_glob *ret, const char *pattern, struct err *e)
{
	struct comm_glob *g = ret;
	const char *p = pattern;
	int n = 0, c;

	*g = (struct comm_glob){ 0 };
	while (p && *p) {
		if (*p == '*') {
			g->loops |= 1u << n;
			p++;
			continue;
		}
		if (n == PARTS_MAX)
			return err_set(e, ERR_FAIL, "--comm takes a pattern of at most %d parts",
				       PARTS_MAX);
		n++;
		if (*p == '[') {
			p = add_set(g, p + 1, 1u << n);
			continue;
		}
		for (c = 1; *p == '?' && c < 256; c++)
			g->matches[c] |= 1u << n;
		if (*p == '\\' && p[1])
			p++;
		if (c == 1)
			g->matches[(unsigned char)*p] |= 1u << n;
		p++;
	}
	g->accepts = 1u << n;
	if (!p || !pattern[0])
		return err_set(e, ERR_FAIL,
			       "--comm needs a pattern such as 'nginx' or 'postgres*', not %.40s",
			       pattern[0] ? pattern : "nothing");
	if (n > COMM_MAX)
		return err_set(
			e, ERR_FAIL,
			"no name has the %d characters of %.60s: the kernel keeps 15 bytes of "
			"each; ps -o comm shows them",
			n, pattern);
	return 0;
}

bool comm_glob_match(const struct comm_glob *g, const char *comm)
{
	u32 state = 1;
	int i;

	for (i = 0; i < COMM_MAX && comm[i]; i++)
		state = (state << 1 & g->matches[(unsigned char)comm[i]]) | (state & g->loops);
	return state & g->accepts;
}
