// SPDX-License-Identifier: GPL-2.0-or-later
/* Cgroups of the host. */
#define _GNU_SOURCE /* strsep */
#include "cgroups.h"

#include "containers.h"
#include "record/files/procfs.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DEPTH_MAX 32
#define STOPPED	  1 /* the walk ends: a signal to stop is pending */

/* True if the comma-separated list has the word. */
static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word), m;

	for (;; list += m + 1) {
		m = strcspn(list, ",\n");
		if (m == n && memcmp(list, word, n) == 0)
			return true;
		if (list[m] != ',')
			return false;
	}
}

/* The number of a hierarchy of version 1 by one of its options, from /proc/self/cgroup. */
static bool hierarchy_of(const char *options, u32 *ret)
{
	char line[512], list[256];
	unsigned int number;
	FILE *f = fopen("/proc/self/cgroup", "re");
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%u:%255[^:]:", &number, list) != 2)
			continue;
		list[strcspn(list, ",")] = '\0'; /* one controller is enough to tell */
		found = has_word(options, list);
	}
	if (f)
		fclose(f);
	*ret = found ? number : 0;
	return found;
}

/* A line of mountinfo(5): "... mount-point options - type source super-options". */
static void add_mount(struct cgroups *c, char *line)
{
	struct cgroup_mount *m = &c->mounts[c->n_mounts];
	char path[512], type[64], options[512], *rest = strstr(line, " - ");

	if (!rest || c->n_mounts == CGROUP_MOUNTS ||
	    sscanf(line, "%*d %*d %*s %*s %511s", path) != 1 ||
	    sscanf(rest, " - %63s %*s %511s", type, options) != 2)
		return;
	if (strcmp(type, "cgroup2") == 0)
		*m = (struct cgroup_mount){ .version2 = true };
	else if (strcmp(type, "cgroup") != 0 || !hierarchy_of(options, &m->hierarchy))
		return;
	m->path = strdup(path);
	if (!m->path)
		return;
	c->n_mounts++;
	if (!m->version2 && has_word(options, "cpu"))
		c->cpu = m;
	else if (m->version2 && !c->cpu)
		c->cpu = m;
	if (!m->version2 && has_word(options, "memory"))
		c->memory = m;
}

int cgroups_find(struct cgroups *ret, struct err *e)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[4096];

	*ret = (struct cgroups){ 0 };
	if (!f)
		return err_errno(e, ERR_ENV, "cannot read /proc/self/mountinfo");
	while (fgets(line, sizeof(line), f))
		add_mount(ret, line);
	fclose(f);
	return 0;
}

void cgroups_free(struct cgroups *c)
{
	while (c->n_mounts > 0)
		free(c->mounts[--c->n_mounts].path);
	c->cpu = c->memory = NULL;
}

u64 cgroups_id(const char *dir)
{
	struct stat sb;

	return stat(dir, &sb) == 0 && S_ISDIR(sb.st_mode) ? sb.st_ino : 0;
}

/* The mount that a directory is below. */
static const struct cgroup_mount *mount_of(const struct cgroups *c, const char *dir)
{
	const struct cgroup_mount *best = NULL;
	size_t n;
	int i;

	for (i = 0; i < c->n_mounts; i++) {
		n = strlen(c->mounts[i].path);
		if (strncmp(dir, c->mounts[i].path, n) == 0 && (!dir[n] || dir[n] == '/') &&
		    (!best || n > strlen(best->path)))
			best = &c->mounts[i];
	}
	return best;
}

int cgroups_lookup(const struct cgroups *c, const char *name, char *dir,
		   const struct cgroup_mount **ret_mount, struct err *e)
{
	int i;

	if (realpath(name, dir) && (*ret_mount = mount_of(c, dir)) != NULL)
		return 0;
	/* the hierarchy of CPU time first, since it has most facts */
	for (i = -1; i < c->n_mounts; i++) {
		*ret_mount = i < 0 ? c->cpu : &c->mounts[i];
		if (!*ret_mount)
			continue;
		snprintf(dir, PATH_MAX, "%s/%.2000s", (*ret_mount)->path, name + (*name == '/'));
		if (cgroups_id(dir))
			return 0;
	}
	return err_set(e, ERR_FAIL, "no cgroup %.200s; /proc/PID/cgroup shows those of a process",
		       name);
}

