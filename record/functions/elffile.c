// SPDX-License-Identifier: GPL-2.0-or-later
/* ELF files through libelf, which bounds its reads by the file's size. The size of a sparse file is
 * no bound, so counts and sizes are checked before libelf allocates. */
#include "elffile.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECTIONS_MAX (1u << 16)
#define SEGMENTS_MAX 256
#define DATA_MAX     (1ull << 30)  /* bytes of one section or segment that is read */
#define DATA_MIN     (16ull << 20) /* the budget of a small file */
#define NOTES_MAX    (1u << 20)	   /* bytes of all note segments, or of all note sections */
#define PACKED_TO    64 /* a file system that compresses has at most this many bytes per byte */
#define NT_GO_ID     4

static int refuse(const struct elffile *f, const char *what, struct err *e)
{
	return err_set(e, ERR_FAIL, "%s is not an ELF program or library that can be read: %s",
		       f->path, what);
}

/* The number of sections may stand in the first section, where no 16 bits bound it. */
static int check_header(const struct elffile *f, struct err *e)
{
	static const u8 own = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	union {
		u8 ident[EI_NIDENT];
		Elf32_Ehdr w32;
		Elf64_Ehdr w64;
	} h;
	Elf32_Shdr s32;
	Elf64_Shdr s64;
	u64 count = 0;

	if (pread(f->fd, &h, sizeof(h), 0) != sizeof(h) || memcmp(h.ident, ELFMAG, SELFMAG) != 0)
		return 0; /* libelf refuses it, or it is too short for a section */
	if (h.ident[EI_DATA] != own)
		return refuse(f, "its byte order is not that of this machine", e);
	if (h.ident[EI_CLASS] == ELFCLASS64 && h.w64.e_shnum == 0 && h.w64.e_shoff != 0 &&
	    pread(f->fd, &s64, sizeof(s64), h.w64.e_shoff) == sizeof(s64))
		count = s64.sh_size;
	if (h.ident[EI_CLASS] == ELFCLASS32 && h.w32.e_shnum == 0 && h.w32.e_shoff != 0 &&
	    pread(f->fd, &s32, sizeof(s32), h.w32.e_shoff) == sizeof(s32))
		count = s32.sh_size;
	return count > SECTIONS_MAX ? refuse(f, "it claims too many sections", e) : 0;
}

/* Bytes that the tables of a file can have: a hole in it is no data. */
static u64 budget_of(const struct stat *st)
{
	u64 blocks = (u64)st->st_blocks * 512, size = st->st_size;

	/* some network file systems do not report blocks */
	if (blocks == 0 || blocks > size / PACKED_TO)
		return size > DATA_MIN ? size : DATA_MIN;
	return blocks * PACKED_TO > DATA_MIN ? blocks * PACKED_TO : DATA_MIN;
}

