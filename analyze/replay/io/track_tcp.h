/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TCP connections: see track_tcp.c. */
#pragma once

#include "analyze/replay/track.h"

/* The peer of a socket, by the kernel's name of it, says that it has received bytes twice. */
int tcp_dsack(struct replay *r, u64 sock, u64 ts, struct err *e);
