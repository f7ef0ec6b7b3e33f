/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that other users can write, and files of other processes. A file system that does not
 * respond (NFS, FUSE) blocks such a call in the kernel, where no signal ends it. A worker process
 * makes the calls; a call without a result in time costs the worker, not the recorder.
 */
#pragma once

#include "format/err.h"
#include "format/event.h"

#include <stdbool.h>
#include <sys/types.h>

/* All zero: no worker yet. It starts with the first call. */
struct safe_files {
	pid_t pid;
	int sock;
	u32 stuck; /* workers given up */
};

struct safe_stat {
	u64 ino;
	u64 size; /* with a request to its server only */
	u32 dev;  /* as the kernel's dev_t: major << 20 | minor */
	u32 mode;
	uid_t uid;
};

/*
 * All functions return a negative value with errno on failure: ETIMEDOUT if the file system does
 * not respond, EINTR if a signal to stop is pending.
 */

/*
 * A regular file, for reading. Symbolic links are followed, below root if that is not -1. Others
 * are never opened: EISDIR for a directory, EINVAL for a FIFO, device or socket.
 */
int safe_open(struct safe_files *s, int root, const char *path);

/* A directory as O_PATH. */
int safe_open_dir(struct safe_files *s, const char *path);

/* What is known of a file without a request to its server. Symbolic links are followed. */
int safe_stat(struct safe_files *s, const char *path, struct safe_stat *ret);

/* The same of a file below root, with a request to its server. */
int safe_stat_in(struct safe_files *s, int root, const char *path, struct safe_stat *ret);

/* 0 if a file can be executed by us. */
int safe_executable(struct safe_files *s, const char *path);

/* The start of a file of /proc, up to 4095 bytes; returns the length. */
ssize_t safe_text(struct safe_files *s, const char *path, char *text, size_t size);

/*
 * The content of a regular file that is no symbolic link, from malloc, NUL-terminated. NULL if it
 * has more than max bytes (EFBIG), belongs neither to owner nor to root (EPERM), or has a NUL
 * (EINVAL): callers add up what texts take.
 */
char *safe_read(struct safe_files *s, const char *path, size_t max, uid_t owner);

/*
 * In the worker: copies parts of a file to one in memory; returns that, or -1 with errno, and may
 * say why in e: words that follow the file's path.
 */
typedef int (*safe_parts_fn)(int fd, u64 max, struct err *e);

struct safe_copy {
	int image;  /* the parts */
	int parked; /* the file itself (fd_message.h); -1: none */
	int place;  /* the same as O_PATH, which can be closed without its server; -1: none */
	struct safe_stat stat;
	struct err why; /* of a failure; without text: as errno says */
};

/*
 * A regular file as safe_open() opens it, parked, and parts of it. A slow disk has more time here:
 * 10 s.
 */
int safe_parts(struct safe_files *s, int root, const char *path, safe_parts_fn parts, u64 max,
	       struct safe_copy *ret);

/* The same with the file's place, and 60 s: before a recording begins. */
int safe_parts_place(struct safe_files *s, int root, const char *path, safe_parts_fn parts, u64 max,
		     struct safe_copy *ret);

/* Such a copy of the next max bytes, of a file just opened the first; if it ends before, all. */
int safe_first(int fd, u64 max, struct err *e);

/*
 * The first max bytes of such a file, NUL-terminated, from malloc; NULL: none. For files of /proc
 * longer than those of safe_text(), too.
 */
char *safe_long_text(struct safe_files *s, int root, const char *path, u64 max, size_t *length);

/* The same after the first from bytes, empty if there are no more. */
char *safe_added_text(struct safe_files *s, int root, const char *path, u64 from, u64 max,
		      size_t *length);

/*
 * Kills a child, and waits for its end for at most 200 ms: what it closes can wait for its server.
 * It ends when that responds.
 */
void safe_kill(pid_t pid);

/* Ends the worker, as safe_kill(). */
void safe_end(struct safe_files *s);

/* True if a signal is pending that stops the recorder. */
bool safe_stopping(void);
