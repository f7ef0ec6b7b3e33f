/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A pipe cannot be read from the end, so what it brings goes into a nameless file first. */
#pragma once

#include "err.h"

/*
 * Opens a recording: - is standard input; a pipe, also one with a name, is copied to its end. The
 * descriptor, or negative.
 */
int spool_open(const char *path, struct err *e);
