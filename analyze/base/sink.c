// SPDX-License-Identifier: GPL-2.0-or-later
/* A long result on its way out. */
#include "sink.h"

#include "newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define ENOUGH (64u << 10)

static int cannot(const char *path, struct err *e)
{
	if (errno == EEXIST)
		return err_set(e, ERR_FAIL, "%.400s exists already; name another file with -o",
			       path);
	return err_errno(e, ERR_FAIL, "cannot make %.400s", path);
}

int sink_open(struct sink *s, const char *path, struct err *e)
{
	*s = (struct sink){ .fd = STDOUT_FILENO };
	if (!path || strcmp(path, "-") == 0)
		return 0;
	s->path = path;
	s->nameless = access(path, F_OK) < 0 && (s->fd = newfile_open(path, 0666)) >= 0;
	if (!s->nameless)
		s->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	return s->fd >= 0 ? 0 : cannot(path, e);
}

static int put(struct sink *s, const char *data, size_t len, struct err *e)
{
	size_t at = 0;
	ssize_t n;

	while (at < len && !s->gone) {
		n = write(s->fd, data + at, len - at);
		if (n >= 0)
			at += n;
		else if (errno == EPIPE)
			s->gone = true;
		else if (errno != EINTR)
			return err_errno(e, ERR_FAIL, "cannot write %.400s",
					 s->path ? s->path : "the output");
	}
	return s->gone;
}

static int write_all(struct sink *s, struct err *e)
{
	int ret = put(s, s->b.data, s->b.len, e);

	buf_clear(&s->b);
	return ret;
}

int sink_more(struct sink *s, struct err *e)
{
	return s->b.len < ENOUGH ? s->gone : write_all(s, e);
}

int sink_close(struct sink *s, bool good, struct err *e)
{
	int ret = good ? write_all(s, e) : 0;
	bool named = !s->nameless;

	if (s->path && s->fd >= 0) {
		if (s->nameless && good && ret >= 0) {
			named = newfile_name(s->fd, s->path, false) == 0;
			ret = named ? 0 : cannot(s->path, e);
		}
		if (close(s->fd) < 0 && ret >= 0)
			ret = err_errno(e, ERR_FAIL, "cannot write %.400s", s->path);
		if (named && (!good || ret < 0))
			unlink(s->path);
	}
	buf_free(&s->b);
	return ret < 0 ? ret : 0;
}

int sink_write(const struct buf *b, const char *path, struct err *e)
{
	struct sink s;
	int ret = sink_open(&s, path, e), closed;

	if (ret < 0)
		return ret;
	ret = put(&s, b->data, b->len, e);
	closed = sink_close(&s, ret >= 0, e);
	return ret < 0 ? ret : closed;
}
