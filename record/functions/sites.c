// SPDX-License-Identifier: GPL-2.0-or-later
/* The functions that the user named: attached, described, taken off. */
#include "sites.h"

#include "format/buf.h"
#include "format/escape.h"
#include "probecost.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * To every process that runs the file: a filter by process is in the program, and cheaper there.
 * By descriptor, so that it is the file that was read: a path may mean another one by now.
 */
static struct bpf_link *attach_site(const struct site *s, struct bpf_program *prog, u64 cookie,
				    bool back)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .retprobe = back, .bpf_cookie = cookie);
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", s->binary->elf.fd);
	return bpf_program__attach_uprobe_opts(prog, -1, path, s->offset, &opts);
}

/* The same on a kernel without cookies. */
static int attach_copies(struct cookieless *c, const struct site *s,
			 const struct bpf_program *entry, const struct bpf_program *back,
			 u64 cookie, struct err *e)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", s->binary->elf.fd);
	if (!s->no_return && cookieless_attach(c, back, path, s->offset, cookie, true, e) < 0)
		return ERR_FAIL;
	return cookieless_attach(c, entry, path, s->offset, cookie, false, e);
}

int sites_attach(struct sites *sites, struct bpf_program *entry, struct bpf_program *back,
		 struct err *e)
{
	struct site *s;
	u64 cookie;
	int i;

	for (i = 0; i < sites->n; i++) {
		s = &sites->list[i];
		cookie = i | (u64)s->args << SITE_COOKIE_ARGS |
			 (elffile_is_i386(&s->binary->elf) ? SITE_COOKIE_I386 : 0);
		if (sites->no_cookies) {
			if (attach_copies(&sites->cookieless, s, entry, back, cookie, e) < 0)
				return ERR_FAIL;
			continue;
		}
		/* return first: an entry without return is then the rarer case */
		if (!s->no_return)
			s->back = attach_site(s, back, cookie, true);
		if (s->no_return || s->back)
			s->entry = attach_site(s, entry, cookie, false);
		if (!s->entry)
			return err_errno(e, ERR_ENV, "cannot attach to %.300s", s->text);
	}
	return 0;
}

static void print_site(const struct site *s, FILE *f)
{
	struct cost_range us = probecost(s->class, !s->no_return);
	struct buf text = { 0 };
	struct err e = { 0 };

	if (escape_add(&text, ESCAPE_TEXT, s->text, strlen(s->text), &e) == 0 &&
	    buf_add(&text, "", 1, &e) == 0)
		fprintf(f, "  %s: ", (const char *)text.data);
	buf_free(&text);
	if (us.high > 0)
		fprintf(f, "%.1f to %.1f us per call%s (%s)", us.low, us.high,
			s->no_return ? "" : " with its return", probecost_class(s->class));
	else
		fprintf(f, "cost not known for this CPU");
	if (s->no_return)
		fprintf(f, "; no returns: %s", s->no_return);
	fputc('\n', f);
}

void sites_print(const struct sites *s, FILE *f)
{
	int i;

	fprintf(f, "obsrec: probing %d function%s; estimated costs:\n", s->n, s->n == 1 ? "" : "s");
	for (i = 0; i < s->n; i++)
		print_site(&s->list[i], f);
}

const char *site_function(const struct site *s)
{
	return s->text + strlen(s->binary->shown) + 1;
}

void sites_free(struct sites *s)
{
	int i;

	cookieless_free(&s->cookieless);
	for (i = 0; i < s->n; i++) {
		bpf_link__destroy(s->list[i].entry);
		bpf_link__destroy(s->list[i].back);
		free(s->list[i].text);
		free(s->list[i].longer);
	}
	s->n = 0;
	binaries_free(&s->binaries);
}
