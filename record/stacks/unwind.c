// SPDX-License-Identifier: GPL-2.0-or-later
/* Call frame information first. Generated code has none: there the frame pointer is followed, and
 * entries of CPython's perf trampolines have a frame of fixed size. Nor have functions that the
 * compiler adds to each file, as __do_global_dtors_aux: they push the frame pointer, if anything.
 */
#include "unwind.h"

#include "record/pump/records.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAPS_TEXT (1u << 20)  /* bytes read of /proc/PID/maps */
#define PERF_MAX  (32u << 20) /* bytes of the files of all perf maps */
#define MAPS_TIME 1000	      /* ns between two readings of the same maps, per byte */
#define PERF_SOON 10000000    /* ns between two looks at a perf map that has grown */
#define PERF_LATE 200000000   /* the same, at most, if it has not: it doubles */
#define PERF_PART 20	      /* looks take one of so many parts of the time */
#define PERF_SPAN 1000000000  /* ns of which the parts can be taken at once */

#if defined(__aarch64__)
#define MODE_REG     33 /* pstate */
#define IS_USER64(v) (((v)&0x1f) == 0)
#define TRAMPOLINE   0
#define PUSHED	     0
#define LINK	     30 /* register of the return address */
#else
#define MODE_REG     17 /* cs */
#define IS_USER64(v) ((v) == 0x33)
#define TRAMPOLINE   16
#define PUSHED	     8 /* bytes that a function without call frame information has pushed, at most */
#define LINK	     0 /* it is on the stack */
/* place of each of DWARF's registers in pt_regs */
static const u8 places[UNWIND_REGS] = { 10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16 };
#endif

bool unwinder_start(struct unwinder *u, struct code_modules *modules)
{
	u->modules = modules;
	u->rows = cfi_rows_new();
	return u->rows;
}

void unwinder_free(struct unwinder *u)
{
	cfi_rows_free(u->rows);
}

void unwinder_perf(struct unwinder *u, struct code_process *p)
{
	u->perf_held -= perf_map_held(&p->perf);
	perf_map_read(&p->perf, &u->modules->files, p->pid,
		      u->perf_held < PERF_MAX ? PERF_MAX - u->perf_held : 0);
	u->perf_held += perf_map_held(&p->perf);
}

/* By the time that looks take: many small maps are as much work as a large one. */
bool unwinder_perf_again(struct unwinder *u, struct code_process *p)
{
	u64 now = records_now(), bytes = p->perf.bytes,
	    from = now > PERF_SPAN ? now - PERF_SPAN : 0;

	if (now < p->perf_next || now < u->perf_next)
		return false;
	unwinder_perf(u, p);
	u->perf_next = u->perf_next > from ? u->perf_next : from;
	u->perf_next += (records_now() - now) * PERF_PART;
	p->perf_pause = p->perf.bytes > bytes || !p->perf_pause ? PERF_SOON : p->perf_pause * 2;
	p->perf_pause = p->perf_pause < PERF_LATE ? p->perf_pause : PERF_LATE;
	p->perf_next = records_now() + p->perf_pause;
	return true;
}

void code_process_free(struct unwinder *u, struct code_process *p)
{
	u->perf_held -= perf_map_held(&p->perf);
	code_maps_free(&p->maps);
	perf_map_free(&p->perf);
	*p = (struct code_process){ 0 };
}

/* A process stuck in its memory map blocks the read. */
static void read_maps(struct unwinder *u, struct code_process *p)
{
	struct code_maps fresh;
	char path[64], *text;
	size_t n = 0;

	p->maps_tried = records_now();
	snprintf(path, sizeof(path), "/proc/%u/maps", p->pid);
	text = safe_long_text(&u->modules->files, -1, path, MAPS_TEXT, &n);
	p->maps_silent = !text && errno == ETIMEDOUT;
	if (!n) { /* it has ended: the last ones are kept */
		free(text);
		return;
	}
	p->maps_bytes = n;
	if (!code_maps_parse(&fresh, text))
		return;
	code_maps_free(&p->maps);
	p->maps = fresh;
	p->maps_old = 0;
}

/* Without new mappings, nothing is known of what was there before. */
static struct code_map *find_map(struct unwinder *u, struct code_process *p, u64 pc)
{
	struct code_map *map = code_maps_find(&p->maps, pc);
	bool old = p->maps_old && u->now >= p->maps_old;

