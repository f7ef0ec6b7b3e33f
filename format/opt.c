// SPDX-License-Identifier: GPL-2.0-or-later
/* Options as rows, over getopt_long. */
#include "opt.h"

#include "nearest.h"

#include <ctype.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define OPTS_MAX    48
#define HELP_COLUMN 26
#define HELP_WIDTH  80

static int refuse(const struct opt *opts, int argc, char **argv, int got, struct err *e)
{
	const char *word = optind > 0 && optind <= argc ? argv[optind - 1] : "";
	const char *name = word + strspn(word, "-");
	struct nearest guess = nearest_to(name, strcspn(name, "="));
	const struct opt *o;

	if (got != ':') {
		err_set(e, ERR_FAIL, "unknown option %.60s; --help lists them", word);
		for (o = opts; o->name; o++)
			if (o->help)
				nearest_offer(&guess, o->name, strlen(o->name));
		nearest_say(&guess, "--", e);
		return ERR_FAIL;
	}
	for (o = opts; o->name; o++)
		if (o->letter == optopt ||
		    (strncmp(word, "--", 2) == 0 && !strcmp(word + 2, o->name)))
			return err_set(e, ERR_FAIL, "option --%s needs an argument: %s", o->name,
				       o->arg);
	return err_set(e, ERR_FAIL, "option %.60s needs an argument", word);
}

/* how: "+:" stops at the first word, ":" moves words after the options. */
static int parse(const char *how, const struct opt *opts, void *config, int argc, char **argv,
		 struct err *e)
{
	struct option longs[OPTS_MAX + 1] = { 0 };
	char letters[2 * OPTS_MAX + 3];
	size_t n = strlen(how);
	int i, got, index, ret;

	memset(letters, 0, sizeof(letters));
	memcpy(letters, how, n);
	for (i = 0; opts[i].name && i < OPTS_MAX; i++) {
		longs[i].name = opts[i].name;
		longs[i].has_arg = opts[i].arg ? required_argument : no_argument;
		longs[i].val = 256 + i;
		if (!opts[i].letter)
			continue;
		letters[n++] = opts[i].letter;
		if (opts[i].arg)
			letters[n++] = ':';
	}
	opterr = 0;
	optind = 0; /* 1 would keep the way of an earlier call */
	while ((got = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		if (got == '?' || got == ':')
			return refuse(opts, argc, argv, got, e);
		for (index = 0; got < 256 && opts[index].letter != got; index++)
			;
		index = got < 256 ? index : got - 256;
		ret = opts[index].set(config, optarg, e);
		if (ret < 0)
			return ret;
	}
	return optind;
}

int opt_parse(const struct opt *opts, void *config, int argc, char **argv, struct err *e)
{
	return parse("+:", opts, config, argc, argv, e);
}

int opt_parse_anywhere(const struct opt *opts, void *config, int argc, char **argv, struct err *e)
{
	return parse(":", opts, config, argc, argv, e);
}

/* Prints words from column on, breaking lines before HELP_WIDTH. */
static void wrap(FILE *f, const char *text, int column)
{
	int at = column;
	size_t n;

	while (*text) {
		n = strcspn(text, " ");
		if (at > column && at + 1 + (int)n > HELP_WIDTH) {
			fprintf(f, "\n%*s", column, "");
			at = column;
		} else if (at > column) {
			at += fprintf(f, " ");
		}
		fprintf(f, "%.*s", (int)n, text);
		at += n;
		text += n;
		text += *text == ' ';
	}
	fputc('\n', f);
}

void opt_help(FILE *f, const struct opt *opts)
{
	int n;

	for (; opts->name; opts++) {
		if (!opts->help)
			continue;
		n = opts->letter ? fprintf(f, "  -%c, --%s", opts->letter, opts->name)
				 : fprintf(f, "      --%s", opts->name);
		if (opts->arg)
			n += fprintf(f, " %s", opts->arg);
		if (n >= HELP_COLUMN)
			n = fprintf(f, "\n") - 1;
		fprintf(f, "%*s", HELP_COLUMN - n, "");
		wrap(f, opts->help, HELP_COLUMN);
	}
}

int opt_size(unsigned long long *ret, const char *name, const char *text, struct err *e)
{
	static const char units[] = "kmgt";
	const char *unit;
	char *end;
	double v = strtod(text, &end);
	int shift = 0;

	if (*end && (unit = strchr(units, tolower((unsigned char)*end)))) {
		shift = 10 * (int)(unit - units + 1);
		end++;
	}
	v *= (double)(1ull << shift);
	if (end == text || *end || !(v >= 1) || v > 1e18)
		return err_set(e, ERR_FAIL,
			       "--%s needs a size such as 4096, 64K, 8M or 1G, not %.40s", name,
			       text);
	*ret = (unsigned long long)v;
	return 0;
}
