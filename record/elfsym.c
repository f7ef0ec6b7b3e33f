// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions of a binary, by name. */
#include "elfsym.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_MAX_LEN 256 /* longer names are not compared for nearness */
#define NEAREST	     3
#define NEAR_LIMIT   6 /* edits */

struct near {
	char name[NAME_MAX_LEN];
	int distance;
};

struct search {
	const char *path;
	const char *name;
	int fd;
	Elf *elf;
	struct elfsym *found;
	int n;
	bool indirect; /* the name is an indirect function */
	struct near near[NEAREST];
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

static void note_near(struct search *s, const char *name)
{
	int distance = elfsym_distance(s->name, name, NEAR_LIMIT), i, at;

	/* a name that contains the other is near, however long it is */
	if (distance >= NEAR_LIMIT && strlen(s->name) > 3 && strstr(name, s->name))
		distance = NEAR_LIMIT - 1;
	if (distance >= NEAR_LIMIT || strlen(name) >= NAME_MAX_LEN)
		return;
	for (at = 0; at < NEAREST && s->near[at].name[0]; at++) {
		if (strcmp(s->near[at].name, name) == 0)
			return;
		if (distance < s->near[at].distance)
			break;
	}
	if (at == NEAREST)
		return;
	for (i = NEAREST - 1; i > at; i--)
		s->near[i] = s->near[i - 1];
	snprintf(s->near[at].name, NAME_MAX_LEN, "%s", name);
	s->near[at].distance = distance;
}

/* Where in the file the code at this address lies: by the segments that are executed. */
static bool file_offset(const struct search *s, u64 address, u64 *ret)
{
	GElf_Phdr ph;
	size_t i, n;

	if (elf_getphdrnum(s->elf, &n) != 0)
		return false;
	for (i = 0; i < n; i++) {
		if (!gelf_getphdr(s->elf, i, &ph) || ph.p_type != PT_LOAD || !(ph.p_flags & PF_X))
			continue;
		if (address >= ph.p_vaddr && address - ph.p_vaddr < ph.p_filesz) {
			*ret = address - ph.p_vaddr + ph.p_offset;
			return true;
		}
	}
	return false;
}

static void note_found(struct search *s, u64 address)
{
	static const u8 endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	struct elfsym sym = { .address = address };
	u8 code[sizeof(endbr64)];
	int i;

	if (!file_offset(s, address, &sym.offset))
		return;
	if (pread(s->fd, code, sizeof(code), sym.offset) == sizeof(code) &&
	    memcmp(code, endbr64, sizeof(code)) == 0) {
		sym.offset += sizeof(endbr64);
		sym.skipped_endbr = true;
	}
	for (i = 0; i < s->n; i++) /* aliases are one function */
		if (s->found[i].offset == sym.offset)
			return;
	if (s->n < ELFSYM_MAX)
		s->found[s->n++] = sym;
}

/* Name without a version: "open@@GLIBC_2.2.5" is open. */
static bool same_name(const char *symbol, const char *name)
{
	size_t n = strlen(name);

	return strncmp(symbol, name, n) == 0 && (symbol[n] == '\0' || symbol[n] == '@');
}

static void search_table(struct search *s, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	const char *name;
	GElf_Sym sym;
	size_t i, n;

	n = data && sh->sh_entsize ? data->d_size / sh->sh_entsize : 0;
	for (i = 0; i < n && gelf_getsym(data, i, &sym); i++) {
		int type = GELF_ST_TYPE(sym.st_info);

		name = elf_strptr(s->elf, sh->sh_link, sym.st_name);
		if (!name || !*name || sym.st_shndx == SHN_UNDEF ||
		    (type != STT_FUNC && type != STT_GNU_IFUNC))
			continue;
		if (!same_name(name, s->name))
			note_near(s, name);
		else if (type == STT_GNU_IFUNC)
			s->indirect = true;
		else
			note_found(s, sym.st_value);
	}
}

/* Walks the sections: symbol tables are searched, signs of Go are refused. */
static int search_sections(struct search *s, struct err *e)
{
	Elf_Scn *scn = NULL;
	const char *name;
	GElf_Shdr sh;
	size_t names;

	if (elf_getshdrstrndx(s->elf, &names) != 0)
		return 0;
	while ((scn = elf_nextscn(s->elf, scn))) {
		if (!gelf_getshdr(scn, &sh))
			continue;
		name = elf_strptr(s->elf, names, sh.sh_name);
		if (name && (!strcmp(name, ".gopclntab") || !strcmp(name, ".go.buildinfo")))
			return err_set(e, ERR_FAIL,
				       "%s is a Go program: its stacks move, and recording returns "
				       "of its functions would crash it",
				       s->path);
		if (sh.sh_type == SHT_SYMTAB || sh.sh_type == SHT_DYNSYM)
			search_table(s, scn, &sh);
	}
	return 0;
}

static int not_found(const struct search *s, struct err *e)
{
	const struct near *n = s->near;

	if (s->indirect)
		return err_set(
			e, ERR_FAIL,
			"%s in %s is an indirect function (chosen when the program starts) and "
			"cannot be probed by this name",
			s->name, s->path);
	if (!n[0].name[0])
		return err_set(e, ERR_FAIL,
			       "%s has no function %.100s, and none with a name like it", s->path,
			       s->name);
	return err_set(e, ERR_FAIL, "%s has no function %.100s; the nearest names are %s%s%s%s%s",
		       s->path, s->name, n[0].name, n[1].name[0] ? ", " : "", n[1].name,
		       n[2].name[0] ? ", " : "", n[2].name);
}

int elfsym_find(struct elfsym ret[ELFSYM_MAX], const char *path, const char *name, struct err *e)
{
	struct search *s = calloc(1, sizeof(*s));
	int r = ERR_FAIL;

	if (!s)
		return err_set(e, ERR_FAIL, "out of memory");
	s->path = path;
	s->name = name;
	s->found = ret;
	elf_version(EV_CURRENT);
	s->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (s->fd < 0) {
		err_errno(e, ERR_FAIL, "cannot read the binary %s", path);
		goto out;
	}
	s->elf = elf_begin(s->fd, ELF_C_READ, NULL);
	if (!s->elf || elf_kind(s->elf) != ELF_K_ELF) {
		err_set(e, ERR_FAIL, "%s is not an ELF program or library", path);
		goto out;
	}
	if (search_sections(s, e) < 0)
		goto out;
	r = s->n ? s->n : not_found(s, e);
out:
	elf_end(s->elf);
	if (s->fd >= 0)
		close(s->fd);
	free(s);
	return r;
}
