// SPDX-License-Identifier: GPL-2.0-or-later
/* C++ names are full of colons and stars, so the pieces are distinguished with some care. */
#include "pattern.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* "file.c:" at the beginning: a dot, then a colon that is not half of "::". */
static size_t file_part(const char *text)
{
	size_t n = strcspn(text, ":([< ");

	if (text[n] != ':' || text[n + 1] == ':' || !memchr(text, '.', n))
		return 0;
	return n;
}

int pattern_read(struct pattern *ret, const char *text, struct err *e)
{
	size_t n = file_part(text);
	const char *at;

	*ret = (struct pattern){ 0 };
	if (n) {
		ret->file = strndup(text, n);
		text += n + 1;
		if (!ret->file)
			goto memory;
	}
	at = strchr(text, '@');
	ret->name = strndup(text, at ? (size_t)(at - text) : strlen(text));
	if (!ret->name)
		goto memory;
	if (at) {
		ret->default_only = at[1] == '@';
		at += 1 + ret->default_only;
		ret->version = *at ? strdup(at) : NULL;
		if (*at && !ret->version)
			goto memory;
	}
	ret->glob = strpbrk(ret->name, "*?[") != NULL;
	if (!*ret->name || (at && !*at && !ret->default_only))
		return err_set(e, ERR_FAIL,
			       "%.60s names no function: NAME, a glob, FILE.c:NAME or NAME@VERSION",
			       text);
	return 0;
memory:
	return err_set(e, ERR_FAIL, "out of memory");
}

void pattern_free(struct pattern *p)
{
	free(p->file);
	free(p->name);
	free(p->version);
	*p = (struct pattern){ 0 };
}

void names_make(struct names *ret, const char *linked)
{
	ret->linked = linked;
	ret->bare[0] = '\0';
	if (demangle(linked, ret->whole)) {
		memcpy(ret->bare, ret->whole, strlen(ret->whole) + 1);
		demangle_bare(ret->bare);
	}
}

const char *names_show(const struct names *n)
{
	return n->bare[0] ? n->bare : n->linked;
}

/* "log.c" is "src/log.c" too. */
static bool file_fits(const char *glob, const char *file)
{
	const char *slash = strrchr(file, '/');

	return fnmatch(glob, file, 0) == 0 || (slash && fnmatch(glob, slash + 1, 0) == 0);
}

enum pattern_fit pattern_fits(const struct pattern *p, const struct elfsym *sym,
			      const struct names *n)
{
	const char *const names[] = { n->linked, n->whole, n->bare };
	enum pattern_fit fit = FIT_NONE;
	size_t i;

	for (i = 0; i < 3 && fit != FIT_EXACT; i++) {
		if (!names[i][0])
			continue;
		if (strcmp(p->name, names[i]) == 0)
			fit = FIT_EXACT;
		else if (p->glob && fit == FIT_NONE && fnmatch(p->name, names[i], 0) == 0)
			fit = FIT_GLOB;
	}
	if (fit == FIT_NONE || (p->file && !file_fits(p->file, sym->file)))
		return FIT_NONE;
	if (p->default_only && !(sym->version[0] && sym->default_version))
		return FIT_NONE;
	if (p->version && fnmatch(p->version, sym->version, 0) != 0)
		return FIT_NONE;
	return fit;
}
