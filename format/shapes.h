/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a system call is recorded: a byte for each number, made by obsrec from its tables
 * and obeyed by the BPF programs. Included by bpf/, so it includes nothing.
 */
#ifndef OBS_SHAPES_H
#define OBS_SHAPES_H

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

#endif
