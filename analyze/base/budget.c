// SPDX-License-Identifier: GPL-2.0-or-later
/* The memory that one recording may take. */
#include "budget.h"

#include "format/grow.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#define ALWAYS (1280ull << 20) /* it keeps what was freed, with zones around */
#else
#define ALWAYS (320ull << 20) /* bytes that any recording may take */
#endif
#define A_BYTE	 64   /* more for each byte of the file */
#define MEASURED 4096 /* records from one look to the next */

/* Resident bytes now; where the system does not say, the most so far. */
static u64 resident(void)
{
	struct rusage u;
	unsigned long long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");
	int got = f ? fscanf(f, "%*u %llu", &pages) : 0;

	if (f)
		fclose(f);
	if (got == 1)
		return pages * (u64)sysconf(_SC_PAGESIZE);
	return getrusage(RUSAGE_SELF, &u) == 0 ? (u64)u.ru_maxrss << 10 : 0;
}

static struct budget in_force;

static int allow(u64 more, const struct budget *b, struct err *e)
{
	if (resident() + more <= b->start + b->limit)
		return 0;
	return err_set(e, ERR_DAMAGED,
		       "the recording needs more than %llu MiB of memory, out of proportion to its "
		       "size: its claims cannot be true",
		       (unsigned long long)(b->limit >> 20));
}

static int on_growth(size_t bytes, struct err *e)
{
	return allow(bytes, &in_force, e);
}

void budget_start(struct budget *b, u64 file_bytes)
{
	b->start = resident();
	b->limit = ALWAYS + A_BYTE * file_bytes;
	b->records = 0;
	in_force = *b;
	grow_asked = on_growth;
}

int budget_check(struct budget *b, struct err *e)
{
	return ++b->records % MEASURED ? 0 : allow(0, b, e);
}