	/* one that came later than the last reading, as the libraries of a program that starts */
	if ((!map || old) && !p->maps_silent &&
	    (!p->maps_tried || u->now > p->maps_tried + p->maps_bytes * MAPS_TIME)) {
		read_maps(u, p);
		map = code_maps_find(&p->maps, pc);
		old &= p->maps_old != 0; /* it can have ended */
	}
	return old ? NULL : map;
}

static void take_regs(struct unwind_state *s, const struct raw_stack *raw)
{
#if defined(__aarch64__)
	memcpy(s->r, raw->regs, UNWIND_REGS * sizeof(u64)); /* x0 to x30, sp, pc */
#else
	int i;

	for (i = 0; i < UNWIND_REGS; i++)
		s->r[i] = raw->regs[places[i]];
#endif
	s->stack = (const u8 *)(raw + 1);
	s->stack_at = s->r[UNWIND_SP];
	s->stack_size = raw->n_stack;
	s->exact = true;
}

static bool is_trampoline(struct unwinder *u, struct code_process *p, u64 pc)
{
	const struct perf_function *f = perf_map_find(&p->perf, pc);

	if (!f && unwinder_perf_again(u, p))
		f = perf_map_find(&p->perf, pc);
	return f && strncmp(perf_map_name(&p->perf, f), "py::", 4) == 0;
}

static enum cfi_step step_by_pointer(struct unwind_state *s)
{
	u64 fp = s->r[UNWIND_FP], caller, pc;

	if (!fp)
		return CFI_END;
	if (fp < s->r[UNWIND_SP] || !unwind_read(s, fp, &caller) || !unwind_read(s, fp + 8, &pc))
		return CFI_FAIL;
	if (caller && caller <= fp)
		return CFI_FAIL;
	s->r[UNWIND_FP] = caller;
	s->r[UNWIND_SP] = fp + 16;
	s->r[UNWIND_PC] = pc;
	s->exact = false;
	return pc ? CFI_STEP : CFI_END;
}

/* Has a file call frame information of the call before this address? */
static bool returns_to(struct unwinder *u, struct code_process *p, const struct unwind_state *s,
		       u64 pc)
{
	struct code_map *map = code_maps_find(&p->maps, pc - 1);
	u32 module = map ? code_module_find(u->modules, map, p->pid) : 0;
	const struct code_module *m = &u->modules->list[module];
	struct unwind_state caller = *s;
	u64 address;

	return module && m->elf.elf && code_module_address(m, map, pc - 1, &address) &&
	       cfi_rows_step(u->rows, m, module, address, &caller) != CFI_NONE;
}

/* The frame pointer leads to a call; what it is for the caller does not matter. */
static enum cfi_step step_by_frame(struct unwinder *u, struct code_process *p,
				   struct unwind_state *s)
{
	u64 fp = s->r[UNWIND_FP], caller, to;

	if (fp < s->r[UNWIND_SP] || !unwind_read(s, fp, &caller) || !unwind_read(s, fp + 8, &to) ||
	    !returns_to(u, p, s, to))
		return CFI_NONE;
	s->r[UNWIND_FP] = caller;
	s->r[UNWIND_SP] = fp + 16;
	s->r[UNWIND_PC] = to;
	s->exact = false;
	return CFI_STEP;
}

/* Before the frame pointer is set: the return address is the last word, or the one before it. */
static enum cfi_step step_by_return(struct unwinder *u, struct code_process *p,
				    struct unwind_state *s)
{
	u64 sp = s->r[UNWIND_SP], at, to, pushed;

	for (at = 0; PUSHED && at <= PUSHED && unwind_read(s, sp + at, &to); at += 8) {
		if (at && (!unwind_read(s, sp, &pushed) || pushed != s->r[UNWIND_FP]))
			break;
		if (!returns_to(u, p, s, to))
			continue;
		s->r[UNWIND_SP] = sp + at + 8;
		s->r[UNWIND_PC] = to;
		s->exact = false;
		return CFI_STEP;
	}
	return CFI_NONE;
}

/*
 * A function that has called none, as of the vdso: the return address is in its register, and the
 * frame pointer is the caller's. Compilers have the frame record at the bottom of a frame. The
 * register is older if it leads into the function's own file, and it is in the frame record, too,
 * if that is the function's own.
 */
