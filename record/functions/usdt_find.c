// SPDX-License-Identifier: GPL-2.0-or-later
/* From -U to the places in files where static probes are passed. */
#define _GNU_SOURCE /* asprintf */
#include "sites.h"
#include "usdt_notes.h"
#include "usdt_wish.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define NEAR_LIMIT 6 /* edits */

/* One -U and what was found for it. */
struct search {
	struct sites *sites;
	const struct options *options;
	struct usdt_wish wish;
	const char *asked; /* its text */
	const struct binary *binary;
	int first;  /* of its sites */
	bool known; /* another -U has named it already */
	int notes;
	char near[USDT_NAME_MAX];
	int distance;
};

static void note_near(struct search *s, const char *name)
{
	int distance = elfsym_distance(s->wish.at[0].name, name, NEAR_LIMIT);

	if (distance >= NEAR_LIMIT || (s->near[0] && distance >= s->distance) ||
	    strlen(name) >= sizeof(s->near))
		return;
	snprintf(s->near, sizeof(s->near), "%s", name);
	s->distance = distance;
}

/* The site of a probe, made if need be: at most a site of another -U. ERR_FAIL: failed. */
static int site_of(struct search *s, const struct usdt_note *note, struct err *e)
{
	const struct usdt_wish *w = &s->wish;
	enum site_kind kind = w->span ? SITE_IS_SPAN : SITE_IS_MARK;
	struct sites *all = s->sites;
	char *text;
	int i;

	if (asprintf(&text, "%s:%s:%s%s%s", s->binary->shown, note->provider,
		     w->span ? w->at[0].name : note->name, w->span ? ".." : "",
		     w->span ? w->at[1].name : "") < 0)
		return err_set(e, ERR_FAIL, "out of memory");
	for (i = 0; i < all->n; i++)
		if (all->list[i].kind == kind && all->list[i].binary == s->binary &&
		    strcmp(all->list[i].text, text) == 0) {
			free(text);
			s->known |= i < s->first;
			return i;
		}
	if (all->n == SITES_MAX || all->n - s->first == MATCHES_MAX) {
		free(text);
		return err_set(
			e, ERR_FAIL,
			"%.200s matches too many static probes of %s: at most %d of one -U, and %d of a recording",
			s->asked, s->binary->shown, MATCHES_MAX, SITES_MAX);
	}
	all->list[all->n] = (struct site){
		.kind = kind,
		.binary = s->binary,
		.text = text,
		.offset = note->offset,
		.address = note->address,
		.source = ELF_STAPSDT,
		.class = elfsym_class(&s->binary->elf, note->offset),
		.no_return = kind == SITE_IS_MARK ? "it is a mark" : NULL,
	};
	return all->n++;
}

/* Which arguments are asked for, that of the key first. */
static int numbers_of(const struct search *s, const struct usdt_end *end, bool is_end,
		      const struct usdt_note *note, u8 ret[SITE_ARGS_MAX])
{
	int room = SITE_ARGS_MAX - !!end->key, n = 0, i;
	int first = (int)s->options->args < note->n_args ? (int)s->options->args : note->n_args;

	if (end->key)
		ret[n++] = end->key;
	for (i = 0; end->listed && i < end->n && i < room; i++)
		ret[n++] = end->args[i];
	for (i = 0; !end->listed && !is_end && i < first && i < room; i++)
		ret[n++] = i + 1;
	return n;
}

/* The descriptors of the arguments that are asked for. */
static int choose_args(const struct search *s, struct usdt_place *ret, const struct usdt_end *end,
		       const struct usdt_note *note, struct err *e)
{
	u8 numbers[SITE_ARGS_MAX];
	int i, n = numbers_of(s, end, end == &s->wish.at[1], note, numbers);

	for (i = 0; i < n; i++) {
		if (numbers[i] > note->n_args)
			break;
		ret->arg[i] = note->args[numbers[i] - 1];
	}
	ret->args = n;
	if (i < n || end->text > note->n_args)
		return err_set(e, ERR_FAIL, "the static probe %.100s of %s has %d argument%s",
			       note->name, s->binary->shown, note->n_args,
			       note->n_args == 1 ? "" : "s");
	if (end->text && !s->options->hide) {
		ret->has_text = end->text_is;
		ret->text_max = USDT_TEXT_MAX - 1;
		ret->text = note->args[end->text - 1];
		ret->text.is_signed = false;
	}
	return 0;
}

