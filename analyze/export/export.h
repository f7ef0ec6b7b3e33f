/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exports: the tables in the formats of other programs. Each reads rows in order and writes as
 * it goes, so memory does not grow with the recording.
 */
#pragma once

#include "analyze/base/sink.h"
#include "analyze/store/db.h"

/* What of the recording: ns since its start; and the CPUs that may be used, 0: the default. */
struct export_part {
	s64 from, to;
	u32 cpus;
};

/* The formats, in the order of --help. Each of exports.def is int export_<function>(...). */
struct exporter {
	const char *name;
	const char *doc;
	bool answers; /* it reads the answers of analyses */
	bool around;  /* it writes a part, if asked */
	int (*write)(struct sink *out, sqlite3 *db, const struct export_part *part, struct err *e);
};

#define EXPORT(name, function, answers, around, doc)                                         \
	int export_##function(struct sink *out, sqlite3 *db, const struct export_part *part, \
			      struct err *e);
#include "exports.def"
#undef EXPORT
