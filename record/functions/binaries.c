// SPDX-License-Identifier: GPL-2.0-or-later
/* A path means what it means to the process that is recorded, which may live in a container. */
#define _GNU_SOURCE /* asprintf, strsep */
#include "binaries.h"

#include "elfparts.h"
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
#define MAPS_MAX  (16u << 20) /* bytes read of /proc/PID/maps */
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
	if (b->place >= 0)
		close(b->place);
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

static int cannot_read(const char *path, const struct err *why, struct err *e)
{
	if (why->text[0])
		return err_set(e, ERR_FAIL, "%s%s", path, why->text);
	if (errno == EISDIR || errno == EINVAL)
		return err_set(e, ERR_FAIL, "%s is not a file", path);
	if (errno == ETIMEDOUT)
		return err_set(e, ERR_FAIL,
			       "cannot read the binary %s: its file system does not respond", path);
	return err_errno(e, ERR_FAIL, "cannot read the binary %s", path);
}

static bool is_known(struct search *s, int root, const char *path)
{
	struct safe_stat st;
	int i;

	if (safe_stat_in(&s->b->files, root, path, &st) < 0)
		return false;
	for (i = 0; i < s->b->n; i++)
		if (s->b->list[i]->dev == st.dev && s->b->list[i]->ino == st.ino) {
			remember(s, i);
			return true;
		}
	return false;
}

/* 0: a copy, of all that is asked of its server; 1: it is in the list already; -1 with errno. */
static int copy_symbols(struct search *s, int root, const char *path, struct safe_copy *ret)
{
	ret->why.text[0] = '\0';
	if (is_known(s, root, path))
		return 1;
	return safe_parts_place(&s->b->files, root, path, elfparts_symbols, ELFPARTS_SYMBOLS_MAX,
				ret);
}

static struct binary *new_binary(struct search *s, const struct safe_copy *copy, u32 pid,
				 const char *path)
{
	struct binary *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->dev = copy->stat.dev;
	b->ino = copy->stat.ino;
	b->elf.fd = -1;
	b->place = copy->place;
	b->files = &s->b->files;
	b->root = rootdir_open(b->files, pid);
	b->path = strdup(path);
	if (asprintf(&b->shown, "%s%.0u%s%s", pid ? "/proc/" : "", pid, pid ? "/root" : "", path) <
	    0)
		b->shown = NULL;
	return b;
}

/* Takes the copy over: of the file at path as the process sees it (0: as we do). */
static int add(struct search *s, struct safe_copy *copy, u32 pid, const char *path, struct err *e)
{
	struct binary *b = s->b->n < BINARIES_MAX ? new_binary(s, copy, pid, path) : NULL;

	if (!b || !b->path || !b->shown) {
		close(copy->image);
		if (b)
			binary_free(b);
		else
			close(copy->place);
		return s->b->n < BINARIES_MAX
			       ? err_set(e, ERR_FAIL, "out of memory for %s", path)
			       : err_set(e, ERR_FAIL,
					 "functions of at most %d files can be recorded",
					 BINARIES_MAX);
	}
	if (elffile_from_parts(&b->elf, copy->image, b->path, e) < 0) {
		binary_free(b);
		return ERR_FAIL;
	}
	memcpy(b->build_id, b->elf.build_id, sizeof(b->build_id));
	s->b->list[s->b->n] = b;
	return remember(s, s->b->n++);
}

/* A path of this host; /proc/PID/exe too. */
static int add_here(struct search *s, const char *path, struct err *e)
{
	struct safe_copy copy;
	char real[PATH_MAX];
	int found = copy_symbols(s, -1, path, &copy);

	if (found < 0)
		return cannot_read(path, &copy.why, e);
	return found ? 0 : add(s, &copy, 0, rootdir_path(copy.place, real) ? real : path, e);
}

