// SPDX-License-Identifier: GPL-2.0-or-later
/* Running gnuplot on a picture's rows. */
#define _GNU_SOURCE /* posix_spawn_file_actions_addchdir_np */
#include "analyze/base/sink.h"

#include "format/escape.h"
#include "pictures.h"
#include "say.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef PLOTS_DIR
#define PLOTS_DIR "plots"
#endif
#define SVG_MAX (8 << 20) /* bytes: more is not read back */

extern char **environ;

/*
 * In the directory of its files: then no name that the user chose reaches gnuplot, which runs a
 * name that begins with < or |, or the shell, by which it reads single cells.
 */
static int spawn(pid_t *pid, const char *dir, const char *const *argv, bool quiet)
{
	posix_spawn_file_actions_t actions;
	int why = posix_spawn_file_actions_init(&actions);

	if (why == 0 && quiet)
		why = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
						       O_WRONLY, 0);
	if (why == 0)
		why = posix_spawn_file_actions_addchdir_np(&actions, dir);
	if (why == 0)
		why = posix_spawnp(pid, "gnuplot", &actions, NULL, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return why;
}

static int run_gnuplot(const char *dir, const char *const *argv, bool quiet, struct err *e)
{
	int why, status;
	pid_t pid;

	why = spawn(&pid, dir, argv, quiet);
	while (why == 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_errno(e, ERR_FAIL, "cannot wait for gnuplot");
	/* 127: the same, where the new process cannot tell why it did not begin (POSIX) */
	if (why == ENOENT || (why == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 127))
		return err_set(e, ERR_ENV,
			       "pictures need gnuplot, which is not installed here "
			       "(Debian: gnuplot-nox)");
	if (why != 0) {
		errno = why;
		return err_errno(e, ERR_ENV, "cannot run gnuplot");
	}
	if (!WIFEXITED(status))
		return err_set(e, ERR_ENV, "pictures need gnuplot, which cannot be run here");
	return WEXITSTATUS(status) == 0 ? 0 : err_set(e, ERR_FAIL, "gnuplot failed");
}

/* The installed file, or the one in the source tree; OBS_PLOTS names another directory. */
static int find_gp(struct buf *path, const char *name, struct err *e)
{
	const char *dir = getenv("OBS_PLOTS");
	char *whole = realpath(dir ? dir : PLOTS_DIR, NULL); /* gnuplot runs elsewhere */
	int ret = buf_printf(path, e, "%s/%s.gp", whole ? whole : dir ? dir : PLOTS_DIR, name);

	free(whole);
	if (ret == 0 && access(path->data, R_OK) < 0)
		ret = err_errno(e, ERR_FAIL, "cannot read the drawing instructions %.400s",
				path->data);
	return ret;
}

/* gnuplot does not say that a disk is full: only the end of the file shows it. */
static bool is_whole(const char *file, const char *format)
{
	const char *mark = strcmp(format, "png") == 0 ? "IEND" : "</svg>";
	char end[17] = "";
	FILE *f = fopen(file, "rb");
	bool whole = f && fseek(f, -16, SEEK_END) == 0 && fread(end, 1, 16, f) == 16;
	size_t i;

	for (i = 0; i < 16; i++)
		end[i] = end[i] ? end[i] : ' ';
	if (f)
		fclose(f);
	return whole && strstr(end, mark);
}

/* No half picture is left. drawn: what became of gnuplot. */
static int check_end(int drawn, const char *dir, const char *name, const char *format,
		     struct err *e)
{
	struct buf file = { 0 };
	int ret = drawn;

	if (drawn != 0 && drawn != ERR_FAIL) /* it never ran */
		return drawn;
	if (buf_printf(&file, e, "%s/%s", dir, name) < 0)
		return ERR_FAIL;
	if (drawn == 0 && !is_whole(file.data, format))
		ret = err_set(e, ERR_FAIL,
			      "gnuplot could not write the whole of %.400s: is the disk full?",
			      file.data);
	if (ret < 0)
		unlink(file.data);
	buf_free(&file);
	return ret;
}

int picture_draw(const struct picture *p, const char *dir, const char *data, const char *file,
		 const struct picture_look *look, struct err *e)
{
	const char *note = look->note ? look->note : "";
	struct buf gp = { 0 }, text = { 0 };
	char start[32]; /* s */
	int ret = find_gp(&gp, p->name, e);

	snprintf(start, sizeof(start), "%.3f", (double)look->start_ms / 1e3);
	if (ret == 0)
		ret = escape_add(&text, ESCAPE_TEXT, note, strlen(note), e);
	if (ret == 0)
		ret = buf_add(&text, "", 1, e);
	if (ret == 0) {
		const char *argv[] = { "gnuplot",    "-c",	gp.data, data, file,
				       look->format, text.data, start,	 NULL };

		ret = check_end(run_gnuplot(dir, argv, look->quiet, e), dir, file, look->format, e);
	}
	buf_free(&gp);
	buf_free(&text);
	return ret;
}

static int read_svg(struct buf *out, const char *path, struct err *e)
{
	FILE *f = fopen(path, "rb");
	char part[4096];
	size_t n;
	int ret = f ? 0 : err_errno(e, ERR_FAIL, "cannot read the picture %.400s", path);

	while (ret == 0 && (n = fread(part, 1, sizeof(part), f)) > 0)
		ret = out->len + n > SVG_MAX ? err_set(e, ERR_FAIL, "the picture is too large")
					     : buf_add(out, part, n, e);
	if (f && ferror(f) && ret == 0)
		ret = err_errno(e, ERR_FAIL, "cannot read the picture %.400s", path);
	if (f)
		fclose(f);
	return ret;
}

/* In a directory of its own, which is gone afterwards. */
static int draw_inline(struct buf *svg, const struct buf *tsv, const struct picture *p,
		       s64 start_ms, struct err *e)
{
	struct picture_look look = { .format = "inline", .start_ms = start_ms, .quiet = true };
	const char *tmp = getenv("TMPDIR");
	struct buf dir = { 0 }, data = { 0 }, file = { 0 };
	int ret = buf_printf(&dir, e, "%s/obsanalyze-XXXXXX", tmp && *tmp ? tmp : "/tmp");

	if (ret == 0 && !mkdtemp(dir.data)) {
		ret = err_errno(e, ERR_FAIL, "cannot make a directory like %.400s", dir.data);
		buf_free(&dir);
		return ret;
	}
	if (ret == 0)
		ret = buf_printf(&data, e, "%s/data.tsv", dir.data);
	if (ret == 0)
		ret = buf_printf(&file, e, "%s/picture.svg", dir.data);
	if (ret == 0)
		ret = sink_write(tsv, data.data, e);
	if (ret == 0)
		ret = picture_draw(p, dir.data, "data.tsv", "picture.svg", &look, e);
	if (ret == 0)
		ret = read_svg(svg, file.data, e);
	if (data.data)
		unlink(data.data);
	if (file.data)
		unlink(file.data);
	if (dir.data)
		rmdir(dir.data);
	buf_free(&dir);
	buf_free(&data);
	buf_free(&file);
	return ret;
}

int picture_inline(struct buf *out, sqlite3 *db, const struct picture *p, struct err *e)
{
	struct buf tsv = { 0 }, svg = { 0 };
	s64 start_ms = 0;
	int ret = say_start_ms(db, &start_ms, e);

	if (ret == 0)
		ret = picture_data(&tsv, db, p, e);
	if (ret > 0) {
		ret = draw_inline(&svg, &tsv, p, start_ms, e);
		if (ret == 0)
			ret = svg_inline(out, svg.data, svg.len, p->name, p->shows, NULL, e);
		ret = ret < 0 ? ret : 1;
	}
	buf_free(&tsv);
	buf_free(&svg);
	return ret;
}
