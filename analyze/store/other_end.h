/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process at the other end of a connection, where the recording has it as well. */
#pragma once

/*
 * For SQL: the pid that has the other end of row m of table fd, or NULL. A datagram socket accepts
 * nothing: the one that is bound to the address answers. A process that accepts for a child that it
 * forks closes it soon: the one that keeps it longest answers.
 */
#define OTHER_END                                                                                \
	"(SELECT o.pid FROM fd o WHERE o.local=m.remote AND m.remote<>'' AND m.local<>'' AND"    \
	" ((o.role='accepted' AND o.remote=m.local) OR (o.role='bound' AND m.role='connected'))" \
	" ORDER BY o.role, coalesce(o.end, 9223372036854775807) DESC, o.ts DESC LIMIT 1)"
