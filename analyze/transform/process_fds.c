// SPDX-License-Identifier: GPL-2.0-or-later
/* What the processes of a census own: descriptors and texts. */
#include "process_state.h"

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
	struct belonging *f = fdmap_get(&h->files, fd);

	if (!f)
		return;
	free(f->path);
	free(f);
	fdmap_put(&h->files, fd, NULL, &c->fd_memory, NULL);
	c->n_files--;
}

void household_free(struct census *c, struct household *h)
{
	s64 fd;

	for (fd = 0; fdmap_next(&h->files, &fd); fd++)
		household_drop(c, h, fd);
	fdmap_free(&h->files, &c->fd_memory);
	free(h->cmdline);
	free(h);
}

int household_put(struct census *c, struct household *h, const struct ev_fd *ev, const char *path,
		  size_t n, struct err *e)
{
	struct belonging *f = fdmap_get(&h->files, ev->fd);
	int ret;

	if (ev->fd < 0)
		return 0;
	if (f && (f->ev.ino != ev->ino || f->ev.dev != ev->dev || !ev->ino)) {
		household_drop(c, h, ev->fd);
		f = NULL;
	}
	if (!f && c->n_files >= FD_TOTAL)
		return err_set(e, ERR_DAMAGED, "the recording claims more than %d fds", FD_TOTAL);
	if (!f) {
		f = calloc(1, sizeof(*f));
		if (!f)
			return err_set(e, ERR_FAIL, "out of memory for fds");
		ret = fdmap_put(&h->files, ev->fd, f, &c->fd_memory, e);
		if (ret < 0) {
			free(f);
			return ret;
		}
		c->n_files++;
	}
	f->ev = *ev;
	household_text(&f->path, path, n);
	return 0;
}

int household_inherit(struct census *c, struct household *child, const struct household *parent,
		      struct err *e)
{
	const struct belonging *f;
	int ret = 0;
	s64 fd;

	if (parent->cmdline)
		household_text(&child->cmdline, parent->cmdline, strlen(parent->cmdline));
	for (fd = 0; ret == 0 && (f = fdmap_next(&parent->files, &fd)); fd++) {
		struct ev_fd ev;

		if (fdmap_get(&child->files, fd))
			continue;
		ev = f->ev;
		ev.pid = child->pid;
		ret = household_put(c, child, &ev, f->path ? f->path : "",
				    f->path ? strlen(f->path) : 0, e);
	}
	return ret;
}
