/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The causes of pauses in a recording, for a comparison that finds more of them. */
#pragma once

#include "analyze/store/finding.h"
#include "compare.h"

/* Part of compare_read: takes them from the findings of analysis verdict. */
int compare_pauses(struct measured *m, sqlite3 *db, struct err *e);

/* Puts the cause on the side after, if one is known of this service, as a finding. */
int compare_pauses_say(sqlite3 *db, const struct sides *s, const char *subject, struct err *e);

void compare_pauses_free(struct pause_cause *p);
