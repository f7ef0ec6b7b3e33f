/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a descriptor refers to, recorded when a system call has made or changed it.
 * Such calls are rare compared with those that use descriptors, so the latter stay cheap.
 * The event belongs to group core.
 */
#pragma once

#define S_IFMT		0170000
#define S_IFSOCK	0140000
#define S_IFDIR		0040000
#define F_DUPFD		0
#define F_DUPFD_CLOEXEC 1030
#define EINPROGRESS	115
#define FD_PATH_TAIL	256 /* bytes kept of a path */
#define UNIX_PATH	108 /* bytes of the longest name of a Unix socket */
#define AF_UNIX		1
#define AF_INET		2
#define AF_INET6	10

static __always_inline struct file *file_at(u32 fd)
{
	struct task_struct *t = (void *)bpf_get_current_task();
	struct fdtable *fdt = BPF_CORE_READ(t, files, fdt);
	struct file **table = BPF_CORE_READ(fdt, fd);
	struct file *f = NULL;

	if (fd < BPF_CORE_READ(fdt, max_fds))
		bpf_probe_read_kernel(&f, sizeof(f), table + fd);
	return f;
}

/* The same where the kernel has casts (6.2), without its helper for reads. */
static __always_inline struct file *file_by_casts(u32 fd)
{
	struct fdtable *fdt = bpf_get_current_task_btf()->files->fdt;

	if (fd >= fdt->max_fds)
		return NULL;
	return CAST(CAST(fdt->fd + fd, struct hlist_head)->first, struct file);
}

static __always_inline void fill_socket(struct ev_fd *e, struct file *f, u8 role)
{
	struct socket *sock = BPF_CORE_READ(f, private_data);
	struct sock *sk = BPF_CORE_READ(sock, sk);

	e->role = role;
	e->socktype = BPF_CORE_READ(sock, type);
	e->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	e->netns = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	if (e->family != AF_INET && e->family != AF_INET6)
		return;
	e->sport = BPF_CORE_READ(sk, __sk_common.skc_num);
	e->dport = __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
	if (hide)
		return;
	if (e->family == AF_INET) {
		*(u32 *)e->saddr = BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr);
		*(u32 *)e->daddr = BPF_CORE_READ(sk, __sk_common.skc_daddr);
	} else {
		BPF_CORE_READ_INTO(&e->saddr, sk, __sk_common.skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO(&e->daddr, sk, __sk_common.skc_v6_daddr);
	}
}

static __always_inline u32 fd_flags(u32 fd)
{
	struct task_struct *t = (void *)bpf_get_current_task();
	unsigned long *bits = BPF_CORE_READ(t, files, fdt, close_on_exec), word = 0;

	bpf_probe_read_kernel(&word, sizeof(word), bits + fd / 64);
	return word >> (fd & 63) & 1 ? FD_CLOSED_BY_EXEC : 0;
}

static __always_inline void fill_fd(struct ev_fd *e, u64 id, s32 fd, struct file *f, u8 role)
{
	__builtin_memset((char *)e + sizeof(struct ev_header), 0,
			 sizeof(*e) - sizeof(struct ev_header));
	e->ino = BPF_CORE_READ(f, f_inode, i_ino);
	e->dev = BPF_CORE_READ(f, f_inode, i_sb, s_dev);
	e->pid = id >> 32;
	e->fd = fd;
	e->flags = fd_flags(fd);
	e->mode = BPF_CORE_READ(f, f_inode, i_mode) & S_IFMT;
	if (e->mode == S_IFSOCK)
		fill_socket(e, f, role);
}

static __always_inline void emit_fd(u64 ts, u64 id, s32 fd, u8 role)
{
	struct counts *c = count_seen(GROUP_core);
	struct file *f;
	struct ev_fd *e;

	if (!c)
		return;
	f = file_at(fd);
	if (!f) { /* another thread has closed it already */
		count(c, filtered);
		return;
	}
	e = ev_reserve(c, ts, (u32)id, fd);
	if (!e)
		return;
	fill_fd(e, id, fd, f, role);
	ev_submit(e);
}

/* The name of what a Unix socket is connected to; NULL: it is no Unix socket, or that has none. */
static __always_inline struct unix_address *peer_name(struct file *f)
{
	struct socket *sock = BPF_CORE_READ(f, private_data);
	struct unix_sock *un = (void *)BPF_CORE_READ(sock, sk);

	if (!bpf_core_field_exists(un->peer) || /* Unix sockets are a module here */
	    BPF_CORE_READ((struct sock *)un, __sk_common.skc_family) != AF_UNIX)
		return NULL;
	un = (void *)BPF_CORE_READ(un, peer);
	return un ? BPF_CORE_READ(un, addr) : NULL;
}

/* As /proc/net/unix shows an abstract name: each NUL in it is an '@'. */
static __always_inline void show_abstract(char *name, u32 len)
{
	u32 i;

#pragma clang loop unroll(disable)
	for (i = 0; i < UNIX_PATH; i++)
		if (i < len && !name[i])
			name[i] = '@';
}

