/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel says of sockets: sock_diag(7). */
#pragma once

#include "format/err.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stddef.h>

/* A netlink socket of the network namespace that this thread is in; -1: there is none. */
int sock_diag_open(void);

/*
 * A socket: the fixed part of what the kernel says, at least size bytes, and its attributes, of
 * left bytes (RTA_OK). Not 0: the dump ends.
 */
typedef int sock_diag_fn(void *arg, const void *fixed, struct rtattr *attributes, int left,
			 struct err *e);

/*
 * Asks for the sockets that a request, as inet_diag_req_v2 or unix_diag_req, is for. size: bytes of
 * the fixed part. Ends early if the kernel does not answer in time. Returns what take returned, 0
 * if that was not negative.
 */
int sock_diag_dump(int diag, const void *request, size_t n, size_t size, sock_diag_fn *take,
		   void *arg, struct err *e);
