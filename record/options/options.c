// SPDX-License-Identifier: GPL-2.0-or-later
/* The command line of obsrec. */
#include "options.h"

#include "format/opt.h"
#include "record/requests/heads.h"

#include <stdlib.h>
#include <string.h>

#define RING_MIN	4096
#define RING_MAX	(1ull << 29) /* the verifier knows no larger offset into a map */
#define LAST_MIN	(1ull << 20)
#define AFTER		1000000000ull
#define PAUSE		60000000000ull
#define MIN_FREE	(64ull << 20)
#define SAMPLE_RATE	99
#define SAMPLE_RATE_MAX 10000
#define STACK_THRESHOLD 1000000ull
#define HOT		100000
#define HOT_MAX		1000000000000ull

OPT_SET(set_all, struct options, all, true)

int options_pids(u32 *list, int *n, const char *arg, struct err *e)
{
	static const char separators[] = ", \t\n";
	const char *text = arg;
	unsigned long pid;
	char *end;

	if (!arg[strspn(arg, separators)])
		return err_set(
			e, ERR_FAIL,
			"--pid has no process id; pidof and pgrep print none if the process does "
			"not run");
	for (;; arg = end) {
		arg += strspn(arg, separators);
		pid = strtoul(arg, &end, 10);
		if (end == arg || (*end && !strchr(separators, *end)) || !pid || pid > 0x7fffffff)
			return err_set(e, ERR_FAIL,
				       "--pid needs process ids such as 123 or 123,456, "
				       "not '%.40s'",
				       text);
		if (*n == TARGETS_MAX)
			return err_set(e, ERR_FAIL, "--pid takes at most %d processes",
				       TARGETS_MAX);
		list[(*n)++] = pid;
		if (!end[strspn(end, separators)])
			return 0;
	}
}

static int set_pids(void *config, const char *arg, struct err *e)
{
	struct options *o = config;

	return options_pids(o->pids, &o->n_pids, arg, e);
}

OPT_SET(set_output, struct options, output, arg)

static int unknown_group(const char *name, size_t n, struct err *e)
{
	char list[200] = "";
	int i;

	for (i = 0; i < GROUP_MAX; i++)
		if (groups[i].name && groups[i].asked != ALWAYS) {
			strncat(list, list[0] ? ", " : "", sizeof(list) - strlen(list) - 1);
			strncat(list, groups[i].name, sizeof(list) - strlen(list) - 1);
		}
	return err_set(e, ERR_FAIL, "no event class %.*s; available: %s", n < 40 ? (int)n : 40,
		       name, list);
}

/* "sched,block": these; "+pagecache": the usual ones and this. Given again, it adds. */
static int set_events(void *config, const char *arg, struct err *e)
{
	struct options *o = config;
	size_t n;
	int i;

	o->add_groups = *arg == '+' && (o->add_groups || !o->required);
	for (arg += *arg == '+';; arg += n + 1) {
		n = strcspn(arg, ",");
		for (i = 0; i < GROUP_MAX; i++)
			if (groups[i].name && strlen(groups[i].name) == n &&
			    memcmp(groups[i].name, arg, n) == 0)
				break;
		if (i == GROUP_MAX)
			return unknown_group(arg, n, e);
		o->required |= 1u << i;
		if (!arg[n])
			return 0;
	}
}

static int set_syscalls(void *config, const char *arg, struct err *e)
{
	struct options *o = config;

	if (o->some_syscalls)
		return err_set(
			e, ERR_FAIL,
			"--syscalls can be given once: separate names, globs and classes by commas");
	o->some_syscalls = true;
	return syscall_set(o->syscalls, syscall_own_abi(), arg, e);
}

static int set_comm(void *config, const char *arg, struct err *e)
{
	struct options *o = config;

	if (o->comm)
		return err_set(
			e, ERR_FAIL,
			"--comm can be given once; a pattern such as 'post*' matches several names, and so does -p \"$(pidof ONE OTHER)\"");
	o->comm = arg;
	return 0;
}

static int add_cgroup(struct options *o, const char *arg, bool container, struct err *e)
{
	if (o->n_cgroups == CGROUPS_MAX || (o->n_cgroups && o->containers != container))
		return err_set(
			e, ERR_FAIL,
			"--cgroup or --container can be given at most %d times, and not both",
			CGROUPS_MAX);
	if (!*arg)
		return err_set(e, ERR_FAIL, "--%s needs a name",
			       container ? "container" : "cgroup");
	o->containers = container;
	o->cgroups[o->n_cgroups++] = arg;
	return 0;
}

static int set_cgroup(void *config, const char *arg, struct err *e)
{
	return add_cgroup(config, arg, false, e);
}

