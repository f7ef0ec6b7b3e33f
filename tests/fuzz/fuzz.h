/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For harnesses of libFuzzer: one file fuzz_NAME.c and one row in tests/fuzz/harnesses each. */
#pragma once

#include "format/event.h"

#include <stddef.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);
size_t LLVMFuzzerCustomMutator(u8 *data, size_t size, size_t max, unsigned int seed);
size_t LLVMFuzzerMutate(u8 *data, size_t size, size_t max);

/* An unnamed file with these bytes, positioned at its start. */
int fuzz_file(const void *bytes, size_t n);

/* A copy with a NUL at the end; the caller frees it. */
char *fuzz_text(const u8 *data, size_t size);

/* Splits at newlines into at most max words, in place; words[0] is name. Returns the count. */
int fuzz_words(char *text, const char *name, char **words, int max);

/* Ends the run: the program did what it must not do. */
_Noreturn void fuzz_fail(const char *what);
