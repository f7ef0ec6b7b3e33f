// SPDX-License-Identifier: GPL-2.0-or-later
#include "code_names.h"

#include "format/go_table.h"
#include "format/line_table.h"
#include "record/files/fd_message.h"
#include "record/functions/elfdebug.h"
#include "record/functions/elftable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MAX (32u << 20)  /* bytes of a section with source lines */
#define GO_MAX	  (128u << 20) /* of the table of a Go program */

static void walk_table(struct code_names *names, const struct elftable *t, u32 source)
{
	const char *name;
	GElf_Sym s;
	u32 i;

	for (i = 0; i < t->n && gelf_getsym(t->symbols, i, &s); i++) {
		int type = GELF_ST_TYPE(s.st_info);

		if (s.st_shndx == SHN_UNDEF ||
		    (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE))
			continue;
		name = elftable_text(t, s.st_name);
		if (name && *name)
			code_names_offer(names, name, s.st_value, s.st_size, source);
	}
}

/* Content of a section; NULL: none, or it is above the limit when unpacked. */
static bool section_bytes(struct line_bytes *ret, const struct elffile *f, const char *name,
			  size_t most)
{
	GElf_Shdr sh;
	GElf_Chdr ch;
	Elf_Scn *scn = elffile_section(f, name, &sh);
	const Elf_Data *d;

	*ret = (struct line_bytes){ 0 };
	if (!scn || sh.sh_type == SHT_NOBITS)
		return false;
	if (sh.sh_flags & SHF_COMPRESSED &&
	    (!gelf_getchdr(scn, &ch) || ch.ch_size > most || elf_compress(scn, 0, 0) < 0))
		return false;
	d = elffile_data(f, scn);
	if (!d || d->d_size > most)
		return false;
	*ret = (struct line_bytes){ d->d_buf, d->d_size };
	return true;
}

static bool find_lines(struct code_names *names, const struct elffile *f)
{
	struct line_table t = { .big = false };

	if (!section_bytes(&t.lines, f, ".debug_line", LINES_MAX))
		return false;
	section_bytes(&t.line_strings, f, ".debug_line_str", LINES_MAX);
	section_bytes(&t.strings, f, ".debug_str", LINES_MAX);
	line_table_find(names, &t);
	return true;
}

/* What the runtime of Go knows of its own functions. */
static void find_go(struct code_names *names, const struct elffile *f)
{
	struct line_bytes table;

	if (section_bytes(&table, f, ".gopclntab", GO_MAX) ||
	    section_bytes(&table, f, ".data.rel.ro.gopclntab", GO_MAX))
		go_table_find(names, table.at, table.n, false);
}

void code_names_elf(struct code_name *list, u32 n, const struct elffile *f, int root)
{
	struct code_names names = { list, n, CODE_NAMES_WORK };
	struct elftable *t = malloc(sizeof(*t));
	enum elf_source source;
	struct elffile debug;
	bool full;

	if (!t)
		return;
	if (elftable_dynamic(t, f))
		walk_table(&names, t, ELF_DYNSYM);
	full = elftable_full(t, f);
	if (full)
		walk_table(&names, t, ELF_SYMTAB);
	else
		find_go(&names, f);
	if (!find_lines(&names, f)) {
		source = elfdebug_open(&debug, f, NULL, root);
		if (source != ELF_NONE) {
			if (!full && elftable_full(t, &debug))
				walk_table(&names, t, source);
			find_lines(&names, &debug);
			elffile_close(&debug);
		}
	}
	free(t);
}

void code_names_parked(struct code_name *list, u32 n, int parked, const char *path, int root)
{
	struct err e = { 0 };
	struct elffile f;
	int fd = fd_message_unpark(parked);

	if (fd < 0 || elffile_open(&f, fd, path, &e) < 0)
		return;
	code_names_elf(list, n, &f, root);
	f.lent = true;
	elffile_close(&f);
}

void code_names_perf(struct code_name *names, u32 n, const struct perf_map *m)
{
	const struct perf_function *f;
	u32 i;

	for (i = 0; i < n; i++) {
		f = perf_map_find(m, names[i].address);
		if (f)
			code_name_take(&names[i], perf_map_name(m, f), f->start, f->size,
				       NAME_PERF_MAP);
	}
}

/* The nearest symbol at or before an address. */
struct nearest {
	u64 address; /* 0: none yet */
	char *name;
};

/* "ffffffff81000000 T _text\t[module]": it is kept for the first address that it can be of. */
static void take_symbol(struct nearest *to, const struct code_names *names, char *line)
{
	char *end;
	u64 address = strtoull(line, &end, 16);
	u32 i;

	if (*end != ' ' || !end[1] || !strchr("tTwW", end[1]) || end[2] != ' ')
		return;
	i = code_names_first(names, address);
	if (i == names->n || address < to[i].address)
		return;
	end += 3;
	end[strcspn(end, "\t\n")] = '\0';
	free(to[i].name);
	to[i].name = strdup(end);
	to[i].address = address;
}

static void take_symbols(struct nearest *to, const struct code_names *names, FILE *symbols)
{
	char *line = NULL;
	size_t size = 0;

	rewind(symbols);
	while (getline(&line, &size, symbols) > 0)
		take_symbol(to, names, line);
	free(line);
}

void code_names_kernel(struct code_name *list, u32 n, FILE *symbols)
{
	struct code_names names = { list, n, CODE_NAMES_WORK };
	struct nearest *of = calloc((size_t)n + 1, sizeof(*of)), *last = NULL;
	u32 i;

	if (symbols && of)
		take_symbols(of, &names, symbols);
	for (i = 0; of && i < n; i++) {
		if (of[i].address && (!last || of[i].address >= last->address))
			last = &of[i];
		if (last && last->name)
			code_name_take(&list[i], last->name, last->address, 0, NAME_KALLSYMS);
	}
	for (i = 0; of && i < n; i++)
		free(of[i].name);
	free(of);
}
