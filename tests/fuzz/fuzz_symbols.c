// SPDX-License-Identifier: GPL-2.0-or-later
/* A binary: its symbol tables, names and patterns. */
#include "fuzz.h"

#include "record/functions/elfsym.h"
#include "record/functions/pattern.h"
#include "record/functions/rootdir.h"

#include <string.h>

struct seen {
	struct names names;
	struct pattern pattern;
	size_t size;
};

static int visit(void *arg, const struct elfsym *sym, struct err *e)
{
	struct seen *s = arg;

	names_make(&s->names, sym->name);
	pattern_fits(&s->pattern, sym, &s->names);
	if (sym->offset >= s->size)
		fuzz_fail("a function outside the file");
	(void)e;
	return 0;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static int root = -1;
	static struct seen s;
	struct elfsyms all;
	struct elffile f;
	struct err e = { 0 };

	if (root < 0) {
		root = rootdir_open(0);
		pattern_read(&s.pattern, "x*.c:*a*[b]*@*", &e);
	}
	s.size = size;
	if (elffile_open(&f, fuzz_file(data, size), "/fuzz/binary", &e) < 0)
		return 0;
	elfsym_each(&f, root, &all, visit, &s, &e);
	elffile_close(&f);
	return 0;
}
