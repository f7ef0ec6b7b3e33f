// SPDX-License-Identifier: GPL-2.0-or-later
#include "lock_tries.h"

#include "format/errnos.h"
#include "format/linux_abi.h"

/* fcntl(F_SETLK) or flock(LOCK_NB) */
static bool tries_lock(const struct call_view *v)
{
	return v->desc->wait == SYSWAIT_LOCK &&
	       (v->desc->family == FAMILY_FCNTL
			? v->arg[1] == LINUX_F_SETLK || v->arg[1] == LINUX_F_OFD_SETLK
			: (v->arg[1] & LINUX_LOCK_NB) != 0);
}

/* A try that failed is what the next sleep is for, unless the thread does something else first. */
void lock_tries_note(struct sleeping *s, const struct call_view *v)
{
	const struct syscall_desc *d = v->desc;
	bool tries = tries_lock(v);

	if (tries && (v->ret == -LINUX_EAGAIN || v->ret == -LINUX_EACCES))
		s->lock_failed = true;
	else if (d->wait == SYSWAIT_SLEEP || d->class != CALL_NONE || d->file != IO_NONE ||
		 (d->family != FAMILY_NONE && d->family != FAMILY_FCNTL &&
		  d->family != FAMILY_CLOSE))
		s->lock_failed = false;
}
