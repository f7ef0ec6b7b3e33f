/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a descriptor refers to, recorded when a system call has made or changed it.
 * Such calls are rare beside those that use descriptors, so the latter stay cheap.
 * The event belongs to group core.
 */
#ifndef OBS_FD_BPF_H
#define OBS_FD_BPF_H

#define S_IFMT		0170000
#define S_IFSOCK	0140000
#define F_DUPFD		0
#define F_DUPFD_CLOEXEC 1030
#define EINPROGRESS	115
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

static __always_inline void fill_socket(struct ev_fd *e, struct file *f, u8 role)
{
	struct socket *sock = BPF_CORE_READ(f, private_data);
	struct sock *sk = BPF_CORE_READ(sock, sk);

	e->role = role;
	e->socktype = BPF_CORE_READ(sock, type);
	e->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	if (e->family != AF_INET && e->family != AF_INET6)
		return;
	e->sport = BPF_CORE_READ(sk, __sk_common.skc_num);
	e->dport = __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
	if (e->family == AF_INET) {
		*(u32 *)e->saddr = BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr);
		*(u32 *)e->daddr = BPF_CORE_READ(sk, __sk_common.skc_daddr);
	} else {
		BPF_CORE_READ_INTO(&e->saddr, sk, __sk_common.skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO(&e->daddr, sk, __sk_common.skc_v6_daddr);
	}
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
	__builtin_memset((char *)e + sizeof(struct ev_header), 0,
			 sizeof(*e) - sizeof(struct ev_header));
	e->ino = BPF_CORE_READ(f, f_inode, i_ino);
	e->dev = BPF_CORE_READ(f, f_inode, i_sb, s_dev);
	e->pid = id >> 32;
	e->fd = fd;
	e->mode = BPF_CORE_READ(f, f_inode, i_mode) & S_IFMT;
	if (e->mode == S_IFSOCK)
		fill_socket(e, f, role);
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
static __always_inline void fds_changed(u64 ts, u64 id, u8 shape, u64 arg0, u64 arg1, u64 arg3,
					s64 ret)
{
	u8 source = shape & FD_SOURCE, role = shape >> FD_ROLE_SHIFT;

	if (ret < 0 && !(source == FD_ARG0 && ret == -EINPROGRESS))
		return;
	if (source == FD_PAIR_ARG0) {
		emit_pair(ts, id, arg0, role);
		return;
	}
	if (source == FD_PAIR_ARG3) {
		emit_pair(ts, id, arg3, role);
		return;
	}
	if (source == FD_DUPLICATED && arg1 != F_DUPFD && arg1 != F_DUPFD_CLOEXEC)
		return;
	emit_fd(ts, id, source == FD_ARG0 ? arg0 : ret, role);
}

#endif
