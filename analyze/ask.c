// SPDX-License-Identifier: GPL-2.0-or-later
/* What users tell beside the recording. */
#include "ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS_MAX 1e9

static const char *const qos_names[] = { "rps", "p50", "p90", "p95", "p99", "calls", "call-p95" };

int ask_step(void *config, const char *arg, struct err *e)
{
	unsigned long long *step = &((struct asked *)config)->step;
	int ret = opt_seconds(step, "step", arg, e);

	if (ret == 0 && *step < 1000000)
		return err_set(e, ERR_FAIL, "--step needs at least 0.001 s, not %.40s", arg);
	return ret;
}

int ask_qos(void *config, const char *arg, struct err *e)
{
	(void)e;
	((struct asked *)config)->qos = arg;
	return 0;
}

static int read_part(struct asked_part *ret, const char *name, const char *arg, struct err *e)
{
	const char *dots = strstr(arg, "..");
	char *end = NULL, *last = NULL;

	ret->from = strtod(arg, &end);
	if (dots)
		ret->to = strtod(dots + 2, &last);
	/* "1..2": strtod takes "1." */
	if (!dots || end == arg || end < dots || end > dots + 1 || last == dots + 2 || *last ||
	    !(ret->from >= 0) || !(ret->to > ret->from) || ret->to > SECONDS_MAX)
		return err_set(e, ERR_FAIL,
			       "--%s needs two times in seconds such as 0..10, not %.40s", name,
			       arg);
	return 0;
}

int ask_baseline(void *config, const char *arg, struct err *e)
{
	return read_part(&((struct asked *)config)->baseline, "baseline", arg, e);
}

int ask_degraded(void *config, const char *arg, struct err *e)
{
	return read_part(&((struct asked *)config)->degraded, "degraded", arg, e);
}

static int put_time(sqlite3 *db, const char *key, double seconds, struct err *e)
{
	char text[32];

	snprintf(text, sizeof(text), "%.0f", seconds * 1e9);
	return db_insert(db, TABLE_recording, e, "ss", key, text);
}

/* The facts NAME_from and NAME_to, in ns; none if it was not named. */
static int put_part(sqlite3 *db, const char *name, const struct asked_part *p, struct err *e)
{
	char key[32];
	int ret = 0;

	if (!(p->to > 0))
		return 0;
	snprintf(key, sizeof(key), "%s_from", name);
	ret = put_time(db, key, p->from, e);
	snprintf(key, sizeof(key), "%s_to", name);
	return ret < 0 ? ret : put_time(db, key, p->to, e);
}

int ask_store(sqlite3 *db, const struct asked *a, struct err *e)
{
	const char *name = NULL;
	size_t i;
	int ret = 0;

	if (a->degraded.to > 0 && !(a->baseline.to > 0))
		return err_set(e, ERR_FAIL, "--degraded needs a --baseline to compare with");
	ret = put_part(db, "baseline", &a->baseline, e);
	if (ret == 0)
		ret = put_part(db, "degraded", &a->degraded, e);
	if (ret < 0 || !a->qos)
		return ret;
	for (i = 0; i < sizeof(qos_names) / sizeof(qos_names[0]); i++)
		if (strcmp(a->qos, qos_names[i]) == 0)
			name = qos_names[i];
	if (!name)
		ret = qos_csv(db, a->qos, e);
	return ret < 0 ? ret : db_insert(db, TABLE_recording, e, "ss", "qos", name ? name : a->qos);
}

bool ask_special(const struct asked *a)
{
	return a->step || a->qos || a->baseline.to > 0 || a->degraded.to > 0;
}
