// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Accept queues. How many connection attempts found one full is counted by network namespace only;
 * sock_diag(7) reports of each listening socket its queue, and what it dropped for any reason.
 */
#define _GNU_SOURCE /* setns */
#include "accept_queues.h"

#include "record/files/procfs.h"
#include "record/pump/records.h"
#include "sock_diag.h"

#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SEARCH_SHARE  1000 /* one part of so many of the time goes to looking for namespaces */
#define NETSTAT_BYTES (16 << 10)
#define TCP_LISTEN    10

u64 accept_queues_count(const char *text, const char *name)
{
	const char *names = strncmp(text, "TcpExt:", 7) == 0 ? text : strstr(text, "\nTcpExt:");
	const char *values = names ? strstr(names + 1, "\nTcpExt:") : NULL;
	size_t n = strlen(name);

	if (!values)
		return 0;
	names += strcspn(names, " ");
	values += strcspn(values, " ");
	while (*names == ' ' && *values == ' ') {
		names++;
		values++;
		if (strncmp(names, name, n) == 0 && (names[n] == ' ' || names[n] == '\n'))
			return strtoull(values, NULL, 10);
		names += strcspn(names, " \n");
		values += strcspn(values, " \n");
	}
	return 0;
}

/* ---- which namespaces ---- */

struct seeking {
	struct accept_queues *queues;
	const struct probes *probes;
	const struct targets *targets;
	bool open; /* the rights to enter namespaces are there */
};

/* A socket belongs to the namespace in which it was made. */
static int open_diag_of(unsigned int pid)
{
	int here = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC); /* of /proc itself */
	int there, diag = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/ns/net", pid);
	there = open(path, O_RDONLY | O_CLOEXEC); /* of /proc itself */
	if (here >= 0 && there >= 0 && setns(there, CLONE_NEWNET) == 0) {
		diag = sock_diag_open();
		setns(here, CLONE_NEWNET);
	}
	if (here >= 0)
		close(here);
	if (there >= 0)
		close(there);
	return diag;
}

static struct netns_queues *queues_of(struct accept_queues *q, u64 netns)
{
	int i;

	for (i = 0; i < q->n; i++)
		if (q->of[i].netns == netns)
			return &q->of[i];
	if (!netns || q->n == NAMESPACES_MAX)
		return NULL;
	q->of[q->n] = (struct netns_queues){ .netns = netns, .diag = -1 };
	return &q->of[q->n++];
}

static int look_at(void *arg, unsigned int pid, struct err *e)
{
	const struct seeking *s = arg;
	struct netns_queues *of;
	char number[16];

	(void)e;
	if (!s->targets->options->all && !probes_marked(s->probes, pid))
		return 0;
	snprintf(number, sizeof(number), "%u", pid);
	of = queues_of(s->queues, procfs_namespace(number, "net"));
	if (!of)
		return 0;
	of->pid = pid;
	if (of->diag < 0 && s->open)
		of->diag = open_diag_of(pid);
	return 0;
}

static void search(const struct seeking *s)
{
	u64 begin = records_now();
	int i;

	for (i = 0; i < s->queues->n; i++)
		s->queues->of[i].pid = 0;
	procfs_each("/proc", look_at, (void *)s, NULL);
	s->queues->search = records_now() + (records_now() - begin) * SEARCH_SHARE;
}

void accept_queues_open(struct accept_queues *q, const struct probes *probes,
			const struct targets *t)
{
	const struct seeking s = { q, probes, t, true };
	struct netns_queues *own;

	*q = (struct accept_queues){ 0 };
	if (!(t->options->groups & 1u << GROUP_net))
		return;
	/* for processes that start later */
	own = queues_of(q, procfs_namespace("self", "net"));
	if (own)
		own->diag = sock_diag_open();
	search(&s);
}

int accept_queues_diag(const struct accept_queues *q, u64 netns)
{
	int i;

	for (i = 0; i < q->n; i++)
		if (q->of[i].netns == netns)
			return q->of[i].diag;
	return -1;
}

void accept_queues_end(struct accept_queues *q)
{
	while (q->n > 0)
		if (q->of[--q->n].diag >= 0)
			close(q->of[q->n].diag);
}

/* ---- what is read ---- */

static int put_namespace(const struct netns_queues *of, struct pump *p, struct err *e)
{
	struct ev_accept_queue ev = { .h = { .type = EV_accept_queue }, .netns = of->netns };
	char path[64], *text = malloc(NETSTAT_BYTES);
	int ret = 0;

	if (!text)
		return err_set(e, ERR_FAIL, "out of memory");
	snprintf(path, sizeof(path), "/proc/%u/net/netstat", of->pid);
	if (procfs_read(path, text, NETSTAT_BYTES) > 0) {
		ev.overflows = accept_queues_count(text, "ListenOverflows");
		ev.drops = accept_queues_count(text, "ListenDrops");
		ret = records_put(p, &ev, sizeof(ev), NULL, e);
	}
	free(text);
	return ret;
}

struct putting {
	const struct netns_queues *of;
	struct pump *pump;
};

static int put_socket(void *arg, const void *fixed, struct rtattr *a, int left, struct err *e)
{
	const struct inet_diag_msg *m = fixed;
	const struct putting *p = arg;
	struct ev_accept_queue ev = {
		.h = { .type = EV_accept_queue },
		.ino = m->idiag_inode,
		.netns = p->of->netns,
		.queue = m->idiag_rqueue,
		.limit = m->idiag_wqueue,
		.family = m->idiag_family,
		.port = ntohs(m->id.idiag_sport),
	};
	u32 v[SK_MEMINFO_VARS];

	if (!ev.ino)
		return 0;
	for (; RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		if (a->rta_type != INET_DIAG_SKMEMINFO || RTA_PAYLOAD(a) < sizeof(v))
			continue;
		memcpy(v, RTA_DATA(a), sizeof(v));
		ev.drops = v[SK_MEMINFO_DROPS];
	}
	return ev.drops || ev.queue ? records_put(p->pump, &ev, sizeof(ev), NULL, e) : 0;
}

static int put_sockets(const struct netns_queues *of, u8 family, struct pump *p, struct err *e)
{
	const struct inet_diag_req_v2 listening = { .sdiag_family = family,
						    .sdiag_protocol = IPPROTO_TCP,
						    .idiag_ext = 1 << (INET_DIAG_SKMEMINFO - 1),
						    .idiag_states = 1 << TCP_LISTEN };
	struct putting put = { of, p };

	return sock_diag_dump(of->diag, &listening, sizeof(listening), sizeof(struct inet_diag_msg),
			      put_socket, &put, e);
}

int accept_queues_read(struct accept_queues *q, struct pump *p, const struct probes *probes,
		       const struct targets *t, struct err *e)
{
	const struct seeking s = { q, probes, t, false };
	int i, ret = 0;

	if (!(t->options->groups & 1u << GROUP_net))
		return 0;
	if (records_now() >= q->search)
		search(&s);
	for (i = 0; i < q->n && ret == 0; i++) {
		if (!q->of[i].pid)
			continue;
		ret = put_namespace(&q->of[i], p, e);
		if (ret == 0 && q->of[i].diag >= 0)
			ret = put_sockets(&q->of[i], AF_INET, p, e);
		if (ret == 0 && q->of[i].diag >= 0)
			ret = put_sockets(&q->of[i], AF_INET6, p, e);
	}
	return ret;
}
