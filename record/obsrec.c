// SPDX-License-Identifier: GPL-2.0-or-later
/* obsrec: read the options, open, attach, pump until stopped, finish. */
#include "record/process/seccomp.h"

#include "format/demangle.h"
#include "format/escape.h"
#include "format/version.h"
#include "record/files/procfs.h"
#include "record/functions/elfdebug.h"
#include "record/host/follow.h"
#include "record/host/snapshot.h"
#include "record/process/messages.h"
#include "record/process/patience.h"
#include "record/process/privileges.h"
#include "record/process/signals.h"
#include "record/pump/records.h"
#include "recorder.h"
#include "session.h"
#include "verb.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define TICK	     1000000000ull /* ns between clock readings */
#define FLUSH_LOOK   5000000ull	   /* ns between two looks whether records are in blocks */
#define TRIGGER_LOOK 50000000ull   /* ns between two looks at the triggers and at the size */
#define FREE_STEP    (256u << 10)  /* bytes written between two looks at the free space */
#define GRACE_MS     5000	   /* for the command after SIGTERM */
#define STATE_PERIOD 1000000000ull /* ns between two snapshots of the state, at least */

/* Attaches the programs; whom they are to record is marked. */
static int attach(struct recorder *r, struct err *e)
{
	struct options *o = &r->options;
	sigset_t old;
	int ret = 0;

	signals_hold(&old);
	if (!procfs_host_pids())
		ret = err_set(e, ERR_ENV, "%s; %s", NOT_HOST_PIDS, NOT_HOST_PIDS_REMEDY);
	if (ret == 0)
		priority_raise(&r->priority, o->quiet);
	if (ret == 0 && o->command)
		ret = child_possible(o->command[0], e);
	if (ret == 0)
		ret = targets_find(&r->targets, o, e);
	if (ret == 0 && o->command)
		ret = child_start(&r->child, o->command, &old, &r->priority, e);
	if (ret == 0 && o->command)
		o->pids[o->n_pids++] = r->child.pid;
	if (ret == 0)
		ret = probes_open(&r->probes, o, &r->targets, e);
	return ret < 0 ? ret : targets_mark(&r->targets, r->probes, true, e);
}

static int open_output(struct recorder *r, int n_cpus, struct err *e)
{
	struct options *o = &r->options;
	int ret;

	if (options_flight(o)) {
		r->flight = flight_new(o->last ? o->last + o->after : 0, o->last_bytes, n_cpus, e);
		return r->flight ? output_try(o->output, e) : ERR_FAIL;
	}
	ret = output_open(&r->output, o->output, e);
	if (ret == 0 && output_free(r->output.fd) < o->min_free)
		ret = err_set(
			e, ERR_FAIL,
			"the file system of %.200s has less than %llu MB free; choose another directory, or a smaller --min-free",
			r->output.path, (unsigned long long)o->min_free >> 20);
	return ret < 0 ? ret : writer_open(&r->writer, r->output.fd, r->output.uuid, e);
}

/* Records the state of all threads and fds, now. */
static int take_state(struct recorder *r, struct err *e)
{
	r->new_targets = probes_new_targets(r->probes);
	r->lost_state = probes_lost(r->probes, GROUP_core);
	r->state_taken = records_now();
	if (r->flight)
		flight_state_since(r->flight, r->state_taken);
	return snapshot_take(r->pump, r->probes, &r->targets, &r->quotas.accepts, &r->files, e);
}

static int name_requests(struct recorder *r, struct err *e)
{
	struct probe_hints hints = probes_hints(r->probes);
	struct heads_config c = {
		.bytes = r->options.heads,
		.hints = hints.hints,
		.pipelined = hints.pipelined,
		.any_pipelined = hints.any_pipelined,
	};
	int ret = 0;

	if (r->flight && r->options.groups & 1u << GROUP_requests)
		ret = connections_new(&r->connections, e);
	c.connections = r->connections;
	if (ret == 0 && (options_names(&r->options) || r->connections ||
			 sites_have_statements(probes_sites(r->probes))))
		ret = heads_new(&r->heads, &c, e);
	return ret;
}

