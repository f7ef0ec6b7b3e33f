// SPDX-License-Identifier: GPL-2.0-or-later
/* Programs find their symbols by segments, tools by sections. Files without sections exist; the
 * versions of their symbols are not looked for. */
#include "elftable.h"

#include <string.h>

#define HIDDEN	    0x8000 /* of a version's number: not the default */
#define CHAIN_LIMIT 4096   /* symbols that share a bucket */
#define SYMBOLS_MAX (1u << 24)
#define TEXT_LIMIT  8192 /* bytes of a name; longer ones are no names here */

const char *elftable_text(const struct elftable *t, u64 at)
{
	const char *text = t->strings->d_buf;
	size_t left = at < t->strings->d_size ? t->strings->d_size - at : 0;

	if (!left || !memchr(text + at, '\0', left < TEXT_LIMIT ? left : TEXT_LIMIT))
		return NULL;
	return text + at;
}

const char *elftable_version(const struct elftable *t, u32 symbol, bool *ret_default)
{
	GElf_Versym v;

	*ret_default = false;
	if (!t->numbers || !gelf_getversym(t->numbers, symbol, &v))
		return "";
	*ret_default = !(v & HIDDEN);
	v &= ~HIDDEN;
	/* 1 is the name of the library itself: a symbol that is exported without a version */
	return v > 1 && v < VERSIONS_MAX && t->versions[v] ? t->versions[v] : "";
}

static void read_versions(struct elftable *t, Elf_Data *defs)
{
	GElf_Verdaux aux;
	GElf_Verdef def;
	u64 at = 0;
	int i;

	for (i = 0; defs && i < VERSIONS_MAX && at < defs->d_size; i++) {
		if (!gelf_getverdef(defs, at, &def))
			return;
		if (def.vd_ndx < VERSIONS_MAX && def.vd_aux < defs->d_size - at &&
		    gelf_getverdaux(defs, at + def.vd_aux, &aux))
			t->versions[def.vd_ndx] = elftable_text(t, aux.vda_name);
		if (!def.vd_next)
			return;
		at += def.vd_next;
	}
}

static bool by_section(struct elftable *ret, const struct elffile *f, u32 type)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t n;

	*ret = (struct elftable){ 0 };
	while ((scn = elf_nextscn(f->elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != type || !sh.sh_entsize)
			continue;
		ret->symbols = elffile_data(f, scn);
		ret->strings = elffile_data(f, elf_getscn(f->elf, sh.sh_link));
		if (ret->symbols && ret->strings && ret->symbols->d_type == ELF_T_SYM) {
			n = ret->symbols->d_size / gelf_fsize(f->elf, ELF_T_SYM, 1, EV_CURRENT);
			ret->n = n < SYMBOLS_MAX ? n : SYMBOLS_MAX;
			return true;
		}
	}
	return false;
}

bool elftable_full(struct elftable *ret, const struct elffile *f)
{
	return by_section(ret, f, SHT_SYMTAB);
}

/* What PT_DYNAMIC says, as addresses. */
struct dynamic {
	u64 symtab, strtab, strsz, hash, gnu_hash;
};

static bool read_dynamic(struct dynamic *ret, const struct elffile *f)
{
	GElf_Phdr ph = { 0 };
	Elf_Data *d = NULL;
	GElf_Dyn dyn;
	size_t i, n;
	int k;

	*ret = (struct dynamic){ 0 };
	for (i = 0; !d && elf_getphdrnum(f->elf, &n) == 0 && i < n && gelf_getphdr(f->elf, i, &ph);
	     i++)
		if (ph.p_type == PT_DYNAMIC)
			d = elffile_chunk(f, ph.p_offset, ph.p_filesz, ELF_T_DYN);
	for (k = 0; d && gelf_getdyn(d, k, &dyn) && dyn.d_tag != DT_NULL; k++) {
		const struct {
			s64 tag;
			u64 *value;
		} wanted[] = {
			{ DT_SYMTAB, &ret->symtab },	 { DT_STRTAB, &ret->strtab },
			{ DT_STRSZ, &ret->strsz },	 { DT_HASH, &ret->hash },
			{ DT_GNU_HASH, &ret->gnu_hash },
		};

		for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
			if (wanted[i].tag == dyn.d_tag)
				*wanted[i].value = dyn.d_un.d_val;
	}
	return ret->symtab && ret->strtab && ret->strsz;
}

