// SPDX-License-Identifier: GPL-2.0-or-later
/* Separate debug files, by build-id or link, and the small table that Fedora packs into programs.
 */
#define _GNU_SOURCE /* memfd_create */
#include "elfdebug.h"

#include "elfparts.h"
#include "record/files/safe_open.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#ifdef HAVE_LZMA
#include <lzma.h>
#endif

#define UNPACKED_MAX (64u << 20)
#define PACKER_MAX   (128u << 20) /* memory that unpacking may take */
#define CRC_MAX	     (1u << 30)	  /* bytes read for the checksums of one .gnu_debuglink */

const char *elf_source_name(enum elf_source source)
{
	static const char *const names[N_ELF_SOURCES] = {
		[ELF_NONE] = "nowhere",
		[ELF_DYNSYM] = "dynamic symbols",
		[ELF_SYMTAB] = "symbol table",
		[ELF_BUILD_ID] = "debug file by build-id",
		[ELF_LINK] = "debug file by link",
		[ELF_MINI] = ".gnu_debugdata",
		[ELF_STAPSDT] = ".note.stapsdt",
	};

	return names[source < N_ELF_SOURCES ? source : ELF_NONE];
}

/* Where files are looked for. */
struct roots {
	struct safe_files own;	  /* opens them all, if there is no other */
	struct safe_files *files; /* opens and reads them; NULL: it must not read for us */
	int root;
	int host; /* -1: not open yet */
};

/* What .gnu_debuglink has of the debug file. */
struct link {
	u32 crc;  /* of the whole file */
	u64 left; /* bytes that may still be read for checksums */
};

/* Checksum of a whole file. One above the limit has none: it is known by its build-id alone. */
static bool checksum(int fd, u64 max, u32 *ret)
{
	u8 part[65536];
	uLong crc = crc32(0, NULL, 0);
	struct stat st;
	off_t at = 0;
	ssize_t n;

	if (fstat(fd, &st) < 0 || (u64)st.st_size > max)
		return false;
	while (at < st.st_size && (n = pread(fd, part, sizeof(part), at)) > 0) {
		crc = crc32(crc, part, n);
		at += n;
	}
	*ret = crc;
	return at == st.st_size;
}

/* In the worker: the checksum alone. */
static int copy_checksum(int fd, u64 max, struct err *e)
{
	int to = memfd_create("obsrec", MFD_CLOEXEC);
	u32 crc;

	(void)e;
	if (to >= 0 && checksum(fd, max, &crc) && write(to, &crc, sizeof(crc)) == sizeof(crc))
		return to;
	if (to >= 0)
		close(to);
	return -1;
}

static bool same_build_id(const struct elffile *a, const struct elffile *b)
{
	return a->build_id_size && a->build_id_size == b->build_id_size &&
	       memcmp(a->build_id, b->build_id, a->build_id_size) == 0;
}

/* A file that is looked at: below a root of ours. */
struct candidate {
	struct roots *roots;
	int root;
	const char *path;
};

static int open_candidate(struct elffile *ret, const struct candidate *c, struct err *e)
{
	struct safe_copy copy;
	int fd;

	if (!c->roots->files) {
		fd = safe_open(&c->roots->own, c->root, c->path);
		return fd < 0 ? ERR_FAIL : elffile_open(ret, fd, c->path, e);
	}
	if (safe_parts_place(c->roots->files, c->root, c->path, elfparts_symbols,
			     ELFPARTS_SYMBOLS_MAX, &copy) < 0)
		return ERR_FAIL;
	close(copy.place);
	return elffile_from_parts(ret, copy.image, c->path, e);
}

static bool same_checksum(const struct elffile *f, const struct candidate *c, struct link *l)
{
	struct safe_copy copy;
	struct stat st;
	u32 crc = 0;
	bool read;

	if (!c->roots->files) {
		read = checksum(f->fd, l->left, &crc);
		l->left -= read && fstat(f->fd, &st) == 0 ? (u64)st.st_size : 0;
		return read && crc == l->crc;
	}
	if (safe_parts_place(c->roots->files, c->root, c->path, copy_checksum, l->left, &copy) < 0)
		return false;
	l->left -= copy.stat.size < l->left ? copy.stat.size : l->left;
	read = pread(copy.image, &crc, sizeof(crc), 0) == sizeof(crc);
	close(copy.image);
	close(copy.place);
	return read && crc == l->crc;
}

/* Opens a candidate; its build-id must be that of f, or its checksum that of the link. */
static bool try_file(struct elffile *ret, const struct elffile *f, const struct candidate *c,
		     struct link *l)
{
	struct err e = { 0 };

