// SPDX-License-Identifier: GPL-2.0-or-later
/* From -u with two functions to the places where a span starts and ends. */
#define _GNU_SOURCE /* asprintf */
#include "sites.h"
#include "span_wish.h"
#include "usdt_args.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

/* Where integer arguments and the value returned are: as a static probe would describe it. */
static const struct convention {
	u32 machine;
	const char *entry, *back;
} conventions[] = {
	{ EM_X86_64, "8@%rdi 8@%rsi 8@%rdx 8@%rcx 8@%r8 8@%r9", "8@%rax" },
	{ EM_386, "4@4(%esp) 4@8(%esp) 4@12(%esp) 4@16(%esp) 4@20(%esp) 4@24(%esp)", "4@%eax" },
	{ EM_AARCH64, "8@x0 8@x1 8@x2 8@x3 8@x4 8@x5", "8@x0" },
};

/* One span. */
struct span {
	struct sites *sites;
	const struct options *options;
	struct span_wish wish;
	const char *asked;    /* its text */
	const char *function; /* the same after the file */
	int site;
};

static int read_convention(struct usdt_arg all[USDT_ARGS_MAX], const struct binary *b, bool back,
			   const char *asked, struct err *e)
{
	const struct convention *c = conventions;
	const u32 n = sizeof(conventions) / sizeof(conventions[0]);
	u32 machine = elffile_machine(&b->elf);

	while (c < conventions + n && c->machine != machine)
		c++;
	if (c == conventions + n || b->elf.go)
		return err_set(e, ERR_FAIL,
			       "%.300s: the arguments of functions of %s are not known%s", asked,
			       b->shown, b->elf.go ? ": Go has them in other registers" : "");
	usdt_args_read(all, back ? c->back : c->entry, machine);
	return 0;
}

/* The statement of --args. */
static int describe_text(struct usdt_place *how, const struct usdt_arg all[USDT_ARGS_MAX],
			 const struct options *o, struct err *e)
{
	if (!o->text.arg || o->hide)
		return 0;
	how->text = all[o->text.arg - 1];
	how->has_text = TEXT_STATEMENT;
	how->text_max = o->text.max;
	if (!o->text.offset)
		return 0;
	if (how->text.kind == USDT_MEMORY)
		return err_set(e, ERR_FAIL,
			       "--args: on this machine a statement has no offset: +%u",
			       o->text.offset);
	how->text.kind = USDT_MEMORY;
	how->text.value = o->text.offset;
	return 0;
}

/* Which arguments are recorded: that of the key, at the start the first ones too. */
static int describe(const struct span *s, struct place *p, int which, struct err *e)
{
	const struct span_end *end = &s->wish.at[which];
	struct usdt_arg all[USDT_ARGS_MAX];
	bool start = !which && !end->back && !p->binary->elf.go;
	u32 i, first = start ? s->options->args : 0;

	start &= s->options->text.arg != 0;
	if (!s->wish.keyed && !first && !start)
		return 0;
	if (read_convention(all, p->binary, end->back, s->asked, e) < 0)
		return ERR_FAIL;
	if (start && describe_text(&p->how, all, s->options, e) < 0)
		return ERR_FAIL;
	if (s->wish.keyed)
		p->how.arg[p->how.args++] = all[end->back ? 0 : end->key - 1];
	for (i = 0; i < first && p->how.args < SITE_ARGS_MAX; i++)
		p->how.arg[p->how.args++] = all[i];
	return 0;
}

static int add_place(const struct span *s, const struct site *found, int which, struct err *e)
{
	static const enum usdt_which kinds[2][2] = { { USDT_BEGIN, USDT_END },
						     { USDT_KEYED_BEGIN, USDT_KEYED_END } };
	struct sites *all = s->sites;
	struct place *place = &all->places[all->n_places];

	if (s->wish.at[which].back && found->no_return)
		return err_set(e, ERR_FAIL, "the return of %.300s cannot be recorded: %s",
			       found->text, found->no_return);
	if (all->n_places == PLACES_MAX)
		return err_set(e, ERR_FAIL, "spans can be recorded in at most %d places",
			       PLACES_MAX);
	*place = (struct place){
		.offset = found->offset,
		.binary = found->binary,
		.back = s->wish.at[which].back,
		.how = { .site = s->site, .which = kinds[s->wish.keyed][which] },
	};
	if (describe(s, place, which, e) < 0)
		return ERR_FAIL;
	all->n_places++;
	return 0;
}

