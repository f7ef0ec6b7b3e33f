// SPDX-License-Identifier: GPL-2.0-or-later
/* Links and fdinfo come from memory of the kernel: no file system is asked for them. */
#include "fdinfo.h"

#include "procfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOUNTS_MAX  (1u << 20) /* numbers are the lowest free ones: there are no large ones */
#define NOT_MOUNTED UINT32_MAX

/* The text of a line that starts with the key; NULL if there is none. */
static const char *line_of(const char *text, const char *key)
{
	size_t n = strlen(key);

	for (; text; text = (text = strchr(text, '\n')) ? text + 1 : NULL)
		if (strncmp(text, key, n) == 0)
			return text + n;
	return NULL;
}

bool fdinfo_parse(struct fdinfo *ret, const char *text)
{
	const char *flags = line_of(text, "flags:");
	const char *mount = line_of(text, "mnt_id:"), *ino = line_of(text, "ino:");

	*ret = (struct fdinfo){ 0 };
	if (!flags)
		return false;
	ret->flags = strtoul(flags, NULL, 8);
	ret->mount = mount ? strtoul(mount, NULL, 10) : 0;
	ret->ino = ino ? strtoull(ino, NULL, 10) : 0;
	return true;
}

bool fdinfo_read(struct fdinfo *ret, u32 pid, u32 fd)
{
	char path[64], text[512];

	snprintf(path, sizeof(path), "/proc/%u/fdinfo/%u", pid, fd);
	procfs_read(path, text, sizeof(text));
	return fdinfo_parse(ret, text);
}

u64 fdinfo_map_bytes(int fd)
{
	char path[64], text[1024];
	const char *bytes;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	if (procfs_read(path, text, sizeof(text)) < 0)
		return 0;
	bytes = line_of(text, "memlock:");
	return bytes ? strtoull(bytes, NULL, 10) : 0;
}

bool fdinfo_parse_mount(const char *line, u32 *mount, u32 *dev)
{
	unsigned int id, major, minor;

	if (sscanf(line, "%u %*u %u:%u ", &id, &major, &minor) != 3)
		return false;
	*mount = id;
	*dev = major << 20 | minor;
	return true;
}

static void read_mounts(struct fdinfo_mounts *m, u32 pid)
{
	char path[64], *line = NULL;
	u32 mount, dev;
	size_t size = 0;
	FILE *f;

	m->pid = pid;
	snprintf(path, sizeof(path), "/proc/%u/mountinfo", pid);
	f = fopen(path, "re");
	while (f && getline(&line, &size, f) > 0)
		if (fdinfo_parse_mount(line, &mount, &dev) && mount < MOUNTS_MAX)
			m->device[mount] = dev;
	free(line);
	if (f)
		fclose(f);
}

u32 fdinfo_device(struct fdinfo_mounts *m, u32 pid, u32 mount)
{
	u32 *dev;

	if (!m->device)
		m->device = calloc(MOUNTS_MAX, sizeof(*m->device));
	if (!m->device || mount >= MOUNTS_MAX)
		return 0;
	dev = &m->device[mount];
	if (!*dev && m->pid != pid)
		read_mounts(m, pid);
	if (!*dev)
		*dev = NOT_MOUNTED;
	return *dev == NOT_MOUNTED ? 0 : *dev;
}

void fdinfo_forget(struct fdinfo_mounts *m)
{
	free(m->device);
	*m = (struct fdinfo_mounts){ 0 };
}
