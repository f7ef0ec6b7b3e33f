// SPDX-License-Identifier: GPL-2.0-or-later
/* Each place of each static probe: what -U and its argument numbers refer to. */
#include "list_usdt.h"

#include "format/escape.h"
#include "sites.h"
#include "usdt_notes.h"
#include "usdt_wish.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

struct listing {
	struct usdt_wish wish; /* at[0].name "": all */
	struct buf name;
	u64 shown;
};

static bool fits(const struct usdt_wish *w, const struct usdt_note *note)
{
	if (w->provider[0] && fnmatch(w->provider, note->provider, 0) != 0)
		return false;
	return !w->at[0].name[0] || fnmatch(w->at[0].name, note->name, 0) == 0 ||
	       (w->span && strcmp(w->at[1].name, note->name) == 0);
}

static int visit(void *arg, const struct usdt_note *note, struct err *e)
{
	struct listing *l = arg;
	char types[USDT_TYPES_MAX];

	if (!fits(&l->wish, note))
		return 0;
	buf_clear(&l->name);
	if (escape_add(&l->name, ESCAPE_TEXT, note->provider, strlen(note->provider), e) < 0 ||
	    buf_add(&l->name, ":", 1, e) < 0 ||
	    escape_add(&l->name, ESCAPE_TEXT, note->name, strlen(note->name), e) < 0)
		return ERR_FAIL;
	usdt_args_types(note->args, note->n_args, types);
	printf("%10llx ", (unsigned long long)note->offset);
	if (note->semaphore)
		printf("%10llx", (unsigned long long)note->semaphore);
	else
		printf("%10s", "-");
	printf("  %-40.*s  %s\n", (int)l->name.len, (const char *)l->name.data, types);
	l->shown++;
	return 0;
}

static int list_file(struct listing *l, const struct binary *b, struct err *e)
{
	char id[2 * BUILD_ID_MAX + 1];
	struct buf path = { 0 };
	int ret;

	elffile_build_id(&b->elf, id);
	ret = escape_add(&path, ESCAPE_TEXT, b->shown, strlen(b->shown), e);
	if (ret == 0)
		printf("# %.*s, build-id %s\n#   offset  semaphore  %-40s  arguments\n",
		       (int)path.len, path.data, id[0] ? id : "none", "provider:probe");
	buf_free(&path);
	return ret < 0 ? ret : usdt_each(&b->elf, visit, l, e);
}

int list_usdt(const struct list_config *c, struct err *e)
{
	struct listing l = { 0 };
	struct binaries *b = calloc(1, sizeof(*b));
	int files[BINARIES_MAX], i, n, ret;
	const char *probe = NULL;

	ret = n =
		b ? list_find_files(c, b, files, &probe, e) : err_set(e, ERR_FAIL, "out of memory");
	if (ret >= 0)
		ret = probe ? usdt_wish_read(&l.wish, probe, e) : 0;
	for (i = 0; ret >= 0 && i < n; i++)
		ret = list_file(&l, b->list[files[i]], e);
	if (ret >= 0 && !l.shown)
		ret = err_set(e, ERR_FAIL, "%.300s: no static probe (USDT) matches", c->what);
	buf_free(&l.name);
	if (b)
		binaries_free(b);
	free(b);
	return ret < 0 ? ret : 0;
}
