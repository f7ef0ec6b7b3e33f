/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files that hold the functions of -u: found once, known until the recording ends. */
#pragma once

#include "elffile.h"
#include "record/files/safe_open.h"

#define BINARIES_MAX 64

struct binary {
	struct elffile elf; /* a copy of its symbols; its path: as its users see it */
	char *path;	    /* the same, absolute */
	char *shown;	    /* the path from this host's root: /proc/PID/root/... in a container */
	int place;	    /* the file, as O_PATH */
	int root;	    /* the root of its users */
	u64 dev, ino;
	u8 build_id[BUILD_ID_MAX]; /* zeros after its end */
	struct safe_files *files;  /* of all of them */
};

struct binaries {
	struct binary *list[BINARIES_MAX];
	int n;
	struct safe_files files; /* reads them: their file system may not respond */
};

/*
 * Finds the file that name means:
 *   /proc/PID/root/...   below the root of that process
 *   /...                 below the roots of the processes, of this host without any
 *   with a slash         from the current directory
 *   else                 the program or a library of the processes, by its name (libc.so.6,
 *                        libc), a file here, a library of the linker, a program of $PATH
 * Several processes can mean several files. Writes their places in the list to ret and returns
 * how many; ERR_FAIL with the reason if there is none.
 */
int binaries_find(struct binaries *b, int ret[BINARIES_MAX], const char *name, const u32 *pids,
		  int n_pids, struct err *e);

/* Ends the worker and frees the symbols; the places stay. */
void binaries_forget(struct binaries *b);

void binaries_free(struct binaries *b);

/*
 * The next path of ld.so.cache for a library of this name, from *at on, which moves past it; NULL:
 * there is none. text has a NUL at size. The time is linear in size. Pure: for tests.
 */
const char *binaries_cached(const char *text, size_t size, const char *name, size_t *at);

/* True if a library's or program's file is meant by this name: "libc" means libc.so.6. */
bool binaries_name_fits(const char *name, const char *base);

/*
 * The file or files that FILE:FUNC means: the text before the first colon that has a file
 * before it. Returns how many; ret_function points after the colon.
 */
int binaries_of_text(struct binaries *b, int files[BINARIES_MAX], const char *text, const u32 *pids,
		     int n_pids, const char **ret_function, struct err *e);
