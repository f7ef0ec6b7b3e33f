/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Read-only queries over a recording or a database. The tables of a recording are made only if a
 * query reads one: its raw events are there without that.
 */
#pragma once

#include "analyze/store/events/vtab_event.h"
#include "analyze/store/rows.h"
#include "ask.h"

/* What queries are asked of. */
struct question {
	sqlite3 *db;
	const char *path;
	const struct asked *asked; /* with own_queries */
	struct reader *reader;	   /* NULL: of a database */
	bool damaged;		   /* the recording is */
	struct event_source events;
	bool loaded;   /* the tables are filled */
	bool answered; /* and the answers */
};

/* path and asked must outlive it. To be closed also after a failure. */
int question_open(struct question *s, const char *path, const struct asked *asked, struct err *e);

/*
 * The rows of one query. Whatever its words are, it only reads, and its memory is limited. Rows
 * that came before a failure are in out.
 */
int question_ask(struct question *s, const char *sql, enum rows_form form, struct sink *out,
		 struct err *e);

/* 1 if the recording was cut or is damaged, as far as the queries looked. */
int question_damaged(struct question *s, struct err *e);

/* Ends the scans: counts of events are whole afterwards. */
void question_close(struct question *s);
