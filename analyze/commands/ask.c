// SPDX-License-Identifier: GPL-2.0-or-later
/* What users add to the recording. */
#include "ask.h"

#include "analyze/base/when.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIME_MAX 1000000000000000000ull /* ns: 31 years */

static const char *const qos_names[] = { "rps", "p50", "p90", "p95", "p99", "calls", "call-p95" };

/* A time after the start, or a length, as --from takes it: "10", "10s", "250ms". */
static int read_time(unsigned long long *ret, const char *text, size_t n)
{
	struct when w;
	char copy[32];

	if (n == 0 || n >= sizeof(copy))
		return -1;
	memcpy(copy, text, n);
	copy[n] = '\0';
	if (when_parse(&w, "", copy, NULL) < 0 || w.kind != WHEN_AFTER || w.ns > TIME_MAX)
		return -1;
	*ret = w.ns;
	return 0;
}

int ask_step(void *config, const char *arg, struct err *e)
{
	unsigned long long *step = &((struct asked *)config)->step;

	if (read_time(step, arg, strlen(arg)) < 0)
		return err_set(e, ERR_FAIL,
			       "--step needs a time such as 10, 0.5s or 250ms, not %.40s", arg);
	if (*step < 1000000)
		return err_set(e, ERR_FAIL, "--step needs at least 1ms, not %.40s", arg);
	return 0;
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

	if (!dots || read_time(&ret->from, arg, (size_t)(dots - arg)) < 0 ||
	    read_time(&ret->to, dots + 2, strlen(dots + 2)) < 0 || ret->to <= ret->from)
		return err_set(e, ERR_FAIL,
			       "--%s needs two times after the start such as 0..10 or "
			       "500ms..2s, not %.40s",
			       name, arg);
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

static int read_limit(unsigned long long *ret, const char *name, const char *arg, struct err *e)
{
	if (read_time(ret, arg, strlen(arg)) < 0 || !*ret)
		return err_set(e, ERR_FAIL, "--%s needs a time such as 50ms or 1s, not %.40s", name,
			       arg);
	return 0;
}

int ask_limit_pause(void *config, const char *arg, struct err *e)
{
	return read_limit(&((struct asked *)config)->limits.pause, "limit-pause", arg, e);
}

int ask_limit_latency(void *config, const char *arg, struct err *e)
{
	return read_limit(&((struct asked *)config)->limits.latency, "limit-latency", arg, e);
}

int ask_limit_factor(void *config, const char *arg, struct err *e)
{
	char *end;
	double factor = strtod(arg, &end);

	if (*end || end == arg || !(factor > 1 && factor <= 1000))
		return err_set(e, ERR_FAIL,
			       "--limit-factor needs a number above 1 such as 1.5, not %.40s", arg);
	((struct asked *)config)->limits.factor = arg;
	return 0;
}

int ask_limit_errors(void *config, const char *arg, struct err *e)
{
	char *end;
	double percent = strtod(arg, &end);

	if (*end || end == arg || !(percent > 0 && percent <= 100))
		return err_set(e, ERR_FAIL,
			       "--limit-errors needs a percentage above 0 such as 1, not %.40s",
			       arg);
	((struct asked *)config)->limits.errors = arg;
	return 0;
}

static int put_time(sqlite3 *db, const char *key, unsigned long long ns, struct err *e)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", ns);
	return db_insert(db, TABLE_recording, e, "ss", key, text);
}

/* The facts NAME_from and NAME_to, in ns; none if it was not named. */
static int put_part(sqlite3 *db, const char *name, const struct asked_part *p, struct err *e)
{
	char key[32];
	int ret = 0;

	if (!p->to)
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

	if (a->degraded.to && !a->baseline.to)
		return err_set(e, ERR_FAIL, "--degraded needs a --baseline to compare with");
	ret = put_part(db, "baseline", &a->baseline, e);
	if (ret == 0)
		ret = put_part(db, "degraded", &a->degraded, e);
	if (ret == 0 && a->limits.pause)
		ret = put_time(db, "limit_pause_ns", a->limits.pause, e);
	if (ret == 0 && a->limits.latency)
		ret = put_time(db, "limit_latency_ns", a->limits.latency, e);
	if (ret == 0 && a->limits.factor)
		ret = db_insert(db, TABLE_recording, e, "ss", "limit_factor", a->limits.factor);
	if (ret == 0 && a->limits.errors)
		ret = db_insert(db, TABLE_recording, e, "ss", "limit_errors", a->limits.errors);
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
	return a->step || a->qos || a->baseline.to || a->degraded.to || a->limits.pause ||
	       a->limits.latency || a->limits.factor || a->limits.errors;
}
