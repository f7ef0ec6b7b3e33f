// SPDX-License-Identifier: GPL-2.0-or-later
/* The command line of obsrec. */
#include "options.h"

#include "format/opt.h"

#include <stdlib.h>
#include <string.h>

#define RING_DEFAULT (8ull << 20)
#define RING_MIN     4096
#define RING_MAX     (1ull << 30)

static const struct group {
	const char *name;
	enum { ALWAYS, DEFAULT, TARGETS } asked;
	const char *doc;
} groups[GROUP_MAX] = {
#define GROUP(id, name, asked, doc) [id] = { #name, asked, doc },
#include "format/groups.def"
#undef GROUP
};

static int set_all(void *config, const char *arg, struct err *e)
{
	(void)arg;
	(void)e;
	((struct options *)config)->all = true;
	return 0;
}

static int set_pids(void *config, const char *arg, struct err *e)
{
	struct options *o = config;
	unsigned long pid;
	char *end;

	for (;; arg = end + 1) {
		pid = strtoul(arg, &end, 10);
		if (end == arg || (*end && *end != ',') || !pid || pid > 0x7fffffff)
			return err_set(e, ERR_FAIL,
				       "--pid needs process ids such as 123 or 123,456, "
				       "not %.40s",
				       arg);
		if (o->n_pids == TARGETS_MAX)
			return err_set(e, ERR_FAIL, "--pid takes at most %d processes",
				       TARGETS_MAX);
		o->pids[o->n_pids++] = pid;
		if (!*end)
			return 0;
	}
}

static int set_duration(void *config, const char *arg, struct err *e)
{
	unsigned long long ns;
	int ret = opt_seconds(&ns, "duration", arg, e);

	((struct options *)config)->duration = ns;
	return ret;
}

static int set_output(void *config, const char *arg, struct err *e)
{
	(void)e;
	((struct options *)config)->output = arg;
	return 0;
}

static int unknown_group(const char *name, size_t n, struct err *e)
{
	char list[200] = "";
	int i;

	for (i = 0; i < GROUP_MAX; i++)
		if (groups[i].name && groups[i].asked != ALWAYS) {
			strncat(list, list[0] ? ", " : "", sizeof(list) - strlen(list) - 1);
			strncat(list, groups[i].name, sizeof(list) - strlen(list) - 1);
		}
	return err_set(e, ERR_FAIL, "there is no group of events %.*s; there are %s",
		       n < 40 ? (int)n : 40, name, list);
}

static int set_events(void *config, const char *arg, struct err *e)
{
	struct options *o = config;
	size_t n;
	int i;

	o->groups = 0;
	for (;; arg += n + 1) {
		n = strcspn(arg, ",");
		for (i = 0; i < GROUP_MAX; i++)
			if (groups[i].name && strlen(groups[i].name) == n &&
			    memcmp(groups[i].name, arg, n) == 0)
				break;
		if (i == GROUP_MAX)
			return unknown_group(arg, n, e);
		o->groups |= 1u << i;
		if (!arg[n])
			return 0;
	}
}

static int set_function(void *config, const char *arg, struct err *e)
{
	struct options *o = config;
	const char *colon = strrchr(arg, ':');

	if (!colon || colon == arg || !colon[1])
		return err_set(e, ERR_FAIL,
			       "--uprobe needs FILE:FUNCTION, for example /usr/sbin/nginx:main, "
			       "not %.60s",
			       arg);
	if (o->n_functions == PROBES_MAX)
		return err_set(e, ERR_FAIL, "--uprobe can be given at most %d times", PROBES_MAX);
	o->functions[o->n_functions++] = arg;
	return 0;
}

static int set_ring(void *config, const char *arg, struct err *e)
{
	unsigned long long size;
	int ret = opt_size(&size, "ring", arg, e);

	if (ret < 0)
		return ret;
	if (size < RING_MIN || size > RING_MAX || size & (size - 1))
		return err_set(e, ERR_FAIL, "--ring needs a power of two from 4K to 1G, not %.40s",
			       arg);
	((struct options *)config)->ring = size;
	return 0;
}

static int set_max_size(void *config, const char *arg, struct err *e)
{
	unsigned long long size;
	int ret = opt_size(&size, "max-size", arg, e);

	((struct options *)config)->max_size = size;
	return ret;
}

static int set_force(void *config, const char *arg, struct err *e)
{
	struct options *o = config;

	if (strcmp(arg, "raw_tp") == 0)
		o->raw_tp = true;
	else if (strcmp(arg, "ringbuf") == 0)
		o->stock_ring = true;
	else
		return err_set(e, ERR_FAIL, "--force knows raw_tp and ringbuf only");
	return 0;
}

