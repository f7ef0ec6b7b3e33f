// SPDX-License-Identifier: GPL-2.0-or-later
/* The fd tables and texts of processes. */
#include "process_state.h"

#include <stdlib.h>
#include <string.h>

void state_text(char **text, const char *bytes, size_t n)
{
	char *copy = n ? strndup(bytes, n) : NULL;

	if (!copy)
		return;
	free(*text);
	*text = copy;
}

void state_fd_drop(struct process_state *p, struct state_process *proc, s64 fd)
{
	struct state_fd *f = fdmap_get(&proc->files, fd);

	if (!f)
		return;
	free(f->path);
	free(f);
	fdmap_put(&proc->files, fd, NULL, &p->fd_memory, NULL);
	p->n_files--;
}

void state_process_free(struct process_state *p, struct state_process *proc)
{
	s64 fd;

	for (fd = 0; fdmap_next(&proc->files, &fd); fd++)
		state_fd_drop(p, proc, fd);
	fdmap_free(&proc->files, &p->fd_memory);
	free(proc->cmdline);
	free(proc);
}

int state_fd_put(struct process_state *p, struct state_process *proc, const struct ev_fd *ev,
		 const char *path, size_t n, struct err *e)
{
	struct state_fd *f = fdmap_get(&proc->files, ev->fd);
	int ret;

	if (ev->fd < 0)
		return 0;
	if (f && (f->ev.ino != ev->ino || f->ev.dev != ev->dev || !ev->ino)) {
		state_fd_drop(p, proc, ev->fd);
		f = NULL;
	}
	if (!f && p->n_files >= FD_TOTAL)
		return err_set(e, ERR_DAMAGED, "the recording claims more than %d fds", FD_TOTAL);
	if (!f) {
		f = calloc(1, sizeof(*f));
		if (!f)
			return err_set(e, ERR_FAIL, "out of memory for fds");
		ret = fdmap_put(&proc->files, ev->fd, f, &p->fd_memory, e);
		if (ret < 0) {
			free(f);
			return ret;
		}
		p->n_files++;
	}
	f->ev = *ev;
	state_text(&f->path, path, n);
	return 0;
}

int state_process_inherit(struct process_state *p, struct state_process *child,
			  const struct state_process *parent, struct err *e)
{
	const struct state_fd *f;
	int ret = 0;
	s64 fd;

	if (parent->cmdline)
		state_text(&child->cmdline, parent->cmdline, strlen(parent->cmdline));
	for (fd = 0; ret == 0 && (f = fdmap_next(&parent->files, &fd)); fd++) {
		struct ev_fd ev;

		if (fdmap_get(&child->files, fd))
			continue;
		ev = f->ev;
		ev.pid = child->pid;
		ret = state_fd_put(p, child, &ev, f->path ? f->path : "",
				   f->path ? strlen(f->path) : 0, e);
	}
	return ret;
}