/* An absolute path below the root of a process; 0: of this host. */
static int add_below(struct search *s, u32 pid, const char *path, struct err *e)
{
	struct safe_copy copy = { .why = { 0 } };
	int root, found;

	if (!pid || rootdir_is_ours(pid))
		return add_here(s, path, e);
	root = rootdir_open(&s->b->files, pid);
	found = root < 0 ? -1 : copy_symbols(s, root, path, &copy);
	if (found < 0 && (copy.why.text[0] || errno == ETIMEDOUT))
		cannot_read(path, &copy.why, e);
	else if (found < 0)
		err_errno(
			e, ERR_FAIL,
			"cannot read the binary %s as process %u sees it (with -p, paths are those of the process)",
			path, pid);
	if (root >= 0)
		close(root);
	if (found)
		return found < 0 ? ERR_FAIL : 0;
	return add(s, &copy, pid, path, e);
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

/* One line of /proc/PID/maps: the very file that is mapped, even if it is deleted. */
static int add_line(struct search *s, u32 pid, char *line, struct err *e)
{
	char perms[8], path[128], *file, *end;
	struct safe_copy copy;
	unsigned long from, to;
	int at = 0, found, root;

	if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %n", &from, &to, perms, &at) < 3 || !at ||
	    !strchr(perms, 'x') || line[at] != '/')
		return 0;
	file = line + at;
	end = strstr(file, " (deleted)");
	if (end && !end[10])
		*end = '\0';
	if (!binaries_name_fits(s->name, strrchr(file, '/') + 1))
		return 0;
	snprintf(path, sizeof(path), "/proc/%u/map_files/%lx-%lx", pid, from, to);
	found = copy_symbols(s, -1, path, &copy);
	if (found < 0 && errno != ETIMEDOUT && !copy.why.text[0]) {
		root = rootdir_open(&s->b->files, pid);
		found = root < 0 ? -1 : copy_symbols(s, root, file, &copy);
		if (root >= 0)
			close(root);
	}
	if (found == 0)
		return add(s, &copy, rootdir_is_ours(pid) ? 0 : pid, file, e);
	/* another file of that name may be readable */
	return found < 0 && (errno == ETIMEDOUT || copy.why.text[0])
		       ? cannot_read(file, &copy.why, e)
		       : 0;
}

/* A process stuck in its memory map blocks the read. */
static int add_mapped(struct search *s, u32 pid, struct err *e)
{
	char path[64], *text, *line, *next;
	size_t length;
	int ret = 0;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	text = safe_long_text(&s->b->files, -1, path, MAPS_MAX, &length);
	if (!text && errno == ETIMEDOUT)
		return err_set(e, ERR_FAIL,
			       "cannot read the memory map of process %u: it does not respond; "
			       "give the path of %.100s",
			       pid, s->name);
	for (next = text; ret == 0 && (line = strsep(&next, "\n"));)
		ret = add_line(s, pid, line, e);
	free(text);
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
	char *text = malloc(CACHE_MAX + 1);
	int tries = TRIES_MAX;
	struct safe_copy copy;
	const char *path;
	bool found = false;
	ssize_t size = 0;
	size_t at = 0;

	if (safe_parts_place(&s->b->files, root, "/etc/ld.so.cache", safe_first, CACHE_MAX,
			     &copy) == 0) {
		size = text ? pread(copy.image, text, CACHE_MAX, 0) : 0;
		close(copy.image);
		close(copy.place);
	}
	if (size > 0)
		text[size] = '\0';
	while (!found && size > 0 && tries-- > 0 &&
	       (path = binaries_cached(text, size, s->name, &at)))
		found = add_below(s, pid, path, e) == 0;
	free(text);
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
	int root = rootdir_open(&s->b->files, pid);
	bool found = root >= 0 && add_cached(s, pid, root, e);

	if (root >= 0)
		close(root);
	return found || add_from_list(s, pid, places, e);
}

/* A name without a slash. */
static int add_by_name(struct search *s, const u32 *pids, int n_pids, struct err *e)
{
	struct err ignored = { 0 };
	struct safe_stat st;
	int i, ret = 0;

	for (i = 0; i < n_pids && ret == 0; i++)
		ret = add_mapped(s, pids[i], e);
	if (ret < 0 || s->n)
		return ret;
	if (safe_stat(&s->b->files, s->name, &st) == 0 && S_ISREG(st.mode))
		return add_here(s, s->name, e);
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
	else
		r = add_here(&s, name, e);
	return r < 0 ? r : s.n;
}

void binaries_forget(struct binaries *b)
{
	int i;

	for (i = 0; i < b->n; i++)
		elffile_close(&b->list[i]->elf);
	safe_end(&b->files);
}

void binaries_free(struct binaries *b)
{
	int i;

	safe_end(&b->files);
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
