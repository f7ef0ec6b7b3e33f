/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For unit tests: a server on port 80 with an upstream, as the first lines of a recording. */
#pragma once

#define START                                                                                    \
	"@recorder\n"                                                                            \
	"900 0 info text=\"targets=all\"\n"                                                      \
	"901 0 info text=\"groups=core,syscalls,sched\"\n"                                       \
	"902 100 thread pid=100 state=83 comm=\"server\"\n"                                      \
	"903 101 thread pid=100 state=83 comm=\"worker\"\n"                                      \
	"904 100 fd pid=100 fd=5 mode=0140000 ino=77 family=2 role=2 sport=80 saddr=127.0.0.1\n" \
	"905 100 fd pid=100 fd=6 mode=0140000 ino=78 family=2 role=3 dport=99 daddr=10.0.0.9\n"  \
	"1000 0 info text=\"begin=1000\"\n90000 0 info text=\"stopped=90000\"\n"
