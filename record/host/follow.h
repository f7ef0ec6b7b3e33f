/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Group net follows the TCP sockets of targets: those that exist when recording begins. */
#pragma once

#include "record/probes/probes.h"
#include "targets.h"

/*
 * Hands the TCP sockets of marked processes to the BPF programs: connections by their inodes,
 * listening ones by their ports, so that what is accepted there is followed from its first
 * packet. Call after targets_mark, while bpf(2) is still allowed. A pending signal to stop
 * ends it early, without a failure.
 */
int follow_sockets(const struct probes *p, const struct targets *t, struct err *e);