static int set_container(void *config, const char *arg, struct err *e)
{
	return add_cgroup(config, arg, true, e);
}

static int set_label(void *config, const char *arg, struct err *e)
{
	struct options *o = config;
	const char *equals = strchr(arg, '=');

	if (!equals || equals == arg || strlen(arg) > 200)
		return err_set(e, ERR_FAIL,
			       "--label needs key=value of at most 200 bytes, not %.40s", arg);
	if (o->n_labels == LABELS_MAX)
		return err_set(e, ERR_FAIL, "--label can be given at most %d times", LABELS_MAX);
	o->labels[o->n_labels++] = arg;
	return 0;
}

static int set_min_free(void *config, const char *arg, struct err *e)
{
	unsigned long long size;
	int ret = opt_size(&size, "min-free", arg, e);

	((struct options *)config)->min_free = size;
	return ret;
}

/* "60s" is a time, "256M" a size; both may be given. */
static int set_last(void *config, const char *arg, struct err *e)
{
	struct options *o = config;
	unsigned long long size;
	size_t n = strlen(arg);
	int ret;

	if (n && strchr("KMGkg", arg[n - 1])) {
		ret = opt_size(&size, "last", arg, e);
		if (ret == 0 && size < LAST_MIN)
			ret = err_set(e, ERR_FAIL, "--last needs at least 1M, not %.40s", arg);
		o->last_bytes = size;
		return ret;
	}
	return options_time(&o->last, "last", arg, e);
}

static int set_trigger(void *config, const char *arg, struct err *e)
{
	struct options *o = config;

	if (o->n_triggers == TRIGGERS_MAX)
		return err_set(e, ERR_FAIL, "--trigger can be given at most %d times",
			       TRIGGERS_MAX);
	return trigger_parse(&o->triggers[o->n_triggers++], arg, e);
}

static int add_probe(const char **list, int *n, const char *arg, const char *needs, struct err *e)
{
	const char *colon = strchr(arg, ':');

	if (!colon || colon == arg || !colon[1])
		return err_set(e, ERR_FAIL, "%s, not %.60s", needs, arg);
	if (*n == PROBES_MAX)
		return err_set(e, ERR_FAIL, "%.*s can be given at most %d times",
			       (int)strcspn(needs, " "), needs, PROBES_MAX);
	list[(*n)++] = arg;
	return 0;
}

static int set_function(void *config, const char *arg, struct err *e)
{
	struct options *o = config;

	return add_probe(
		o->functions, &o->n_functions, arg,
		"--uprobe needs FILE:FUNCTION or FILE:START..END, for example /usr/sbin/nginx:main",
		e);
}

static int set_usdt(void *config, const char *arg, struct err *e)
{
	struct options *o = config;

	return add_probe(o->usdt, &o->n_usdt, arg,
			 "--usdt needs FILE:[PROVIDER:]PROBE or FILE:[PROVIDER:]START..END", e);
}

static int set_args(void *config, const char *arg, struct err *e)
{
	struct options *o = config;

	return args_wish_read(&o->args, &o->text, arg, e);
}

static int set_hot(void *config, const char *arg, struct err *e)
{
	char *end;
	unsigned long long n = strtoull(arg, &end, 10);

	if (arg[0] < '0' || arg[0] > '9' || *end || n > HOT_MAX)
		return err_set(e, ERR_FAIL,
			       "--hot needs calls per second from 0 to %llu, not %.40s", HOT_MAX,
			       arg);
	((struct options *)config)->hot = n;
	return 0;
}

static int set_heads(void *config, const char *arg, struct err *e)
{
	char *end;
	unsigned long n = strtoul(arg, &end, 10);

	if (arg[0] < '0' || arg[0] > '9' || *end || n > HEADS_BYTES_MAX)
		return err_set(e, ERR_FAIL, "--heads needs a number from 0 to %d, not %.40s",
			       HEADS_BYTES_MAX, arg);
	((struct options *)config)->heads = (u32)n;
	return 0;
}

static int set_returns(void *config, const char *arg, struct err *e)
{
	static const char *const names[] = {
		[RETURNS_SAFE] = "safe",
		[RETURNS_ALWAYS] = "always",
		[RETURNS_NEVER] = "never",
	};
	u32 i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(arg, names[i]) == 0) {
			((struct options *)config)->returns = i;
			return 0;
		}
	return err_set(e, ERR_FAIL, "--returns needs safe, always or never, not %.40s", arg);
}

