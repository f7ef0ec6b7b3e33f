// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests whose answers are to come: by their order, or by the stream of HTTP/2. */
#include "parse.h"

void asked_forget(struct asked *a)
{
	a->n = 0;
	a->unknown = true;
}

void asked_add(struct asked *a, u32 name, u32 id)
{
	u32 i = (a->first + a->n) % ASKED;

	if (a->n == ASKED)
		asked_forget(a);
	if (a->unknown)
		return;
	a->list[i].name = name;
	a->list[i].id = id;
	a->n++;
}

u32 asked_take(struct asked *a)
{
	u32 name = a->n ? a->list[a->first].name : 0;

	a->first = (a->first + !!a->n) % ASKED;
	a->n -= !!a->n;
	return name;
}

void asked_one(struct asked *a, u32 name)
{
	u32 last = (a->first + a->n + ASKED - 1) % ASKED;

	if (a->n && a->list[last].name == name)
		a->list[last].id++;
	else
		asked_add(a, name, 1);
}

/* An answer without a request: the order is not what it seemed. */
u32 asked_answered(struct asked *a)
{
	u32 name = a->n ? a->list[a->first].name : 0;

	if (!a->n)
		asked_forget(a);
	else if (--a->list[a->first].id == 0)
		asked_take(a);
	return name;
}
