// SPDX-License-Identifier: GPL-2.0-or-later
#include "fdmap.h"

#include "limits.h"

#include <stdlib.h>
#include <string.h>

#define PAGE	   FDMAP_PAGE
#define PAGE_BYTES (PAGE * sizeof(void *))
#define N_HIGH	   ((INT32_MAX / FDMAP_LOW) + 1) /* the first is not used */
#define HIGH_BYTES (N_HIGH * sizeof(struct fd_pages))

/* Bytes more for a map. */
static int count(u64 *memory, u64 bytes, struct err *e)
{
	if (*memory + bytes > FD_MEMORY)
		return err_set(e, ERR_DAMAGED,
			       "the recording claims fds that take more than %u MiB",
			       FD_MEMORY >> 20);
	*memory += bytes;
	return 0;
}

/* Makes room for page number i. */
static int grow(struct fd_pages *p, u32 i, u64 *memory, struct err *e)
{
	u32 n = p->n ? p->n : 1;
	void ***grown;
	int ret;

	while (n <= i)
		n *= 2;
	if (n == p->n)
		return 0;
	ret = count(memory, (n - p->n) * sizeof(*grown), e);
	if (ret < 0)
		return ret;
	grown = realloc(p->pages, n * sizeof(*grown));
	if (!grown) {
		*memory -= (n - p->n) * sizeof(*grown);
		return err_set(e, ERR_FAIL, "out of memory for fds");
	}
	memset(grown + p->n, 0, (n - p->n) * sizeof(*grown));
	p->pages = grown;
	p->n = n;
	return 0;
}

/* Zeroed memory, counted. */
static int more(void **ret, size_t bytes, u64 *memory, struct err *e)
{
	int failed = count(memory, bytes, e);

	if (failed < 0)
		return failed;
	*ret = calloc(1, bytes);
	if (*ret)
		return 0;
	*memory -= bytes;
	return err_set(e, ERR_FAIL, "out of memory for fds");
}

int fdmap_put(struct fdmap *m, s32 fd, void *value, u64 *memory, struct err *e)
{
	u32 i = fd % FDMAP_LOW / PAGE;
	struct fd_pages *p = &m->low;
	int ret = 0;

	if (!value && !fdmap_get(m, fd))
		return 0;
	if (fd >= FDMAP_LOW && !m->high)
		ret = more((void **)&m->high, HIGH_BYTES, memory, e);
	if (ret == 0 && fd >= FDMAP_LOW)
		p = &m->high[fd / FDMAP_LOW];
	if (ret == 0)
		ret = grow(p, i, memory, e);
	if (ret == 0 && !p->pages[i])
		ret = more((void **)&p->pages[i], PAGE_BYTES, memory, e);
	if (ret == 0)
		p->pages[i][fd % PAGE] = value;
	return ret;
}

/* As fdmap_next; fd is that of the first page. */
static void *next_in(const struct fd_pages *p, s64 *fd, s64 first)
{
	s64 i = *fd - first;

	while (i / PAGE < p->n) {
		void **page = p->pages[i / PAGE];

		if (page && page[i % PAGE]) {
			*fd = first + i;
			return page[i % PAGE];
		}
		i = page ? i + 1 : (i / PAGE + 1) * PAGE;
	}
	return NULL;
}

void *fdmap_next(const struct fdmap *m, s64 *fd)
{
	s64 i = *fd < 0 ? 0 : *fd;
	void *value;

	for (; i < FDMAP_LOW * (s64)(m->high ? N_HIGH : 1); i = (i / FDMAP_LOW + 1) * FDMAP_LOW) {
		value = next_in(i < FDMAP_LOW ? &m->low : &m->high[i / FDMAP_LOW], &i,
				i / FDMAP_LOW * FDMAP_LOW);
		if (value) {
			*fd = i;
			return value;
		}
	}
	return NULL;
}

static void free_pages(struct fd_pages *p, u64 *memory)
{
	u32 i;

	for (i = 0; i < p->n; i++) {
		if (p->pages[i])
			*memory -= PAGE_BYTES;
		free(p->pages[i]);
	}
	*memory -= p->n * sizeof(*p->pages);
	free(p->pages);
}

void fdmap_free(struct fdmap *m, u64 *memory)
{
	size_t i;

	free_pages(&m->low, memory);
	for (i = 0; m->high && i < N_HIGH; i++)
		free_pages(&m->high[i], memory);
	if (m->high)
		*memory -= HIGH_BYTES;
	free(m->high);
	*m = (struct fdmap){ 0 };
}
