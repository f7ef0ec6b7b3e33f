/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A pipe cannot be read from the end, so standard input goes into a nameless file first. */
#ifndef OBS_SPOOL_H
#define OBS_SPOOL_H

#include "err.h"

/* Copies standard input to its end. The file's descriptor, or negative. */
int spool_stdin(struct err *e);

#endif
