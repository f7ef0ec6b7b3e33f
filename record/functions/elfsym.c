// SPDX-License-Identifier: GPL-2.0-or-later
/* Walks the symbol tables of a file and of what belongs to it, and says what a probe would meet. */
#include "elfsym.h"

#include "elftable.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENDBR_SIZE   4
#define NAME_MAX_LEN 256	   /* longer names are not compared for nearness */
#define NAMES_MIN    (64ull << 20) /* bytes of names of a small table, taken together */

struct walk {
	const struct elffile *f; /* the file that is probed: addresses are looked up here */
	struct elfsyms *all;
	int (*visit)(void *arg, const struct elfsym *sym, struct err *e);
	void *arg;
};

int elfsym_distance(const char *a, const char *b, int limit)
{
	size_t n = strlen(b), i, j;
	int row[NAME_MAX_LEN + 1];

	if (n > NAME_MAX_LEN || strlen(a) > NAME_MAX_LEN || labs((long)strlen(a) - (long)n) > limit)
		return limit;
	for (j = 0; j <= n; j++)
		row[j] = j;
	for (i = 0; a[i]; i++) {
		int corner = row[0], best;

		row[0] = i + 1;
		for (j = 0; j < n; j++) {
			best = corner + (a[i] != b[j]);
			corner = row[j + 1];
			if (corner + 1 < best)
				best = corner + 1;
			if (row[j] + 1 < best)
				best = row[j] + 1;
			row[j + 1] = best;
		}
	}
	return row[n] < limit ? row[n] : limit;
}

/*
 * A return is caught by changing the return address on the stack. That ends badly where there
 * is none (_start, the way back from a signal) or where it is kept and used a second time.
 */
