// SPDX-License-Identifier: GPL-2.0-or-later
/* Every name of every function, aliases too: users search for the one they know. */
#include "list_functions.h"

#include "format/escape.h"
#include "pattern.h"
#include "probecost.h"
#include "sites.h"

#include <stdlib.h>
#include <string.h>

struct listing {
	struct pattern pattern;
	struct names names;
	struct buf line;
	u64 shown;
	bool exact; /* a name is the pattern itself: globs do not count */
	struct seen {
		u64 offset;
		u64 hash;
	} * seen; /* a table of powers of two: what was printed */
	size_t n_seen, cap_seen;
};

static u64 hash_text(const char *text)
{
	u64 h = 1469598103934665603ull;

	for (; *text; text++)
		h = (h ^ (u8)*text) * 1099511628211ull;
	return h | 1;
}

static bool put_seen(struct seen *table, size_t cap, struct seen what)
{
	size_t i = (what.hash ^ what.offset * 11) & (cap - 1);

	for (; table[i].hash; i = (i + 1) & (cap - 1))
		if (table[i].hash == what.hash && table[i].offset == what.offset)
			return false;
	table[i] = what;
	return true;
}

/* 1 if this name at this place is new, 0 if not. A dynamic symbol is in the full table again. */
static int is_new(struct listing *l, const struct elfsym *sym, struct err *e)
{
	const char *name = l->names.whole[0] ? l->names.whole : sym->name;
	struct seen what = { sym->offset, hash_text(name) }, *grown;
	size_t cap = l->cap_seen ? 2 * l->cap_seen : 1024, i;

	if (2 * l->n_seen >= l->cap_seen) {
		grown = calloc(cap, sizeof(*grown));
		if (!grown)
			return err_set(e, ERR_FAIL, "out of memory for names");
		for (i = 0; i < l->cap_seen; i++)
			if (l->seen[i].hash)
				put_seen(grown, cap, l->seen[i]);
		free(l->seen);
		l->seen = grown;
		l->cap_seen = cap;
	}
	if (!put_seen(l->seen, l->cap_seen, what))
		return 0;
	l->n_seen++;
	return 1;
}

static const char *remark(const struct elfsym *sym)
{
	if (sym->indirect)
		return "indirect: cannot be probed";
	if (sym->fragment)
		return "cold part: cannot be probed";
	return elfsym_never_returns(sym->name) ? "entry only" : "";
}

static int print(struct listing *l, const struct elfsym *sym, struct err *e)
{
	const char *name = l->names.whole[0] ? l->names.whole : sym->name;
	const char *at = !sym->version[0] ? "" : sym->default_version ? "@@" : "@";
	const char *why = remark(sym);

	buf_clear(&l->line);
	if (escape_add(&l->line, ESCAPE_TEXT, name, strlen(name), e) < 0 ||
	    buf_add(&l->line, at, strlen(at), e) < 0 ||
	    escape_add(&l->line, ESCAPE_TEXT, sym->version, strlen(sym->version), e) < 0 ||
	    (sym->file[0] &&
	     (buf_add(&l->line, "  ", 2, e) < 0 ||
	      escape_add(&l->line, ESCAPE_TEXT, sym->file, strlen(sym->file), e) < 0)))
		return ERR_FAIL;
	printf("%10llx %7llu  %-6s %-14s %-21s  %.*s%s%s%s\n", (unsigned long long)sym->offset,
	       (unsigned long long)sym->size, sym->skipped_endbr ? "endbr" : "-",
	       probecost_class(sym->class), elf_source_name(sym->source), (int)l->line.len,
	       l->line.data, *why ? "  (" : "", why, *why ? ")" : "");
	l->shown++;
	return 0;
}

static int look_for_exact(void *arg, const struct elfsym *sym, struct err *e)
{
	struct listing *l = arg;

	(void)e;
	names_make(&l->names, sym->name);
	l->exact |= pattern_fits(&l->pattern, sym, &l->names) == FIT_EXACT;
	return 0;
}

static int visit(void *arg, const struct elfsym *sym, struct err *e)
{
	struct listing *l = arg;
	enum pattern_fit fit;
	int ret;

	names_make(&l->names, sym->name);
	fit = l->pattern.name ? pattern_fits(&l->pattern, sym, &l->names) : FIT_GLOB;
	if (fit == FIT_NONE || (fit == FIT_GLOB && l->exact))
		return 0;
	ret = is_new(l, sym, e);
	return ret <= 0 ? ret : print(l, sym, e);
}

static int list_file(struct listing *l, const struct binary *b, struct err *e)
{
	char id[2 * BUILD_ID_MAX + 1];
	struct elfsyms all;
	struct buf path = { 0 };
	int ret;

	elffile_build_id(&b->elf, id);
	ret = escape_add(&path, ESCAPE_TEXT, b->shown, strlen(b->shown), e);
	if (ret == 0)
		printf("# %.*s, build-id %s%s\n#   offset    size  prefix first insn     source        "
		       "         name\n",
		       (int)path.len, path.data, id[0] ? id : "none",
		       b->elf.go ? ", Go: entries only" : "");
	buf_free(&path);
	if (ret == 0 && l->pattern.glob)
		ret = elfsym_each(&b->elf, b->files, b->root, &all, look_for_exact, l, e);
	if (ret == 0)
		ret = elfsym_each(&b->elf, b->files, b->root, &all, visit, l, e);
	if (ret == 0)
		printf("# %llu names%s\n", (unsigned long long)l->shown,
		       all.throws ? "; throws exceptions: entries only, unless --returns always"
				  : "");
	free(l->seen);
	l->seen = NULL;
	l->n_seen = l->cap_seen = 0;
	return ret;
}

int list_find_files(const struct list_config *c, struct binaries *b, int files[BINARIES_MAX],
		    const char **ret_pattern, struct err *e)
{
	int n = binaries_of_text(b, files, c->what, c->pids, c->n_pids, ret_pattern, e);
	struct err ignored = { 0 };

	if (n >= 0)
		return n;
	*ret_pattern = NULL;
	n = binaries_find(b, files, c->what, c->pids, c->n_pids,
			  strchr(c->what, ':') ? &ignored : e);
	return n;
}

int list_functions(const struct list_config *c, struct err *e)
{
	struct listing *l = calloc(1, sizeof(*l));
	struct binaries *b = calloc(1, sizeof(*b));
	int files[BINARIES_MAX], i, n, ret;
	const char *pattern = NULL;

	ret = n = l && b ? list_find_files(c, b, files, &pattern, e)
			 : err_set(e, ERR_FAIL, "out of memory");
	if (ret >= 0)
		ret = pattern ? pattern_read(&l->pattern, pattern, e) : 0;
	for (i = 0; ret == 0 && i < n; i++)
		ret = list_file(l, b->list[files[i]], e);
	if (ret == 0 && !l->shown)
		ret = err_set(e, ERR_FAIL, "%.300s: no function matches", c->what);
	if (l) {
		pattern_free(&l->pattern);
		buf_free(&l->line);
		free(l->seen);
	}
	if (b)
		binaries_free(b);
	free(l);
	free(b);
	return ret;
}
