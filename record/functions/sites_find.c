// SPDX-License-Identifier: GPL-2.0-or-later
/* From FILE:FUNC to places in files. An unknown name gets a list of similar ones. */
#define _GNU_SOURCE /* asprintf */
#include "pattern.h"
#include "sites.h"
#include "span_wish.h"

#include <stdlib.h>
#include <string.h>

#define NEAREST	     3
#define NEAR_LENGTH  100
#define NEAR_LIMIT   6 /* edits */
#define VERSION_SHOW 40

struct near {
	char name[NEAR_LENGTH];
	int distance;
};

/* One -u and what was found for it. */
struct search {
	struct sites *sites;
	const struct options *options;
	struct pattern pattern;
	const char *asked; /* the pattern's text */
	const struct binary *binary;
	int first;     /* of its sites */
	bool exact;    /* a name is the pattern itself: globs do not count any more */
	bool known;    /* another -u has named it already */
	bool again;    /* which does not matter */
	bool indirect; /* what was meant cannot be probed, because ... */
	bool fragment;
	char version[VERSION_SHOW]; /* one that the function has, when another was asked for */
	u64 functions;
	enum elf_source source; /* of their names, the best there is */
	bool build_id;
	struct names names;
	struct near near[NEAREST];
};

static void note_near(struct search *s, const char *name)
{
	int distance = elfsym_distance(s->pattern.name, name, NEAR_LIMIT), i, at;

	/* a name that contains the other is near, however long it is */
	if (distance >= NEAR_LIMIT && strlen(s->pattern.name) > 3 && strstr(name, s->pattern.name))
		distance = NEAR_LIMIT - 1;
	if (distance >= NEAR_LIMIT || strlen(name) >= NEAR_LENGTH)
		return;
	for (at = 0; at < NEAREST && s->near[at].name[0]; at++) {
		if (strcmp(s->near[at].name, name) == 0)
			return;
		if (distance < s->near[at].distance)
			break;
	}
	if (at == NEAREST)
		return;
	for (i = NEAREST - 1; i > at; i--)
		s->near[i] = s->near[i - 1];
	snprintf(s->near[at].name, NEAR_LENGTH, "%s", name);
	s->near[at].distance = distance;
}

static void note_misfit(struct search *s, const struct elfsym *sym)
{
	struct pattern any = s->pattern;

	any.version = NULL;
	any.default_only = false;
	if ((s->pattern.version || s->pattern.default_only) && sym->version[0] &&
	    pattern_fits(&any, sym, &s->names))
		snprintf(s->version, sizeof(s->version), "%s%s", sym->default_version ? "@@" : "@",
			 sym->version);
	else if (!s->pattern.glob)
		note_near(s, names_show(&s->names));
}

static bool is_known(struct search *s, u64 offset)
{
	const struct site *site = s->sites->list;
	int i;

	for (i = s->again ? s->first : 0, site += i; i < s->sites->n; i++, site++)
		if (site->binary == s->binary && site->offset == offset) {
			s->known = true;
			return true;
		}
	return false;
}

static int add_site(struct search *s, const struct elfsym *sym, struct err *e)
{
	struct site site = {
		.binary = s->binary,
		.address = sym->address,
		.offset = sym->offset,
		.size = sym->size,
		.source = sym->source,
		.class = sym->class,
		.skipped_endbr = sym->skipped_endbr,
		.i386 = elffile_machine(&s->binary->elf) == EM_386,
		.args = s->options->args,
	};
	const char *at = !sym->version[0] ? "" : sym->default_version ? "@@" : "@";

	if (s->sites->n - s->first == MATCHES_MAX)
		return err_set(
			e, ERR_FAIL,
			"%.200s matches more than %d functions of %s, the limit of one -u; obsrec list -u shows them",
			s->asked, MATCHES_MAX, s->binary->shown);
	if (s->sites->n == SITES_MAX)
		return err_set(e, ERR_FAIL, "at most %d functions can be recorded at a time",
			       SITES_MAX);
	if (elfsym_never_returns(sym->name))
		site.no_return = "it does not return in the usual way";
	if (asprintf(&site.text, "%s:%s%s%s", s->binary->shown, names_show(&s->names), at,
		     sym->version) < 0)
		return err_set(e, ERR_FAIL, "out of memory");
	if (asprintf(&site.longer, "%s:%s%s%s%s%s", s->binary->shown, sym->file,
		     sym->file[0] ? ":" : "", s->names.whole[0] ? s->names.whole : s->names.linked,
		     at, sym->version) < 0) {
		free(site.text);
		return err_set(e, ERR_FAIL, "out of memory");
	}
	s->sites->list[s->sites->n++] = site;
	return 0;
}

/* Functions that share a name are distinguished by their parameters or source files. */
static void lengthen_texts(struct sites *s)
{
	bool shared[SITES_MAX] = { 0 };
	char *text;
	int i, k;

	for (i = 0; i < s->n; i++)
		for (k = 0; k < i; k++)
			if (strcmp(s->list[i].text, s->list[k].text) == 0)
				shared[i] = shared[k] = true;
	for (i = 0; i < s->n; i++)
		if (shared[i]) {
			text = s->list[i].text;
			s->list[i].text = s->list[i].longer;
			s->list[i].longer = text;
		}
}

/* What only looked like the pattern is forgotten when the pattern itself turns up. */
static void forget_globs(struct search *s)
{
	while (s->sites->n > s->first) {
		s->sites->n--;
		free(s->sites->list[s->sites->n].text);
		free(s->sites->list[s->sites->n].longer);
	}
	s->exact = true;
	s->indirect = s->fragment = false;
}

