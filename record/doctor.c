// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * obsrec doctor. Each group is judged by what the kernel says of itself and, where rights
 * allow it, by loading its programs: what loads can be recorded.
 */
#include "format/buf.h"
#include "format/escape.h"
#include "format/opt.h"
#include "record/files/procfs.h"
#include "record/probes/probes.h"
#include "record/process/privileges.h"
#include "verb.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CLOCKSOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define CHECKS_MAX  40

struct check {
	char name[24];
	enum level level;
	char why[400];
	char remedy[200];
};

struct report {
	struct check checks[CHECKS_MAX];
	int n;
	bool json, help;
};

static void add(struct report *r, const char *name, enum level level, const char *why,
		const char *remedy)
{
	struct check *c = &r->checks[r->n];

	if (r->n == CHECKS_MAX)
		return;
	r->n++;
	c->level = level;
	snprintf(c->name, sizeof(c->name), "%s", name);
	snprintf(c->why, sizeof(c->why), "%.*s", (int)sizeof(c->why) - 1, why);
	snprintf(c->remedy, sizeof(c->remedy), "%.*s", (int)sizeof(c->remedy) - 1, remedy);
}

static void check_rights(struct report *r)
{
	struct options none = { 0 };
	struct err e = { 0 };
	char text[300];

	if (privileges_check(&none, &e) < 0) {
		add(r, "rights", LEVEL_ABSENT, e.text, "run as root");
		return;
	}
	privileges_missing(text, sizeof(text));
	add(r, "rights", text[0] ? LEVEL_DEGRADED : LEVEL_AVAILABLE, text,
	    text[0] ? "run as root, or with CAP_SYS_PTRACE" : "");
}

static void check_numbers(struct report *r)
{
	bool host = procfs_host_pids();

	add(r, "pids", host ? LEVEL_AVAILABLE : LEVEL_ABSENT, host ? "" : NOT_HOST_PIDS,
	    host ? "" : NOT_HOST_PIDS_REMEDY);
}

/* Reading the clock is the dearest part of a record: only these are read without a trap. */
static void check_clock(struct report *r)
{
	static const char *const cheap[] = { "tsc", "arch_sys_counter", "kvm-clock",
					     "hyperv_clocksource_tsc_page" };
	char name[64], why[160];
	size_t i;

	procfs_line(CLOCKSOURCE, name, sizeof(name));
	for (i = 0; i < sizeof(cheap) / sizeof(cheap[0]); i++)
		if (strcmp(name, cheap[i]) == 0) {
			add(r, "clock", LEVEL_AVAILABLE, "", "");
			return;
		}
	snprintf(why, sizeof(why), "the clock source is %.40s: up to 1 us per record",
		 name[0] ? name : "an unknown source");
	add(r, "clock", LEVEL_DEGRADED, why, "boot with clocksource=tsc if the TSC is stable");
}

static void check_jit(struct report *r)
{
	unsigned long long jit = procfs_number("/proc/sys/net/core/bpf_jit_enable", 1);

	add(r, "jit", jit ? LEVEL_AVAILABLE : LEVEL_DEGRADED,
	    jit ? ""
		: "BPF programs are interpreted (no JIT): each record costs several times more",
	    jit ? "" : "sysctl net.core.bpf_jit_enable=1");
}

static void check_memory(struct report *r)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	char why[200];
	unsigned long long need = cpus * RING_DEFAULT;
	unsigned long long have = (unsigned long long)sysconf(_SC_AVPHYS_PAGES) *
				  (unsigned long long)sysconf(_SC_PAGESIZE);

	if (need < have / 4) {
		add(r, "memory", LEVEL_AVAILABLE, "", "");
		return;
	}
	snprintf(why, sizeof(why), "default rings need %llu MB for %ld CPUs", need >> 20, cpus);
	add(r, "memory", LEVEL_DEGRADED, why, "a smaller --ring");
}

static void check_groups(struct report *r)
{
	struct feature f[GROUP_MAX];
	struct err e = { 0 };
	int g;

	if (probes_survey(f, &e) < 0) {
		add(r, "kernel", LEVEL_ABSENT, e.text, "a kernel with CONFIG_DEBUG_INFO_BTF");
		return;
	}
	for (g = 0; g < GROUP_MAX; g++)
		if (groups[g].name && g != GROUP_recorder)
			add(r, groups[g].name, f[g].level, f[g].why, f[g].remedy);
}

OPT_SET(set_json, struct report, json, true)
OPT_SET(set_help, struct report, help, true)

static const struct opt opts[] = {
	{ "json", 0, NULL, "print JSON", set_json },
	{ "help", 'h', NULL, "show this help", set_help },
	{ 0 },
};

static void print_text(const struct report *r)
{
	int i;

	for (i = 0; i < r->n; i++) {
		const struct check *c = &r->checks[i];

		printf("%-10s %-10s %s\n", c->name, level_names[c->level], c->why);
		if (c->remedy[0])
			printf("%21s remedy: %s\n", "", c->remedy);
	}
}

static int print_json(const struct report *r, struct err *e)
{
	struct buf out = { 0 };
	int i, ret = buf_printf(&out, e, "{\"checks\":[");

	for (i = 0; i < r->n && ret == 0; i++) {
		const struct check *c = &r->checks[i];

		buf_printf(&out, e, "%s\n{\"name\":\"%s\",\"level\":\"%s\",\"why\":\"",
			   i ? "," : "", c->name, level_names[c->level]);
		escape_add(&out, ESCAPE_JSON, c->why, strlen(c->why), e);
		buf_printf(&out, e, "\",\"remedy\":\"");
		escape_add(&out, ESCAPE_JSON, c->remedy, strlen(c->remedy), e);
		ret = buf_printf(&out, e, "\"}");
	}
	if (ret == 0)
		ret = buf_printf(&out, e, "\n]}\n");
	if (ret == 0)
		fwrite(out.data, 1, out.len, stdout);
	buf_free(&out);
	return ret;
}

/* Without these nothing can be recorded. */
static bool unfit(const struct report *r)
{
	static const char *const vital[] = { "rights", "pids", "kernel", "core" };
	size_t k;
	int i;

	for (i = 0; i < r->n; i++)
		for (k = 0; k < sizeof(vital) / sizeof(vital[0]); k++)
			if (r->checks[i].level == LEVEL_ABSENT &&
			    strcmp(r->checks[i].name, vital[k]) == 0)
				return true;
	return false;
}

int verb_doctor(int argc, char **argv, struct err *e)
{
	struct report r = { 0 };
	int rest = opt_parse(opts, &r, argc, argv, e);

	if (rest >= 0 && rest < argc)
		return err_set(e, ERR_FAIL, "unexpected argument %.40s: doctor takes none",
			       argv[rest]);
	if (rest >= 0 && r.help) {
		printf("Usage: obsrec doctor [--json]\n"
		       "Lists for each event class: available, degraded or absent, the reason,\n"
		       "and the remedy.\n\n");
		opt_help(stdout, opts);
		printf("\nThe exit status is 0, or 2 if nothing can be recorded here.\n");
		return 0;
	}
	if (rest < 0)
		return rest;
	check_rights(&r);
	check_numbers(&r);
	check_clock(&r);
	check_jit(&r);
	check_memory(&r);
	check_groups(&r);
	if (!r.json)
		print_text(&r);
	else if (print_json(&r, e) < 0)
		return ERR_FAIL;
	return unfit(&r) ? 2 : 0;
}
