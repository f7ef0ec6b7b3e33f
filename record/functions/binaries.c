// SPDX-License-Identifier: GPL-2.0-or-later
/* A path means what it means to the process that is recorded, which may live in a container. */
#define _GNU_SOURCE /* asprintf */
#include "binaries.h"

#include "rootdir.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CACHE_MAX (16u << 20)
#define TRIES_MAX 16 /* paths of ld.so.cache that fit a name: namesakes in several directories */

struct search {
	struct binaries *b;
	int *ret;
	int n;
	const char *name;
};

static void binary_free(struct binary *b)
{
	elffile_close(&b->elf);
	if (b->root >= 0)
		close(b->root);
	free(b->path);
	free(b->shown);
	free(b);
}

static int remember(struct search *s, int index)
{
	int i;

	for (i = 0; i < s->n; i++)
		if (s->ret[i] == index)
			return 0;
	s->ret[s->n++] = index;
	return 0;
}

/* Takes fd over: the file at path as the process sees it (0: as we do). */
static int add(struct search *s, int fd, u32 pid, const char *path, struct err *e)
{
	struct binary *b;
	struct stat st;
	int i, ret = ERR_FAIL;

	if (fstat(fd, &st) == 0)
		for (i = 0; i < s->b->n; i++)
			if (s->b->list[i]->dev == st.st_dev && s->b->list[i]->ino == st.st_ino) {
				close(fd);
				return remember(s, i);
			}
	b = calloc(1, sizeof(*b));
	if (!b || s->b->n == BINARIES_MAX) {
		close(fd);
		free(b);
		return err_set(e, ERR_FAIL, "functions of at most %d files can be recorded",
			       BINARIES_MAX);
	}
	b->dev = st.st_dev;
	b->ino = st.st_ino;
	b->elf.fd = -1;
	b->root = rootdir_open(pid);
	b->path = strdup(path);
	if (!b->path || asprintf(&b->shown, "%s%.0u%s%s", pid ? "/proc/" : "", pid,
				 pid ? "/root" : "", path) < 0) {
		b->shown = NULL;
		close(fd);
		err_set(e, ERR_FAIL, "out of memory");
		goto out;
	}
	ret = elffile_open(&b->elf, fd, b->path, e);
	if (ret == 0) {
		s->b->list[s->b->n] = b;
		return remember(s, s->b->n++);
	}
out:
	binary_free(b);
	return ret;
}

static int cannot_read(const char *path, struct err *e)
{
	if (errno == EISDIR || errno == EINVAL)
		return err_set(e, ERR_FAIL, "%s is not a file", path);
	if (errno == ETIMEDOUT)
		return err_set(e, ERR_FAIL,
			       "cannot read the binary %s: its file system does not respond", path);
	return err_errno(e, ERR_FAIL, "cannot read the binary %s", path);
}

/* A path of this host without links; false, with errno, if there is no such file. */
static bool resolve(const char *name, char real[PATH_MAX])
{
	int fd = rootdir_file(-1, name);
	bool found = fd >= 0 && rootdir_path(fd, real);

	if (fd >= 0)
		close(fd);
	return found;
}

/* An absolute path of this host; /proc/PID/exe too. */
static int add_here(struct search *s, const char *path, struct err *e)
{
	int fd = rootdir_file(-1, path);
	char real[PATH_MAX];

	if (fd < 0)
		return cannot_read(path, e);
	return add(s, fd, 0, rootdir_path(fd, real) ? real : path, e);
}

/* An absolute path below the root of a process; 0: of this host. */
static int add_below(struct search *s, u32 pid, const char *path, struct err *e)
{
	int root, fd;

	if (!pid || rootdir_is_ours(pid))
		return add_here(s, path, e);
	root = rootdir_open(pid);
	fd = root < 0 ? -1 : rootdir_file(root, path);
	if (fd < 0)
		err_errno(
			e, ERR_FAIL,
			"cannot read the binary %s as process %u sees it (with -p, paths are those of the process)",
			path, pid);
	if (root >= 0)
		close(root);
	return fd < 0 ? ERR_FAIL : add(s, fd, pid, path, e);
}

bool binaries_name_fits(const char *name, const char *base)
{
	size_t n = strlen(name);
	const char *rest = base + n;

	if (strncmp(name, base, n) != 0)
		return false;
	if (!*rest)
		return true;
	/* libc.so.6, libc-2.31.so */
	return !strstr(name, ".so") &&
	       (strncmp(rest, ".so", 3) == 0 ||
		(rest[0] == '-' && isdigit((unsigned char)rest[1]) && strstr(rest, ".so")));
}

/* One line of /proc/PID/maps: opens the very file that is mapped, even if it is deleted. */
static int open_mapped(u32 pid, char *line, const char *name, const char **ret_path)
{
	char perms[8], path[128], *file, *end;
	unsigned long from, to;
	int at = 0, fd, root;

	if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %n", &from, &to, perms, &at) < 3 || !at ||
	    !strchr(perms, 'x') || line[at] != '/')
		return -1;
	file = line + at;
	file[strcspn(file, "\n")] = '\0';
	end = strstr(file, " (deleted)");
	if (end && !end[10])
		*end = '\0';
	if (!binaries_name_fits(name, strrchr(file, '/') + 1))
		return -1;
	*ret_path = file;
	snprintf(path, sizeof(path), "/proc/%u/map_files/%lx-%lx", pid, from, to);
	fd = rootdir_file(-1, path);
	if (fd >= 0)
		return fd;
	root = rootdir_open(pid);
	fd = root < 0 ? -1 : rootdir_file(root, file);
	if (root >= 0)
		close(root);
	return fd;
}