/* connect(2) of fd returned, of a Unix socket with the name of its peer. */
static __always_inline void emit_connected(u64 ts, u64 id, s32 fd)
{
	struct file *f = file_at(fd);
	struct unix_address *name = f ? peer_name(f) : NULL;
	struct counts *c;
	struct ev_fd *e;
	u32 len;

	if (!name || hide) {
		emit_fd(ts, id, fd, ROLE_CONNECTED);
		return;
	}
	c = count_seen(GROUP_core);
	if (!c)
		return;
	e = reserve(c, ts, (u32)id, EV_fd, sizeof(*e) + FD_PATH_TAIL);
	if (!e)
		return;
	fill_fd(e, id, fd, f, ROLE_CONNECTED);
	__builtin_memset(e->path, 0, FD_PATH_TAIL);
	len = BPF_CORE_READ(name, len) - sizeof(u16);
	if (len <= UNIX_PATH) {
		bpf_probe_read_kernel(e->path, len,
				      (char *)name + bpf_core_field_offset(name->name) +
					      sizeof(u16));
		if (len && !e->path[0])
			show_abstract(e->path, len);
	}
	ev_submit(e);
}

/* With its path, which the program still holds in memory at user. */
static __always_inline void emit_fd_path(u64 ts, u64 id, s32 fd, struct file *f, s32 dir, u64 user)
{
	struct counts *c = count_seen(GROUP_core);
	struct ev_fd *e;

	if (!c)
		return;
	if (!f) {
		count(c, filtered);
		return;
	}
	e = reserve(c, ts, (u32)id, EV_fd, sizeof(*e) + FD_PATH_TAIL);
	if (!e)
		return;
	fill_fd(e, id, fd, f, 0);
	e->dir = dir;
	__builtin_memset(e->path, 0, FD_PATH_TAIL);
	if (user && !hide)
		bpf_probe_read_user_str(e->path, FD_PATH_TAIL, (void *)user);
	ev_submit(e);
}

/* The process has gone to another working directory: recorded as descriptor -100. */
static __always_inline void emit_directory(u64 ts, u64 id, u64 user)
{
	struct counts *c = count_seen(GROUP_core);
	struct ev_fd *e;

	if (!c)
		return;
	e = reserve(c, ts, (u32)id, EV_fd, sizeof(*e) + FD_PATH_TAIL);
	if (!e)
		return;
	__builtin_memset((char *)e + sizeof(struct ev_header), 0,
			 sizeof(*e) + FD_PATH_TAIL - sizeof(struct ev_header));
	e->pid = id >> 32;
	e->fd = WORKING_DIRECTORY;
	e->dir = WORKING_DIRECTORY;
	e->mode = S_IFDIR;
	if (!hide)
		bpf_probe_read_user_str(e->path, FD_PATH_TAIL, (void *)user);
	ev_submit(e);
}

static __always_inline void emit_pair(u64 ts, u64 id, u64 user, u8 role)
{
	s32 pair[2];

	if (bpf_probe_read_user(pair, sizeof(pair), (void *)user) < 0)
		return;
	emit_fd(ts, id, pair[0], role);
	emit_fd(ts, id, pair[1], role);
}

/* A call whose shape names a source of descriptors has returned ret. */
static __always_inline void fds_changed(u64 ts, u64 id, u8 shape, u8 form, const u64 *arg, s64 ret)
{
	u8 source = shape & FD_SOURCE, role = (shape & FD_ROLE) >> FD_ROLE_SHIFT;

	if (ret < 0 && !(source == FD_ARG0 && ret == -EINPROGRESS))
		return;
	if (source == FD_PAIR_ARG0) {
		emit_pair(ts, id, arg[0], role);
		return;
	}
	if (source == FD_PAIR_ARG3) {
		emit_pair(ts, id, arg[3], role);
		return;
	}
	if (form & PATH_OPENS) {
		if ((form & PATH_FORM) == PATH_0)
			emit_fd_path(ts, id, ret, file_at(ret), WORKING_DIRECTORY, arg[0]);
		else
			emit_fd_path(ts, id, ret, file_at(ret), arg[0], arg[1]);
		return;
	}
	if (source == FD_DUPLICATED && arg[1] != F_DUPFD && arg[1] != F_DUPFD_CLOEXEC)
		return;
	if (role == ROLE_CONNECTED)
		emit_connected(ts, id, arg[0]);
	else
		emit_fd(ts, id, source == FD_ARG0 ? arg[0] : ret, role);
}

/* chdir has its path; of fchdir the replay knows the descriptor's. */
static __always_inline void directory_changed(u64 ts, u64 id, u8 form, const u64 *arg)
{
	if ((form & PATH_FORM) == PATH_0)
		emit_directory(ts, id, arg[0]);
}
