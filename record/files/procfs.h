/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small files and numbered directories, as /proc and /sys have them. */
#pragma once

#include "format/err.h"
#include "format/event.h"

#include <stdbool.h>
#include <sys/types.h>

/* Called with a number from a directory: 0 continues, negative stops. */
typedef int (*procfs_fn)(void *arg, unsigned int number, struct err *e);

/* Walks the numbers in a directory; one that is gone has none. */
int procfs_each(const char *path, procfs_fn fn, void *arg, struct err *e);

/* A small file as text, cut to size; -1 if it cannot be read. */
ssize_t procfs_read(const char *path, char *text, size_t size);

/* The first line of a file, without its end; empty if there is none. */
void procfs_line(const char *path, char *line, size_t size);

/* A number from the first line; fallback if there is none. */
unsigned long long procfs_number(const char *path, unsigned long long fallback);

/* True if a process runs, or waits for a CPU. */
bool procfs_runnable(pid_t pid);

/* Grows while a process reads, also within one long read; 0: unknown. */
u64 procfs_progress(pid_t pid);

#define NOT_HOST_PIDS                                                              \
	"process ids are those of a container, but BPF programs use those of the " \
	"host: others would be recorded"
#define NOT_HOST_PIDS_REMEDY "run obsrec on the host, or in a container with --pid=host"

/* False if the numbers in /proc are not those of the host. */
bool procfs_host_pids(void);

/* The number in a link such as "socket:[123]" or "net:[123]" of this kind; 0: another link. */
u64 procfs_inode(const char *link, const char *kind);

/* The inode of a namespace of a process ("net", "mnt", "pid"); 0 if it is gone. */
u64 procfs_namespace(const char *pid, const char *kind);
