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
#define SAME	      64 /* bytes that are read again: jcmd writes the whole file again */

static int by_start(const void *a, const void *b)
{
	const struct perf_function *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->line < y->line ? -1 : 1;
}

/* False: it is none, or not complete. */
static bool take_line(struct perf_map *m, char *line)
{
	struct perf_function f = { .line = m->n };
	char *end;

	f.start = strtoull(line, &end, 16);
	if (end == line || *end != ' ')
		return false;
	line = end;
	f.size = strtoull(line, &end, 16);
	if (end == line || *end != ' ' || f.start + f.size < f.start)
		return false;
	f.name = end + 1 - m->text;
	if (GROW(m->list, m->n, "functions", NULL) < 0)
		return false;
	m->list[m->n++] = f;
	return true;
}

/* Sorts in what follows the first n. New code has high addresses as a rule: then little is moved.
 */
static void merge(struct perf_map *m, u32 n)
{
	u32 k = m->n - n, to = m->n;
	struct perf_function *added = k && n ? malloc(k * sizeof(*added)) : NULL;

	if (!k)
		return;
	if (!added) {
		qsort(m->list, m->n, sizeof(*m->list), by_start);
		return;
	}
	qsort(m->list + n, k, sizeof(*m->list), by_start);
	memcpy(added, m->list + n, k * sizeof(*added));
	while (k) {
		to--;
		if (n && by_start(&m->list[n - 1], &added[k - 1]) > 0)
			m->list[to] = m->list[--n];
		else
			m->list[to] = added[--k];
	}
	free(added);
}

void perf_map_add(struct perf_map *m, char *text, size_t length)
{
	char *whole = m->text ? realloc(m->text, m->bytes + length + 1) : text, *line, *end;
	u32 had = m->n;

	if (whole && m->text)
		memcpy(whole + m->bytes, text, length + 1);
	if (whole != text)
		free(text);
	if (!whole)
		return;
	m->text = whole;
	m->bytes += length;
	while (m->line < m->bytes && m->n < FUNCTIONS_MAX) {
		line = m->text + m->line;
		end = memchr(line, '\n', m->bytes - m->line);
		if (end)
			*end = '\0';
		m->listed = m->listed || take_line(m, line);
		if (!end) /* more of its name may follow */
			break;
		m->listed = false;
		m->line = end + 1 - m->text;
	}
	merge(m, had);
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

bool perf_map_continues(const struct perf_map *m, const char *text, size_t n)
{
	const char *had = m->text + m->bytes - n;
	size_t i;

	for (i = 0; i < n && (text[i] == had[i] || (text[i] == '\n' && !had[i])); i++)
		;
	return i == n;
}

/* A worker reads it, too: its server can answer the open, and no read or close. */
static void read_added(struct perf_map *m, struct safe_files *files, int root, const char *path,
		       u64 size)
{
	size_t again = m->bytes < SAME ? m->bytes : SAME, length;
	u64 from = m->bytes - again;
	char *text = safe_added_text(files, root, path, from, size - from, &length);

	if (!text) {
		m->silent = errno == ETIMEDOUT;
		return;
	}
	if (length >= again && perf_map_continues(m, text, again)) {
		memmove(text, text + again, length - again + 1);
		perf_map_add(m, text, length - again);
		return;
	}
	free(text); /* all of it was written again */
	perf_map_free(m);
	text = safe_added_text(files, root, path, 0, size, &length);
	if (text)
		perf_map_add(m, text, length);
}

static void say_large(struct perf_map *m, const char *path, u64 size)
{
	if (!m->large)
		fprintf(stderr,
			"obsrec: there is no room for %s (%llu kB): %s functions have no names\n",
			path, (unsigned long long)size >> 10, m->n ? "its newest" : "its");
	m->large = true;
}

void perf_map_read(struct perf_map *m, struct safe_files *files, u32 pid, u64 room)
{
	struct safe_stat file, owner;
	char path[64], process[64];
	int root;

	if (m->silent || m->n >= FUNCTIONS_MAX)
		return;
	snprintf(process, sizeof(process), "/proc/%u", pid);
	snprintf(path, sizeof(path), "/proc/%u/root", pid);
	root = safe_open_dir(files, path);
	if (root < 0)
		return;
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", inner_pid(pid));
	if (safe_stat_in(files, root, path, &file) == 0 && file.size > m->bytes &&
	    safe_stat(files, process, &owner) == 0 && (file.uid == owner.uid || file.uid == 0)) {
		if (file.size <= room)
			read_added(m, files, root, path, file.size);
		else
			say_large(m, path, file.size);
	}
	close(root);
}

void perf_map_free(struct perf_map *m)
{
	free(m->list);
	free(m->text);
	*m = (struct perf_map){ 0 };
}
