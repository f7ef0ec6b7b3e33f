/* SPDX-License-Identifier: GPL-2.0-or-later */
/* System calls that the recorder never makes after its start: refused by the kernel (seccomp). */
#pragma once

#include "format/err.h"

/*
 * Refuses them with EPERM, for good, for this thread and what it starts. Requires that
 * PR_SET_NO_NEW_PRIVS is set. No error where the kernel has no filters. Before threads are started.
 */
int seccomp_install(struct err *e);
