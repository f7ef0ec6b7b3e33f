// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bench_empty OBJECT GROUP,... [FILE FUNCTION]: attaches the object's programs of these
 * groups, prints "ready", and waits for a signal.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool chosen(const struct bpf_program *prog, const char *groups)
{
	const char *name = bpf_program__name(prog);
	size_t n = strcspn(name, "_");

	for (; *groups; groups += strcspn(groups, ",") + (groups[strcspn(groups, ",")] == ','))
		if (strcspn(groups, ",") == n && memcmp(groups, name, n) == 0)
			return true;
	return false;
}

static struct bpf_link *attach(struct bpf_program *prog, char **function)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts);
	const char *section = bpf_program__section_name(prog);

	if (strncmp(section, "u", 1) != 0)
		return bpf_program__attach(prog);
	opts.func_name = function[1];
	opts.retprobe = section[1] == 'r';
	return bpf_program__attach_uprobe_opts(prog, -1, function[0], 0, &opts);
}

int main(int argc, char **argv)
{
	struct bpf_object *obj = argc > 2 ? bpf_object__open(argv[1]) : NULL;
	struct bpf_program *prog;

	if (!obj)
		return 1;
	bpf_object__for_each_program(prog, obj)
		bpf_program__set_autoload(prog, chosen(prog, argv[2]));
	if (bpf_object__load(obj) < 0) {
		fprintf(stderr, "bench_empty: cannot load\n");
		return 1;
	}
	bpf_object__for_each_program(prog, obj) if (bpf_program__autoload(prog) &&
						    !attach(prog, argv + 3)) return 1;
	printf("ready\n");
	fflush(stdout);
	pause();
	return 0;
}
