// SPDX-License-Identifier: GPL-2.0-or-later
/* Values and caveats of a cause. */
#include "causes.h"

void cause_value(struct cause *c, struct value v)
{
	if (c->n_values < CAUSE_VALUES)
		c->values[c->n_values++] = v;
}

struct cause_child *cause_child(struct cause *c, enum finding_kind kind, enum evidence evidence)
{
	struct cause_child *child =
		&c->children[c->n_children < CAUSE_CHILDREN ? c->n_children++ : CAUSE_CHILDREN - 1];

	*child = (struct cause_child){ .kind = kind, .evidence = evidence };
	return child;
}

void child_value(struct cause_child *child, struct value v)
{
	if (child->n < (int)(sizeof(child->v) / sizeof(child->v[0])) - 1)
		child->v[child->n++] = v;
}
