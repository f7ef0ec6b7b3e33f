// SPDX-License-Identifier: GPL-2.0-or-later
/* First the places where a build-id leads to, then all files, until no build-id is left. */
#include "nameless.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MAX 200000 /* that are opened */
#define DEEPEST	  24	 /* directories */

struct search {
	struct nameless *n;
	u32 left;  /* files of the recording that are not found */
	u32 files; /* that may still be opened */
};

static struct nameless_file *wanted(struct nameless *n, const u8 build_id[BUILD_ID_SIZE])
{
	u32 low = 0, high = n->n_files, mid;
	int d;

	while (low < high) {
		mid = low + (high - low) / 2;
		d = memcmp(n->files[mid].build_id, build_id, BUILD_ID_SIZE);
		if (!d)
			return &n->files[mid];
		if (d < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

/* A file that is not there, or no ELF file, or of another build-id, is no error. */
static void try_file(struct search *s, int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	struct nameless_file *f;
	struct elf_image image;

	if (fd < 0)
		return;
	f = elf_image_open(&image, fd) ? wanted(s->n, image.build_id) : NULL;
	if (f && !f->found) {
		struct code_names names = { s->n->frames + f->first, f->n, CODE_NAMES_WORK };

		elf_image_names(&image, &names, ELF_BUILD_ID);
		/* a stripped file has few names: the debug file may come yet */
		f->found = elf_image_is_full(&image);
		s->left -= f->found;
	}
	close(fd);
}

static void try_build_ids(struct search *s, int dir)
{
	static const u32 sizes[] = { BUILD_ID_SIZE, 16, 8 };
	char path[64];
	u32 i, k, at;
	int n;

	for (i = 0; i < s->n->n_files; i++)
		for (k = 0; k < 3 && !s->n->files[i].found; k++) {
			const u8 *id = s->n->files[i].build_id;

			n = snprintf(path, sizeof(path), ".build-id/%02x/", id[0]);
			for (at = 1; at < sizes[k]; at++)
				n += snprintf(path + n, sizeof(path) - (size_t)n, "%02x", id[at]);
			try_file(s, dir, path);
			snprintf(path + n, sizeof(path) - (size_t)n, ".debug");
			try_file(s, dir, path);
		}
}

/* Takes dir over. */
static void walk(struct search *s, int dir, int depth)
{
	DIR *d = fdopendir(dir);
	const struct dirent *entry;
	struct stat st;
	int below;

	if (!d) {
		close(dir);
		return;
	}
	while (s->left && s->files && (entry = readdir(d))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (S_ISDIR(st.st_mode) && depth < DEEPEST) {
			below = openat(dir, entry->d_name,
				       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			if (below >= 0)
				walk(s, below, depth + 1);
		} else if (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode)) {
			s->files--;
			try_file(s, dir, entry->d_name);
		}
	}
	closedir(d);
}

int nameless_find(struct nameless *n, const char *dir, struct err *e)
{
	struct search s = { n, n->n_files, FILES_MAX };
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_errno(e, ERR_FAIL, "cannot read the directory %.400s", dir);
	try_build_ids(&s, fd);
	walk(&s, fd, 0);
	return 0;
}