static int start(struct recorder *r, struct err *e)
{
	struct options *o = &r->options;
	struct ring *rings;
	int n, ret = attach(r, e);

	if (ret < 0)
		return ret;
	if (!o->quiet && probes_sites(r->probes)->n)
		sites_print(probes_sites(r->probes), stderr);
	rings = probes_rings(r->probes, &n);
	ret = signals_take(&r->signals, e);
	if (ret == 0)
		ret = patience_start(&r->patience, o, probes_pause, r->probes, e);
	if (ret == 0)
		ret = open_output(r, n, e);
	if (ret == 0 && patience_took(r->patience))
		ret = err_set(e, ERR_FAIL, "ended by a signal before it recorded anything");
	if (ret == 0)
		ret = follow_sockets(r->probes, &r->targets, e);
	if (ret == 0)
		ret = stacks_open(&r->stacks, probes_map(r->probes, "raw_stacks"),
				  probes_sleepers(r->probes), o, e);
	if (ret == 0)
		ret = hot_new(&r->hot, r->probes, o, e);
	if (ret == 0)
		accept_queues_open(&r->quotas.accepts, r->probes, &r->targets);
	if (ret == 0)
		ret = privileges_drop(o, e);
	if (ret == 0)
		ret = name_requests(r, e);
	if (ret == 0)
		ret = seccomp_install(e);
	if (ret == 0) /* what is recorded of the host is read after it */
		ret = start_at_wait(&o->at, r->signals, !o->quiet, e);
	if (ret == 0)
		ret = pump_start(&r->pump, rings, n, probes_counts(r->probes), r->writer, r->flight,
				 r->heads ? heads_filter : NULL, r->heads, e);
	if (ret == 0)
		ret = stacks_start(r->stacks, e);
	if (ret == 0 && !r->flight)
		ret = session_begin(r->pump, r->probes, &r->targets, &r->quotas, r->argc, r->argv,
				    e);
	if (ret < 0)
		return ret;
	r->started = records_now();
	ret = records_info(r->pump, e, "begin=%llu", (unsigned long long)r->started);
	probes_enable(r->probes);
	if (ret == 0)
		ret = take_state(r, e);
	if (ret == 0 && !o->quiet && !o->all && !probes_targets(r->probes))
		fprintf(stderr,
			"obsrec: no process matches yet; matching ones are recorded from their start\n");
	if (ret == 0 && o->command)
		ret = child_go(&r->child, o->command[0], e);
	return ret;
}

/* Reads what signals have come; SIGCHLD only says that the child may have ended. */
static int read_signals(struct recorder *r, struct err *e)
{
	struct signalfd_siginfo s;
	bool asked = false;

	while (read(r->signals, &s, sizeof(s)) == sizeof(s)) {
		if (s.ssi_signo == SIGUSR2) {
			asked = r->flight != NULL;
		} else if (s.ssi_signo != SIGCHLD) {
			r->why = "signal";
			patience_asked(r->patience);
		}
	}
	if (patience_took(r->patience))
		r->why = "signal";
	child_poll(&r->child);
	if (r->child.ended)
		r->why = "child";
	return asked ? incident_ask(r, "SIGUSR2", e) : 0;
}

/*
 * The state has to be recorded again: threads without a recorded state became targets, events
 * with state changes were lost, or the last state will soon be too old to be kept.
 */
static bool state_is_stale(const struct recorder *r)
{
	u64 now = records_now(), begin;

	if (probes_new_targets(r->probes) != r->new_targets ||
	    probes_lost(r->probes, GROUP_core) != r->lost_state)
		return true;
	if (!r->flight)
		return false;
	begin = flight_begin(r->flight);
	return begin && r->state_taken < begin + (now - begin) / 2 &&
	       now - r->state_taken > STATE_PERIOD;
}

static bool is_full(const struct recorder *r)
{
	return output_free(r->output.fd) < r->options.min_free;
}

/* Several times per second: a fast source fills megabytes in one. NULL: nothing is used up. */
static const char *used_up(struct recorder *r)
{
	const struct options *o = &r->options;
	struct pump_stats stats;

	if (r->flight)
		return o->max_size && r->bytes_made >= o->max_size ? "size" : NULL;
	pump_stats(r->pump, &stats);
	if (o->max_size && stats.file_bytes >= o->max_size)
		return "size";
	if (stats.file_bytes - r->free_looked < FREE_STEP)
		return NULL;
	r->free_looked = stats.file_bytes;
	return is_full(r) ? "free space" : NULL;
}

