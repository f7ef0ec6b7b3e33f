/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The dictionary of names of requests: bounded, append only. */
#pragma once

#include "format/err.h"
#include "format/event.h"
#include "format/protocols.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION /* make fuzz: it fills, and is made quickly */
#define NAMES_MAX 64
#else
#define NAMES_MAX 4096 /* the last one is "other" */
#endif
#define NAME_BYTES 96 /* with the final NUL */

struct request_names;

int request_names_new(struct request_names **ret, struct err *e);
void request_names_free(struct request_names *n);

/* The id of a name, 1..NAMES_MAX, which it gets now if it has none. Safe from several threads. */
u32 request_names_id(struct request_names *n, enum protocol protocol, const char *text);

/* The id that stands for all names for which there is no room. */
u32 request_names_other(struct request_names *n);

/* How many ids there are; and what one of them, from 1, stands for: text of NAME_BYTES. */
u32 request_names_count(struct request_names *n);
enum protocol request_names_get(struct request_names *n, u32 id, char *text);
