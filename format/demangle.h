/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readable names of C++ functions (and of Rust's, in the older of its two manners). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define DEMANGLED_MAX 4096 /* bytes of a readable name, its end included */
#define MANGLED_MAX   4096 /* longer names are left as they are */

/* True if this program was built with a demangler. */
bool demangle_possible(void);

/*
 * Writes "ns::f(int)" for "_ZN2ns1fEi" into text. False, and text is empty, if name is no
 * mangled name, or if its readable form does not fit: a few bytes can stand for gigabytes.
 */
bool demangle(const char *name, char text[DEMANGLED_MAX]);

/* "int ns::f<int>(int) const" becomes "ns::f<int>", in place. */
void demangle_bare(char *text);
