/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel counts of CPU, I/O and memory: of the host, and of the cgroups of recorded
 * processes and those above them. Read once per second, less often where reading is slow.
 */
#pragma once

#include "cgroups.h"
#include "record/probes/probes.h"
#include "record/pump/pump.h"
#include "targets.h"

#define WATCHED_MAX 64 /* cgroups; further ones are not read */

struct pressures {
	struct watched {
		char *dir;
		const struct cgroup_mount *mount;
	} watched[WATCHED_MAX];
	int n;
	u64 search; /* when to look for cgroups again, as records_now */
	u64 due;    /* when to read again */
};

/* Reads what is due and puts it into the recording; all of it if asked with at_once. */
int pressure_read(struct pump *p, const struct probes *probes, const struct targets *t,
		  struct pressures *s, bool at_once, struct err *e);

/* The directories of cgroups whose CPU quotas belong into the recording; i from 0, NULL at the end.
 */
const char *pressure_cpu_dir(const struct pressures *s, const struct targets *t, int i);

void pressure_end(struct pressures *s);

/* Pure, for tests: the value after a word at the start of a line; 0 if there is none. */
u64 pressure_value(const char *text, const char *word);

/* The same after "total=" of a line of PSI, in ns: word is "some " or "full ". */
u64 pressure_total(const char *text, const char *word);
