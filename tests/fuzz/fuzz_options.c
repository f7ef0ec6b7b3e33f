// SPDX-License-Identifier: GPL-2.0-or-later
/* The command line of obsrec: a word a line. */
#include "fuzz.h"

#include "record/options/options.h"

#include <stdlib.h>

#define WORDS 64

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct options o;
	char *text = fuzz_text(data, size), *words[WORDS];
	struct err e = { 0 };

	options_read(&o, fuzz_words(text, "obsrec", words, WORDS), words, &e);
	free(text);
	return 0;
}
