/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TCP connections on which data arrived after the last send, by sock_diag(7). */
#pragma once

#include "sockets.h"

/* Fills asked and answered of the established sockets; diag is a netlink socket, -1: none. */
void waiting_read(struct sockets *s, int diag);

/* Pure, for tests: fills them from a struct tcp_info of so many bytes. */
void waiting_take(struct socket_info *i, const void *info, size_t size);
