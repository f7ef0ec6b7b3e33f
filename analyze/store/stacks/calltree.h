/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks as one tree from their outermost functions, with two sums of each call path. */
#pragma once

#include "callstacks.h"

#define CALLTREE_MAX 1000000 /* call paths: what is deeper then counts for its caller */

struct tree_node {
	u32 parent; /* smaller than its own place */
	u32 code;   /* of struct callstacks, or any other number */
	double a, b;
};

struct calltree {
	struct tree_node *v; /* [0]: the root; NULL: empty */
	u32 n;		     /* without the root */
	struct idmap index;
};

/* The callee of parent; made if it is not there. */
int calltree_node(struct calltree *t, u32 parent, u32 code, u32 *ret, struct err *e);

/* The path of n codes, innermost first, from a node on. */
int calltree_path(struct calltree *t, u32 from, const u32 *codes, u32 n, u32 *ret, struct err *e);

/* Adds the sums of callees to those of their callers, once all have their own. */
void calltree_sum(struct calltree *t);

/*
 * The path down from the root while one callee has half of all of a: its codes, innermost first,
 * and the share of each. Returns how many of at most STACK_DEEP. After calltree_sum.
 */
u32 calltree_heavy(const struct calltree *t, u32 *codes, double *shares);

void calltree_free(struct calltree *t);
