/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPU time of processes that answer requests, from samples, and waits within their requests, from
 * the stacks of long ones: by function and call path.
 */
#pragma once

#include "analyze/store/stacks/calltree.h"
#include "compare.h"

#define PROFILES_MOST 8 /* two for each process; processes of one name are one */

/* A function: it ran or waited, or one that it called; by window of time. */
struct code_use {
	double sum[COMPARE_WINDOWS]; /* ns */
	double n, squares;	     /* samples or waits; sum of their squared ns */
};

struct code_profile {
	struct compared_subject subject;
	bool waits;			  /* not CPU time */
	double requests[COMPARE_WINDOWS]; /* 0: none, or events were lost */
	double all;			  /* requests */
	struct code_use *of;		  /* by code */
	struct calltree tree;		  /* a: ns of each call path */
	double n, squares;		  /* samples or waits; sum of their squared ns */
};

struct code_profiles {
	struct callstacks stacks;
	s64 threshold; /* ns: shorter waits have no stack; 0: none has one */
	struct code_profile of[PROFILES_MOST];
	size_t n;
};

/* Sets m->profiles; it stays NULL without memory, and is empty without samples and waits. */
int compare_functions(struct measured *m, sqlite3 *db, struct err *e);

void compare_functions_free(struct code_profiles *p);

/* Puts rows of function_change and stack_change, and the stacks that these name. */
int compare_blame(sqlite3 *db, const struct sides *s, struct err *e);

/*
 * Findings from these rows: of processes whose CPU time per request has changed by its verdict, and
 * of waits, whose requests have become slower or faster.
 */
int compare_say_functions(sqlite3 *db, const struct sides *s, struct err *e);
