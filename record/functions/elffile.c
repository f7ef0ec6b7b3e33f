// SPDX-License-Identifier: GPL-2.0-or-later
/* ELF files through libelf, which bounds what it reads by the file's size: the size of a
 * sparse file is no bound, so counts and sizes are looked at before libelf allocates. */
#include "elffile.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECTIONS_MAX (1u << 20)
#define DATA_MAX     (1ull << 30) /* bytes of one section or segment that is read */
#define NOTES_MAX    (1u << 20)
#define NT_GO_ID     4

static int refuse(const struct elffile *f, const char *what, struct err *e)
{
	return err_set(e, ERR_FAIL, "%s is not an ELF program or library that can be read: %s",
		       f->path, what);
}

/* The number of sections may stand in the first section, where no 16 bits bound it. */
static int check_section_count(const struct elffile *f, struct err *e)
{
	Elf64_Ehdr eh;
	Elf64_Shdr sh;

	if (pread(f->fd, &eh, sizeof(eh), 0) != sizeof(eh) || memcmp(eh.e_ident, ELFMAG, SELFMAG))
		return 0; /* libelf will say it, or it is one of 32 bits, whose counts are small */
	if (eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_shnum != 0 || eh.e_shoff == 0)
		return 0;
	if (pread(f->fd, &sh, sizeof(sh), eh.e_shoff) == sizeof(sh) && sh.sh_size > SECTIONS_MAX)
		return refuse(f, "it claims too many sections", e);
	return 0;
}

static void read_note(struct elffile *f, const Elf_Data *d, const GElf_Nhdr *n, size_t name,
		      size_t desc)
{
	const char *owner = (const char *)d->d_buf + name;

	if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 && !memcmp(owner, "GNU", 4) &&
	    n->n_descsz && n->n_descsz <= BUILD_ID_MAX && !f->build_id_size) {
		f->build_id_size = n->n_descsz;
		memcpy(f->build_id, (const u8 *)d->d_buf + desc, n->n_descsz);
	}
	if (n->n_type == NT_GO_ID && n->n_namesz == 4 && !memcmp(owner, "Go\0", 4))
		f->go = true;
}

static void read_notes(struct elffile *f, Elf_Data *d)
{
	size_t at = 0, name, desc, next;
	GElf_Nhdr n;

	while (d && (next = gelf_getnote(d, at, &n, &name, &desc)) > 0) {
		read_note(f, d, &n, name, desc);
		at = next;
	}
}

