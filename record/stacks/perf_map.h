/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of generated code: /tmp/perf-PID.map, as node, Java and Python write it for perf. */
#pragma once

#include "record/files/safe_open.h"

struct perf_map {
	struct perf_function {
		u64 start, size;
		u32 name; /* in text */
		u32 line; /* the later of two for the same address counts */
	} * list;
	u32 n;
	char *text;
	u64 bytes;   /* of the file and of text */
	u64 line;    /* where a line starts that has no end yet, or the next one */
	bool listed; /* that line is in the list */
	bool silent; /* its file system did not respond: it is not read again */
	bool large;  /* there was no room for it, which was said */
};

/*
 * Reads what was added to the map of a process in its own mount namespace. Files of others
 * than the process's user and root are not read, nor one of more than room bytes.
 */
void perf_map_read(struct perf_map *m, struct safe_files *files, u32 pid, u64 room);

/* Bytes that it takes in memory. */
u64 perf_map_held(const struct perf_map *m);

/* Adds NUL-terminated text from malloc, which it takes over. Pure: for tests. */
void perf_map_add(struct perf_map *m, char *text, size_t length);

/* True if its last n bytes are these. */
bool perf_map_continues(const struct perf_map *m, const char *text, size_t n);

/* The function at an address; NULL: none is known. */
const struct perf_function *perf_map_find(const struct perf_map *m, u64 address);
const char *perf_map_name(const struct perf_map *m, const struct perf_function *f);

void perf_map_free(struct perf_map *m);
