// SPDX-License-Identifier: GPL-2.0-or-later
/* Pictures as files of their own, with their numbers next to them if they are wanted. */
#include "analyze/base/sink.h"

#include "pictures.h"
#include "say.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int picture_format(struct picture_files *f, const char *arg, struct err *e)
{
	if (strcmp(arg, "svg") != 0 && strcmp(arg, "png") != 0)
		return err_set(e, ERR_FAIL, "--format knows svg and png, not %.40s", arg);
	f->format = arg;
	return 0;
}

int picture_dir(const struct picture_files *f, struct err *e)
{
	if (mkdir(f->dir, 0777) < 0 && errno != EEXIST)
		return err_errno(e, ERR_FAIL, "cannot make the directory %.400s", f->dir);
	return 0;
}

static int draw_rows(const struct buf *tsv, s64 start_ms, const struct picture *p,
		     const struct picture_files *f, struct err *e)
{
	struct picture_look look = { .format = f->format, .note = f->note, .start_ms = start_ms };
	struct buf data = { 0 }, path = { 0 }, file = { 0 };
	/* rows that are not kept take no name that a file of the user's may have */
	int ret = f->keep ? buf_printf(&data, e, "%s.tsv", p->name)
			  : buf_printf(&data, e, ".%s-%ld.tsv", p->name, (long)getpid());

	if (ret == 0)
		ret = buf_printf(&path, e, "%s/%s", f->dir, data.data);
	if (ret == 0)
		ret = buf_printf(&file, e, "%s.%s", p->name, f->format);
	if (ret == 0)
		unlink(path.data);
	if (ret == 0)
		ret = sink_write(tsv, path.data, e);
	if (ret == 0)
		ret = picture_draw(p, f->dir, data.data, file.data, &look, e);
	if (path.data && (!f->keep || ret < 0))
		unlink(path.data);
	if (ret == 0 && f->list)
		fprintf(f->list, "%s/%s\n", f->dir, file.data);
	buf_free(&data);
	buf_free(&path);
	buf_free(&file);
	return ret;
}

int picture_file(sqlite3 *db, const struct picture *p, const struct picture_files *f, struct err *e)
{
	struct buf tsv = { 0 };
	s64 start_ms = 0;
	int ret = say_start_ms(db, &start_ms, e), drawn = 0;

	if (ret == 0)
		ret = picture_data(&tsv, db, p, e);
	drawn = ret > 0;
	if (drawn)
		ret = draw_rows(&tsv, start_ms, p, f, e);
	buf_free(&tsv);
	return ret < 0 ? ret : drawn;
}
