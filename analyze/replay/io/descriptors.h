/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the descriptors of a process refer to. */
#ifndef OBS_DESCRIPTORS_H
#define OBS_DESCRIPTORS_H

#include "analyze/replay/requests/turn.h"
#include "analyze/replay/track.h"

enum fd_kind { FD_UNKNOWN, FD_FILE, FD_DIRECTORY, FD_SOCKET, FD_PIPE, FD_CHAR, FD_BLOCK, FD_ANON };

/* What a descriptor refers to, and the request turn on it if it is a server's socket. */
struct file {
	u64 since; /* 0: before the recording */
	u64 ino;
	u32 dev;
	enum fd_kind kind;
	u8 role; /* enum fd_role */
	u8 socktype;
	u16 family, sport, dport;
	addr16 saddr, daddr;
	char *path; /* NULL: not known */
	bool cloexec;
	u64 told;	       /* when a snapshot last told of it */
	u32 resource;	       /* number of its row in table resource; 0: none yet */
	struct file_use *use;  /* of a regular file; NULL: none yet */
	bool serves;	       /* it is counted as a connection of its service */
	struct client *client; /* whose turns these are; NULL: not looked up yet, or too many */
	struct turn turn;
	struct turn_time *time; /* where the turn's time goes; NULL: not known */
	u64 polled;		/* an epoll instance: return of the last call; 0: none */
	struct asking asking;
};

/* What a process has of track_fds.c. */
struct fd_table {
	struct file **files;
	u32 n_files;
	char *directory; /* working directory; NULL: not known */
	u64 told;	 /* when a snapshot last told of its descriptors */
};

static inline struct fd_table *fd_table(const struct process *p)
{
	return p->own[TRACK_fds];
}

/* What fd refers to in p; NULL: not known. */
static inline struct file *file_of(const struct process *p, s32 fd)
{
	const struct fd_table *t = fd_table(p);

	return fd >= 0 && (u32)fd < t->n_files ? t->files[fd] : NULL;
}

void file_free(struct file *f);
/* A path as the program gave it, made absolute where its begin is known; NULL: no memory. */
char *path_absolute(const struct process *p, s32 dir, const char *text, size_t len);
/* "127.0.0.1:80", "[::1]:80", or "" for what is no internet address. */
#define ADDRESS_MAX 64
void address_text(char text[ADDRESS_MAX], u16 family, const u8 *a, u16 port);

#endif
