// SPDX-License-Identifier: GPL-2.0-or-later
/* The kernel lists mappings by address. */
#include "code_maps.h"

#include "format/grow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DELETED " (deleted)"

static bool ends_with(char *path, const char *end)
{
	size_t n = strlen(path), m = strlen(end);

	if (n < m || strcmp(path + n - m, end) != 0)
		return false;
	path[n - m] = '\0';
	return true;
}

/* "[anon:...]" and "//anon" are names that processes give; nothing is in such a file. */
static enum code_kind kind_of(const struct code_map *m)
{
	if (strcmp(m->path, "[vdso]") == 0)
		return CODE_VDSO;
	if (strncmp(m->path, "[v", 2) == 0)
		return CODE_NONE; /* vsyscall: one page of the kernel's */
	return m->ino && m->path[0] == '/' ? CODE_ELF : CODE_JIT;
}

static bool parse_line(struct code_map *m, char *line)
{
	unsigned long long start, end, offset, ino;
	unsigned int major, minor;
	char perms[8];
	int path = 0;

	if (sscanf(line, "%llx-%llx %7s %llx %x:%x %llu %n", &start, &end, perms, &offset, &major,
		   &minor, &ino, &path) < 7 ||
	    !path || start >= end || strlen(perms) < 3 || perms[2] != 'x')
		return false;
	*m = (struct code_map){ .start = start,
				.end = end,
				.offset = offset,
				.ino = ino,
				.dev = major << 20 | (minor & 0xfffff),
				.module = -1,
				.path = line + path };
	m->deleted = ends_with(line + path, DELETED);
	m->kind = kind_of(m);
	return true;
}

/* Keeps the paths alone: most of the text is about mappings that hold no code. */
static void shrink(struct code_maps *m)
{
	size_t used = 1, size;
	char *text;
	u32 i;

	/* paths are in the order of mappings, with text between them */
	for (i = 0; i < m->n; i++) {
		size = strlen(m->list[i].path) + 1;
		memmove(m->text + used, m->list[i].path, size);
		m->list[i].path = m->text + used;
		used += size;
	}
	text = malloc(used);
	if (!text)
		return;
	memcpy(text, m->text, used);
	for (i = 0; i < m->n; i++)
		m->list[i].path = text + (m->list[i].path - m->text);
	free(m->text);
	m->text = text;
}

bool code_maps_parse(struct code_maps *ret, char *text)
{
	char *line, *next = text;

	*ret = (struct code_maps){ .text = text };
	while ((line = next) && *line && ret->n < CODE_MAPS_MAX) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (GROW(ret->list, ret->n, "mappings", NULL) < 0) {
			code_maps_free(ret);
			return false;
		}
		if (parse_line(&ret->list[ret->n], line) &&
		    (!ret->n || ret->list[ret->n].start >= ret->list[ret->n - 1].end))
			ret->n++;
	}
	shrink(ret);
	return true;
}

struct code_map *code_maps_find(const struct code_maps *m, u64 address)
{
	u32 low = 0, high = m->n, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (address < m->list[middle].start)
			high = middle;
		else if (address >= m->list[middle].end)
			low = middle + 1;
		else
			return &m->list[middle];
	}
	return NULL;
}

/*
 * The number of a file that was removed can be given to the next one, which has another name. Its
 * directories can be called differently: this is the path that its process sees. "//toolong" is
 * none, and the list has \012 for a line's end.
 */
static bool has_name(const struct code_map *m, const char *path)
{
	const char *mine = strrchr(m->path, '/'), *its = strrchr(path, '/');
	size_t n = mine ? strlen(mine) : 0;

	if (!m->ino || !mine || !its || strncmp(path, "//", 2) == 0 || strchr(path, '\n'))
		return true;
	return strncmp(mine, its, n) == 0 && (!its[n] || strcmp(its + n, DELETED) == 0);
}

bool code_maps_replaced(const struct code_maps *m, const struct code_map *by)
{
	const struct code_map *map;

	for (map = m->list; map < m->list + m->n && map->start < by->end; map++)
		if (map->end > by->start &&
		    (map->ino != by->ino || map->dev != by->dev || !has_name(map, by->path) ||
		     (map->ino && map->start - map->offset != by->start - by->offset)))
			return true;
	return false;
}

void code_maps_free(struct code_maps *m)
{
	free(m->list);
	free(m->text);
	*m = (struct code_maps){ 0 };
}
