// SPDX-License-Identifier: GPL-2.0-or-later
/* Each tracepoint has a typedef btf_trace_<name>: pointer to a function whose first argument is
 * data. */
#include "tracepoints.h"

#include <bpf/btf.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 8 /* anonymous structs in each other */

/* The tracepoint's prototype; NULL if the kernel has none of that name. */
static const struct btf_type *prototype(const struct btf *btf, const char *name)
{
	const struct btf_type *t;
	char type[128];
	int id;

	snprintf(type, sizeof(type), "btf_trace_%s", name);
	id = btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF);
	t = id > 0 ? btf__type_by_id(btf, id) : NULL;
	t = t ? btf__type_by_id(btf, t->type) : NULL;
	if (!t || !btf_is_ptr(t))
		return NULL;
	t = btf__type_by_id(btf, t->type);
	return t && btf_is_func_proto(t) ? t : NULL;
}

int tracepoint_args(const struct btf *btf, const char *name)
{
	const struct btf_type *t = prototype(btf, name);

	return t ? btf_vlen(t) - 1 : -1;
}

bool tracepoint_status(const struct btf *btf)
{
	const struct btf_type *t = prototype(btf, "block_rq_complete");

	if (!t || btf_vlen(t) < 3)
		return false;
	t = btf__type_by_id(btf, btf_params(t)[2].type);
	return t && strcmp(btf__name_by_offset(btf, t->name_off), "blk_status_t") == 0;
}

bool tracepoint_typedef(const struct btf *btf, const char *name)
{
	return btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF) > 0;
}

/* (request), since 6.3; (request, ...) 5.19 to 6.2; (ring, request, ...); (ring, opcode, ...) */
unsigned int tracepoint_uring_submit(const struct btf *btf)
{
	int n = tracepoint_args(btf, "io_uring_submit_sqe");

	return n == 7 ? 1 : n == 5 ? 2 : 0;
}

/* (ring, request, entry) since 6.13; (ring, user_data, result) until 5.16; (ring, request, ...) */
unsigned int tracepoint_uring_complete(const struct btf *btf)
{
	const struct btf_type *t = prototype(btf, "io_uring_complete");

	if (!t)
		return 0;
	if (btf_vlen(t) - 1 == 3) {
		t = btf__type_by_id(btf, btf_params(t)[3].type);
		return t && btf_is_ptr(t) ? 0 : 2;
	}
	return btf_vlen(t) - 1 == 4 ? 2 : 1;
}

static int member_of(const struct btf *btf, unsigned int id, const char *name, int depth)
{
	const struct btf_type *t = btf__type_by_id(btf, id);
	const struct btf_member *m = t && btf_is_composite(t) ? btf_members(t) : NULL;
	int i, below;

	for (i = 0; m && depth < DEPTH_MAX && i < btf_vlen(t); i++) {
		const char *own = btf__name_by_offset(btf, m[i].name_off);

		if (own && strcmp(own, name) == 0)
			return btf_member_bit_offset(t, i) / 8;
		below = own && own[0] ? -1 : member_of(btf, m[i].type, name, depth + 1);
		if (below >= 0)
			return btf_member_bit_offset(t, i) / 8 + below;
	}
	return -1;
}

int tracepoint_member(const struct btf *btf, const char *type, const char *member)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT);

	return id > 0 ? member_of(btf, id, member, 0) : -1;
}
