// SPDX-License-Identifier: GPL-2.0-or-later
/* What the processes of a census own: descriptors and texts. */
#include "census.h"

#include <stdlib.h>
#include <string.h>

void household_text(char **text, const char *bytes, size_t n)
{
	char *copy = n ? strndup(bytes, n) : NULL;

	if (!copy)
		return;
	free(*text);
	*text = copy;
}

void household_drop(struct census *c, struct household *h, s64 fd)
{
	if (fd < 0 || fd >= h->n_files || !h->files[fd])
		return;
	free(h->files[fd]->path);
	free(h->files[fd]);
	h->files[fd] = NULL;
	c->n_files--;
}

void household_free(struct census *c, struct household *h)
{
	u32 fd;

	for (fd = 0; fd < h->n_files; fd++)
		household_drop(c, h, fd);
	free(h->files);
	free(h->cmdline);
	free(h);
}

int household_put(struct census *c, struct household *h, const struct ev_fd *ev, const char *path,
		  size_t n, struct err *e)
{
	u32 cap = h->n_files ? h->n_files : 16;
	struct belonging **grown, *f;

	if (ev->fd < 0 || ev->fd >= FD_LIMIT)
		return 0;
	while (cap <= (u32)ev->fd)
		cap *= 2;
	if (cap > h->n_files) {
		grown = realloc(h->files, cap * sizeof(*grown));
		if (!grown)
			return err_set(e, ERR_FAIL, "out of memory for descriptors");
		memset(grown + h->n_files, 0, (cap - h->n_files) * sizeof(*grown));
		h->files = grown;
		h->n_files = cap;
	}
	f = h->files[ev->fd];
	if (f && (f->ev.ino != ev->ino || f->ev.dev != ev->dev || !ev->ino)) {
		household_drop(c, h, ev->fd);
		f = NULL;
	}
	if (!f && c->n_files++ >= FD_TOTAL)
		return err_set(e, ERR_DAMAGED, "the recording claims more than %d descriptors",
			       FD_TOTAL);
	f = f ? f : calloc(1, sizeof(*f));
	if (!f)
		return err_set(e, ERR_FAIL, "out of memory for descriptors");
	h->files[ev->fd] = f;
	f->ev = *ev;
	household_text(&f->path, path, n);
	return 0;
}

int household_inherit(struct census *c, struct household *child, const struct household *parent,
		      struct err *e)
{
	int ret = 0;
	u32 fd;

	if (parent->cmdline)
		household_text(&child->cmdline, parent->cmdline, strlen(parent->cmdline));
	for (fd = 0; fd < parent->n_files && ret == 0; fd++) {
		const struct belonging *f = parent->files[fd];
		struct ev_fd ev;

		if (!f || (fd < child->n_files && child->files[fd]))
			continue;
		ev = f->ev;
		ev.pid = child->pid;
		ret = household_put(c, child, &ev, f->path ? f->path : "",
				    f->path ? strlen(f->path) : 0, e);
	}
	return ret;
}
