// SPDX-License-Identifier: GPL-2.0-or-later
/* Claims are checked by elffile_open(). */
#define _GNU_SOURCE /* memfd_create */
#include "elfparts.h"

#include "elffile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK	  65536
#define NOTES_MAX (1u << 20)  /* bytes of one section or segment with notes */
#define TABLE_MAX (16u << 20) /* of the headers, and of the names of sections */

/* A copy; room: bytes that it may still take, of all parts together. */
struct parts_copy {
	int from, to;
	u64 room;
	bool (*wants)(const GElf_Shdr *sh, const char *name);
};

static bool put(struct parts_copy *c, u64 at, u64 size, u64 max)
{
	char chunk[CHUNK];
	ssize_t n = 0;
	u64 end;

	if (size > max || size > c->room || at > INT64_MAX - size)
		return true; /* left out */
	c->room -= size;
	for (end = at + size; at < end; at += n) {
		n = pread(c->from, chunk, end - at < CHUNK ? end - at : CHUNK, at);
		if (n < 0 || (n > 0 && pwrite(c->to, chunk, n, at) != n))
			return false;
		if (n == 0)
			break;
	}
	return true;
}

static bool is_of_frames(const GElf_Shdr *sh, const char *name)
{
	(void)sh;
	return strcmp(name, ".eh_frame") == 0 || strcmp(name, ".debug_frame") == 0;
}

/* Symbols with their names and versions, code, and what leads to a separate debug file. */
static bool is_of_symbols(const GElf_Shdr *sh, const char *name)
{
	switch (sh->sh_type) {
	case SHT_SYMTAB:
	case SHT_DYNSYM:
	case SHT_STRTAB:
	case SHT_GNU_versym:
	case SHT_GNU_verdef:
		return true;
	default:
		return sh->sh_flags & SHF_EXECINSTR || strcmp(name, ".gnu_debuglink") == 0 ||
		       strcmp(name, ".gnu_debugdata") == 0;
	}
}

static bool put_sections(struct parts_copy *c, const struct elffile *f, u64 max)
{
	size_t names = 0, i = 0;
	Elf_Scn *scn = NULL;
	const char *name;
	GElf_Shdr sh;
	bool ok = true;

	if (elf_getshdrstrndx(f->elf, &names) != 0)
		return true;
	while (ok && (scn = elf_nextscn(f->elf, scn))) {
		i = elf_ndxscn(scn);
		if (!gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(f->elf, names, sh.sh_name);
		if (i == names)
			ok = put(c, sh.sh_offset, sh.sh_size, TABLE_MAX);
		else if (sh.sh_type == SHT_NOTE)
			ok = put(c, sh.sh_offset, sh.sh_size, NOTES_MAX);
		else if (name && c->wants(&sh, name))
			ok = put(c, sh.sh_offset, sh.sh_size, max);
	}
	return ok;
}

static bool put_headers(struct parts_copy *c, const struct elffile *f)
{
	GElf_Ehdr eh;
	GElf_Phdr ph;
	size_t i, n;
	bool ok;

	if (!gelf_getehdr(f->elf, &eh))
		return false;
	ok = put(c, 0, sizeof(eh), sizeof(eh));
	if (ok && elf_getphdrnum(f->elf, &n) == 0)
		ok = put(c, eh.e_phoff, (u64)n * eh.e_phentsize, TABLE_MAX);
	if (ok && elf_getshdrnum(f->elf, &n) == 0)
		ok = put(c, eh.e_shoff, (u64)n * eh.e_shentsize, TABLE_MAX);
	for (i = 0; ok && elf_getphdrnum(f->elf, &n) == 0 && i < n && gelf_getphdr(f->elf, i, &ph);
	     i++)
		if (ph.p_type == PT_NOTE)
			ok = put(c, ph.p_offset, ph.p_filesz, NOTES_MAX);
	return ok;
}

/* Symbols of a file without sections are in its segments. */
static bool put_segments(struct parts_copy *c, const struct elffile *f)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Phdr ph;
	bool ok = true;
	size_t i, n;

	while ((scn = elf_nextscn(f->elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_DYNSYM)
			return true;
	for (i = 0; ok && elf_getphdrnum(f->elf, &n) == 0 && i < n && gelf_getphdr(f->elf, i, &ph);
	     i++)
		if (ph.p_type == PT_LOAD || ph.p_type == PT_DYNAMIC)
			ok = put(c, ph.p_offset, ph.p_filesz, f->budget);
	return ok;
}

static int copy_parts(int fd, u64 max, bool symbols, struct err *e)
{
	struct parts_copy c = { .from = fd, .to = -1, .room = max + 3 * TABLE_MAX };
	struct elffile f;
	struct stat st;

	c.wants = symbols ? is_of_symbols : is_of_frames;
	if (elffile_lent(&f, fd, "", e) < 0) {
		errno = ENOEXEC;
		return -1;
	}
	if (fstat(fd, &st) == 0)
		c.to = memfd_create("obsrec-code", MFD_CLOEXEC);
	if (c.to >= 0 && (ftruncate(c.to, st.st_size) < 0 || !put_headers(&c, &f) ||
			  !put_sections(&c, &f, max < f.budget ? max : f.budget) ||
			  (symbols && !put_segments(&c, &f)))) {
		close(c.to);
		c.to = -1;
		errno = EIO;
	}
	elffile_close(&f);
	return c.to;
}

int elfparts_copy(int fd, u64 max, struct err *e)
{
	return copy_parts(fd, max, false, e);
}

int elfparts_symbols(int fd, u64 max, struct err *e)
{
	return copy_parts(fd, max, true, e);
}
