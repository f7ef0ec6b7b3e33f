// SPDX-License-Identifier: GPL-2.0-or-later
/* The functions and static probes that the user named: attached, described, taken off. */
#include "sites.h"

#include "format/buf.h"
#include "format/escape.h"
#include "probecost.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* By its place, so that it is the file that was read: a path may mean another one by now. */
static void path_of(const struct binary *b, char ret[64])
{
	snprintf(ret, 64, "/proc/self/fd/%d", b->place);
}

/* To every process that runs the file: a filter by process is in the program, and cheaper there. */
static struct bpf_link *attach_site(const struct site *s, struct bpf_program *prog, u64 cookie,
				    bool back)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .retprobe = back, .bpf_cookie = cookie);
	char path[64];

	path_of(s->binary, path);
	return bpf_program__attach_uprobe_opts(prog, -1, path, s->offset, &opts);
}

/* The same on a kernel without cookies. */
static int attach_copies(struct uprobe_legacy *c, const struct site *s,
			 const struct site_programs *p, u64 cookie, struct err *e)
{
	char path[64];
	struct uprobe_legacy_at at = { .path = path, .offset = s->offset, .back = true };

	path_of(s->binary, path);
	if (!s->no_return && uprobe_legacy_attach(c, p->back, &at, cookie, e) < 0)
		return ERR_FAIL;
	at.back = false;
	return uprobe_legacy_attach(c, p->entry, &at, cookie, e);
}

static int attach_function(struct sites *sites, int i, const struct site_programs *p, struct err *e)
{
	struct site *s = &sites->list[i];
	u64 cookie = i | (u64)s->args << SITE_COOKIE_ARGS | (u64)s->text_place << SITE_COOKIE_TEXT |
		     (s->i386 ? SITE_COOKIE_I386 : 0) | (s->no_return ? SITE_COOKIE_ONCE : 0);

	if (sites->no_cookies)
		return attach_copies(&sites->legacy, s, p, cookie, e);
	/* return first: an entry without return is then the rarer case */
	if (!s->no_return)
		s->back = attach_site(s, p->back, cookie, true);
	if (s->no_return || s->back)
		s->entry = attach_site(s, p->entry, cookie, false);
	return s->entry ? 0 : err_errno(e, ERR_ENV, "cannot attach to %.300s", s->text);
}

/* The kernel raises the semaphore in every process that has the file mapped, and lowers it at the
 * end. */
static int attach_place(struct sites *sites, u32 i, const struct site_programs *p, struct err *e)
{
	struct place *place = &sites->places[i];
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .ref_ctr_offset = place->semaphore, .bpf_cookie = i,
		    .retprobe = place->back);
	char path[64];
	struct uprobe_legacy_at at = { path, place->offset, place->back, place->semaphore };

	path_of(place->binary, path);
	if (bpf_map__update_elem(p->places, &i, sizeof(i), &place->how, sizeof(place->how),
				 BPF_ANY) < 0)
		return err_errno(e, ERR_ENV, "cannot pass static probes to the BPF programs");
	if (place->how.which == USDT_ENTRY)
		return 0;
	if (sites->no_cookies)
		return uprobe_legacy_attach(&sites->legacy, p->usdt, &at, i, e);
	place->link = bpf_program__attach_uprobe_opts(p->usdt, -1, path, place->offset, &opts);
	return place->link ? 0
			   : err_errno(e, ERR_ENV, "cannot attach to %.300s",
				       sites->list[place->how.site].text);
}

int sites_attach(struct sites *s, const struct site_programs *p, struct err *e)
{
	int i, ret = 0;

	for (i = 0; i < s->n && ret == 0; i++)
		if (s->list[i].kind == SITE_IS_FUNCTION)
			ret = attach_function(s, i, p, e);
	for (i = s->n_places - 1; i >= 0 && ret == 0; i--) /* ends of spans before their starts */
		ret = attach_place(s, i, p, e);
	return ret;
}

static void print_site(const struct site *s, FILE *f)
{
	bool function = s->kind == SITE_IS_FUNCTION;
	struct cost_range us = probecost(s->class, function ? !s->no_return : s->at_return);
	struct buf text = { 0 };
	struct err e = { 0 };

	if (escape_add(&text, ESCAPE_TEXT, s->text, strlen(s->text), &e) == 0 &&
	    buf_add(&text, "", 1, &e) == 0)
		fprintf(f, "  %s: ", (const char *)text.data);
	buf_free(&text);
	if (us.high > 0)
		fprintf(f, "%.1f to %.1f us per %s (%s)", us.low, us.high,
			!function      ? "probe"
			: s->no_return ? "call"
				       : "call with its return",
			probecost_class(s->class));
	else
		fprintf(f, "cost not known for this CPU");
	if (function && s->no_return)
		fprintf(f, "; no returns: %s", s->no_return);
	fputc('\n', f);
}

void sites_print(const struct sites *s, FILE *f)
{
	int i, functions = 0;

	for (i = 0; i < s->n; i++)
		functions += s->list[i].kind == SITE_IS_FUNCTION;
	fprintf(f, "obsrec: probing %d %s%s; estimated costs:\n", s->n,
		functions == s->n ? "function"
		: s->n == 1	  ? "span or static probe"
				  : "functions, spans and static probe",
		s->n == 1 ? "" : "s");
	for (i = 0; i < s->n; i++)
		print_site(&s->list[i], f);
}

bool sites_have_statements(const struct sites *s)
{
	int i;

	for (i = 0; i < s->n_places; i++)
		if (s->places[i].how.has_text == TEXT_STATEMENT)
			return true;
	return false;
}

const char *site_function(const struct site *s)
{
	return s->text + strlen(s->binary->shown) + 1;
}

void sites_free(struct sites *s)
{
	int i;

	uprobe_legacy_free(&s->legacy);
	for (i = 0; i < s->n; i++) {
		bpf_link__destroy(s->list[i].entry);
		bpf_link__destroy(s->list[i].back);
		free(s->list[i].text);
		free(s->list[i].longer);
	}
	for (i = 0; i < s->n_places; i++)
		bpf_link__destroy(s->places[i].link);
	s->n = s->n_places = 0;
	binaries_free(&s->binaries);
}
