// SPDX-License-Identifier: GPL-2.0-or-later
/* A file is opened through the mapping itself where we may: paths can lead to another one. */
#include "code_module.h"

#include "record/functions/elfparts.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define CFI_MAX	  (32ull << 20) /* bytes of call frame information of all modules */
#define VDSO_MAX  (1u << 20)
#define TRIES_MAX 16 /* processes that may help with a file: each takes a worker's time */
#define ASKED_MAX 4  /* the same at once, of those that are known already */

bool code_modules_start(struct code_modules *m)
{
	m->list = calloc(CODE_MODULES_MAX, sizeof(*m->list));
	m->n = 1;
	return m->list != NULL;
}

static bool same(const struct code_module *c, const struct code_map *map, u32 pid)
{
	if (c->kind == CODE_FILE ? map->kind != CODE_ELF : c->kind != map->kind)
		return false;
	if (map->kind == CODE_JIT)
		return c->pid == pid;
	if (map->kind == CODE_VDSO)
		return true;
	/* the number of a file that is not kept open can be given to another one */
	return c->dev == map->dev && c->ino == map->ino &&
	       (c->parked >= 0 || strcmp(c->path, map->path) == 0);
}

/* The vdso of this process: the kernel maps the same bytes into all of the same kind. */
static int open_vdso(struct code_module *c, const struct code_map *map, struct err *e)
{
	const void *at = (const void *)getauxval(AT_SYSINFO_EHDR);
	u64 size = map->end - map->start;
	void *copy = at && size <= VDSO_MAX ? malloc(size) : NULL;

	if (!copy)
		return ERR_FAIL;
	memcpy(copy, at, size);
	return elffile_from_memory(&c->elf, copy, size, c->path, e);
}

/*
 * Of a deleted file, or one in another mount namespace, the mapping is the way. A worker reads it:
 * its server can answer the open, and nothing from then on.
 */
static bool open_mapped(struct code_modules *m, const struct code_map *map, u32 pid,
			struct safe_copy *ret)
{
	u64 room = CFI_MAX - m->cfi_bytes;
	char path[128];
	int root, why;

	snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", pid,
		 (unsigned long long)map->start, (unsigned long long)map->end);
	if (safe_parts(&m->files, -1, path, elfparts_copy, room, ret) == 0)
		return true;
	if (map->deleted || errno == ENOEXEC)
		return false;
	snprintf(path, sizeof(path), "/proc/%u/root", pid);
	root = safe_open_dir(&m->files, path);
	if (root < 0)
		return false;
	safe_parts(&m->files, root, map->path, elfparts_copy, room, ret);
	why = errno;
	close(root);
	errno = why;
	return ret->image >= 0;
}

/* By its path here: that of a container leads to another file, or none. */
static bool open_named(struct code_modules *m, const struct code_map *map, struct safe_copy *ret)
{
	const char *path = map->path;
	struct safe_stat st;

	if (map->deleted || safe_stat(&m->files, path, &st) < 0 || st.ino != map->ino ||
	    st.dev != map->dev)
		return false;
	if (safe_parts(&m->files, -1, path, elfparts_copy, CFI_MAX - m->cfi_bytes, ret) < 0)
		return false;
	if (ret->stat.ino == map->ino && ret->stat.dev == map->dev)
		return true;
	close(ret->image); /* replaced just now */
	if (ret->parked >= 0)
		close(ret->parked);
	ret->image = ret->parked = -1;
	return false;
}

/* The process can end before its file is opened: others may have it mapped, or the path leads to
 * it. */
static bool open_file(struct code_modules *m, const struct code_map *map, u32 pid,
		      struct safe_copy *ret)
{
	const struct code_map *other;
	u32 place = 0, asked, by;
	int why;

	if (open_mapped(m, map, pid, ret))
		return true;
	if (errno != ENOENT && errno != ESRCH)
		return false;
	why = errno;
	for (asked = 0; m->other && asked < ASKED_MAX; asked++) {
		other = m->other(m->arg, map, pid, &place, &by);
		if (!other)
			break;
		if (open_mapped(m, other, by, ret))
			return true;
		if (errno == ENOEXEC)
			return false;
	}
	errno = why;
	if (open_named(m, map, ret))
		return true;
	errno = errno == ENOEXEC ? ENOEXEC : why;
	return false;
}

static bool is_file(const struct safe_stat *a, const struct safe_stat *b)
{
	return a->ino == b->ino && a->dev == b->dev;
}

