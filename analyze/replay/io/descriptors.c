// SPDX-License-Identifier: GPL-2.0-or-later
#include "descriptors.h"

#include "datagrams.h"
#include "format/linux_abi.h"
#include "format/shapes.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void file_free(struct file *f)
{
	if (!f)
		return;
	free(f->path);
	free(f->time);
	free(f->held);
	free(f->flows);
	datagrams_free(f->datagrams);
	free(f);
}

u64 address_key(u64 number, const u8 address[16])
{
	u64 h = 0xcbf29ce484222325u ^ number;
	int i;

	for (i = 0; i < 16; i++)
		h = (h * 0x100000001b3u) ^ address[i];
	return h * 0x9e3779b97f4a7c15u;
}

const u8 *address_ipv4(u16 family, const u8 *a)
{
	static const u8 mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (family == LINUX_AF_INET6 && memcmp(a, mapped, sizeof(mapped)) == 0)
		return a + sizeof(mapped);
	return family == LINUX_AF_INET ? a : NULL;
}

void address_text(char text[ADDRESS_MAX], u16 family, const u8 *a, u16 port)
{
	const u8 *v4 = address_ipv4(family, a);
	char v6[INET6_ADDRSTRLEN];

	text[0] = '\0';
	if (v4)
		snprintf(text, ADDRESS_MAX, "%u.%u.%u.%u:%u", v4[0], v4[1], v4[2], v4[3], port);
	else if (family == LINUX_AF_INET6 && inet_ntop(AF_INET6, a, v6, sizeof(v6)))
		snprintf(text, ADDRESS_MAX, "[%s]:%u", v6, port);
}

char *path_absolute(const struct process *p, s32 dir, const char *text, size_t len)
{
	const struct file *f = file_of(p, dir);
	const char *base = dir == WORKING_DIRECTORY ? fd_table(p)->directory : f ? f->path : NULL;
	char *path;
	size_t n;

	if (len >= 2 && text[0] == '.' && text[1] == '/')
		text += 2, len -= 2;
	if (text[0] == '/' || !base || base[0] != '/')
		return strndup(text, len);
	if (len == 1 && text[0] == '.')
		return strdup(base);
	n = strlen(base);
	path = malloc(n + len + 2);
	if (path)
		snprintf(path, n + len + 2, "%s%s%.*s", base, base[n - 1] == '/' ? "" : "/",
			 (int)len, text);
	return path;
}
