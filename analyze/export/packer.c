// SPDX-License-Identifier: GPL-2.0-or-later
#include "packer.h"

#include "format/ahead.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <zlib.h>

struct packer {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool started, stop, full; /* full: in is to be compressed */
	/* of the thread while it is full */
	z_stream z;
	struct buf in, out;
	struct err e;
	int ret;
};

static int compress_all(struct packer *p, struct err *e)
{
	size_t bound = deflateBound(&p->z, p->in.len);

	buf_clear(&p->out);
	if (buf_reserve(&p->out, bound, e) < 0)
		return ERR_FAIL;
	p->z.next_in = (unsigned char *)p->in.data;
	p->z.avail_in = (unsigned int)p->in.len;
	p->z.next_out = (unsigned char *)p->out.data;
	p->z.avail_out = (unsigned int)bound;
	if (deflate(&p->z, Z_FINISH) != Z_STREAM_END)
		return err_set(e, ERR_FAIL, "cannot compress packets");
	p->out.len = bound - p->z.avail_out;
	if (deflateReset(&p->z) != Z_OK)
		return err_set(e, ERR_FAIL, "cannot compress packets");
	return 0;
}

static void *work(void *arg)
{
	struct packer *p = arg;

	pthread_mutex_lock(&p->lock);
	while (!p->stop) {
		if (!p->full) {
			pthread_cond_wait(&p->changed, &p->lock);
			continue;
		}
		pthread_mutex_unlock(&p->lock);
		p->ret = compress_all(p, &p->e);
		pthread_mutex_lock(&p->lock);
		p->full = false;
		pthread_cond_broadcast(&p->changed);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static bool start(struct packer *p)
{
	sigset_t all, old;
	bool started;

	/* signals are for the main thread */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	started = pthread_create(&p->thread, NULL, work, p) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return started;
}

struct packer *packer_new(int level, u32 cpus)
{
	struct packer *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	if (deflateInit(&p->z, level) != Z_OK) {
		free(p);
		return NULL;
	}
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	p->started = cpus_to_use(cpus) > 1 && start(p);
	return p;
}

void packer_give(struct packer *p, struct buf *b)
{
	struct buf given = *b;

	*b = p->in;
	buf_clear(b);
	p->in = given;
	if (!p->started) {
		p->ret = compress_all(p, &p->e);
		return;
	}
	pthread_mutex_lock(&p->lock);
	p->full = true;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

int packer_take(struct packer *p, struct buf *ret, struct err *e)
{
	pthread_mutex_lock(&p->lock);
	while (p->full)
		pthread_cond_wait(&p->changed, &p->lock);
	pthread_mutex_unlock(&p->lock);
	*ret = p->out;
	if (p->ret < 0 && e)
		*e = p->e;
	return p->ret;
}

void packer_free(struct packer *p)
{
	if (!p)
		return;
	if (p->started) {
		pthread_mutex_lock(&p->lock);
		p->stop = true;
		pthread_cond_broadcast(&p->changed);
		pthread_mutex_unlock(&p->lock);
		pthread_join(p->thread, NULL);
	}
	deflateEnd(&p->z);
	buf_free(&p->in);
	buf_free(&p->out);
	free(p);
}