/* Another -U has the place: with the same arguments, else one of the two would be ignored. */
static int check_again(const struct search *s, const struct usdt_place *how,
		       const struct usdt_note *note, struct err *e)
{
	const struct sites *all = s->sites;
	struct usdt_place again = { .site = how->site, .which = how->which };
	bool is_end = how->which == USDT_END || how->which == USDT_KEYED_END;
	int i;

	if (choose_args(s, &again, &s->wish.at[is_end], note, e) < 0)
		return ERR_FAIL;
	for (i = 0; i < all->n_places; i++)
		if (all->places[i].offset == note->offset && all->places[i].how.site == how->site &&
		    all->places[i].how.which == how->which)
			break;
	if (i < all->n_places && memcmp(&all->places[i].how, &again, sizeof(again)) == 0)
		return 0;
	return err_set(e, ERR_FAIL, "two --usdt name %.300s, with different arguments",
		       all->list[how->site].text);
}

static int add_place(struct search *s, const struct usdt_note *note, enum usdt_which which,
		     struct err *e)
{
	struct sites *all = s->sites;
	struct place *place = &all->places[all->n_places];
	bool is_end = which == USDT_END || which == USDT_KEYED_END;
	int site = site_of(s, note, e);

	if (site < 0)
		return site;
	if (site < s->first)
		return check_again(s, &(struct usdt_place){ .site = site, .which = which }, note,
				   e);
	if (all->n_places == PLACES_MAX)
		return err_set(e, ERR_FAIL, "static probes can be recorded in at most %d places",
			       PLACES_MAX);
	*place = (struct place){
		.offset = note->offset,
		.semaphore = note->semaphore,
		.binary = s->binary,
		.how = { .site = site, .which = which },
	};
	if (choose_args(s, &place->how, &s->wish.at[is_end], note, e) < 0)
		return ERR_FAIL;
	if (!is_end)
		all->list[site].args = place->how.args;
	all->n_places++;
	return 0;
}

static int visit(void *arg, const struct usdt_note *note, struct err *e)
{
	static const enum usdt_which ends[2][2] = { { USDT_BEGIN, USDT_END },
						    { USDT_KEYED_BEGIN, USDT_KEYED_END } };
	struct search *s = arg;
	const struct usdt_wish *w = &s->wish;
	int i;

	if (w->provider[0] && fnmatch(w->provider, note->provider, 0) != 0)
		return 0;
	for (i = 0; i <= w->span; i++) {
		if (fnmatch(w->at[i].name, note->name, 0) != 0)
			continue;
		return add_place(s, note, w->span ? ends[!!w->at[0].key][i] : USDT_MARK, e);
	}
	note_near(s, note->name);
	return 0;
}

/* A span's provider has both of its probes. */
static int check_spans(const struct search *s, struct err *e)
{
	const struct sites *all = s->sites;
	const u32 begins = 1u << USDT_BEGIN | 1u << USDT_KEYED_BEGIN;
	const u32 ends = 1u << USDT_END | 1u << USDT_KEYED_END;
	u32 seen[SITES_MAX] = { 0 };
	int i;

	for (i = 0; i < all->n_places; i++)
		seen[all->places[i].how.site] |= 1u << all->places[i].how.which;
	for (i = s->first; s->wish.span && i < all->n; i++)
		if (!(seen[i] & begins) || !(seen[i] & ends))
			return err_set(e, ERR_FAIL,
				       "%.300s: the static probe %.100s is not in the file",
				       all->list[i].text, s->wish.at[!!(seen[i] & begins)].name);
	return 0;
}

static int not_found(const struct search *s, struct err *e)
{
	const char *file = s->binary->shown;

	if (!s->notes)
		return err_set(e, ERR_FAIL, "%s has no static probes (USDT)", file);
	return err_set(e, ERR_FAIL, "%s has no static probe %.100s%s%s; obsrec list -U %s", file,
		       s->asked, s->near[0] ? "; the nearest is " : "", s->near, file);
}

static int resolve(struct search *s, const char *text, struct err *e)
{
	const struct options *o = s->options;
	int files[BINARIES_MAX], n, i, ret;

	s->first = s->sites->n;
	n = ret = binaries_of_text(&s->sites->binaries, files, text, o->pids, o->n_pids, &s->asked,
				   e);
	if (ret >= 0)
		ret = usdt_wish_read(&s->wish, s->asked, e);
	for (i = 0; ret == 0 && i < n; i++) {
		s->binary = s->sites->binaries.list[files[i]];
		ret = usdt_each(&s->binary->elf, visit, s, e);
		s->notes += ret > 0 ? ret : 0;
		ret = ret < 0 ? ret : 0;
	}
	if (ret == 0 && s->sites->n == s->first && !s->known)
		ret = not_found(s, e);
	return ret < 0 ? ret : check_spans(s, e);
}

int sites_find_usdt(struct sites *s, const struct options *o, struct err *e)
{
	struct search *search;
	int i, ret = 0;

	for (i = 0; i < o->n_usdt && ret == 0; i++) {
		search = calloc(1, sizeof(*search));
		if (!search)
			return err_set(e, ERR_FAIL, "out of memory");
		search->sites = s;
		search->options = o;
		ret = resolve(search, o->usdt[i], e);
		free(search);
	}
	return ret;
}