static bool is_program(struct code_modules *m, const struct safe_stat *st, u32 pid)
{
	struct safe_stat exe;
	char path[40];

	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	return safe_stat(&m->files, path, &exe) == 0 && is_file(&exe, st);
}

/*
 * A program that was started by a link is called as the link: Debian's redis-server is one to
 * redis-check-rdb. The process's name must be that of a link to the same file, next to it.
 */
static void take_name(struct code_modules *m, struct code_module *c, const struct safe_stat *st,
		      u32 pid)
{
	char text[40], comm[40], path[PATH_MAX], *named;
	const char *slash = strrchr(c->path, '/');
	struct safe_stat other;
	int root, n;

	snprintf(text, sizeof(text), "/proc/%u/comm", pid);
	if (!slash || c->deleted || !is_program(m, st, pid) ||
	    safe_text(&m->files, text, comm, sizeof(comm)) < 0)
		return;
	comm[strcspn(comm, "\n")] = '\0';
	n = snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - c->path), c->path, comm);
	if (!*comm || strchr(comm, '/') || n >= (int)sizeof(path) || strcmp(path, c->path) == 0)
		return;
	snprintf(text, sizeof(text), "/proc/%u/root", pid);
	root = safe_open_dir(&m->files, text);
	if (root < 0)
		return;
	named = safe_stat_in(&m->files, root, path, &other) == 0 && is_file(&other, st)
			? strdup(path)
			: NULL;
	if (named) {
		free(c->path);
		c->elf.path = c->path = named;
	}
	close(root);
}

void code_module_cfi(struct code_modules *m, struct code_module *c)
{
	cfi_table_open(&c->eh_frame, &c->elf, ".eh_frame", CFI_MAX - m->cfi_bytes);
	m->cfi_bytes += cfi_table_bytes(&c->eh_frame);
	cfi_table_open(&c->debug_frame, &c->elf, ".debug_frame", CFI_MAX - m->cfi_bytes);
	m->cfi_bytes += cfi_table_bytes(&c->debug_frame);
}

/* Mappings of memory that have a name: a program or library can be there, or generated code. */
static bool is_memory(const struct code_map *map)
{
	return strncmp(map->path, "/memfd:", 7) == 0 || strcmp(map->path, "/dev/zero") == 0 ||
	       strcmp(map->path, "/anon_hugepage") == 0 || strncmp(map->path, "/SYSV", 5) == 0;
}

static void open_elf(struct code_modules *m, struct code_module *c, const struct code_map *map,
		     u32 pid)
{
	struct safe_copy copy;
	struct err e = { 0 };

	if (c->kind == CODE_VDSO) {
		if (open_vdso(c, map, &e) < 0)
			c->unread = true;
	} else {
		c->unread = !open_file(m, map, pid, &copy) && errno != ENOEXEC;
		c->gone = c->unread && (errno == ENOENT || errno == ESRCH);
		c->parked = copy.parked;
		if (copy.image >= 0 && elffile_from_parts(&c->elf, copy.image, c->path, &e) == 0)
			take_name(m, c, &copy.stat, pid);
		else if (!c->unread)
			c->kind = CODE_FILE;
	}
	if (c->elf.elf)
		code_module_cfi(m, c);
}

int code_module_add(struct code_modules *m, enum code_kind kind, const char *path)
{
	struct code_module *c;
	u32 i = 1;

	while (i < m->n && m->list[i].kind != CODE_NONE)
		i++;
	if (i == CODE_MODULES_MAX)
		return 0;
	c = &m->list[i];
	*c = (struct code_module){
		.path = strdup(path), .elf.fd = -1, .parked = -1, .used = m->time
	};
	if (!c->path)
		return 0;
	c->kind = kind;
	m->n += i == m->n;
	return i;
}

static void close_module(struct code_module *c)
{
	cfi_table_close(&c->eh_frame);
	cfi_table_close(&c->debug_frame);
	if (c->elf.elf)
		elffile_close(&c->elf);
	if (c->parked >= 0)
		close(c->parked);
	free(c->path);
	*c = (struct code_module){ .elf.fd = -1, .parked = -1 };
}

