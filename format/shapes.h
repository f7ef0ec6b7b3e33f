/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a system call is recorded: a byte for each number, made by obsrec from its tables
 * and obeyed by the BPF programs. Included by bpf/, so it includes nothing.
 */
#pragma once

#define SHAPE_ARGS 0x01 /* all arguments are recorded */

/* where the call leaves a descriptor that it has made or changed */
#define FD_SOURCE     0x0e
#define FD_RETURNED   0x02
#define FD_ARG0	      0x04
#define FD_PAIR_ARG0  0x06 /* two of them, in memory that the argument points to */
#define FD_PAIR_ARG3  0x08
#define FD_DUPLICATED 0x0a /* fcntl: returned, by some of its commands */

/* the role (enum fd_role) that this gives a socket */
#define FD_ROLE_SHIFT 4
#define FD_ROLE	      0x70

/* a call without such a source: it polls, and that marks a set of one fd */
#define SHAPE_POLLS (1 << FD_ROLE_SHIFT)

#define SHAPE_SKIP 0x80 /* not asked for with --syscalls */

/*
 * Which arguments of a call are paths: a second byte for each number. A directory that
 * a relative path starts from stands before it.
 */
enum path_form {
	PATH_NONE,
	PATH_0,	   /* the first argument */
	PATH_1,	   /* the second, after its directory */
	PATHS_0_1, /* two names */
	PATHS_1_3, /* two names, each after its directory */
	PATHS_0_2, /* a text, then directory and name */
	PATH_FD,   /* no path: the first argument is a descriptor */
	PATH_FORM = 0x07,
};

#define PATH_OPENS     0x08 /* the call opens the file */
#define PATH_FLAGS     0x10 /* open: flags and mode are the two arguments after the path */
#define PATH_HOW       0x20 /* open: they are in memory that the next argument points to */
#define PATH_SIZE      0x40 /* the argument after path or fd is a new size */
#define PATH_DIRECTORY 0x80 /* changes the working directory */

/* How a call reads or writes regular files, and where their positions are: a third byte. */
#define POS_READS   0x01
#define POS_WRITES  0x02
#define POS_AT	    0x04 /* the fourth argument is the position */
#define POS_POINTER 0x08 /* the position is in memory, increased by the call */
#define POS_VECTOR  0x10 /* the third argument counts buffers */
#define POS_FLAGS   0x20 /* the sixth argument has flags; position -1 is that of the open file */
#define POS_SENDS   0x40 /* sendfile(2) */
#define POS_COPIES  0x80 /* copy_file_range(2) */

#define WORKING_DIRECTORY (-100) /* AT_FDCWD: as a descriptor */
