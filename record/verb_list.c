// SPDX-License-Identifier: GPL-2.0-or-later
/* obsrec list: what can be recorded here, from the same tables that recording uses. */
#include "format/opt.h"
#include "format/schema.h"
#include "record/functions/list_usdt.h"
#include "record/options/options.h"
#include "record/options/syscall_set.h"
#include "verb.h"

#include <stdlib.h>
#include <string.h>

struct config {
	struct list_config functions; /* or static probes */
	int (*list)(const struct list_config *c, struct err *e);
	bool help;
};

static int set_function(void *config, const char *arg, struct err *e)
{
	if (!*arg || *arg == ':')
		return err_set(e, ERR_FAIL, "--uprobe needs FILE or FILE:FUNC, not '%.60s'", arg);
	((struct config *)config)->functions.what = arg;
	((struct config *)config)->list = list_functions;
	return 0;
}

static int set_usdt(void *config, const char *arg, struct err *e)
{
	if (!*arg || *arg == ':')
		return err_set(e, ERR_FAIL, "--usdt needs FILE or FILE:PROBE, not '%.60s'", arg);
	((struct config *)config)->functions.what = arg;
	((struct config *)config)->list = list_usdt;
	return 0;
}

static int set_pids(void *config, const char *arg, struct err *e)
{
	struct list_config *c = &((struct config *)config)->functions;

	return options_pids(c->pids, &c->n_pids, arg, e);
}

OPT_SET(set_help, struct config, help, true)

static const struct opt opts[] = {
	{ "uprobe", 'u', "FILE[:FUNC]",
	  "list the functions of a program or library, or those matching a glob", set_function },
	{ "usdt", 'U', "FILE[:PROBE]",
	  "list the static probes (USDT) of a program or library, or those matching a glob",
	  set_usdt },
	{ "pid", 'p', "PID[,PID]", "resolve FILE as these processes see it", set_pids },
	{ "help", 'h', NULL, "show this help", set_help },
	{ 0 },
};

static void help(void)
{
	printf("Usage: obsrec list [groups | events [EVENT]... | syscalls [SET]]\n"
	       "       obsrec list [-p PID] -u FILE[:FUNC] | -U FILE[:PROBE]\n"
	       "Lists what can be recorded: event groups, events with their fields, sets of\n"
	       "system calls, functions and static probes of a file.\n\n");
	opt_help(stdout, opts);
}

/* Groups with the names of their events. */
static int list_groups(char **words, struct err *e)
{
	const struct schema *s = schema_own();
	int g, id;

	(void)words;
	(void)e;
	for (g = 0; g < GROUP_MAX; g++) {
		if (!s->groups[g].name[0])
			continue;
		printf("%-10s %s\n          ", s->groups[g].name, s->groups[g].doc);
		for (id = 0; id < SCHEMA_EVENT_MAX; id++)
			if (s->by_id[id] && s->by_id[id]->group == g)
				printf(" %s", s->by_id[id]->name);
		putchar('\n');
	}
	return 0;
}

static void print_event(const struct schema *s, const struct event_desc *ev)
{
	int i;

	printf("%s (group %s): %s\n", ev->name, s->groups[ev->group].name, ev->doc);
	for (i = 0; i < ev->n_fields; i++) {
		const struct field_desc *f = &ev->fields[i];
		const char *unit = kind_unit(f->kind);

		printf("    %-10s %-7s %s%s%s%s\n", f->name, type_name(f->type), f->doc,
		       *unit ? " [" : "", unit, *unit ? "]" : "");
	}
	if (ev->tail[0])
		printf("    %-10s %-7s %s\n", ev->tail, "text", ev->tail_doc);
}

static int list_events(char **words, struct err *e)
{
	const struct schema *s = schema_own();
	const struct event_desc *ev;
	int id;

	for (id = 0; !*words && id < SCHEMA_EVENT_MAX; id++)
		if (s->by_id[id])
			print_event(s, s->by_id[id]);
	for (; *words; words++) {
		ev = schema_event(s, *words);
		if (!ev)
			return err_set(e, ERR_FAIL, "no event %.40s; obsrec list groups lists them",
				       *words);
		print_event(s, ev);
	}
	return 0;
}

static int list_classes(void)
{
	const struct syscall_class *c;
	const struct syscall_desc *s;
	u64 set[SYSCALL_BITMAP_WORDS];
	struct err e = { 0 };
	int n;

	for (c = syscall_classes; c->name; c++) {
		n = 0;
		if (syscall_set(set, syscall_own_abi(), c->name, &e) == 0)
			for (s = syscalls; s->name; s++)
				n += s->x86_64 >= 0 && syscall_class_has(c, s->name);
		printf("%-10s %3d  %s\n", c->name, n, c->doc);
	}
	printf("obsrec list syscalls SET shows the members of a set, or of a list such as read,net,!send*\n");
	return 0;
}

static int list_syscalls(char **words, struct err *e)
{
	u8 abi = syscall_own_abi();
	u64 set[SYSCALL_BITMAP_WORDS];
	const struct syscall_desc *s;
	u32 nr;

	if (!*words)
		return list_classes();
	if (syscall_set(set, abi, *words, e) < 0)
		return ERR_FAIL;
	for (nr = 0; nr < SYSCALL_NR_MAX; nr++) {
		s = syscall_find(abi, nr);
		if (s && syscall_set_has(set, nr))
			printf("%4u  %s\n", nr, s->name);
	}
	return 0;
}

static int list_all(char **words, struct err *e)
{
	printf("Event groups (-e), and their events:\n");
	list_groups(words, e);
	printf("\nobsrec list events shows the events' fields.\n\nSets of system calls:\n");
	return list_classes();
}

static const struct what {
	const char *name;
	int (*list)(char **words, struct err *e);
} whats[] = {
	{ "groups", list_groups },
	{ "events", list_events },
	{ "syscalls", list_syscalls },
};

int verb_list(int argc, char **argv, struct err *e)
{
	struct config c = { 0 };
	int rest = opt_parse(opts, &c, argc, argv, e);
	size_t i;

	if (rest < 0)
		return rest;
	if (c.help) {
		help();
		return 0;
	}
	if (c.list)
		return c.list(&c.functions, e);
	if (!argv[rest])
		return list_all(argv + rest, e);
	for (i = 0; i < sizeof(whats) / sizeof(whats[0]); i++)
		if (strcmp(argv[rest], whats[i].name) == 0)
			return whats[i].list(argv + rest + 1, e);
	return err_set(
		e, ERR_FAIL,
		"list shows groups, events, syscalls, functions with -u, or static probes with -U; not %.40s",
		argv[rest]);
}
