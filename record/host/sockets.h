/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses and roles of the sockets that exist, from the tables under /proc/PID/net. */
#pragma once

#include "format/err.h"
#include "format/event.h"

#include <stdbool.h>
#include <stddef.h>

struct socket_info {
	u64 ino;
	u16 family, sport, dport;
	u8 role; /* enum fd_role */
	u8 socktype;
	addr16 saddr, daddr;
	u32 unread;    /* bytes that wait in a connected stream socket */
	u64 asked;     /* ns + 1 since data arrived after the last send (waiting.c); 0: not so */
	bool answered; /* it had sent data before */
	u64 path; /* unix: hash of where it listens, was accepted, receives datagrams or connected
		   */
};

/* Where a Unix socket listens, as /proc/net/unix shows it: '@' begins an abstract name. */
struct unix_path {
	u64 hash; /* socket_info.path */
	char *text;
};

/* The sockets of one network namespace. */
struct netns_sockets {
	u64 netns;		  /* inode of the namespace */
	u64 at;			  /* when asked was read, as records_now */
	struct socket_info *list; /* by ino */
	size_t n;
	struct unix_path *paths; /* by hash */
	size_t n_paths;
	bool read; /* one of its tables */
};

/* What a walk of processes has read: each namespace once. All zero at first. */
struct sockets {
	struct netns_sockets *all, *now; /* now: of the process read last; NULL: not known */
	size_t n;
	size_t total; /* sockets of all */
	u64 netns;    /* of the process read last */
};

/*
 * Reads the sockets of the network namespace of process pid, unless they are there already. Not all
 * of them if a signal to stop is pending.
 */
int sockets_read(struct sockets *s, unsigned int pid, struct err *e);

/* By inode number; NULL if it is no socket of the process that was read last. */
const struct socket_info *sockets_find(const struct sockets *s, u64 ino);

/* The path of a Unix socket of the process that was read last; NULL: it has none that is known. */
const char *sockets_path(const struct sockets *s, const struct socket_info *i);

/*
 * Parses one line of a table: family 2 or 10 (lines of tcp, udp) or 1 (unix). 0 if it holds
 * no socket, else 1. Pure: for tests.
 */
int sockets_parse(struct socket_info *ret, const char *line, u16 family, u8 socktype);

/* Marks which connections of a list were accepted, by the listening sockets in it. Pure. */
int sockets_tell_accepted(struct socket_info *list, size_t count, struct err *e);

void sockets_free(struct sockets *s);
