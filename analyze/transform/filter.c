// SPDX-License-Identifier: GPL-2.0-or-later
/* The options that choose a part of a recording. */
#include "filter.h"

#include <stdlib.h>
#include <string.h>

int filter_set_from(void *config, const char *arg, struct err *e)
{
	return when_parse(&((struct filter *)config)->from, "from", arg, e);
}

int filter_set_to(void *config, const char *arg, struct err *e)
{
	return when_parse(&((struct filter *)config)->to, "to", arg, e);
}

static int add_ids(u32 *ids, int *n, const char *option, const char *arg, struct err *e)
{
	unsigned long id;
	char *end;

	for (;; arg = end + 1) {
		id = strtoul(arg, &end, 10);
		if (end == arg || *arg == '-' || (*end && *end != ',') || !id || id > UINT32_MAX)
			return err_set(e, ERR_FAIL, "--%s needs numbers such as 12,345, not %.40s",
				       option, arg);
		if (*n == FILTER_IDS)
			return err_set(e, ERR_FAIL, "--%s takes at most %d numbers", option,
				       FILTER_IDS);
		ids[(*n)++] = id;
		if (!*end)
			return 0;
	}
}

int filter_set_pid(void *config, const char *arg, struct err *e)
{
	struct filter *f = config;

	return add_ids(f->pids, &f->n_pids, "pid", arg, e);
}

int filter_set_thread(void *config, const char *arg, struct err *e)
{
	struct filter *f = config;

	return add_ids(f->tids, &f->n_tids, "thread", arg, e);
}

int filter_set_comm(void *config, const char *arg, struct err *e)
{
	struct filter *f = config;

	if (f->n_comms == FILTER_NAMES)
		return err_set(e, ERR_FAIL, "--comm can be given %d times at most", FILTER_NAMES);
	f->comms[f->n_comms++] = arg;
	return 0;
}

int filter_set_cgroup(void *config, const char *arg, struct err *e)
{
	(void)e;
	((struct filter *)config)->cgroup = arg;
	return 0;
}

int filter_set_no_follow(void *config, const char *arg, struct err *e)
{
	(void)arg;
	(void)e;
	((struct filter *)config)->no_follow = true;
	return 0;
}

int filter_set_no_cache(void *config, const char *arg, struct err *e)
{
	(void)arg;
	(void)e;
	((struct filter *)config)->no_cache = true;
	return 0;
}

int filter_set_jobs(void *config, const char *arg, struct err *e)
{
	char *end;
	unsigned long n = strtoul(arg, &end, 10);

	if (*arg < '0' || *arg > '9' || *end || !n || n > FILTER_JOBS)
		return err_set(e, ERR_FAIL, "--jobs needs a number from 1 to %d, not %.40s",
			       FILTER_JOBS, arg);
	((struct filter *)config)->cpus = (u32)n;
	return 0;
}

bool filter_chooses(const struct filter *f)
{
	return f->n_pids || f->n_tids || f->n_comms || f->cgroup;
}

bool filter_active(const struct filter *f)
{
	return filter_chooses(f) || f->from.kind || f->to.kind;
}

static int describe_when(const char *word, const struct when *w, struct buf *out, struct err *e)
{
	char text[64];
	int n;

	if (w->kind == WHEN_NONE)
		return 0;
	if (w->kind == WHEN_AFTER) {
		n = snprintf(text, sizeof(text), "%.9f", (double)w->ns / 1e9);
		while (text[n - 1] == '0')
			text[--n] = '\0';
		text[n - (text[n - 1] == '.')] = '\0';
		return buf_printf(out, e, "%s%s %s s", out->len ? ", " : "", word, text);
	}
	return buf_printf(out, e, "%s%s %02u:%02u:%06.3f UTC", out->len ? ", " : "", word,
			  (unsigned int)(w->ns / 3600000000000ull % 24),
			  (unsigned int)(w->ns / 60000000000ull % 60),
			  (double)(w->ns % 60000000000ull) / 1e9);
}

bool filter_is_elsewhere(const struct filter *f, const struct record *rec)
{
	const struct ev_file_lock *ev = rec->event;

	if (!ev || rec->type != EV_file_lock)
		return false;
	return ev->flags & FILE_LOCK_ENDING ? f->to.kind : f->from.kind;
}

int filter_times(u64 *from, u64 *to, const struct filter *f, const struct origin *o, struct err *e)
{
	int ret = when_resolve(from, &f->from, o, 0, e);

	if (ret == 0)
		ret = when_resolve(to, &f->to, o, UINT64_MAX, e);
	if (ret == 0 && f->from.kind && *from < o->begin)
		*from = o->begin;
	if (ret < 0 || (*from<*to && * from <= o->end && * to> o->begin))
		return ret;
	return err_set(e, ERR_FAIL,
		       "nothing lies between --from and --to: the recording lasts %.3f s",
		       (double)(o->end - o->begin) / 1e9);
}

static int describe_ids(const char *word, const u32 *ids, int n, struct buf *out, struct err *e)
{
	int i, ret = 0;

	for (i = 0; i < n && ret == 0; i++)
		ret = i ? buf_printf(out, e, ",%u", ids[i])
			: buf_printf(out, e, "%s%s %u", out->len ? ", " : "", word, ids[i]);
	return ret;
}

int filter_describe(const struct filter *f, struct buf *out, struct err *e)
{
	int i, ret;

	ret = describe_when("from", &f->from, out, e);
	if (ret == 0)
		ret = describe_when("to", &f->to, out, e);
	if (ret == 0)
		ret = describe_ids(f->no_follow ? "process without children" : "process", f->pids,
				   f->n_pids, out, e);
	if (ret == 0)
		ret = describe_ids("thread", f->tids, f->n_tids, out, e);
	if (ret == 0 && f->cgroup)
		ret = buf_printf(out, e, "%scontrol group %.200s", out->len ? ", " : "", f->cgroup);
	for (i = 0; i < f->n_comms && ret == 0; i++)
		ret = buf_printf(out, e, "%sname %.60s", out->len ? ", " : "", f->comms[i]);
	return ret;
}
