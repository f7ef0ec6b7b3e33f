// SPDX-License-Identifier: GPL-2.0-or-later
/* obsrec: read the options, open, attach, pump until told to stop, finish. */
#include "child.h"
#include "demangle.h"
#include "elfdebug.h"
#include "format/escape.h"
#include "format/version.h"
#include "made.h"
#include "options.h"
#include "output.h"
#include "probes.h"
#include "pump.h"
#include "session.h"
#include "snapshot.h"
#include "verb.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define TICK 1000000000ull /* ns between clock readings */

struct recorder {
	struct options options;
	struct output output;
	struct child child;
	struct probes *probes;
	struct writer *writer;
	struct pump *pump;
	int signals; /* signalfd */
	u64 begun;
	u64 ended;
	const char *why; /* it ended; NULL while it goes on */
};

/* From now on signals are read, not delivered; old is for the child. */
static int take_signals(struct recorder *r, sigset_t *old, struct err *e)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, old);
	signal(SIGPIPE, SIG_IGN);
	r->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return r->signals < 0 ? err_errno(e, ERR_FAIL, "cannot take signals") : 0;
}

static int start(struct recorder *r, int argc, char **argv, struct err *e)
{
	struct options *o = &r->options;
	struct ring *rings;
	sigset_t old;
	int n, ret;

	ret = take_signals(r, &old, e);
	if (ret == 0 && o->command)
		ret = child_start(&r->child, o->command, &old, e);
	if (ret == 0 && o->command)
		o->pids[o->n_pids++] = r->child.pid;
	if (ret == 0)
		ret = probes_open(&r->probes, o, e);
	if (ret == 0)
		ret = snapshot_mark(r->probes, o, e);
	if (ret == 0)
		ret = output_open(&r->output, o->output, e);
	if (ret == 0)
		ret = writer_open(&r->writer, r->output.fd, r->output.uuid, e);
	if (ret < 0)
		return ret;
	if (!o->quiet && probes_sites(r->probes)->n)
		sites_print(probes_sites(r->probes), stderr);
	rings = probes_rings(r->probes, &n);
	ret = pump_start(&r->pump, rings, n, probes_counts(r->probes), r->writer, e);
	if (ret == 0)
		ret = session_begin(r->pump, r->probes, o, argc, argv, e);
	if (ret < 0)
		return ret;
	r->begun = made_now();
	ret = made_info(r->pump, e, "begin=%llu", (unsigned long long)r->begun);
	probes_enable(r->probes);
	if (ret == 0)
		ret = snapshot_take(r->pump, o, e);
	if (ret == 0 && o->command)
		ret = child_go(&r->child, o->command[0], e);
	return ret;
}

/* Reads what signals have come; SIGCHLD only says that the child may have ended. */
static void read_signals(struct recorder *r)
{
	struct signalfd_siginfo s;

	while (read(r->signals, &s, sizeof(s)) == sizeof(s))
		if (s.ssi_signo != SIGCHLD)
			r->why = "signal";
	child_poll(&r->child);
	if (r->child.ended)
		r->why = "child";
}

/* Waits, and once a second lets the recording speak of itself. */
static int run(struct recorder *r, struct err *e)
{
	u64 now = made_now(), tick = now + TICK, stop = r->options.duration;
	struct pollfd fd = { r->signals, POLLIN, 0 };
	struct pump_stats stats;
	u64 until;
	int ret = pump_check(r->pump, e);

	stop = stop ? r->begun + stop : UINT64_MAX;
	while (ret == 0 && !r->why) {
		now = made_now();
		until = tick < stop ? tick : stop;
		if (until > now && poll(&fd, 1, (until - now + 999999) / 1000000) < 0 &&
		    errno != EINTR)
			return err_errno(e, ERR_FAIL, "cannot wait");
		read_signals(r);
		now = made_now();
		if (!r->why && now >= stop)
			r->why = "duration";
		if (now < tick)
			continue;
		tick += TICK;
		ret = session_tick(r->pump, e);
		if (ret == 0)
			ret = pump_check(r->pump, e);
		pump_stats(r->pump, &stats);
		if (!r->why && r->options.max_size && stats.file_bytes >= r->options.max_size)
			r->why = "size";
	}
	return ret;
}

