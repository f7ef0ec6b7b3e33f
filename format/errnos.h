/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Linux's names of errors. */
#pragma once

#include <stddef.h>

/* "ENOENT" for 2; for numbers without a name "error 999", written into text. */
const char *errno_name(int error, char *text, size_t size);
