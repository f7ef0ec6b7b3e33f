/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process that writes a recording. What it shares with the recorder is in memory of both. */
#pragma once

#include "format/event.h"

#include <limits.h>
#include <stdbool.h>

enum output_step { OUTPUT_CREATE, OUTPUT_GIVE, OUTPUT_WRITE, OUTPUT_SYNC, OUTPUT_ENDED };

/* All is zero at the start. */
struct output_task {
	char path[PATH_MAX]; /* "": standard output; with try: a directory */
	bool try;	     /* look only whether files can be made there */
	_Atomic bool go;     /* begin */
	/* of the worker */
	_Atomic bool opened;
	_Atomic enum output_step step; /* what it does, or has failed in */
	_Atomic int error;	       /* errno of the failure; 0: none */
	_Atomic u64 free;	       /* bytes free on the file system; UINT64_MAX: it has none */
	_Atomic u64 alive; /* ns of CLOCK_MONOTONIC when the file system last responded */
	_Atomic u64 cpu;   /* ns so far */
};

/* Writes what comes from the pipe. Does not return. */
void output_worker(struct output_task *t, int pipe) __attribute__((noreturn));