	if (open_candidate(ret, c, &e) < 0)
		return false;
	ret->path = f->path;
	if (same_build_id(ret, f) ||
	    (l && (!ret->build_id_size || !f->build_id_size) && same_checksum(ret, c, l)))
		return true;
	elffile_close(ret);
	return false;
}

/* In the root of the process, and on this host. */
static bool try_roots(struct elffile *ret, const struct elffile *f, struct roots *r,
		      const char *path, struct link *l)
{
	struct safe_files *files = r->files ? r->files : &r->own;
	const struct candidate there = { r, r->root, path };

	if (try_file(ret, f, &there, l))
		return true;
	if (r->host < 0)
		r->host = safe_open_dir(files, "/");
	const struct candidate here = { r, r->host, path };

	return r->host >= 0 && try_file(ret, f, &here, l);
}

static bool by_build_id(struct elffile *ret, const struct elffile *f, struct roots *r)
{
	char id[2 * BUILD_ID_MAX + 1], path[PATH_MAX];

	elffile_build_id(f, id);
	if (strlen(id) < 4)
		return false;
	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2);
	return try_roots(ret, f, r, path, NULL);
}

/* The three places of a linked file: next to the program, in .debug there, in /usr/lib/debug. */
static bool by_link(struct elffile *ret, const struct elffile *f, struct roots *r)
{
	static const char *const places[] = { "%.*s/%s", "%.*s/.debug/%s",
					      "/usr/lib/debug%.*s/%s" };
	GElf_Shdr sh;
	const Elf_Data *d = elffile_data(f, elffile_section(f, ".gnu_debuglink", &sh));
	const char *name = d ? d->d_buf : NULL, *slash = strrchr(f->path, '/');
	size_t n = name ? strnlen(name, d->d_size) : 0, i;
	char path[PATH_MAX];
	struct link l = { .left = CRC_MAX };

	if (!n || !slash || (n & ~3ul) + 8 > d->d_size || memchr(name, '/', n))
		return false;
	memcpy(&l.crc, name + (n & ~3ul) + 4, sizeof(l.crc));
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		int len = snprintf(path, sizeof(path), places[i], (int)(slash - f->path), f->path,
				   name);

		if (len < (int)sizeof(path) && try_roots(ret, f, r, path, &l))
			return true;
	}
	return false;
}

#ifdef HAVE_LZMA

/* Unpacks into memory from malloc; NULL if that is not possible within the bounds. */
static void *unpack(const Elf_Data *d, size_t *ret_size)
{
	lzma_stream s = LZMA_STREAM_INIT;
	size_t cap = 1u << 20;
	u8 *out = malloc(cap), *grown;
	lzma_ret r = LZMA_OK;

	if (!out || lzma_stream_decoder(&s, PACKER_MAX, 0) != LZMA_OK)
		goto fail;
	s.next_in = d->d_buf;
	s.avail_in = d->d_size;
	while (r == LZMA_OK) {
		if (s.total_out == cap) {
			grown = cap < UNPACKED_MAX ? realloc(out, 2 * cap) : NULL;
			if (!grown)
				goto fail;
			out = grown;
			cap *= 2;
		}
		s.next_out = out + s.total_out;
		s.avail_out = cap - s.total_out;
		r = lzma_code(&s, LZMA_FINISH);
	}
	*ret_size = s.total_out;
	lzma_end(&s);
	if (r == LZMA_STREAM_END)
		return out;
	free(out);
	return NULL;
fail:
	lzma_end(&s);
	free(out);
	return NULL;
}

bool elfdebug_unpacks(void)
{
	return true;
}

#else

static void *unpack(const Elf_Data *d, size_t *ret_size)
{
	(void)d;
	*ret_size = 0;
	return NULL;
}

bool elfdebug_unpacks(void)
{
	return false;
}

#endif

static bool by_section(struct elffile *ret, const struct elffile *f)
{
	GElf_Shdr sh;
	const Elf_Data *d = elffile_data(f, elffile_section(f, ".gnu_debugdata", &sh));
	struct err e = { 0 };
	size_t size;
	void *image = d ? unpack(d, &size) : NULL;

	return image && elffile_from_memory(ret, image, size, f->path, &e) == 0;
}

enum elf_source elfdebug_open(struct elffile *ret, const struct elffile *f,
			      struct safe_files *files, int root)
{
	struct roots r = { .files = files, .root = root, .host = -1 };
	enum elf_source source = ELF_NONE;

	if (by_build_id(ret, f, &r))
		source = ELF_BUILD_ID;
	else if (by_link(ret, f, &r))
		source = ELF_LINK;
	else if (by_section(ret, f))
		source = ELF_MINI;
	if (r.host >= 0)
		close(r.host);
	safe_end(&r.own);
	return source;
}
