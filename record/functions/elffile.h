/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An ELF file from an untrusted source: its headers, within bounds. A sparse file can claim any
 * size for 20 kB of disk: claims are compared with the size and with the allocated blocks.
 */
#pragma once

#include "format/err.h"
#include "format/event.h"

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>

#define BUILD_ID_MAX 64

struct elffile {
	const char *path; /* for sentences; the caller's */
	int fd;		  /* -1: in memory */
	bool lent;	  /* fd stays the caller's */
	void *image;	  /* what was unpacked into memory */
	size_t mapped;	  /* its bytes, if it is a mapping */
	Elf *elf;
	u8 build_id[BUILD_ID_MAX];
	u32 build_id_size; /* 0: has none */
	u64 budget;	   /* max bytes of one table that is read */
	bool go;
};

/* Takes fd over, whatever happens. ERR_FAIL for an unsound ELF file, or one of foreign byte order.
 */
int elffile_open(struct elffile *ret, int fd, const char *path, struct err *e);

/* The same of a file that stays open. */
int elffile_lent(struct elffile *ret, int fd, const char *path, struct err *e);

/* The same for an image in memory, which is taken over: it came from malloc. */
int elffile_from_memory(struct elffile *ret, void *image, size_t size, const char *path,
			struct err *e);

/* A copy of elfparts.h. Takes fd over, whatever happens. */
int elffile_from_parts(struct elffile *ret, int fd, const char *path, struct err *e);

void elffile_close(struct elffile *f);

/* Where in the file the code at an address lies: by the segments that are executed. */
bool elffile_offset(const struct elffile *f, u64 address, u64 *ret);

/* Where in the file an address of any segment lies. */
bool elffile_data_offset(const struct elffile *f, u64 address, u64 *ret);

/* EM_*: where its stack and arguments are. */
u32 elffile_machine(const struct elffile *f);

/* The section of this name; NULL if there is none. */
Elf_Scn *elffile_section(const struct elffile *f, const char *name, GElf_Shdr *ret);

/* The content of a section; NULL if it is above the budget, or not in the file. */
Elf_Data *elffile_data(const struct elffile *f, Elf_Scn *scn);

/* A part of the file as an array of a type; NULL if it is above the budget, or not in the file. */
Elf_Data *elffile_chunk(const struct elffile *f, u64 offset, u64 size, Elf_Type type);

/* Code, or other bytes, at a place in the file; returns how many of them there are. */
size_t elffile_bytes(const struct elffile *f, u64 offset, void *ret, size_t size);

/* The build-id as hexadecimal digits; "" if there is none. */
void elffile_build_id(const struct elffile *f, char ret[2 * BUILD_ID_MAX + 1]);
