/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that are there as a whole or not at all. Until then they have no name, so that nothing is
 * left of them however the program ends; where a file system cannot do that, and for databases,
 * which SQLite opens by name, they are called PATH.part-PID.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/*
 * Files that this process makes from now on are open to no more users than this one, and to their
 * owner only if it is a pipe ("-"): call it for each recording or database that is read.
 */
void newfile_guard(const char *source);

/* A file without a name, open for writing, where path is to be; -1 if that cannot be. */
int newfile_open(const char *path, mode_t mode);

/* Gives it its name; 0, else -1 and errno: EEXIST if path is there and is not to be replaced. */
int newfile_name(int fd, const char *path, bool replace);

/* Removes each PATH.part-PID of which the process is gone, and which was not written for a
 * minute. */
void newfile_sweep(const char *path);
