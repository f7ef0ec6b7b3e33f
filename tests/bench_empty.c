// SPDX-License-Identifier: GPL-2.0-or-later
/* bench_empty OBJECT: attaches its programs until standard input ends. */
#include <bpf/libbpf.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	struct bpf_object *obj = argc > 1 ? bpf_object__open(argv[1]) : NULL;
	struct bpf_program *prog;

	if (!obj || bpf_object__load(obj) < 0) {
		fprintf(stderr, "bench_empty: cannot load\n");
		return 1;
	}
	bpf_object__for_each_program(prog, obj) if (!bpf_program__attach(prog)) return 1;
	printf("attached\n");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
