/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The series that the kernel's metrics are correlated with: requests per second, or a percentile
 * of their latency, of the server with the first problem of the verdict, else of that with most
 * requests; calls of a probed function; or the user's own.
 */
#pragma once

#include "analyze/analyses/analysis.h"
#include "analyze/analyses/grid.h"

struct quality {
	double *value;	      /* by window, grid.n of them, created by the caller; NAN: not known */
	char what[200];	      /* for display */
	struct subject about; /* the server or function that it is of */
	s64 group;	      /* of its services (SERVICE_GROUP); 0: it is of none */
	bool rate;	      /* per second; otherwise a duration, or of the user's own unit */
};

/*
 * Reads the series that recording.qos asks for, by default a percentile of latency, queueing delay
 * included. *ret_found false: there is none in this database.
 */
int quality_read(struct analysis_ctx *c, const struct grid *grid, struct quality *q,
		 bool *ret_found);
