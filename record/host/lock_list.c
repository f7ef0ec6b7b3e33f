// SPDX-License-Identifier: GPL-2.0-or-later
#include "lock_list.h"

#include "record/files/procfs.h"
#include "record/pump/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "0 EOF": first and last byte. */
static bool take_range(struct ev_file_lock *ev, const char *from, const char *to)
{
	char *end;

	ev->from = strtoull(from, &end, 10);
	if (*end)
		return false;
	ev->to = INT64_MAX;
	if (strcmp(to, "EOF") != 0)
		ev->to = strtoull(to, &end, 10);
	return ev->from <= INT64_MAX && ev->to <= INT64_MAX;
}

bool lock_list_parse(struct ev_file_lock *ret, const char *line, u32 *holder)
{
	char kind[16], mode[16], from[24], to[24];
	unsigned int major, minor;
	unsigned long long ino;
	const char *arrow = strstr(line, "-> "), *text = strchr(line, ':');
	int pid;

	*ret = (struct ev_file_lock){ .h = { .type = EV_file_lock } };
	if (!arrow)
		*holder = 0;
	if (!text || sscanf(arrow ? arrow + 3 : text + 1, "%15s %*s %15s %d %x:%x:%llu %23s %23s",
			    kind, mode, &pid, &major, &minor, &ino, from, to) != 8)
		return false;
	if (pid <= 0 || (strcmp(kind, "POSIX") != 0 && strcmp(kind, "FLOCK") != 0) ||
	    major > 0xfff || minor > 0xfffff || !take_range(ret, from, to))
		return false;
	ret->ino = ino;
	ret->dev = major << 20 | minor;
	ret->pid = (u32)pid;
	ret->flags = (strcmp(mode, "WRITE") == 0 ? FILE_LOCK_WRITE : 0) |
		     (*kind == 'F' ? FILE_LOCK_FLOCK : 0);
	if (!arrow)
		*holder = ret->pid;
	else
		ret->holder = *holder;
	return !arrow || ret->holder;
}

int lock_list_take(struct pump *p, bool ending, struct err *e)
{
	char *text = malloc(LOCK_TEXT_MOST), *line, *end;
	struct ev_file_lock ev;
	u32 holder = 0;
	int ret = 0;

	if (!text)
		return err_set(e, ERR_FAIL, "out of memory for locks");
	if (procfs_read("/proc/locks", text, LOCK_TEXT_MOST) < 0)
		text[0] = '\0';
	for (line = text; ret == 0 && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		if (!lock_list_parse(&ev, line, &holder))
			continue;
		ev.flags |= ending ? FILE_LOCK_ENDING : 0;
		ret = records_put(p, &ev, sizeof(ev), NULL, e);
	}
	free(text);
	return ret;
}
