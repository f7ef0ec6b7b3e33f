/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exports: the tables in the formats of other programs. Each reads rows in order and writes as
 * it goes, so memory does not grow with the recording.
 */
#ifndef OBS_EXPORT_H
#define OBS_EXPORT_H

#include "analyze/base/sink.h"
#include "analyze/store/db.h"

struct exporter {
	const char *name;
	const char *doc;
	int (*write)(struct sink *out, sqlite3 *db, struct err *e);
};

/* export_trace.c: Chrome's trace event format, for ui.perfetto.dev and others */
int export_perfetto(struct sink *out, sqlite3 *db, struct err *e);

/* export_folded.c: one line a stack, for flamegraph.pl and speedscope; ns */
int export_folded(struct sink *out, sqlite3 *db, struct err *e);
int export_folded_calls(struct sink *out, sqlite3 *db, struct err *e);

/* export_openmetrics.c */
int export_openmetrics(struct sink *out, sqlite3 *db, struct err *e);

#endif
