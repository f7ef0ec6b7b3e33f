// SPDX-License-Identifier: GPL-2.0-or-later
/* Files that commands make. */
#include "outfile.h"

#include "newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int exists(const char *path, struct err *e)
{
	return err_set(e, ERR_FAIL,
		       "%.400s exists already; name another file with -o, or use --force", path);
}

int outfile_open(struct outfile *o, const char *path, bool force, struct err *e)
{
	struct stat sb;

	*o = (struct outfile){ .path = path, .force = force, .fd = -1 };
	if (strcmp(path, "-") == 0) {
		if (isatty(STDOUT_FILENO))
			return err_set(
				e, ERR_FAIL,
				"a recording is not for a terminal: redirect standard output, or "
				"name a file with -o");
		o->fd = STDOUT_FILENO;
		return 0;
	}
	if (lstat(path, &sb) == 0 && !force)
		return exists(path, e);
	newfile_sweep(path);
	o->fd = newfile_open(path, 0600);
	if (o->fd >= 0)
		return 0;
	if (buf_printf(&o->part, e, "%s.part-%ld", path, (long)getpid()) < 0)
		return ERR_FAIL;
	o->fd = open(o->part.data, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (o->fd < 0)
		return err_errno(e, ERR_FAIL, "cannot make %.400s", o->part.data);
	return 0;
}

static int name_it(struct outfile *o, struct err *e)
{
	if (newfile_name(o->fd, o->path, o->force) == 0)
		return 0;
	return errno == EEXIST ? exists(o->path, e)
			       : err_errno(e, ERR_FAIL, "cannot make %.400s", o->path);
}

/* Without force, a file that was created since is not replaced: link refuses that, rename does
 * not. */
static int give_name(struct outfile *o, struct err *e)
{
	if (!o->force && link(o->part.data, o->path) == 0) {
		unlink(o->part.data);
		return 0;
	}
	if (!o->force && errno == EEXIST)
		return exists(o->path, e);
	/* no links on this file system, or force */
	if (rename(o->part.data, o->path) < 0)
		return err_errno(e, ERR_FAIL, "cannot make %.400s", o->path);
	return 0;
}

int outfile_name(struct outfile *o, struct err *e)
{
	int ret;

	if (o->fd == STDOUT_FILENO || o->fd < 0)
		return 0;
	ret = o->part.data ? give_name(o, e) : name_it(o, e);
	if (ret == 0)
		buf_free(&o->part);
	return ret;
}

int outfile_keep(struct outfile *o, struct err *e)
{
	int failed = 0;

	if (o->fd != STDOUT_FILENO && o->fd >= 0)
		do
			failed = fsync(o->fd);
		while (failed < 0 && errno == EINTR);
	if (failed < 0 && errno != EINVAL)
		return err_errno(e, ERR_FAIL, "cannot write %.400s to its disk", o->path);
	return outfile_name(o, e);
}

void outfile_close(struct outfile *o)
{
	if (o->fd >= 0 && o->fd != STDOUT_FILENO) {
		close(o->fd);
		if (o->part.data)
			unlink(o->part.data);
	}
	o->fd = -1;
	buf_free(&o->part);
}

int outfile_nameless(struct err *e)
{
	FILE *f = tmpfile();
	int fd = f ? fcntl(fileno(f), F_DUPFD_CLOEXEC, 3) : -1;

	if (fd < 0)
		err_errno(e, ERR_FAIL, "cannot make a temporary file");
	if (f)
		fclose(f);
	return fd;
}

int random_bytes(void *to, size_t n, struct err *e)
{
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd >= 0 ? read(fd, to, n) : -1;

	if (fd >= 0)
		close(fd);
	return got == (ssize_t)n ? 0 : err_errno(e, ERR_FAIL, "cannot read random bytes");
}
