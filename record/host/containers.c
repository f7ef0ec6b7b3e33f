// SPDX-License-Identifier: GPL-2.0-or-later
/* Containers by their control groups. */
#include "containers.h"

#include <ctype.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID_LEN	  64
#define ID_SHORT  4
#define STATE_MAX (4 << 20) /* bytes read of a runtime's file */

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

/* The whole of a file; NULL if it cannot be read. The caller frees it. */
static char *slurp(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = f ? malloc(STATE_MAX + 1) : NULL;
	size_t n = text ? fread(text, 1, STATE_MAX, f) : 0;

	if (f)
		fclose(f);
	if (text)
		text[n] = '\0';
	return text;
}

/* Copies what stands between the quotes behind key, searched from text on. */
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

static bool docker_name(struct container *c)
{
	char path[160], *text;
	bool found;

	snprintf(path, sizeof(path), "/var/lib/docker/containers/%s/config.v2.json", c->id);
	text = slurp(path);
	found = quoted(c->name, sizeof(c->name), text, "\"Name\":\"/");
	free(text);
	return found;
}

static bool podman_name(struct container *c)
{
	static const char *const patterns[] = {
		"/var/lib/containers/storage/overlay-containers/containers.json",
		"/home/*/.local/share/containers/storage/overlay-containers/containers.json",
	};
	char *text, *at;
	bool found = false;
	size_t i, k;
	glob_t g;

	for (i = 0; i < sizeof(patterns) / sizeof(patterns[0]) && !found; i++) {
		if (glob(patterns[i], 0, NULL, &g) != 0)
			continue;
		for (k = 0; k < g.gl_pathc && !found; k++) {
			text = slurp(g.gl_pathv[k]);
			at = text ? strstr(text, c->id) : NULL;
			found = quoted(c->name, sizeof(c->name), at, "\"names\":[\"");
			free(text);
		}
		globfree(&g);
	}
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
	found = glob(pattern, 0, NULL, &g) == 0;
	if (!found)
		return false;
	base = strrchr(g.gl_pathv[0], '/') + 1;
	snprintf(c->name, sizeof(c->name), "%.*s", (int)(strlen(base) - ID_LEN - strlen("-.log")),
		 base);
	globfree(&g);
	return true;
}

bool container_of_cgroup(struct container *ret, const char *path)
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
		if (!docker_name(ret) && !podman_name(ret) && !pod_name(ret))
			snprintf(ret->name, sizeof(ret->name), "-");
		return true;
	}
	return false;
}

bool container_is(const struct container *c, const char *text)
{
	size_t n = strlen(text);

	if (strcmp(c->name, text) == 0 && strcmp(text, "-") != 0)
		return true;
	return n >= ID_SHORT && n <= ID_LEN && strncasecmp(c->id, text, n) == 0;
}