/* Notes by segments; a separate debug file keeps them as sections alone. */
static void find_notes(struct elffile *f)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Phdr ph;
	size_t i, n;

	for (i = 0; elf_getphdrnum(f->elf, &n) == 0 && i < n && gelf_getphdr(f->elf, i, &ph); i++)
		if (ph.p_type == PT_NOTE && ph.p_filesz <= NOTES_MAX)
			read_notes(f, elffile_chunk(f, ph.p_offset, ph.p_filesz,
						    ph.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR));
	while (!f->build_id_size && (scn = elf_nextscn(f->elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_NOTE && sh.sh_size <= NOTES_MAX)
			read_notes(f, elffile_data(f, scn));
}

static int look(struct elffile *f, struct err *e)
{
	GElf_Shdr sh;
	size_t n;

	if (!f->elf || elf_kind(f->elf) != ELF_K_ELF)
		return err_set(e, ERR_FAIL, "%s is not an ELF program or library", f->path);
	if (elf_getshdrnum(f->elf, &n) == 0 && n > SECTIONS_MAX)
		return refuse(f, "it claims too many sections", e);
	find_notes(f);
	f->go |= elffile_section(f, ".gopclntab", &sh) || elffile_section(f, ".go.buildinfo", &sh);
	return 0;
}

int elffile_open(struct elffile *ret, int fd, const char *path, struct err *e)
{
	struct stat st;
	int r;

	*ret = (struct elffile){ .path = path, .fd = fd };
	elf_version(EV_CURRENT);
	if (fstat(fd, &st) < 0)
		r = err_errno(e, ERR_FAIL, "cannot read the binary %s", path);
	else if (!S_ISREG(st.st_mode))
		r = err_set(e, ERR_FAIL, "%s is not a file", path);
	else
		r = check_section_count(ret, e);
	if (r == 0) {
		/* not mapped: who may shorten the file could end us then */
		ret->elf = elf_begin(fd, ELF_C_READ, NULL);
		r = look(ret, e);
	}
	if (r < 0)
		elffile_close(ret);
	return r;
}

int elffile_from_memory(struct elffile *ret, void *image, size_t size, const char *path,
			struct err *e)
{
	int r;

	*ret = (struct elffile){ .path = path, .fd = -1, .image = image };
	elf_version(EV_CURRENT);
	ret->elf = elf_memory(image, size);
	r = look(ret, e);
	if (r < 0)
		elffile_close(ret);
	return r;
}

void elffile_close(struct elffile *f)
{
	elf_end(f->elf);
	if (f->fd >= 0)
		close(f->fd);
	free(f->image);
	*f = (struct elffile){ .path = f->path, .fd = -1 };
}

static bool find_offset(const struct elffile *f, u64 address, u32 flags, u64 *ret)
{
	GElf_Phdr ph;
	size_t i, n;

	if (elf_getphdrnum(f->elf, &n) != 0)
		return false;
	for (i = 0; i < n && gelf_getphdr(f->elf, i, &ph); i++) {
		if (ph.p_type != PT_LOAD || (ph.p_flags & flags) != flags)
			continue;
		if (address >= ph.p_vaddr && address - ph.p_vaddr < ph.p_filesz) {
			*ret = address - ph.p_vaddr + ph.p_offset;
			return true;
		}
	}
	return false;
}

bool elffile_offset(const struct elffile *f, u64 address, u64 *ret)
{
	return find_offset(f, address, PF_X, ret);
}

bool elffile_data_offset(const struct elffile *f, u64 address, u64 *ret)
{
	return find_offset(f, address, 0, ret);
}

bool elffile_is_i386(const struct elffile *f)
{
	GElf_Ehdr eh;

	return gelf_getehdr(f->elf, &eh) && eh.e_machine == EM_386;
}

Elf_Scn *elffile_section(const struct elffile *f, const char *name, GElf_Shdr *ret)
{
	Elf_Scn *scn = NULL;
	const char *is;
	size_t names;

	if (elf_getshdrstrndx(f->elf, &names) != 0)
		return NULL;
	while ((scn = elf_nextscn(f->elf, scn))) {
		if (!gelf_getshdr(scn, ret))
			continue;
		is = elf_strptr(f->elf, names, ret->sh_name);
		if (is && strcmp(is, name) == 0)
			return scn;
	}
	return NULL;
}

Elf_Data *elffile_data(const struct elffile *f, Elf_Scn *scn)
{
	Elf_Data *d;
	GElf_Shdr sh;

	(void)f;
	if (!scn || !gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS || sh.sh_size > DATA_MAX)
		return NULL;
	d = elf_getdata(scn, NULL);
	return d && d->d_buf ? d : NULL;
}

Elf_Data *elffile_chunk(const struct elffile *f, u64 offset, u64 size, Elf_Type type)
{
	Elf_Data *d;

	if (size == 0 || size > DATA_MAX || offset > INT64_MAX - size)
		return NULL;
	d = elf_getdata_rawchunk(f->elf, offset, size, type);
	return d && d->d_buf ? d : NULL;
}

void elffile_build_id(const struct elffile *f, char ret[2 * BUILD_ID_MAX + 1])
{
	u32 i;

	ret[0] = '\0';
	for (i = 0; i < f->build_id_size; i++)
		snprintf(ret + (size_t)2 * i, 3, "%02x", f->build_id[i]);
}
