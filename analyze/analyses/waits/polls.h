/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SQL: system calls that wait for several files. */
#pragma once

/* Calls of poll: of rows s with column abi, as those of syscall. */
#define POLLS                                                                                        \
	"(SELECT nr FROM syscall_name x WHERE x.abi=s.abi AND name IN ('epoll_wait', 'epoll_pwait'," \
	" 'epoll_pwait2', 'poll', 'ppoll', 'select', '_newselect', 'pselect6'))"