/* Every second: the recording speaks of itself; does it have to end? */
static int tick(struct recorder *r, struct err *e)
{
	u64 lost = probes_lost(r->probes, GROUP_core);
	int ret = session_tick(r->pump, r->probes, &r->targets, &r->quotas, e);

	if (ret == 0 && lost != r->lost_state)
		ret = records_info(r->pump, e, "lost_state=%llu",
				   (unsigned long long)(lost - r->lost_state));
	/* the state of before is kept until the snapshot that needs it is written */
	if (ret == 0 && !r->flush && state_is_stale(r)) {
		ret = targets_mark(&r->targets, r->probes, false, e);
		ret = ret < 0 ? ret : take_state(r, e);
	}
	if (ret == 0)
		ret = hot_tick(r->hot, r->pump, e);
	if (ret == 0)
		ret = stacks_collect(r->stacks, r->pump, e);
	if (r->flight)
		stacks_forget(r->stacks, flight_earliest(r->flight));
	if (ret == 0)
		ret = pump_check(r->pump, e);
	if (!r->why && !r->flight && is_full(r)) /* others write there too */
		r->why = "free space";
	return ret;
}

/* A snapshot that cannot be written is no reason to stop watching. */
static int survive(struct recorder *r, int ret, struct err *e)
{
	if (ret < 0 && r->flight && e && !pump_check(r->pump, NULL)) {
		fprintf(stderr, "obsrec: %s\n", e->text);
		*e = (struct err){ 0 };
		return 0;
	}
	return ret;
}

static int run(struct recorder *r, struct err *e)
{
	u64 now = records_now(), next = now + TICK, stop = r->options.duration, until;
	struct pollfd fd = { r->signals, POLLIN, 0 };
	int ret = pump_check(r->pump, e);

	stop = stop ? r->started + stop : UINT64_MAX;
	while (ret == 0 && !r->why) {
		now = records_now();
		until = next < stop ? next : stop;
		if ((r->options.n_triggers || r->options.max_size || !r->flight) &&
		    now + TRIGGER_LOOK < until)
			until = now + TRIGGER_LOOK;
		if (r->flush && now + FLUSH_LOOK < until)
			until = now + FLUSH_LOOK;
		if (until > now && poll(&fd, 1, (until - now + 999999) / 1000000) < 0 &&
		    errno != EINTR)
			return err_errno(e, ERR_FAIL, "cannot wait");
		ret = survive(r, read_signals(r, e), e);
		if (ret == 0 && r->flight)
			ret = survive(r, incident_poll(r, e), e);
		now = records_now();
		if (!r->why && now >= stop)
			r->why = "duration";
		if (!r->why)
			r->why = used_up(r);
		if (ret < 0 || now < next)
			continue;
		next += TICK;
		ret = tick(r, e);
	}
	return ret;
}

/* Ends the recording, whatever happened before: what was recorded must be readable. */
static int finish(struct recorder *r, int ret, struct err *e)
{
	struct err *first = ret < 0 ? NULL : e;
	const char *why = r->why ? r->why : "error";
	int r2;

	if (r->flight && r->pump)
		why = incident_reason(r, why);
	if (r->pump) {
		signals_let_kill();
		patience_ending(r->patience);
		if (r->writer)
			writer_hurry(r->writer);
		r->ended = records_now();
		r2 = records_info(r->pump, first, "stopped=%llu", (unsigned long long)r->ended);
		probes_disable(r->probes);
		if (r2 == 0)
			r2 = snapshot_open_calls(r->pump, r->probes, &r->options, first);
		if (r2 == 0)
			r2 = hot_collect(r->hot, r->pump, first);
		if (r2 == 0 && stacks_stop(r->stacks, r->ended, r->pump, first) < 0) {
			ret = ret < 0 ? ret : ERR_FAIL; /* what there is is written */
			first = NULL;
		}
		probes_detach(r->probes);
		if (r2 == 0)
			r2 = pump_stop(r->pump, first);
		if (r2 == 0)
			r2 = session_end(r->pump, r->probes, &r->targets, &r->quotas,
					 r->flight ? NULL : why, first);
		if (r2 == 0)
			r2 = stacks_symbols(r->stacks, r->pump, first);
		if (r2 == 0)
			r2 = pump_finish(r->pump, first);
		if (r2 == 0 && r->flush) /* asked for shortly before the end */
			r2 = survive(r, incident_write(r, r->asked, first), first);
		if (r2 == 0)
			r2 = r->flight ? incident_write(r, why, first)
				       : writer_finish(r->writer, first);
		ret = ret < 0 ? ret : r2;
	}
	if (r->output.fd >= 0) {
		r2 = output_close(&r->output, ret < 0 ? NULL : e);
		ret = ret < 0 ? ret : r2;
	}
	patience_end(r->patience);
	return ret;
}

