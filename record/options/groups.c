// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of probe groups. */
#include "groups.h"

const struct group_row groups[GROUP_MAX] = {
#define GROUP(id, name, asked, doc) [id] = { #name, asked, doc },
#include "format/groups.def"
#undef GROUP
};
