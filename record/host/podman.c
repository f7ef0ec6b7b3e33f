// SPDX-License-Identifier: GPL-2.0-or-later
/* A user can make as many cgroups as they like: what one costs does not depend on the file's size.
 */
#define _GNU_SOURCE /* fgetpwent, asprintf */
#include "podman.h"

#include "format/grow.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX (4 << 20)   /* bytes read of one file */
#define HELD_MAX (64u << 20) /* of all of them; names of further users are not known */
#define ID	 "\"id\":\""
#define NAMES	 "\"names\":[\""

struct named {
	const char *id, *name; /* in the text */
};

struct podman_user {
	uid_t uid;
	bool read;
	char *path, *text;
	struct named *list; /* by id */
	size_t n;
};

static void add_user(struct podman *p, uid_t uid, const char *data)
{
	struct podman_user u = { .uid = uid };

	if (GROW(p->users, p->n, "users", NULL) < 0 ||
	    asprintf(&u.path, "%s/containers/storage/overlay-containers/containers.json", data) < 0)
		return;
	p->users[p->n++] = u;
}

static void read_users(struct podman *p)
{
	FILE *f = fopen("/etc/passwd", "re");
	const struct passwd *w;
	char *data;

	p->read = true;
	add_user(p, 0, "/var/lib");
	while (f && (w = fgetpwent(f))) {
		if (w->pw_dir[0] != '/' || asprintf(&data, "%s/.local/share", w->pw_dir) < 0)
			continue;
		add_user(p, w->pw_uid, data);
		free(data);
	}
	if (f)
		fclose(f);
}

static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct named *)a)->id, ((const struct named *)b)->id);
}

/* Containers are objects that start with their id; one without a name has no names at all. */
static void parse(struct podman_user *u)
{
	char *id, *name, *next = strstr(u->text, ID);

	while ((id = next)) {
		id += strlen(ID);
		next = strstr(id, ID);
		if (next)
			*next = '\0';
		name = strstr(id, NAMES);
		if (!name)
			continue;
		name += strlen(NAMES);
		name[strcspn(name, "\"")] = '\0';
		id[strcspn(id, "\"")] = '\0';
		if (!*name)
			continue;
		if (GROW(u->list, u->n, "containers", NULL) < 0)
			break;
		u->list[u->n++] = (struct named){ id, name };
	}
	if (u->n)
		qsort(u->list, u->n, sizeof(*u->list), by_id);
}

static void read_file(struct podman *p, struct podman_user *u, struct safe_files *files)
{
	u->read = true;
	if (p->held < HELD_MAX)
		u->text = safe_read(files, u->path, FILE_MAX, u->uid);
	if (!u->text)
		return;
	p->held += strlen(u->text);
	parse(u);
}

const char *podman_name(struct podman *p, struct safe_files *files, uid_t user, const char *id)
{
	const struct named key = { .id = id }, *found = NULL;
	struct podman_user *u;

	if (!p->read)
		read_users(p);
	for (u = p->users; u < p->users + p->n; u++)
		if (u->uid == user)
			break;
	if (u == p->users + p->n)
		return NULL;
	if (!u->read)
		read_file(p, u, files);
	if (u->n)
		found = bsearch(&key, u->list, u->n, sizeof(*u->list), by_id);
	return found ? found->name : NULL;
}

void podman_free(struct podman *p)
{
	struct podman_user *u;

	while (p->n > 0) {
		u = &p->users[--p->n];
		free(u->path);
		free(u->text);
		free(u->list);
	}
	free(p->users);
	*p = (struct podman){ 0 };
}
