// SPDX-License-Identifier: GPL-2.0-or-later
/* The functions that the user named. */
#include "sites.h"

#include <bpf/libbpf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

int sites_resolve(struct sites *s, const struct options *o, struct err *e)
{
	struct elfsym found[ELFSYM_MAX];
	char path[PATH_MAX], real[PATH_MAX];
	const char *colon;
	int i, k, n;

	for (i = 0; i < o->n_functions; i++) {
		colon = strrchr(o->functions[i], ':');
		snprintf(path, sizeof(path), "%.*s", (int)(colon - o->functions[i]),
			 o->functions[i]);
		if (!realpath(path, real))
			return err_errno(e, ERR_FAIL, "cannot read the binary %s", path);
		n = elfsym_find(found, real, colon + 1, e);
		if (n < 0)
			return n;
		for (k = 0; k < n; k++) {
			s->list[s->n] = (struct site){ .path = strdup(real),
						       .text = o->functions[i],
						       .sym = found[k] };
			if (!s->list[s->n++].path)
				return err_set(e, ERR_FAIL, "out of memory");
		}
	}
	return 0;
}

/* To every process that runs the file: a filter by process is in the program, and cheaper there. */
static struct bpf_link *attach_site(const struct site *s, struct bpf_program *prog, u64 cookie,
				    bool back)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .retprobe = back, .bpf_cookie = cookie);

	return bpf_program__attach_uprobe_opts(prog, -1, s->path, s->sym.offset, &opts);
}

int sites_attach(struct sites *sites, struct bpf_program *entry, struct bpf_program *back,
		 struct err *e)
{
	struct site *s;
	int i;

	for (i = 0; i < sites->n; i++) {
		s = &sites->list[i];
		/* return first: an entry without return is then the rarer case */
		s->back = attach_site(s, back, i, true);
		s->entry = s->back ? attach_site(s, entry, i, false) : NULL;
		if (!s->entry)
			return err_errno(e, ERR_ENV, "cannot attach to %s", s->text);
	}
	return 0;
}

void sites_free(struct sites *s)
{
	int i;

	for (i = 0; i < s->n; i++) {
		bpf_link__destroy(s->list[i].entry);
		bpf_link__destroy(s->list[i].back);
		free(s->list[i].path);
	}
	s->n = 0;
}