/* A 32-bit word of a hash table in the file's own byte order; 0 after the end of the file. */
static u32 word_at(const struct elffile *f, u64 offset)
{
	Elf_Data *d = elffile_chunk(f, offset, 4, ELF_T_WORD);
	u32 v = 0;

	if (d && d->d_size == 4)
		memcpy(&v, d->d_buf, 4);
	return v;
}

/* The number of symbols stands nowhere: it follows from the longest chain of the hash table. */
static u32 count_by_gnu_hash(const struct elffile *f, u64 at)
{
	u32 buckets = word_at(f, at), first = word_at(f, at + 4), bloom = word_at(f, at + 8);
	u64 word = gelf_getclass(f->elf) == ELFCLASS64 ? 8 : 4;
	u64 table = at + 16 + bloom * word, chains = table + 4ull * buckets;
	Elf_Data *d = elffile_chunk(f, table, 4ull * buckets, ELF_T_WORD);
	u32 last = 0, i, bucket;

	for (i = 0; d && i < buckets && i < d->d_size / 4; i++) {
		memcpy(&bucket, (u8 *)d->d_buf + 4ull * i, 4);
		last = bucket > last ? bucket : last;
	}
	if (last < first)
		return first;
	/* the end of a chain is odd; the rest of the file is the bound */
	for (i = 0; i < CHAIN_LIMIT && last < SYMBOLS_MAX; i++, last++) {
		u64 offset = chains + 4ull * (last - first);
		u32 v = word_at(f, offset);

		if (v & 1)
			return last + 1;
		if (v == 0 && !elffile_chunk(f, offset, 4, ELF_T_WORD))
			break;
	}
	return first;
}

static u32 count_symbols(const struct elffile *f, const struct dynamic *dyn)
{
	u64 at;

	if (dyn->hash && elffile_data_offset(f, dyn->hash, &at))
		return word_at(f, at + 4);
	if (dyn->gnu_hash && elffile_data_offset(f, dyn->gnu_hash, &at))
		return count_by_gnu_hash(f, at);
	return 0;
}

static bool by_segment(struct elftable *ret, const struct elffile *f)
{
	u64 symtab, strtab, size = gelf_fsize(f->elf, ELF_T_SYM, 1, EV_CURRENT);
	struct dynamic dyn;
	u32 n;

	*ret = (struct elftable){ 0 };
	if (!read_dynamic(&dyn, f) || !elffile_data_offset(f, dyn.symtab, &symtab) ||
	    !elffile_data_offset(f, dyn.strtab, &strtab))
		return false;
	n = count_symbols(f, &dyn);
	if (!n || n > SYMBOLS_MAX)
		return false;
	ret->symbols = elffile_chunk(f, symtab, n * size, ELF_T_SYM);
	ret->strings = elffile_chunk(f, strtab, dyn.strsz, ELF_T_BYTE);
	ret->n = n;
	return ret->symbols && ret->strings;
}

bool elftable_dynamic(struct elftable *ret, const struct elffile *f)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	bool named = false;

	if (!by_section(ret, f, SHT_DYNSYM))
		return by_segment(ret, f);
	while ((scn = elf_nextscn(f->elf, scn))) {
		if (!gelf_getshdr(scn, &sh))
			continue;
		if (sh.sh_type == SHT_GNU_versym && !ret->numbers)
			ret->numbers = elffile_data(f, scn);
		if (sh.sh_type == SHT_GNU_verdef && !named) {
			read_versions(ret, elffile_data(f, scn));
			named = true;
		}
	}
	return true;
}