bool elfsym_never_returns(const char *name)
{
	static const char *const names[] = {
		"_start",
		"__restore_rt",
		"vfork",
		"__vfork",
		"setjmp",
		"_setjmp",
		"sigsetjmp",
		"__sigsetjmp",
		"getcontext",
		"setcontext",
		"__longjmp",
		"swapcontext",
		"clone",
		"__clone",
		"__clone3",
		"clone3",
		"longjmp",
		"_longjmp",
		"siglongjmp",
		"__start_context",
		"makecontext",
		"__clone_internal",
		"__libc_start_call_main",
		"_dl_runtime_resolve*",
		"_dl_start*",
		"_Unwind_*",
		"__cxa_throw",
		"__cxa_rethrow",
		"_dl_tlsdesc*",
		"__tls_get_addr_slow",
		"__morestack*",
		"swtch*",
		"jump_fcontext",
		"make_fcontext",
		"ontop_fcontext",
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (fnmatch(names[i], name, 0) == 0)
			return true;
	return false;
}

/* "f.cold", "f.cold.3": a part that gcc moved away. It has a frame already when it begins. */
static bool is_fragment(const char *name)
{
	const char *cold = strstr(name, ".cold");

	return cold && (cold[5] == '\0' || cold[5] == '.');
}

/* Functions by which C++ code throws, other than in straits such as no memory. */
static bool is_throw(const char *name)
{
	static const char *const names[] = {
		"__cxa_throw",
		"__cxa_throw@*",
		"__cxa_rethrow*",
		"_ZSt*__throw_out_of_range*",
		"_ZSt*__throw_invalid_argument*",
		"_ZSt*rethrow_exception*",
	};
	size_t i;

	if (name[0] != '_')
		return false;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (fnmatch(names[i], name, 0) == 0)
			return true;
	return false;
}

/* x86: arch_uprobe_analyze_insn() of the kernel. Branches, pushes and the short nop. */
static enum probe_class classify(const struct elffile *f, const u8 *code, size_t n)
{
	GElf_Ehdr eh;
	u8 c = n > 0 ? code[0] : 0;

	if (n < 2 || !gelf_getehdr(f->elf, &eh) || eh.e_machine != EM_X86_64)
		return CLASS_UNKNOWN;
	if ((c & 0xf8) == 0x50 || (c == 0x41 && (code[1] & 0xf8) == 0x50))
		return CLASS_EMULATED;
	if (c == 0x90 || c == 0xe8 || c == 0xe9 || c == 0xeb || (c & 0xf0) == 0x70 ||
	    (c == 0x0f && (code[1] & 0xf0) == 0x80))
		return CLASS_EMULATED;
	return CLASS_STEPPED;
}

enum probe_class elfsym_class(const struct elffile *f, u64 offset)
{
	u8 code[8];

	return classify(f, code, elffile_bytes(f, offset, code, sizeof(code)));
}

/* Where the probe goes; false if the file has no code there. */
static bool place(const struct elffile *f, struct elfsym *sym)
{
	static const u8 endbr[] = { 0xf3, 0x0f, 0x1e }; /* fa: endbr64, fb: endbr32 */
	u8 code[ENDBR_SIZE + 8];
	size_t n;

	if (!elffile_offset(f, sym->address, &sym->offset) || sym->offset > INT64_MAX)
		return false;
	n = elffile_bytes(f, sym->offset, code, sizeof(code));
	sym->skipped_endbr =
		n > ENDBR_SIZE && memcmp(code, endbr, sizeof(endbr)) == 0 && (code[3] | 1) == 0xfb;
	if (sym->skipped_endbr) {
		sym->offset += ENDBR_SIZE;
		n -= ENDBR_SIZE;
		memmove(code, code + ENDBR_SIZE, n);
	}
	sym->class = classify(f, code, n);
	return n > 0;
}

static int visit_symbol(struct walk *w, const GElf_Sym *s, struct elfsym *sym, struct err *e)
{
	char name[4096];
	const char *at = strchr(sym->name, '@');

	/* old linkers wrote "name@@version" into the full table */
	if (at && at > sym->name && (size_t)(at - sym->name) < sizeof(name)) {
		memcpy(name, sym->name, at - sym->name);
		name[at - sym->name] = '\0';
		sym->name = name;
		sym->default_version = at[1] == '@';
		sym->version = at + 1 + sym->default_version;
	}
	sym->address = s->st_value;
	sym->size = s->st_size;
	sym->indirect = GELF_ST_TYPE(s->st_info) == STT_GNU_IFUNC;
	sym->fragment = is_fragment(sym->name);
	if (!place(w->f, sym))
		return 0;
	w->all->functions += !sym->indirect && !sym->fragment;
	return w->visit(w->arg, sym, e);
}

static int walk_table(struct walk *w, const struct elftable *t, enum elf_source source,
		      struct err *e)
{
	/* symbols share names, but not many share long ones */
	u64 left = NAMES_MIN + 8 * (u64)t->strings->d_size;
	const char *name, *file = "";
	GElf_Sym s;
	int ret = 0;
	u32 i;

	w->all->source = source;
	for (i = 0; ret == 0 && i < t->n && gelf_getsym(t->symbols, i, &s); i++) {
		struct elfsym sym = { .source = source };
		int type = GELF_ST_TYPE(s.st_info);

		name = elftable_text(t, s.st_name);
		if (type == STT_FILE) /* one without a name ends the last */
			file = name ? name : "";
		if (!name || !*name)
			continue;
		if (left < strlen(name))
			return err_set(e, ERR_FAIL, "%s: its symbols claim too many names",
				       w->f->path);
		left -= strlen(name);
		w->all->throws |= is_throw(name);
		if (s.st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_GNU_IFUNC))
			continue;
		sym.name = name;
		sym.file = GELF_ST_BIND(s.st_info) == STB_LOCAL ? file : "";
		sym.version = elftable_version(t, i, &sym.default_version);
		ret = visit_symbol(w, &s, &sym, e);
	}
	return ret;
}

/* The table of all names: in the file, else in what belongs to it. */
static int walk_full(struct walk *w, struct elftable *t, struct safe_files *files, int root,
		     struct err *e)
{
	struct elffile debug;
	enum elf_source source;
	int ret = 0;

	if (elftable_full(t, w->f))
		return walk_table(w, t, ELF_SYMTAB, e);
	source = elfdebug_open(&debug, w->f, files, root);
	if (source == ELF_NONE)
		return 0;
	if (elftable_full(t, &debug))
		ret = walk_table(w, t, source, e);
	elffile_close(&debug);
	return ret;
}

int elfsym_each(const struct elffile *f, struct safe_files *files, int root, struct elfsyms *ret,
		int (*visit)(void *arg, const struct elfsym *sym, struct err *e), void *arg,
		struct err *e)
{
	struct walk w = { .f = f, .all = ret, .visit = visit, .arg = arg };
	struct elftable *t = malloc(sizeof(*t));
	int r = 0;

	*ret = (struct elfsyms){ 0 };
	if (!t)
		return err_set(e, ERR_FAIL, "out of memory");
	if (elftable_dynamic(t, f))
		r = walk_table(&w, t, ELF_DYNSYM, e);
	if (r == 0)
		r = walk_full(&w, t, files, root, e);
	free(t);
	return r;
}