struct search {
	const char *name;
	char *dir; /* where the container is */
	struct container_files files;
	char id[2][65]; /* of containers of this name: the first, and another */
	int found;
};

static int try_container(void *arg, const char *dir, const char *path, struct err *e)
{
	struct search *s = arg;
	struct container k;

	(void)e;
	if (s->found == 2 || !container_of_cgroup(&k, dir, path, &s->files) ||
	    !container_is(&k, s->name) || (s->found && strcmp(s->id[0], k.id) == 0))
		return 0;
	if (!s->found)
		snprintf(s->dir, PATH_MAX, "%s", dir);
	memcpy(s->id[s->found++], k.id, sizeof(k.id));
	return 0;
}

int cgroups_container(const struct cgroups *c, const char *name, char *dir,
		      const struct cgroup_mount **ret_mount, struct err *e)
{
	struct search s = { .name = name, .dir = dir };
	int i, ret = 0;

	for (i = -1; i < c->n_mounts && ret == 0 && !s.found; i++) {
		*ret_mount = i < 0 ? c->cpu : &c->mounts[i];
		if (*ret_mount)
			ret = cgroups_walk(*ret_mount, (*ret_mount)->path, try_container, &s, e);
	}
	container_files_end(&s.files);
	if (ret < 0 || s.found == 1)
		return ret;
	if (safe_stopping())
		return err_set(e, ERR_FAIL, "a signal ended the search for the container");
	if (s.found)
		return err_set(e, ERR_FAIL,
			       "several containers have the name or id %.100s: %.12s and %.12s; "
			       "give an id",
			       name, s.id[0], s.id[1]);
	return err_set(e, ERR_FAIL,
		       "no running container has the id or name %.100s (looked for docker, podman, "
		       "containerd and cri-o among the cgroups); --cgroup names one directly",
		       name);
}

const char *cgroups_path(char *text, u32 hierarchy)
{
	char *line, *list, *path;

	while ((line = strsep(&text, "\n"))) {
		list = strchr(line, ':');
		path = list ? strchr(list + 1, ':') : NULL;
		if (path && strtoul(line, NULL, 10) == hierarchy)
			return path + 1;
	}
	return NULL;
}

u64 cgroups_of(const struct cgroups *c, u32 pid, u32 tid)
{
	char path[PATH_MAX], text[4096];
	const char *group;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/cgroup", pid, tid);
	if (!c->cpu || procfs_read(path, text, sizeof(text)) < 0)
		return 0;
	group = cgroups_path(text, c->cpu->hierarchy);
	if (!group)
		return 0;
	snprintf(path, sizeof(path), "%s%.3000s", c->cpu->path, group);
	return cgroups_id(path);
}

static int walk(const struct cgroup_mount *m, const char *dir, int depth, cgroup_fn fn, void *arg,
		struct err *e)
{
	const char *path = dir + strlen(m->path);
	char below[PATH_MAX];
	struct dirent *f;
	int ret = safe_stopping() ? STOPPED : fn(arg, dir, *path ? path : "/", e);
	DIR *d = ret == 0 && depth < DEPTH_MAX ? opendir(dir) : NULL;

	while (d && ret == 0 && (f = readdir(d))) {
		if (f->d_type != DT_DIR || f->d_name[0] == '.')
			continue;
		if (snprintf(below, sizeof(below), "%s/%s", dir, f->d_name) < (int)sizeof(below))
			ret = walk(m, below, depth + 1, fn, arg, e);
	}
	if (d)
		closedir(d);
	return ret;
}

int cgroups_walk(const struct cgroup_mount *m, const char *dir, cgroup_fn fn, void *arg,
		 struct err *e)
{
	int ret = walk(m, dir, 0, fn, arg, e);

	return ret < 0 ? ret : 0;
}
