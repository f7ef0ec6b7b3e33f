// SPDX-License-Identifier: GPL-2.0-or-later
/* When a snapshot is made: the text of --trigger. */
#include "format/syscall.h"
#include "options.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	double ns;
} units[] = {
	{ "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 },   { "s", 1e9 },
	{ "", 1e9 }, { "m", 60e9 }, { "h", 3600e9 },
};

int options_time(u64 *ret, const char *what, const char *text, struct err *e)
{
	char *end;
	double v = strtod(text, &end);
	size_t i;

	for (i = 0; end != text && i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(end, units[i].name) == 0 && v * units[i].ns >= 1 &&
		    v * units[i].ns <= 3.2e17) {
			*ret = v * units[i].ns;
			return 0;
		}
	return err_set(e, ERR_FAIL,
		       "--%s needs a time such as 30 (seconds), 250ms, 5s or 10m, not %.40s", what,
		       text);
}

static const struct {
	const char *word;
	int kind;
	bool named;
} kinds[] = {
	{ "syscall", TRIGGER_SYSCALL, true },
	{ "runq", TRIGGER_RUNQ, false },
	{ "call", TRIGGER_CALL, true },
};

static int malformed(const char *text, struct err *e)
{
	return err_set(e, ERR_FAIL,
		       "--trigger needs 'syscall NAME > 100ms', 'syscall any > 100ms', "
		       "'runq > 50ms' or 'call FUNC > 20ms', not %.60s",
		       text);
}

static bool is_syscall(const char *name)
{
	const struct syscall_desc *d;

	for (d = syscalls; d->name; d++)
		if (strcmp(d->name, name) == 0)
			return true;
	return strcmp(name, "any") == 0;
}

int trigger_parse(struct trigger *ret, const char *text, struct err *e)
{
	char word[16] = "", limit[32] = "";
	int n = 0, m = 0;
	size_t i;

	*ret = (struct trigger){ .text = text };
	if (sscanf(text, " %15[a-z]%n", word, &n) != 1)
		return malformed(text, e);
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(word, kinds[i].word) == 0)
			break;
	if (i == sizeof(kinds) / sizeof(kinds[0]))
		return malformed(text, e);
	ret->kind = kinds[i].kind;
	text += n;
	if (kinds[i].named && (sscanf(text, " %63[^> ]%n", ret->name, &n) != 1))
		return malformed(ret->text, e);
	text += kinds[i].named ? n : 0;
	if (sscanf(text, " > %31s %n", limit, &m) != 1 || (m && text[m]))
		return malformed(ret->text, e);
	if (ret->kind == TRIGGER_SYSCALL && !is_syscall(ret->name))
		return err_set(e, ERR_FAIL, "--trigger: no system call %.40s", ret->name);
	return options_time(&ret->limit, "trigger", limit, e);
}