static int visit(void *arg, const struct elfsym *sym, struct err *e)
{
	struct search *s = arg;
	enum pattern_fit fit;

	names_make(&s->names, sym->name);
	fit = pattern_fits(&s->pattern, sym, &s->names);
	if (fit == FIT_NONE)
		note_misfit(s, sym);
	if (fit == FIT_NONE || (fit == FIT_GLOB && s->exact))
		return 0;
	if (fit == FIT_EXACT && !s->exact)
		forget_globs(s);
	s->indirect |= sym->indirect;
	s->fragment |= sym->fragment;
	if (sym->indirect || sym->fragment || is_known(s, sym->offset))
		return 0;
	return add_site(s, sym, e);
}

/* Why returns of the functions of this file must not be probed. */
static void judge_returns(struct search *s, bool throws)
{
	struct site *site = s->sites->list + s->first, *end = s->sites->list + s->sites->n;
	const char *why = NULL;

	if (s->options->returns == RETURNS_NEVER)
		why = "--returns never";
	else if (s->binary->elf.go)
		why = "Go moves stacks: a probed return would crash the program";
	else if (throws && s->options->returns == RETURNS_SAFE)
		why = "the program throws exceptions, and one that passes a probed return ends the process; --returns always accepts that";
	for (; site < end; site++) {
		if (site->binary != s->binary)
			continue;
		if (why && !site->no_return)
			site->no_return = why;
		if (s->binary->elf.go)
			site->args = 0; /* they are in other registers */
	}
}

/* "open, fopen, popen" */
static void near_text(const struct search *s, char *text, size_t size)
{
	size_t n = 0;
	int i;

	text[0] = '\0';
	for (i = 0; i < NEAREST && s->near[i].name[0] && n < size; i++)
		n += snprintf(text + n, size - n, "%s%.*s", n ? ", " : "", NEAR_LENGTH,
			      s->near[i].name);
}

static int not_found(const struct search *s, struct err *e)
{
	const char *file = s->binary->shown;
	char near[NEAREST * (NEAR_LENGTH + 2)];
	const char *stripped =
		s->source == ELF_DYNSYM ? " (it is stripped: only exported names are known)" : "";

	near_text(s, near, sizeof(near));
	if (s->indirect)
		return err_set(e, ERR_FAIL,
			       "%.100s in %s is an indirect function (which of several it is, the "
			       "processor decides when the program starts) and cannot be probed by "
			       "this name; obsrec list -u '%s:*%s_*' may show the several",
			       s->asked, file, file, s->pattern.name);
	if (s->fragment)
		return err_set(e, ERR_FAIL,
			       "%.100s in %s is the cold part of a function: it is jumped to, not "
			       "called, and cannot be probed",
			       s->asked, file);
	if (s->version[0])
		return err_set(e, ERR_FAIL, "%.100s is not in %s, but %s is a version of it there",
			       s->asked, file, s->version);
	if (!s->functions)
		return err_set(
			e, ERR_FAIL,
			"%s has no names of functions: it is stripped, and there is no debug "
			"file for it in /usr/lib/debug%s",
			file, s->build_id ? "" : " (it has no build-id either)");
	if (near[0])
		return err_set(e, ERR_FAIL, "%s has no function %.100s; the nearest names are %s%s",
			       file, s->asked, near, stripped);
	return err_set(e, ERR_FAIL, "%s has no function %.100s, and none with a name like it%s%s",
		       file, s->asked, stripped,
		       demangle_possible() ? ""
					   : " (this obsrec was built without C++ names: give the "
					     "linked one)");
}

static int search_files(struct search *s, const int *files, int n, struct err *e)
{
	struct elfsyms all;
	int i, ret;

	for (i = 0; i < n; i++) {
		s->binary = s->sites->binaries.list[files[i]];
		ret = elfsym_each(&s->binary->elf, s->binary->files, s->binary->root, &all, visit,
				  s, e);
		if (ret < 0)
			return ret;
		s->functions += all.functions;
		s->source = all.source;
		s->build_id |= s->binary->elf.build_id_size != 0;
		judge_returns(s, all.throws);
	}
	return 0;
}

static int resolve(struct search *s, const char *text, struct err *e)
{
	const struct options *o = s->options;
	int files[BINARIES_MAX], n, ret;

	s->first = s->sites->n;
	n = ret = binaries_of_text(&s->sites->binaries, files, text, o->pids, o->n_pids, &s->asked,
				   e);
	if (ret >= 0)
		ret = pattern_read(&s->pattern, s->asked, e);
	if (ret == 0)
		ret = search_files(s, files, n, e);
	if (ret == 0 && s->sites->n == s->first && !s->known)
		ret = not_found(s, e);
	else if (ret == 0 && s->indirect && !s->pattern.glob)
		ret = not_found(s, e); /* what was found are its old versions only */
	pattern_free(&s->pattern);
	return ret;
}

int sites_find_name(struct sites *s, const struct options *o, const char *text,
		    const char **ret_name, struct err *e)
{
	struct search *search = calloc(1, sizeof(*search));
	int ret;

	if (!search)
		return err_set(e, ERR_FAIL, "out of memory");
	search->sites = s;
	search->options = o;
	search->again = ret_name != NULL;
	ret = resolve(search, text, e);
	if (ret_name)
		*ret_name = search->asked;
	free(search);
	return ret;
}

int sites_find_functions(struct sites *s, const struct options *o, struct err *e)
{
	int i, ret = 0;

	for (i = 0; i < o->n_functions && ret == 0; i++)
		if (!span_wish_is(o->functions[i]))
			ret = sites_find_name(s, o, o->functions[i], NULL, e);
	lengthen_texts(s);
	return ret;
}
