/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process at the other end of a connection, where the recording has it as well. */
#pragma once

/* For SQL: the number of the host of a process, in a recording that was merged. */
#define HOST_OF(pid)                                                             \
	"(SELECT count(*) FROM recording WHERE key GLOB '[0-9]*.pid_offset' AND" \
	" CAST(value AS INTEGER) <= " pid ")"

/* For SQL: is it an address that another host can have? */
#define OFF_LOOPBACK(address) "(" address " NOT GLOB '127.*' AND " address " NOT GLOB '[[]::1]:*')"

/* For SQL: may process o have an address of row m? One of the loopback is of the same host. */
#define HAS_ADDRESS(address) \
	"(" OFF_LOOPBACK(address) " OR" HOST_OF("o.pid") "=" HOST_OF("m.pid") ")"

/*
 * For SQL: the pid that has the other end of row m of table fd, or NULL. A datagram socket accepts
 * nothing: the one that is bound to the address answers. A process that accepts for a child that it
 * forks closes it soon: the one that keeps it longest answers. Ports are used again: only while m
 * is open.
 */
#define OTHER_END                                                                             \
	"(SELECT e.pid FROM (SELECT o.pid, o.role, o.ts, min(coalesce(o.end, 1 << 62),"       \
	" coalesce(m.end, 1 << 62)) - max(o.ts, m.ts) AS ns FROM fd o WHERE o.local=m.remote" \
	" AND m.remote<>'' AND m.local<>'' AND ((o.role='accepted' AND o.remote=m.local) OR"  \
	" (o.role='bound' AND m.role='connected')) AND " HAS_ADDRESS(                         \
		"m.remote") ") e WHERE e.ns > 0 ORDER BY e.role, e.ns DESC, e.ts DESC LIMIT 1)"
