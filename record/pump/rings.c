// SPDX-License-Identifier: GPL-2.0-or-later
/* Choosing and making rings. */
#include "rings.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define OWN_TOTAL_MAX ((1ull << 32) - (64u << 10)) /* old kernels multiply in 32 bits in mmap */
#define FETCH	      1				   /* of an atomic instruction: since 5.12 */
#define NO_OPERATION  ((struct bpf_insn){ .code = BPF_JMP | BPF_JA })

/* True if the kernel knows the instruction that reserves: compare and swap (since 5.12). */
static bool kernel_swaps(void)
{
	struct bpf_insn insns[] = {
		{ BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0 },	    /* r0 = 0 */
		{ BPF_ALU64 | BPF_MOV | BPF_K, 1, 0, 0, 8 },	    /* r1 = 8 */
		{ BPF_STX | BPF_MEM | BPF_DW, 10, 0, -8, 0 },	    /* [fp-8] = r0 */
		{ BPF_STX | BPF_ATOMIC | BPF_DW, 10, 1, -8, 0xf1 }, /* if [fp-8] == r0: = r1 */
		{ BPF_JMP | BPF_EXIT, 0, 0, 0, 0 },
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "obsrec_probe", "GPL", insns,
			       sizeof(insns) / sizeof(insns[0]), NULL);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

int rings_choose(struct rings *r, int n, u64 size, bool stock, struct err *e)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	int cpu;

	*r = (struct rings){ .n = n, .size = size, .map_fd = -1 };
	r->list = calloc(n, sizeof(*r->list));
	if (!r->list)
		return err_set(e, ERR_FAIL, "out of memory for rings");
	for (cpu = 0; cpu < n; cpu++)
		r->list[cpu].map_fd = -1;
	if (stock || n * ring_stretch(size) > OWN_TOTAL_MAX || !kernel_swaps())
		return 0;
	/* an old kernel has a limit on the size of an element, which --ring may exceed */
	r->map_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, RINGS_MAP, sizeof(u32), ring_stretch(size),
				   n, &opts);
	r->own = r->map_fd >= 0;
	return 0;
}

static int take_fetches_out(struct bpf_program *prog)
{
	size_t n = bpf_program__insn_cnt(prog), i;
	struct bpf_insn *insns = malloc(n * sizeof(*insns));
	int ret;

	if (!insns)
		return -1;
	memcpy(insns, bpf_program__insns(prog), n * sizeof(*insns));
	for (i = 0; i < n; i++)
		if (BPF_CLASS(insns[i].code) == BPF_STX && BPF_MODE(insns[i].code) == BPF_ATOMIC &&
		    insns[i].imm & FETCH)
			insns[i] = NO_OPERATION;
	ret = bpf_program__set_insns(prog, insns, n);
	free(insns);
	return ret;
}

int rings_prepare(const struct rings *r, struct bpf_object *obj, struct err *e)
{
	struct bpf_map *stretches = bpf_object__find_map_by_name(obj, RINGS_MAP);
	struct bpf_map *rings = bpf_object__find_map_by_name(obj, "rings");
	struct bpf_program *prog;

	if (!stretches || !rings || bpf_map__set_max_entries(rings, r->n) < 0 ||
	    (r->own && bpf_map__reuse_fd(stretches, r->map_fd) < 0))
		return err_errno(e, ERR_ENV, "cannot size the rings");
	if (r->own)
		return 0;
	bpf_object__for_each_program(prog, obj) if (
		bpf_program__autoload(prog) &&
		take_fetches_out(prog) <
			0) return err_errno(e, ERR_ENV,
					    "cannot adapt the BPF programs to this kernel");
	return 0;
}

static int open_own(struct rings *r, struct err *e)
{
	size_t stretch = ring_stretch(r->size);
	int cpu;

	r->mapped = mmap(NULL, r->n * stretch, PROT_READ | PROT_WRITE, MAP_SHARED, r->map_fd, 0);
	if (r->mapped == MAP_FAILED) {
		r->mapped = NULL;
		return err_errno(e, ERR_ENV, "cannot map %d rings of %llu bytes", r->n,
				 (unsigned long long)r->size);
	}
	/* a worker of safe_open.c that is stuck must not keep them */
	madvise(r->mapped, r->n * stretch, MADV_DONTFORK);
	for (cpu = 0; cpu < r->n; cpu++)
		ring_open_own(&r->list[cpu], (u8 *)r->mapped + cpu * stretch, r->size);
	return 0;
}

int rings_open(struct rings *r, struct bpf_object *obj, struct err *e)
{
	int outer = bpf_object__find_map_fd_by_name(obj, "rings"), fd;
	u32 cpu;

	if (r->own)
		return open_own(r, e);
	for (cpu = 0; cpu < (u32)r->n; cpu++) {
		fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "obsrec_ring", 0, 0, r->size, NULL);
		if (fd < 0)
			return err_errno(
				e, ERR_ENV,
				"cannot create a ring of %llu bytes for each of %d CPUs; try "
				"a smaller --ring",
				(unsigned long long)r->size, r->n);
		if (ring_open_stock(&r->list[cpu], fd, r->size, e) < 0)
			return ERR_FAIL;
		if (bpf_map_update_elem(outer, &cpu, &fd, BPF_ANY) < 0)
			return err_errno(e, ERR_ENV, "cannot pass a ring to the BPF programs");
	}
	return 0;
}

void rings_free(struct rings *r)
{
	int cpu;

	for (cpu = 0; r->list && cpu < r->n; cpu++)
		ring_close(&r->list[cpu]);
	free(r->list);
	if (r->mapped)
		munmap(r->mapped, r->n * ring_stretch(r->size));
	if (r->own)
		close(r->map_fd);
	*r = (struct rings){ .map_fd = -1 };
}
