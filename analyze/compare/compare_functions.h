/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPU time of processes that answer requests, by function and call path, from samples. */
#pragma once

#include "analyze/store/stacks/calltree.h"
#include "compare.h"

#define PROFILES_MOST 4 /* processes of one name are one */

/* A function: it ran, or one that it called; by window of time. */
struct code_use {
	double sum[COMPARE_WINDOWS]; /* ns */
	double n, squares;	     /* samples; sum of their squared ns */
};

struct cpu_profile {
	struct compared_subject subject;
	double requests[COMPARE_WINDOWS]; /* 0: none, or events were lost */
	double all;			  /* requests */
	struct code_use *of;		  /* by code */
	struct calltree tree;		  /* a: ns of each call path */
	double n;			  /* samples */
};

struct cpu_profiles {
	struct callstacks stacks;
	struct cpu_profile of[PROFILES_MOST];
	size_t n;
};

/* Sets m->profiles; it stays NULL without samples. */
int compare_functions(struct measured *m, sqlite3 *db, struct err *e);

void compare_functions_free(struct cpu_profiles *p);

/* Puts rows of function_change and stack_change, and the stacks that these name. */
int compare_blame(sqlite3 *db, const struct sides *s, struct err *e);

/* Findings from these rows, of processes whose CPU time per request has changed by its verdict. */
int compare_say_functions(sqlite3 *db, struct err *e);