static void summary(const struct recorder *r)
{
	double seconds = (r->ended - r->started) / 1e9;
	double bytes = r->flight ? flight_bytes(r->flight) : writer_bytes(r->writer);
	int n_cpus;
	struct totals t;

	probes_rings(r->probes, &n_cpus);
	t = counts_totals(probes_counts(r->probes), n_cpus);
	fprintf(stderr,
		"obsrec: %llu events (%llu records) in %.2f s (%.0f/s), %llu records lost; %.1f %s in %s "
		"(%.2f bytes per event).",
		(unsigned long long)t.events, (unsigned long long)t.records, seconds,
		seconds > 0 ? t.events / seconds : 0, (unsigned long long)t.lost,
		bytes < 1e6 ? bytes / 1e3 : bytes / 1e6, bytes < 1e6 ? "kB" : "MB",
		r->flight			   ? "memory"
		: strcmp(r->output.path, "-") == 0 ? "standard output"
						   : r->output.path,
		t.events ? bytes / t.events : 0);
	if (!r->flight && strcmp(r->output.path, "-") != 0)
		fprintf(stderr, " Next: obsanalyze report %s", r->output.path);
	fputc('\n', stderr);
	if (r->why && strcmp(r->why, "free space") == 0)
		fprintf(stderr, "obsrec: stopped early: free space fell below --min-free.\n");
	if (t.lost)
		fprintf(stderr,
			"obsrec: the rings were too small for this event rate: use a --ring above %lluK, or fewer groups (-e).\n",
			(unsigned long long)r->options.ring >> 10);
}

static void end_command(struct recorder *r)
{
	if (!child_end(&r->child, GRACE_MS))
		fprintf(stderr,
			"obsrec: the command (pid %d) did not end within %d s of SIGTERM: SIGKILL sent%s\n",
			r->child.pid, GRACE_MS / 1000, r->child.ended ? "" : ", but it still runs");
}

static void release(struct recorder *r)
{
	pump_free(r->pump);
	heads_free(r->heads);
	connections_free(r->connections);
	stacks_free(r->stacks);
	hot_free(r->hot);
	flight_free(r->flight);
	writer_free(r->writer);
	quotas_free(&r->quotas);
	targets_free(&r->targets);
	probes_free(r->probes);
	safe_end(&r->files.safe);
	end_command(r);
	if (r->signals >= 0)
		close(r->signals);
}

/* Names from files and processes may stand in the sentence. Returns the exit status. */
static int say(const struct err *e)
{
	escape_say(stderr, "obsrec", e->text);
	return err_status(e);
}

/* The first word may be something else than recording; -1: it is not. */
static int run_verb(int argc, char **argv)
{
	const struct verb *v;
	struct err e = { 0 };
	int ret;

	for (v = verbs; v->name; v++) {
		if (argc < 2 || strcmp(v->name, argv[1]) != 0)
			continue;
		ret = v->run(argc - 1, argv + 1, &e);
		return ret < 0 ? say(&e) : ret;
	}
	return -1;
}

static int dry_run(struct recorder *r)
{
	struct err e = { 0 };
	int ret = attach(r, &e);

	if (ret == 0)
		probes_plan(r->probes, &r->options, stdout);
	release(r);
	return ret < 0 ? say(&e) : 0;
}

int main(int argc, char **argv)
{
	struct recorder r = {
		.argc = argc, .argv = argv, .signals = -1, .output.fd = -1, .child.gate = -1
	};
	struct err e = { 0 };
	int ret;

	messages_start();
	ret = run_verb(argc, argv);
	if (ret >= 0)
		return ret;
	ret = options_read(&r.options, argc, argv, &e);
	if (ret == 0 && r.options.help) {
		options_help(stdout, verbs_usage);
		return 0;
	}
	if (ret == 0 && r.options.version) {
		printf("obsrec %s (libbpf %s, recording format %d.%d%s%s)\n", OBS_VERSION,
		       libbpf_version_string(), RECORDING_MAJOR, RECORDING_MINOR,
		       demangle_possible() ? ", C++ names" : "", elfdebug_unpacks() ? ", xz" : "");
		return 0;
	}
	if (ret == 0 && r.options.dry_run)
		return dry_run(&r);
	if (ret == 0)
		ret = start(&r, &e);
	if (ret == 0)
		ret = run(&r, &e);
	ret = finish(&r, ret, &e);
	if (ret == 0 && !r.options.quiet)
		summary(&r);
	release(&r);
	if (ret < 0)
		return say(&e);
	return child_status(&r.child);
}
