/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The probe groups, as the command line names them. */
#pragma once

#include "format/event.h"

/* The names of groups; NULL where there is none. */
extern const struct group_row {
	const char *name;
	enum { ALWAYS, DEFAULT, ASKED, TARGETS } asked;
	const char *doc;
} groups[GROUP_MAX];