/* Sections do not overlap, so all of them fit into the file; twice that is allowed. */
static int check_claims(struct elffile *f, struct err *e)
{
	u64 claimed = 0, limit = 2 * f->budget;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t n, names;

	if (elf_getshdrnum(f->elf, &n) == 0 && n > SECTIONS_MAX)
		return refuse(f, "it claims too many sections", e);
	if (elf_getphdrnum(f->elf, &n) == 0 && n > SEGMENTS_MAX)
		return refuse(f, "it claims too many segments", e);
	while ((scn = elf_nextscn(f->elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS)
			continue;
		claimed += sh.sh_size < limit ? sh.sh_size : limit + 1;
		if (claimed > limit)
			return refuse(f, "its sections claim more than the file has", e);
	}
	/* libelf would unpack them unasked */
	if (elf_getshdrstrndx(f->elf, &names) == 0 &&
	    gelf_getshdr(elf_getscn(f->elf, names), &sh) && (sh.sh_flags & SHF_COMPRESSED))
		return refuse(f, "the names of its sections are compressed", e);
	if (f->budget > DATA_MAX)
		f->budget = DATA_MAX;
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
	u64 left = NOTES_MAX;

	for (i = 0; elf_getphdrnum(f->elf, &n) == 0 && i < n && gelf_getphdr(f->elf, i, &ph); i++)
		if (ph.p_type == PT_NOTE && ph.p_filesz <= left) {
			left -= ph.p_filesz;
			read_notes(f, elffile_chunk(f, ph.p_offset, ph.p_filesz,
						    ph.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR));
		}
	left = NOTES_MAX;
	while (!f->build_id_size && (scn = elf_nextscn(f->elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_NOTE && sh.sh_size <= left) {
			left -= sh.sh_size;
			read_notes(f, elffile_data(f, scn));
		}
}

static int look(struct elffile *f, struct err *e)
{
	GElf_Shdr sh;
	int ret;

	if (!f->elf || elf_kind(f->elf) != ELF_K_ELF)
		return err_set(e, ERR_FAIL, "%s is not an ELF program or library", f->path);
	ret = check_claims(f, e);
	if (ret < 0)
		return ret;
	find_notes(f);
	f->go |= elffile_section(f, ".gopclntab", &sh) || elffile_section(f, ".go.buildinfo", &sh);
	return 0;
}

static int open_file(struct elffile *ret, int fd, bool lent, const char *path, struct err *e)
{
	struct stat st;
	int r;

	*ret = (struct elffile){ .path = path, .fd = fd, .lent = lent };
	elf_version(EV_CURRENT);
	if (fstat(fd, &st) < 0)
		r = err_errno(e, ERR_FAIL, "cannot read the binary %s", path);
	else if (!S_ISREG(st.st_mode))
		r = err_set(e, ERR_FAIL, "%s is not a file", path);
	else
		r = check_header(ret, e);
	if (r == 0) {
		/* not mapped: who may shorten the file could end us then */
		ret->budget = budget_of(&st);
		ret->elf = elf_begin(fd, ELF_C_READ, NULL);
		r = look(ret, e);
	}
	if (r < 0)
		elffile_close(ret);
	return r;
}

int elffile_open(struct elffile *ret, int fd, const char *path, struct err *e)
{
	return open_file(ret, fd, false, path, e);
}

int elffile_lent(struct elffile *ret, int fd, const char *path, struct err *e)
{
	return open_file(ret, fd, true, path, e);
}

static int from_image(struct elffile *ret, void *image, size_t size, struct err *e)
{
	int r;

	ret->image = image;
	ret->budget = size;
	elf_version(EV_CURRENT);
	ret->elf = elf_memory(image, size);
	r = look(ret, e);
	if (r < 0)
		elffile_close(ret);
	return r;
}

int elffile_from_memory(struct elffile *ret, void *image, size_t size, const char *path,
			struct err *e)
{
	*ret = (struct elffile){ .path = path, .fd = -1 };
	return from_image(ret, image, size, e);
}

int elffile_from_parts(struct elffile *ret, int fd, const char *path, struct err *e)
{
	void *image = MAP_FAILED;
	struct stat st;

	if (fstat(fd, &st) == 0 && st.st_size > 0)
		image = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	*ret = (struct elffile){ .path = path, .fd = -1 };
	if (image == MAP_FAILED)
		return err_set(e, ERR_FAIL, "no memory for %s", path);
	ret->mapped = st.st_size;
	return from_image(ret, image, st.st_size, e);
}

void elffile_close(struct elffile *f)
{
	elf_end(f->elf);
	if (f->fd >= 0 && !f->lent)
		close(f->fd);
	if (f->mapped)
		munmap(f->image, f->mapped);
	else
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

u32 elffile_machine(const struct elffile *f)
{
	GElf_Ehdr eh;

	return gelf_getehdr(f->elf, &eh) ? eh.e_machine : EM_NONE;
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

	if (!scn || !gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS || sh.sh_size > f->budget)
		return NULL;
	d = elf_getdata(scn, NULL);
	return d && d->d_buf ? d : NULL;
}

Elf_Data *elffile_chunk(const struct elffile *f, u64 offset, u64 size, Elf_Type type)
{
	Elf_Data *d;

	if (size == 0 || size > f->budget || offset > INT64_MAX - size)
		return NULL;
	d = elf_getdata_rawchunk(f->elf, offset, size, type);
	return d && d->d_buf ? d : NULL;
}

size_t elffile_bytes(const struct elffile *f, u64 offset, void *ret, size_t size)
{
	size_t has = 0;
	const char *image;
	ssize_t n;

	if (f->fd >= 0) {
		n = offset <= INT64_MAX ? pread(f->fd, ret, size, (off_t)offset) : 0;
		return n > 0 ? n : 0;
	}
	image = elf_rawfile(f->elf, &has);
	if (!image || offset >= has)
		return 0;
	size = size < has - offset ? size : has - offset;
	memcpy(ret, image + offset, size);
	return size;
}

void elffile_build_id(const struct elffile *f, char ret[2 * BUILD_ID_MAX + 1])
{
	u32 i;

	ret[0] = '\0';
	for (i = 0; i < f->build_id_size; i++)
		snprintf(ret + (size_t)2 * i, 3, "%02x", f->build_id[i]);
}
