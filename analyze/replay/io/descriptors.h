/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fd table of a process: each fd entry with its file, socket or pipe. */
#pragma once

#include "analyze/base/fdmap.h"
#include "analyze/replay/requests/request.h"
#include "analyze/replay/track.h"

enum fd_kind { FD_UNKNOWN, FD_FILE, FD_DIRECTORY, FD_SOCKET, FD_PIPE, FD_CHAR, FD_BLOCK, FD_ANON };

/* An fd entry, with the open request if it is a server's socket. */
/* Of an accepted socket, or a connected one: whether its own process has the other end. */
enum peer { PEER_UNKNOWN, PEER_OTHER, PEER_ITSELF };

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
	struct {
		struct file *next, *prev; /* in a ring; NULL: not in it */
	} same; /* fds of the process for one open file whose role or path is known */
	bool cloexec;
	bool unread; /* bytes were not read when the recording started, nor since */
	u64 asked;   /* of what was read before the recording and had no answer: its age + 1; 0 */
	bool asked_answered;   /* an answer left on the socket before that */
	u64 snapshot;	       /* time of the last snapshot that contains it; 0: none */
	u32 resource;	       /* number of its row in table resource; 0: none yet */
	struct file_use *use;  /* of a regular file; NULL: none yet */
	struct flows *flows;   /* the same: its positions; NULL: none yet */
	bool eof;	       /* the peer closed or reset it: a call returned that */
	bool serves;	       /* counted as a connection of its service */
	u8 peer;	       /* enum peer */
	u8 protocol;	       /* of its last request with a name; 0: none yet */
	struct client *client; /* of its requests; NULL: not looked up yet, or too many */
	struct request request;
	struct request_time *time; /* the request's time by state; NULL: not known */
	u32 conn;		   /* number of its connection; 0: not known */
	struct held *held;	   /* names of requests in the open exchange; NULL: not known */
	u64 polled;		   /* epoll instance: when its last epoll_wait returned; 0: never */
	struct datagrams *datagrams; /* of a socket without a peer; NULL: none yet */
	struct asking asking;
	struct outstanding outstanding;
};

/* The state that track_fds.c keeps per process. */
struct fd_table {
	struct fdmap files; /* struct file */
	char *directory;    /* working directory; NULL: not known */
	u64 snapshot;	    /* time of the last snapshot of its fds; 0: none */
};

static inline struct fd_table *fd_table(const struct process *p)
{
	return p->own[TRACK_fds];
}

/* The entry of fd in p; NULL: not known. */
static inline struct file *file_of(const struct process *p, s32 fd)
{
	return fdmap_get(&fd_table(p)->files, fd);
}

void file_free(struct file *f);
/* A key for maps, of an address and a number. */
u64 address_key(u64 number, const u8 address[16]);
/* The 4 bytes of an address of IPv4, also of one in IPv6; NULL: it is none. */
const u8 *address_ipv4(u16 family, const u8 *a);
/* The program's path, absolute if its directory is known; NULL: no memory. */
char *path_absolute(const struct process *p, s32 dir, const char *text, size_t len);
/* "127.0.0.1:80", "[::1]:80", or "" for other address families. */
#define ADDRESS_MAX 64
void address_text(char text[ADDRESS_MAX], u16 family, const u8 *a, u16 port);
