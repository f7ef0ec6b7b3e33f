// SPDX-License-Identifier: GPL-2.0-or-later
/* Containers by their cgroups. */
#include "containers.h"

#include <ctype.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ID_LEN	  64
#define ID_SHORT  4
#define STATE_MAX (4 << 20) /* bytes read of a runtime's file */
#define NOT_KNOWN ((uid_t)-1)

/* What the last part of a group's path begins with, and the runtime that writes it so. */
static const struct {
	const char *prefix, *parent, *runtime;
} forms[] = {
	{ "docker-", NULL, "docker" }, { "libpod-", NULL, "podman" },
	{ "crio-", NULL, "cri-o" },    { "cri-containerd-", NULL, "containerd" },
	{ "", "docker", "docker" },    { "", "libpod_parent", "podman" },
	{ "", NULL, "container" }, /* below kubepods, with cgroupfs as driver */
};

static bool is_id(const char *text)
{
	int i;

	for (i = 0; i < ID_LEN; i++)
		if (!isxdigit((unsigned char)text[i]))
			return false;
	return !text[ID_LEN] || strcmp(text + ID_LEN, ".scope") == 0;
}

/* Copies the text in quotes after key, searched from text on. */
static bool quoted(char *ret, size_t size, const char *text, const char *key)
{
	const char *p = text ? strstr(text, key) : NULL, *end;

	if (!p)
		return false;
	p += strlen(key);
	end = strchr(p, '"');
	if (!end || end == p)
		return false;
	snprintf(ret, size, "%.*s", (int)(end - p), p);
	return true;
}

static bool docker_name(struct container *c, struct safe_files *files)
{
	char path[160], *text;
	bool found;

	snprintf(path, sizeof(path), "/var/lib/docker/containers/%s/config.v2.json", c->id);
	text = safe_read(files, path, STATE_MAX, 0);
	found = quoted(c->name, sizeof(c->name), text, "\"Name\":\"/");
	free(text);
	return found;
}

/* The kubelet links logs as POD_NAMESPACE_CONTAINER-ID.log. */
static bool pod_name(struct container *c)
{
	const char *base;
	char pattern[128];
	bool found;
	glob_t g;

	snprintf(pattern, sizeof(pattern), "/var/log/containers/*-%s.log", c->id);
	found = glob(pattern, 0, NULL, &g) == 0; /* of root alone */
	if (!found)
		return false;
	base = strrchr(g.gl_pathv[0], '/') + 1;
	snprintf(c->name, sizeof(c->name), "%.*s", (int)(strlen(base) - ID_LEN - strlen("-.log")),
		 base);
	globfree(&g);
	return true;
}

/* The user who made a cgroup: only the owner of the directory above can. */
static uid_t maker_of(const char *dir)
{
	char above[PATH_MAX];
	struct stat sb;

	snprintf(above, sizeof(above), "%s/..", dir);
	return stat(above, &sb) == 0 ? sb.st_uid : NOT_KNOWN; /* of a cgroup file system */
}

static void find_name(struct container *c, uid_t maker, struct container_files *files)
{
	const char *name = NULL;

	if (maker != NOT_KNOWN)
		name = podman_name(&files->podman, &files->safe, maker, c->id);
	if (!name && maker == 0 && (docker_name(c, &files->safe) || pod_name(c)))
		return;
	snprintf(c->name, sizeof(c->name), "%s", name ? name : "-");
}

bool container_of_cgroup(struct container *ret, const char *dir, const char *path,
			 struct container_files *files)
{
	const char *last = strrchr(path, '/'), *parent = last;
	size_t i, n;

	if (!last)
		return false;
	last++;
	while (parent > path && parent[-1] != '/')
		parent--;
	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		n = strlen(forms[i].prefix);
		if (strncmp(last, forms[i].prefix, n) != 0 || !is_id(last + n))
			continue;
		if (forms[i].parent &&
		    (strncmp(parent, forms[i].parent, strlen(forms[i].parent)) != 0 ||
		     parent[strlen(forms[i].parent)] != '/'))
			continue;
		ret->runtime = forms[i].runtime;
		snprintf(ret->id, sizeof(ret->id), "%.*s", ID_LEN, last + n);
		find_name(ret, maker_of(dir), files);
		return true;
	}
	return false;
}

void container_files_end(struct container_files *f)
{
	safe_end(&f->safe);
	podman_free(&f->podman);
}

bool container_is(const struct container *c, const char *text)
{
	size_t n = strlen(text);

	if (strcmp(c->name, text) == 0 && strcmp(text, "-") != 0)
		return true;
	return n >= ID_SHORT && n <= ID_LEN && strncasecmp(c->id, text, n) == 0;
}
