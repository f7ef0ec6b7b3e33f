/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Linux's errors: their names and numbers, as recordings from any machine have them. */
#pragma once

#include <stddef.h>

enum linux_errno {
#define ERRNO(number, name) LINUX_##name = (number),
#include "errnos.def"
#undef ERRNO
};

/* "ENOENT" for 2; for numbers without a name "error 999", written into text. */
const char *errno_name(int error, char *text, size_t size);