/* A second signal while finishing kills as usual. */
static void let_signals_kill(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* Ends the recording, whatever happened before: what was recorded must be readable. */
static int finish(struct recorder *r, int ret, struct err *e)
{
	struct err *first = ret < 0 ? NULL : e;
	int r2;

	if (r->pump) {
		let_signals_kill();
		r->ended = made_now();
		r2 = made_info(r->pump, first, "stopped=%llu", (unsigned long long)r->ended);
		probes_disable(r->probes);
		if (r2 == 0)
			r2 = snapshot_open_calls(r->pump, r->probes, first);
		if (r2 == 0)
			r2 = pump_stop(r->pump, first);
		if (r2 == 0)
			r2 = session_end(r->pump, r->probes, r->why ? r->why : "error", first);
		if (r2 == 0)
			r2 = pump_finish(r->pump, first);
		if (r2 == 0)
			r2 = writer_finish(r->writer, first);
		ret = ret < 0 ? ret : r2;
	}
	if (r->output.fd >= 0) {
		r2 = output_close(&r->output, ret < 0 ? NULL : e);
		ret = ret < 0 ? ret : r2;
	}
	return ret;
}

static void summary(const struct recorder *r)
{
	double seconds = (r->ended - r->begun) / 1e9, bytes = writer_bytes(r->writer);
	struct totals t = probes_totals(r->probes);

	fprintf(stderr,
		"obsrec: %llu events (%llu records) in %.2f s (%.0f/s), %llu records lost; %.1f MB in %s "
		"(%.2f bytes an event).",
		(unsigned long long)t.events, (unsigned long long)t.records, seconds,
		seconds > 0 ? t.events / seconds : 0, (unsigned long long)t.lost, bytes / 1e6,
		strcmp(r->output.path, "-") == 0 ? "standard output" : r->output.path,
		t.events ? bytes / t.events : 0);
	if (strcmp(r->output.path, "-") != 0)
		fprintf(stderr, " Next: obsanalyze report %s", r->output.path);
	fputc('\n', stderr);
	if (t.lost)
		fprintf(stderr,
			"obsrec: the rings were too small for this rate: try a --ring above "
			"%lluK, or fewer groups with -e.\n",
			(unsigned long long)r->options.ring >> 10);
}

static void release(struct recorder *r)
{
	pump_free(r->pump);
	writer_free(r->writer);
	probes_free(r->probes);
	child_end(&r->child);
	if (r->signals >= 0)
		close(r->signals);
}

/* Names from files and processes may stand in the sentence. Returns the exit status. */
static int say(const struct err *e)
{
	struct buf text = { 0 };
	struct err ignored = { 0 };

	if (escape_add(&text, ESCAPE_TEXT, e->text, strlen(e->text), &ignored) == 0)
		fprintf(stderr, "obsrec: %.*s\n", (int)text.len, text.data);
	buf_free(&text);
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

int main(int argc, char **argv)
{
	struct recorder r = { .signals = -1, .output.fd = -1, .child.gate = -1 };
	struct err e = { 0 };
	int ret = run_verb(argc, argv);

	if (ret >= 0)
		return ret;
	ret = options_read(&r.options, argc, argv, &e);
	if (ret == 0 && r.options.help) {
		options_help(stdout);
		return 0;
	}
	if (ret == 0 && r.options.version) {
		printf("obsrec %s (libbpf %s, recording format %d.%d%s%s)\n", OBS_VERSION,
		       libbpf_version_string(), RECORDING_MAJOR, RECORDING_MINOR,
		       demangle_possible() ? ", C++ names" : "", elfdebug_unpacks() ? ", xz" : "");
		return 0;
	}
	if (ret == 0)
		ret = start(&r, argc, argv, &e);
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
