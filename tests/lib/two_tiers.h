/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of a recording of a server that asks another one. */
#pragma once

#define THREAD(id, name) "2 " #id " thread pid=" #id " state=83 comm=\"" name "\"\n"
#define FD(id, n, role, from, to)                                                             \
	"4 " #id " fd pid=" #id " fd=" #n " mode=0140000 ino=" #id #n " family=2 role=" #role \
	" socktype=1 sport=" #from " dport=" #to " saddr=127.0.0.1 daddr=127.0.0.1\n"
#define BEGIN \
	"10 0 info text=\"begin=10\"\n9_000_000_010 0 info text=\"stopped=9000000010\"\n@cpu 0\n"
#define READ(ts, id, n)	 #ts " " #id " syscall nr=read fd=" #n " dur=10 ret=10\n"
#define WRITE(ts, id, n) #ts " " #id " syscall nr=write fd=" #n " dur=10 ret=10\n"

/* A front with two clients, on fds 5 and 7, and two connections to its back. */
#define TWO_TIERS               \
	FD(100, 5, 2, 80, 4005) \
	FD(100, 7, 2, 80, 4007) \
	FD(100, 6, 3, 4006, 90) \
	FD(100, 8, 3, 4008, 90) \
	FD(200, 3, 2, 90, 4006) \
	FD(200, 4, 2, 90, 4008)