/* What was found for an end of the span: its places; the start makes the site. */
static int take_found(struct span *s, int first, int which, struct err *e)
{
	struct sites *all = s->sites;
	struct site *site = &all->list[first];
	int i, ret = 0, places = all->n_places;
	char *text = NULL;

	for (i = first; i < all->n && ret == 0; i++)
		ret = add_place(s, &all->list[i], which, e);
	if (ret == 0 && !which && asprintf(&text, "%s:%s", site->binary->shown, s->function) < 0)
		ret = err_set(e, ERR_FAIL, "out of memory");
	while (all->n > first + !which) {
		free(all->list[--all->n].text);
		free(all->list[all->n].longer);
	}
	if (ret < 0 || which)
		return ret;
	free(site->text);
	site->text = text;
	site->kind = SITE_IS_SPAN;
	site->no_return = NULL;
	site->at_return = s->wish.at[0].back || s->wish.at[1].back;
	site->args = all->places[places].how.args;
	return 0;
}

/* The end is in its own file, or in that of the start. */
static int find_end(struct span *s, struct err *e)
{
	const struct options *o = s->options;
	const char *start = s->wish.at[0].text, *end = s->wish.at[1].text, *rest;
	int files[BINARIES_MAX], n = (int)(s->function - s->asked);
	struct err none = { 0 };
	char *text;
	int ret;

	if (binaries_of_text(&s->sites->binaries, files, end, o->pids, o->n_pids, &rest, &none) >=
	    0)
		return sites_find_name(s->sites, o, end, &rest, e);
	if (asprintf(&text, "%.*s%s", n, start, end) < 0)
		return err_set(e, ERR_FAIL, "out of memory");
	ret = sites_find_name(s->sites, o, text, &rest, e);
	free(text);
	return ret;
}

/* The same span was named before. */
static bool is_known(const struct sites *all, int first, const char *function)
{
	int i;

	for (i = 0; i < first; i++)
		if (all->list[i].kind == SITE_IS_SPAN &&
		    all->list[i].binary == all->list[first].binary &&
		    strcmp(site_function(&all->list[i]), function) == 0)
			return true;
	return false;
}

static int find(struct span *s, struct err *e)
{
	struct sites *all = s->sites;
	const char *start = s->wish.at[0].text, *name;
	int first = all->n, ret;

	s->site = first;
	ret = sites_find_name(all, s->options, start, &name, e);
	if (ret < 0)
		return ret;
	s->function = s->asked + (name - start);
	if (is_known(all, first, s->function))
		return err_set(e, ERR_FAIL, "two --uprobe name the span %.300s", s->asked);
	ret = take_found(s, first, 0, e);
	if (ret == 0)
		ret = find_end(s, e);
	return ret < 0 ? ret : take_found(s, first + 1, 1, e);
}

static int find_span(struct sites *sites, const struct options *o, const char *text, struct err *e)
{
	struct span *s = calloc(1, sizeof(*s));
	int ret;

	if (!s)
		return err_set(e, ERR_FAIL, "out of memory");
	s->sites = sites;
	s->options = o;
	s->asked = text;
	ret = span_wish_read(&s->wish, text, e);
	if (ret == 0)
		ret = find(s, e);
	free(s);
	return ret;
}

/* Functions whose calls have a text. */
static int add_texts(struct sites *s, const struct options *o, struct err *e)
{
	struct usdt_arg all[USDT_ARGS_MAX];
	struct place *place = s->places;
	int i;

	if (!o->text.arg || o->hide)
		return 0;
	for (i = 0; i < s->n; i++, place++) {
		*place = (struct place){ .binary = s->list[i].binary,
					 .how = { .site = i, .which = USDT_ENTRY } };
		if (read_convention(all, place->binary, false, s->list[i].text, e) < 0 ||
		    describe_text(&place->how, all, o, e) < 0)
			return ERR_FAIL;
		s->list[i].text_place = ++s->n_places;
	}
	return 0;
}

int sites_resolve(struct sites *s, const struct options *o, struct err *e)
{
	int i, ret;

	if (o->text.arg && !o->n_functions)
		return err_set(
			e, ERR_FAIL,
			"--args s%u is of functions (-u), and there are none; of a static probe, use PROBE(%u:sql)",
			o->text.arg, o->text.arg);
	ret = sites_find_functions(s, o, e);
	if (ret == 0)
		ret = add_texts(s, o, e);
	for (i = 0; i < o->n_functions && ret == 0; i++)
		if (span_wish_is(o->functions[i]))
			ret = find_span(s, o, o->functions[i], e);
	if (ret == 0)
		ret = sites_find_usdt(s, o, e);
	binaries_forget(&s->binaries);
	return ret;
}
