/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The series that the kernel's metrics are correlated with: turns a second, or a percentile of
 * their duration, of the server with most turns; calls of a probed function; or the user's own.
 */
#ifndef OBS_CORRELATE_H
#define OBS_CORRELATE_H

#include "analyze/store/db.h"
#include "grid.h"

struct quality {
	double *value;	 /* by window, grid.n of them, made by the caller; NAN: not known */
	char what[200];	 /* it is, of whom */
	char common[96]; /* name of its services (SERVICE_COMMON); empty: it is of none */
	bool rate;	 /* a second; otherwise a duration, or of the user's own unit */
};

/* Processes with services of this name. */
#define SERVICE_PIDS(name) \
	"(SELECT pid FROM service WHERE turns > 0 AND " SERVICE_COMMON "=" name ")"

/*
 * Reads the series that recording.qos asks for, by default a percentile of durations. *ret_found
 * false: there is none in this database. Several processes that share a socket are one server:
 * rates add up, percentiles are the means of theirs weighted by turns. 0 or an error.
 */
int quality_read(sqlite3 *db, const struct grid *grid, struct quality *q, bool *ret_found,
		 struct err *e);

#endif