static int set_sample_rate(void *config, const char *arg, struct err *e)
{
	char *end;
	unsigned long rate = strtoul(arg, &end, 10);

	if (end == arg || *end || *arg == '-' || rate > SAMPLE_RATE_MAX)
		return err_set(e, ERR_FAIL,
			       "--sample-rate needs samples per second from 0 to %d, not %.40s",
			       SAMPLE_RATE_MAX, arg);
	((struct options *)config)->sample_rate = rate;
	((struct options *)config)->rate_required = rate > 0;
	return 0;
}

static int set_stack_threshold(void *config, const char *arg, struct err *e)
{
	struct options *o = config;

	o->stack_rations = false;
	if (strcmp(arg, "0") != 0)
		return options_time(&o->stack_threshold, "stack-threshold", arg, e);
	o->stack_threshold = 0;
	return 0;
}

static int set_ring(void *config, const char *arg, struct err *e)
{
	unsigned long long size;
	int ret = opt_size(&size, "ring", arg, e);

	if (ret < 0)
		return ret;
	if (size < RING_MIN || size > RING_MAX || size & (size - 1))
		return err_set(e, ERR_FAIL,
			       "--ring needs a power of two from 4K to 512M, not %.40s", arg);
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
	const struct {
		const char *name;
		bool *flag;
	} ways[] = {
		{ "raw_tp", &o->raw_tp },     { "ringbuf", &o->stock_ring },
		{ "irq", &o->by_irq },	      { "no_cookie", &o->no_cookie },
		{ "no_start", &o->no_start }, { "raw_calls", &o->raw_calls },
	};
	size_t i;

	for (i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (strcmp(arg, ways[i].name) == 0) {
			*ways[i].flag = true;
			return 0;
		}
	return err_set(e, ERR_FAIL, "--force does not know %.40s", arg);
}

#define TIME(function, member)                                                             \
	static int function(void *config, const char *arg, struct err *e)                  \
	{                                                                                  \
		return options_time(&((struct options *)config)->member, #member, arg, e); \
	}

static int set_at(void *config, const char *arg, struct err *e)
{
	return start_at_parse(&((struct options *)config)->at, arg, start_at_now(), e);
}

TIME(set_duration, duration)
TIME(set_after, after)
TIME(set_pause, pause)
OPT_SET(set_quiet, struct options, quiet, true)
OPT_SET(set_stats, struct options, stats, true)
OPT_SET(set_verbose, struct options, verbose, true)
OPT_SET(set_no_follow, struct options, follow, false)
OPT_SET(set_private, struct options, hide, true)
OPT_SET(set_no_names, struct options, no_names, true)
OPT_SET(set_dry_run, struct options, dry_run, true)
OPT_SET(set_help, struct options, help, true)
OPT_SET(set_version, struct options, version, true)

static const struct opt opts[] = {
	{ "pid", 'p', "PID[,PID]", "record these processes, with their threads and children",
	  set_pids },
	{ "comm", 0, "GLOB", "record processes and threads of this name, for example 'nginx*'",
	  set_comm },
	{ "cgroup", 0, "PATH", "record the processes of this cgroup; repeatable", set_cgroup },
	{ "container", 0, "NAME", "record this container, by name or id; repeatable",
	  set_container },
	{ "all", 'a', NULL, "record the whole host", set_all },
	{ "no-follow", 0, NULL, "do not record children of the processes", set_no_follow },
	{ "duration", 'd', "TIME", "stop after 30 (seconds), 5m; default: until Ctrl-C",
	  set_duration },
	{ "at", 0, "TIME", "start at 14:03:07 (UTC), or with /10s at the next multiple of 10 s",
	  set_at },
	{ "output", 'o', "FILE",
	  "recording to write, - for standard output; default: obs-HOST-TIME.obs", set_output },
	{ "events", 'e', "GROUP,...",
	  "groups to record instead of the usual ones; +GROUP: in addition to them", set_events },
	{ "syscalls", 0, "SET",
	  "system calls to record: names, globs, classes (obsrec list syscalls), !without",
	  set_syscalls },
	{ "uprobe", 'u', "FILE:FUNC",
	  "record calls and returns of this function, or of all that a glob means; START..END@KEY: spans; repeatable",
	  set_function },
	{ "usdt", 'U', "FILE:PROBE",
	  "record this static probe (USDT), or START..END as spans; PROBE(1,2:str), (1:sql): arguments; repeatable",
	  set_usdt },
	{ "args", 0, "N,sM:BYTES",
	  "record the first N (up to 4) integer arguments of each call, and argument M as a statement of SQL without its values",
	  set_args },
	{ "hot", 0, "N",
	  "count calls of a function above N per second in histograms, without events; 0: never; default: 100000",
	  set_hot },
	{ "returns", 0, "WHEN",
	  "record returns: safe (default: not where an exception could end the process), always, never",
	  set_returns },
	{ "sample-rate", 0, "N", "samples of stacks per second and CPU; 0: none; default: 99",
	  set_sample_rate },
	{ "stack-threshold", 0, "TIME",
	  "record stacks of all waits from this time on; 0: of none; default: 1ms, rationed",
	  set_stack_threshold },
	{ "label", 0, "KEY=VALUE", "a note for the recording; repeatable", set_label },
	{ "private", 0, NULL, "do not record command lines, paths, addresses and names of requests",
	  set_private },
	{ "no-names", 0, NULL, "do not read the bytes of connections to name requests",
	  set_no_names },
	{ "heads", 0, "N", "record the first N (up to 256) bytes of what servers receive",
	  set_heads },
	{ "ring", 0, "SIZE", "memory between kernel and obsrec for each CPU; default: 8M",
	  set_ring },
	{ "max-size", 0, "SIZE", "stop at this size of the recording", set_max_size },
	{ "min-free", 0, "SIZE", "stop when its file system has less free space; default: 64M",
	  set_min_free },
	{ "last", 0, "TIME|SIZE",
	  "flight mode: keep the last 60s or 256M in memory, write on SIGUSR2 or --trigger",
	  set_last },
	{ "trigger", 0, "WHEN",
	  "write when 'syscall NAME|any > 100ms', 'runq > 50ms' or 'call FUNC > 20ms'",
	  set_trigger },
	{ "after", 0, "TIME", "record for this long after a trigger; default: 1s", set_after },
	{ "pause", 0, "TIME", "min time between two triggered snapshots; default: 60s", set_pause },
	{ "stats", 0, NULL, "measure the time spent in each BPF program", set_stats },
	{ "dry-run", 0, NULL, "print what would be attached, and the memory needed", set_dry_run },
	{ "quiet", 'q', NULL, "no summary at the end", set_quiet },
	{ "verbose", 'v', NULL, "print messages of libbpf", set_verbose },
	{ "force", 0, "WAY", NULL, set_force },
	{ "help", 'h', NULL, "show this help", set_help },
	{ "version", 0, NULL, "show the version", set_version },
	{ 0 },
};

void options_help(FILE *f, const char *verbs)
{
	int i;

	fprintf(f, "Usage: obsrec [OPTION]... [-p PID] [--comm GLOB] [--cgroup PATH]\n"
		   "                           [--container NAME]\n"
		   "       obsrec [OPTION]... -a | -- COMMAND [ARG]...\n");
	fputs(verbs, f);
	fprintf(f, "Record kernel events and function calls into one compressed file,\n"
		   "which obsanalyze reports on.\n\n");
	opt_help(f, opts);
	fprintf(f, "\nEvent groups:\n");
	for (i = 0; i < GROUP_MAX; i++)
		if (groups[i].name && groups[i].asked != ALWAYS)
			fprintf(f, "  %-10s %s%s\n", groups[i].name, groups[i].doc,
				groups[i].asked == ASKED ? " (only with -e)" : "");
	fprintf(f, "\nExamples:\n"
		   "  obsrec -p \"$(pidof redis-server)\" -d 30 -o incident.obs\n"
		   "  obsrec -a -d 10\n"
		   "  obsrec -u ./server:handle_request -- ./server --port 8080\n"
		   "  obsrec -p 1234 -u libc.so.6:malloc --args 1 -u 'server:db::*'\n"
		   "  obsrec list -u ./server:'handle_*'\n"
		   "  obsrec -p 1234 -U 'postgres:query__start(1:str)..query__done'\n"
		   "\nThe exit status is that of COMMAND, else 0; 1: wrong usage or failure;\n"
		   "2: this host cannot record. See obsrec(8).\n");
}

int options_read(struct options *ret, int argc, char **argv, struct err *e)
{
	struct options *o = ret;
	int rest;

	*o = (struct options){ .follow = true,
			       .ring = RING_DEFAULT,
			       .sample_rate = SAMPLE_RATE,
			       .stack_threshold = STACK_THRESHOLD,
			       .stack_rations = true,
			       .hot = HOT,
			       .after = AFTER,
			       .pause = PAUSE,
			       .min_free = MIN_FREE };
	rest = opt_parse(opts, o, argc, argv, e);
	if (rest < 0)
		return rest;
	if (o->help || o->version)
		return 0;
	if (rest < argc)
		o->command = argv + rest;
	if (o->command && strcmp(argv[rest - 1], "--") != 0)
		return err_set(e, ERR_FAIL,
			       "unexpected argument '%.60s' (several pids: -p 1,2; a command: put "
			       "it after --)",
			       argv[rest]);
	return options_complete(o, e);
}