static int add_mapped(struct search *s, u32 pid, struct err *e)
{
	bool ours = rootdir_is_ours(pid);
	char path[64], *line = NULL;
	const char *file;
	size_t size = 0;
	int fd, ret = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	f = fopen(path, "re"); /* of /proc itself */
	while (f && ret == 0 && getline(&line, &size, f) > 0) {
		fd = open_mapped(pid, line, s->name, &file);
		if (fd >= 0)
			ret = add(s, fd, ours ? 0 : pid, file, e);
	}
	free(line);
	if (f)
		fclose(f);
	return ret;
}

const char *binaries_cached(const char *text, size_t size, const char *name, size_t *at)
{
	const char *path, *base;
	size_t n;

	while (*at < size) {
		path = text + *at;
		n = strlen(path);
		*at += n + 1;
		base = path[0] == '/' && n < PATH_MAX ? strrchr(path, '/') + 1 : NULL;
		if (base && binaries_name_fits(name, base) && !strstr(path, "32/"))
			return path;
	}
	return NULL;
}

/* Opens a library whose path is in ld.so.cache. */
static bool add_cached(struct search *s, u32 pid, int root, struct err *e)
{
	int fd = rootdir_file(root, "/etc/ld.so.cache"), tries = TRIES_MAX;
	char *text = malloc(CACHE_MAX + 1);
	struct stat st;
	ssize_t size = fd >= 0 && text && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)
			       ? read(fd, text, CACHE_MAX)
			       : 0;
	const char *path;
	bool found = false;
	size_t at = 0;

	if (size > 0)
		text[size] = '\0';
	while (!found && size > 0 && tries-- > 0 &&
	       (path = binaries_cached(text, size, s->name, &at)))
		found = add_below(s, pid, path, e) == 0;
	free(text);
	if (fd >= 0)
		close(fd);
	return found;
}

/* Below a directory of a list that is separated by colons. */
static bool add_from_list(struct search *s, u32 pid, const char *list, struct err *e)
{
	char path[PATH_MAX];
	size_t n;

	for (; list && *list; list += n + (list[n] == ':')) {
		n = strcspn(list, ":");
		if (list[0] == '/' &&
		    snprintf(path, sizeof(path), "%.*s/%s", (int)n, list, s->name) < PATH_MAX &&
		    add_below(s, pid, path, e) == 0)
			return true;
	}
	return false;
}

static bool add_library(struct search *s, u32 pid, struct err *e)
{
	static const char places[] = "/usr/local/lib:/lib64:/usr/lib64:/lib:/usr/lib";
	int root = rootdir_open(pid);
	bool found = root >= 0 && add_cached(s, pid, root, e);

	if (root >= 0)
		close(root);
	return found || add_from_list(s, pid, places, e);
}

/* A name without a slash. */
static int add_by_name(struct search *s, const u32 *pids, int n_pids, struct err *e)
{
	struct err ignored = { 0 };
	char real[PATH_MAX];
	int i, ret = 0;

	for (i = 0; i < n_pids && ret == 0; i++)
		ret = add_mapped(s, pids[i], e);
	if (ret < 0 || s->n)
		return ret;
	if (resolve(s->name, real))
		return add_below(s, 0, real, e);
	if (add_library(s, n_pids ? pids[0] : 0, &ignored) ||
	    add_from_list(s, 0, getenv("PATH"), &ignored))
		return 0;
	return err_set(e, ERR_FAIL,
		       "cannot read the binary %.100s: no such file, library or program%s", s->name,
		       n_pids ? " of the processes" : "; use a path for others");
}

int binaries_find(struct binaries *b, int ret[BINARIES_MAX], const char *name, const u32 *pids,
		  int n_pids, struct err *e)
{
	struct search s = { .b = b, .ret = ret, .name = name };
	char real[PATH_MAX];
	int i, at = 0, r = 0;
	u32 pid;

	if (sscanf(name, "/proc/%u/root%n", &pid, &at) == 1 && at && name[at] == '/')
		r = add_below(&s, pid, name + at, e);
	else if (name[0] == '/' && n_pids)
		for (i = 0; i < n_pids && r == 0; i++)
			r = add_below(&s, pids[i], name, e);
	else if (name[0] == '/')
		r = add_below(&s, 0, name, e);
	else if (!strchr(name, '/'))
		r = add_by_name(&s, pids, n_pids, e);
	else if (resolve(name, real))
		r = add_below(&s, 0, real, e);
	else
		r = cannot_read(name, e);
	return r < 0 ? r : s.n;
}

void binaries_free(struct binaries *b)
{
	int i;

	for (i = 0; i < b->n; i++)
		binary_free(b->list[i]);
	b->n = 0;
}

/* Ends of the file's name: colons that are not a part of "::". */
static const char *next_colon(const char *from)
{
	for (; (from = strchr(from, ':')); from += strspn(from, ":"))
		if (from[1] != ':' && from[1])
			return from;
	return NULL;
}

int binaries_of_text(struct binaries *b, int files[BINARIES_MAX], const char *text, const u32 *pids,
		     int n_pids, const char **ret_function, struct err *e)
{
	const char *colon = next_colon(text);
	struct err first = { 0 };
	int n = ERR_FAIL;
	char *name;

	*ret_function = NULL;

	for (; n < 0 && colon; colon = next_colon(colon + 1)) {
		name = strndup(text, colon - text);
		if (!name)
			return err_set(e, ERR_FAIL, "out of memory");
		*ret_function = colon + 1;
		n = binaries_find(b, files, name, pids, n_pids, first.text[0] ? e : &first);
		free(name);
	}
	if (n >= 0)
		return n;
	if (!first.text[0])
		return err_set(e, ERR_FAIL, "'%.60s' has no FILE:FUNCTION", text);
	*e = first;
	return ERR_FAIL;
}