#define SWITCH(function, member, value)                                   \
	static int function(void *config, const char *arg, struct err *e) \
	{                                                                 \
		(void)arg;                                                \
		(void)e;                                                  \
		((struct options *)config)->member = value;               \
		return 0;                                                 \
	}

SWITCH(set_quiet, quiet, true)
SWITCH(set_stats, stats, true)
SWITCH(set_verbose, verbose, true)
SWITCH(set_no_follow, follow, false)
SWITCH(set_help, help, true)
SWITCH(set_version, version, true)

static const struct opt opts[] = {
	{ "pid", 'p', "PID[,PID]", "record these processes, with their threads and children",
	  set_pids },
	{ "all", 'a', NULL, "record the whole host", set_all },
	{ "no-follow", 0, NULL, "leave out the children of the processes", set_no_follow },
	{ "duration", 'd', "SECONDS", "stop after this time; default: until Ctrl-C", set_duration },
	{ "output", 'o', "FILE",
	  "recording to make, - for standard output; default: obs-HOST-TIME.obs", set_output },
	{ "events", 'e', "GROUP,...",
	  "groups to record: syscalls, sched, block, uprobe; default: all that apply", set_events },
	{ "uprobe", 'u', "FILE:FUNC", "record calls and returns of this function; repeatable",
	  set_function },
	{ "ring", 0, "SIZE", "memory between kernel and obsrec for each CPU; default: 8M",
	  set_ring },
	{ "max-size", 0, "SIZE", "stop when the recording has reached this size", set_max_size },
	{ "stats", 0, NULL, "measure the time spent in each BPF program", set_stats },
	{ "quiet", 'q', NULL, "no summary at the end", set_quiet },
	{ "verbose", 'v', NULL, "show what libbpf says", set_verbose },
	{ "force", 0, "WAY", NULL, set_force },
	{ "help", 'h', NULL, "show this help", set_help },
	{ "version", 0, NULL, "show the version", set_version },
	{ 0 },
};

void options_help(FILE *f)
{
	int i;

	fprintf(f, "Usage: obsrec [OPTION]... -p PID | -a | -- COMMAND [ARG]...\n"
		   "Records what the kernel and chosen functions do into one compressed file,\n"
		   "which obsanalyze reports on.\n\n");
	opt_help(f, opts);
	fprintf(f, "\nGroups of events:\n");
	for (i = 0; i < GROUP_MAX; i++)
		if (groups[i].name && groups[i].asked != ALWAYS)
			fprintf(f, "  %-10s %s\n", groups[i].name, groups[i].doc);
	fprintf(f, "\nExamples:\n"
		   "  obsrec -p $(pidof redis-server) -d 30 -o incident.obs\n"
		   "  obsrec -a -d 10\n"
		   "  obsrec -u ./server:handle_request -- ./server --port 8080\n"
		   "\nThe exit status is that of COMMAND, else 0; 1: wrong usage or failure;\n"
		   "2: this host cannot record. See obsrec(8).\n");
}

static void complete_groups(struct options *o)
{
	bool chosen = o->groups != 0;
	int i;

	for (i = 0; i < GROUP_MAX; i++) {
		if (!groups[i].name)
			continue;
		if (groups[i].asked == ALWAYS || (groups[i].asked == DEFAULT && !chosen) ||
		    (groups[i].asked == TARGETS && o->n_functions))
			o->groups |= 1u << i;
	}
}

int options_read(struct options *ret, int argc, char **argv, struct err *e)
{
	struct options *o = ret;
	int rest;

	*o = (struct options){ .follow = true, .ring = RING_DEFAULT };
	rest = opt_parse(opts, o, argc, argv, e);
	if (rest < 0)
		return rest;
	if (o->help || o->version)
		return 0;
	if (rest < argc)
		o->command = argv + rest;
	if (o->command && strcmp(argv[rest - 1], "--") != 0)
		return err_set(e, ERR_FAIL,
			       "%.60s is no option; a command to run and record stands behind --",
			       argv[rest]);
	if (!!o->n_pids + o->all + !!o->command != 1)
		return err_set(e, ERR_FAIL,
			       "say what to record, in one of three ways: -p PID, -a "
			       "(the whole host), or -- COMMAND; --help tells more");
	if (o->groups & 1u << GROUP_uprobe && !o->n_functions)
		return err_set(e, ERR_FAIL, "the group uprobe needs functions: -u FILE:FUNCTION");
	complete_groups(o);
	return 0;
}