static enum cfi_step step_by_register(struct unwinder *u, struct code_process *p,
				      struct unwind_state *s, u64 pc)
{
	u64 to = UNWIND_ADDRESS(s->r[LINK]), fp = s->r[UNWIND_FP], saved;
	const struct code_map *from = code_maps_find(&p->maps, pc);
	const struct code_map *into = code_maps_find(&p->maps, to - 1);

	if (fp < s->r[UNWIND_SP] || !unwind_read(s, fp + 8, &saved) ||
	    UNWIND_ADDRESS(saved) == to || from == into || !returns_to(u, p, s, to))
		return CFI_NONE;
	s->r[UNWIND_SP] = fp;
	s->r[UNWIND_PC] = to;
	s->exact = false;
	return CFI_STEP;
}

static enum cfi_step step_without(struct unwinder *u, struct code_process *p,
				  struct unwind_state *s, u64 pc, bool generated)
{
	u64 to;

	if (LINK && s->exact && step_by_register(u, p, s, pc) == CFI_STEP)
		return CFI_STEP;
	/* the words on the stack may be old ones */
	if (!generated && (step_by_frame(u, p, s) == CFI_STEP ||
			   (s->exact && step_by_return(u, p, s) == CFI_STEP)))
		return CFI_STEP;
	if (TRAMPOLINE && generated && is_trampoline(u, p, pc)) {
		if (!unwind_read(s, s->r[UNWIND_SP] + TRAMPOLINE - 8, &to))
			return CFI_FAIL;
		s->r[UNWIND_SP] += TRAMPOLINE;
		s->r[UNWIND_PC] = to;
		s->exact = false;
		return to ? CFI_STEP : CFI_END;
	}
	return step_by_pointer(s);
}

/* One frame, and s is its caller. */
static enum cfi_step walk(struct unwinder *u, struct code_process *p, struct unwind_state *s,
			  struct code_frame *frame)
{
	/* a call can be the last instruction of a function */
	u64 pc = s->r[UNWIND_PC] - !s->exact, sp = s->r[UNWIND_SP];
	struct code_map *map = find_map(u, p, pc);
	const struct code_module *m;
	enum cfi_step step = CFI_NONE;

	if (!map)
		return CFI_NONE;
	frame->module = code_module_find(u->modules, map, p->pid);
	frame->address = pc;
	m = &u->modules->list[frame->module];
	if (frame->module && !code_module_address(m, map, pc, &frame->address))
		frame->module = 0; /* the address says where the file is in memory */
	else if (frame->module && m->elf.elf)
		step = cfi_rows_step(u->rows, m, frame->module, frame->address, s);
	if (step == CFI_NONE)
		step = step_without(u, p, s, pc, m->kind != CODE_ELF);
	if (step == CFI_STEP && s->r[UNWIND_SP] < sp && !s->exact)
		return CFI_FAIL; /* callers are at higher addresses */
	return step;
}

u32 unwind(struct unwinder *u, struct code_process *p, const struct raw_stack *raw,
	   struct code_frame frames[UNWIND_FRAMES], enum unwind_end *end)
{
	enum cfi_step step = CFI_STEP;
	struct unwind_state s;
	u32 n = 0;

	*end = UNWIND_CUT;
	if (!IS_USER64(raw->regs[MODE_REG]))
		return 0;
	take_regs(&s, raw);
	while (n < UNWIND_FRAMES && step == CFI_STEP) {
		frames[n].module = 0;
		frames[n].address = 0;
		step = walk(u, p, &s, &frames[n]);
		n += frames[n].address != 0;
		if (step == CFI_STEP && !s.r[UNWIND_PC])
			step = CFI_END;
	}
	if (step == CFI_END)
		*end = UNWIND_COMPLETE;
	else if (n > 1 && s.exact && s.r[UNWIND_SP] - s.stack_at >= s.stack_size)
		*end = UNWIND_HANDLER;
	return n;
}

u32 unwind_pc(struct unwinder *u, struct code_process *p, const struct raw_stack *raw,
	      struct code_frame frames[UNWIND_FRAMES])
{
	struct unwind_state s;

	if (!IS_USER64(raw->regs[MODE_REG]))
		return 0;
	take_regs(&s, raw);
	frames[0] = (struct code_frame){ 0 };
	walk(u, p, &s, &frames[0]);
	return frames[0].address != 0;
}
