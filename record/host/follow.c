// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sockets that targets have before the recording begins. Their states change and segments are
 * sent again in interrupts, where the running thread says nothing of the owner.
 */
#include "follow.h"

#include "record/files/procfs.h"
#include "record/files/safe_open.h"
#include "sockets.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define STOPPED 1 /* the walk ends: a signal to stop is pending */

struct following {
	const struct probes *probes;
	struct sockets sockets;
	unsigned int pid;
	bool all, target;
	int map;
};

/* TCP; of UDP and Unix sockets those on which requests arrive. */
static bool is_followed(const struct socket_info *s)
{
	if (s->family == AF_UNIX)
		return s->role != ROLE_CONNECTED && s->role != ROLE_LISTENING;
	return s->socktype == SOCK_STREAM || s->role != ROLE_CONNECTED;
}

static int follow_fd(void *arg, unsigned int fd, struct err *e)
{
	struct following *f = arg;
	const struct socket_info *s;
	struct sock_id id;
	char path[64], target[64];
	u64 word;
	ssize_t n;

	if (safe_stopping())
		return STOPPED;
	snprintf(path, sizeof(path), "/proc/%u/fd/%u", f->pid, fd);
	n = readlink(path, target, sizeof(target) - 1);
	target[n > 0 ? n : 0] = '\0';
	s = sockets_find(&f->sockets, procfs_inode(target, "socket"));
	if (!s || !is_followed(s))
		return 0;
	id = s->role == ROLE_LISTENING && s->family != AF_UNIX
		     ? (struct sock_id){ f->sockets.netns << 16 | s->sport, KEY_PORT }
		     : (struct sock_id){ s->ino, KEY_INO };
	word = s->role == ROLE_CONNECTED ? SOCK_CLIENT : s->role == ROLE_UNKNOWN ? 0 : SOCK_SERVER;
	/* a full map stops nothing: the kernel side counts sockets that it then cannot follow */
	if (bpf_map_update_elem(f->map, &id, &word, BPF_ANY) < 0 && errno != E2BIG)
		return err_errno(e, ERR_ENV, "cannot pass sockets to the BPF programs");
	return 0;
}

static int look_at(void *arg, unsigned int tid, struct err *e)
{
	struct following *f = arg;

	(void)e;
	f->target |= probes_marked(f->probes, tid);
	return 0;
}

static int follow_process(void *arg, unsigned int pid, struct err *e)
{
	struct following *f = arg;
	char path[64];
	int ret;

	if (safe_stopping())
		return STOPPED;
	f->pid = pid;
	f->target = f->all;
	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	ret = procfs_each(path, look_at, f, e);
	if (ret < 0 || !f->target)
		return ret;
	ret = sockets_read(&f->sockets, pid, e);
	snprintf(path, sizeof(path), "/proc/%u/fd", pid);
	return ret < 0 ? ret : procfs_each(path, follow_fd, f, e);
}

int follow_sockets(const struct probes *p, const struct targets *t, struct err *e)
{
	struct following f = { .probes = p,
			       .all = t->options->all,
			       .map = probes_map(p, "wanted_socks") };
	int ret;

	if (!(t->options->groups & 1u << GROUP_requests) &&
	    (t->options->all || !(t->options->groups & 1u << GROUP_net)))
		return 0;
	ret = procfs_each("/proc", follow_process, &f, e);
	probes_sockets_changed(p);
	sockets_free(&f.sockets);
	return ret < 0 ? ret : 0;
}
