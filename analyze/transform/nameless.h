/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames of a recording without a name, by the build-id of their file; names from debug files. */
#pragma once

#include "elf_image.h"
#include "format/recording.h"

struct nameless_file {
	u8 build_id[BUILD_ID_SIZE];
	char *path; /* as recorded: untrusted; "" without */
	u32 first, n;
	bool found; /* a file with this build-id and functions */
};

struct nameless {
	struct code_name *frames; /* by file, then by address */
	u32 n, n_without;	  /* n_without: in no file with a build-id */
	struct nameless_file *files;
	u32 n_files;
};

/* Reads the recorder's stream of the recording. */
int nameless_read(struct nameless *ret, struct reader *r, struct err *e);

/*
 * Names from files in dir and the directories below it: .build-id/ab/cdef.debug, and all ELF files
 * with a build-id of the recording. Symbolic links to directories are not followed.
 */
int nameless_find(struct nameless *n, const char *dir, struct err *e);

/* Frames of a file that have a name now. */
u32 nameless_named(const struct nameless *n, const struct nameless_file *f);

void nameless_free(struct nameless *n);
