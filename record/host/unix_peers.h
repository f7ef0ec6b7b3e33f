/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which Unix sockets connected, by sock_diag(7): /proc/net/unix does not list pairs. */
#pragma once

#include "sockets.h"

/*
 * Of a pair of which one end was accepted, the other one connected: fills role and path. diag is a
 * netlink socket, -1: none, as without group net. Without unix_diag, which the kernel loads if it
 * is a module, or of peers in other network namespaces, the role stays unknown.
 */
void unix_peers_read(struct sockets *s, int diag);

/* Pure, for tests: the sockets of these numbers are a pair. */
void unix_peers_take(struct sockets *s, u32 ino, u32 peer);
