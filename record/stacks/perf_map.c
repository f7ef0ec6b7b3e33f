// SPDX-License-Identifier: GPL-2.0-or-later
/* Lines "START SIZE NAME", in hexadecimal, appended as code is generated. */
#include "perf_map.h"

#include "format/grow.h"
#include "record/files/procfs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FUNCTIONS_MAX (1u << 20)

static int by_start(const void *a, const void *b)
{
	const struct perf_function *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->line < y->line ? -1 : 1;
}

void perf_map_parse(struct perf_map *m, char *text)
{
	char *line, *next = text, *end;

	free(m->list);
	free(m->text);
	*m = (struct perf_map){ .text = text, .bytes = m->bytes };
	while ((line = next) && *line && m->n < FUNCTIONS_MAX) {
		struct perf_function f = { .line = m->n };

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		f.start = strtoull(line, &end, 16);
		if (end == line || *end != ' ')
			continue;
		line = end;
		f.size = strtoull(line, &end, 16);
		if (end == line || *end != ' ' || f.start + f.size < f.start)
			continue;
		f.name = end + 1 - text;
		if (GROW(m->list, m->n, "functions", NULL) < 0)
			break;
		m->list[m->n++] = f;
	}
	if (m->n)
		qsort(m->list, m->n, sizeof(*m->list), by_start);
}

const struct perf_function *perf_map_find(const struct perf_map *m, u64 address)
{
	u32 low = 0, high = m->n, middle;

	while (low < high) { /* to the first one after the address */
		middle = low + (high - low) / 2;
		if (m->list[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address - m->list[low - 1].start >= m->list[low - 1].size)
		return NULL;
	return &m->list[low - 1];
}

const char *perf_map_name(const struct perf_map *m, const struct perf_function *f)
{
	return m->text + f->name;
}

/* The process's number in its own pid namespace, which names the file. */
static u32 inner_pid(u32 pid)
{
	char path[64], text[4096], *at;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	if (procfs_read(path, text, sizeof(text)) < 0)
		return pid;
	at = strstr(text, "\nNSpid:");
	if (!at)
		return pid;
	at += 7;
	at[strcspn(at, "\n")] = '\0';
	at = strrchr(at, '\t');
	return at ? strtoul(at + 1, NULL, 10) : pid;
}

u64 perf_map_held(const struct perf_map *m)
{
	return (m->text ? m->bytes : 0) + (u64)m->n * sizeof(*m->list);
}

/* A worker reads it, too: its server can answer the open, and no read or close. */
static void read_grown(struct perf_map *m, struct safe_files *files, int root, const char *path,
		       u64 size)
{
	size_t length;
	char *text = safe_long_text(files, root, path, size, &length);

	if (!text) {
		m->silent = errno == ETIMEDOUT;
		return;
	}
	m->bytes = size;
	perf_map_parse(m, text);
}

void perf_map_read(struct perf_map *m, struct safe_files *files, u32 pid, u64 room)
{
	struct safe_stat file, owner;
	char path[64], process[64];
	int root;

	if (m->silent)
		return;
	snprintf(process, sizeof(process), "/proc/%u", pid);
	snprintf(path, sizeof(path), "/proc/%u/root", pid);
	root = safe_open_dir(files, path);
	if (root < 0)
		return;
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", inner_pid(pid));
	if (safe_stat_in(files, root, path, &file) == 0 && file.size > m->bytes &&
	    file.size <= room && safe_stat(files, process, &owner) == 0 &&
	    (file.uid == owner.uid || file.uid == 0))
		read_grown(m, files, root, path, file.size);
	close(root);
}

void perf_map_free(struct perf_map *m)
{
	free(m->list);
	free(m->text);
	*m = (struct perf_map){ 0 };
}