/* A module for a mapping of which none is known; 0: there are too many. */
static int add_map(struct code_modules *m, const struct code_map *map, u32 pid)
{
	bool generated = map->kind == CODE_JIT;
	const char *path = generated ? "[jit]" : map->kind == CODE_VDSO ? "[vdso]" : map->path;
	int ret = code_module_add(m, map->kind, path);
	struct code_module *c = &m->list[ret];

	if (!ret)
		return 0;
	c->dev = generated ? 0 : map->dev;
	c->ino = generated ? 0 : map->ino;
	c->pid = generated ? pid : 0;
	c->deleted = map->deleted;
	if (!generated)
		open_elf(m, c, map, pid);
	return ret;
}

int code_module_find(struct code_modules *m, struct code_map *map, u32 pid)
{
	struct code_module *c;
	int gone = 0;
	u32 i;

	if (map->module >= 0) {
		m->list[map->module].used = m->time;
		return map->module;
	}
	map->module = 0;
	if (map->kind == CODE_NONE)
		return 0;
	for (i = 1; i < m->n; i++) {
		if (!same(&m->list[i], map, pid))
			continue;
		if (!m->list[i].gone)
			break;
		gone = (int)i;
	}
	if (i < m->n)
		map->module = (int)i;
	else if (!gone || m->list[gone].tries++ < TRIES_MAX)
		map->module = add_map(m, map, pid);
	else
		m->list[gone].tries = TRIES_MAX;
	if (gone && (!map->module || m->list[map->module].gone)) { /* this one does not help */
		if (map->module)
			close_module(&m->list[map->module]);
		map->module = gone;
	}
	c = &m->list[map->module];
	c->used = m->time;
	if (c->kind != CODE_FILE || !is_memory(map))
		return map->module;
	map->kind = CODE_JIT;
	map->module = -1;
	return code_module_find(m, map, pid);
}

bool code_module_address(const struct code_module *c, const struct code_map *map, u64 pc, u64 *ret)
{
	u64 at = pc - map->start + map->offset;
	GElf_Phdr ph;
	size_t i, n;

	*ret = c->kind == CODE_ELF || c->kind == CODE_FILE || c->kind == CODE_VDSO ? at : pc;
	if (!c->elf.elf)
		return true;
	*ret = pc;
	for (i = 0;
	     elf_getphdrnum(c->elf.elf, &n) == 0 && i < n && gelf_getphdr(c->elf.elf, i, &ph); i++)
		if (ph.p_type == PT_LOAD && at >= ph.p_offset && at - ph.p_offset < ph.p_filesz) {
			*ret = ph.p_vaddr + (at - ph.p_offset);
			return true;
		}
	return false;
}

/* The stub that an address is in: a table of them (PLT) has one entry. False: it is in none. */
static bool find_stub(const struct elffile *f, u64 address, u64 *start)
{
	Elf_Scn *scn = NULL;
	const char *name;
	size_t names = 0;
	GElf_Shdr sh;

	if (elf_getshdrstrndx(f->elf, &names) != 0)
		return false;
	while ((scn = elf_nextscn(f->elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || !(sh.sh_flags & SHF_EXECINSTR) ||
		    address < sh.sh_addr || address - sh.sh_addr >= sh.sh_size)
			continue;
		name = elf_strptr(f->elf, names, sh.sh_name);
		if (!name || (strncmp(name, ".plt", 4) != 0 && strcmp(name, ".iplt") != 0))
			return false;
		*start = sh.sh_entsize ? address - (address - sh.sh_addr) % sh.sh_entsize : address;
		return true;
	}
	return false;
}

u32 code_module_offset(const struct code_module *c, u64 address)
{
	struct cfi_entry entry;
	u64 start;

	if (!c->elf.elf || (!cfi_table_find(&c->eh_frame, address, &entry) &&
			    !cfi_table_find(&c->debug_frame, address, &entry)))
		return 0;
	start = entry.start;
	find_stub(&c->elf, address, &start);
	return address - start <= UINT32_MAX ? address - start : 0;
}

u32 code_modules_forget(struct code_modules *m, u32 time)
{
	struct code_module *c;
	u32 i, n = 0;

	for (i = 1; i < m->n; i++) {
		c = &m->list[i];
		if (c->kind < CODE_ELF || c->used >= time)
			continue;
		m->cfi_bytes -= cfi_table_bytes(&c->eh_frame) + cfi_table_bytes(&c->debug_frame);
		close_module(c);
		n++;
	}
	return n;
}

void code_modules_free(struct code_modules *m)
{
	u32 i;

	for (i = 1; m->list && i < m->n; i++)
		close_module(&m->list[i]);
	free(m->list);
	safe_end(&m->files);
	*m = (struct code_modules){ 0 };
}
