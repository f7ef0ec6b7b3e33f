/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Group offsets: where in a regular file a call has read or written. At the return of read(2) and
 * write(2) the position of the open file is the end of their bytes.
 */
#pragma once

#define S_IFREG	    0100000
#define O_APPEND    02000
#define RWF_APPEND  0x10
#define POS_OF_FILE (~0ULL) /* preadv2, pwritev2: as read and write */

const volatile u8 ios[1024] = {}; /* by number of a system call: POS_* of format/shapes.h */

/* What a descriptor says of its file. */
struct place {
	u64 pos, size, ino;
	u32 dev, generation, flags;
};

/* One side of a call: which descriptor, and where its position is. */
struct side {
	u32 fd;
	u8 how; /* POS_AT, POS_POINTER or neither */
	bool writes, appends;
	u64 at;
};

static __always_inline bool place_by_casts(struct place *ret, u32 fd)
{
	struct file *f = file_by_casts(fd);
	struct inode *inode;

	if (!f)
		return false;
	inode = f->f_inode;
	if ((inode->i_mode & S_IFMT) != S_IFREG)
		return false;
	ret->pos = f->f_pos;
	ret->flags = f->f_flags;
	ret->size = inode->i_size;
	ret->ino = inode->i_ino;
	ret->generation = inode->i_generation;
	ret->dev = inode->i_sb->s_dev;
	return true;
}

static __always_inline bool place_by_reads(struct place *ret, u32 fd)
{
	struct file *f = file_at(fd);
	struct inode *inode;

	if (!f)
		return false;
	inode = BPF_CORE_READ(f, f_inode);
	if ((BPF_CORE_READ(inode, i_mode) & S_IFMT) != S_IFREG)
		return false;
	ret->pos = BPF_CORE_READ(f, f_pos);
	ret->flags = BPF_CORE_READ(f, f_flags);
	ret->size = BPF_CORE_READ(inode, i_size);
	ret->ino = BPF_CORE_READ(inode, i_ino);
	ret->generation = BPF_CORE_READ(inode, i_generation);
	ret->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	return true;
}

/* Where the bytes of the call began: appending ignores a position that the program gives. */
static __always_inline bool began_at(u64 *ret, const struct side *s, const struct place *p,
				     u64 bytes)
{
	if (s->writes && s->how && (p->flags & O_APPEND || s->appends))
		*ret = p->size - bytes;
	else if (s->how & POS_AT)
		*ret = s->at;
	else if (!(s->how & POS_POINTER))
		*ret = p->pos - bytes;
	else if (bpf_probe_read_user(ret, sizeof(*ret), (void *)s->at))
		return false;
	else
		*ret -= bytes;
	return (s64)*ret >= 0;
}

static __always_inline void moved(const struct call *call, const struct side *s, u64 count,
				  const bool btf)
{
	struct ev_file_io *e;
	struct counts *c;
	struct place p;
	u64 pos = 0;
	u8 flags;

	if (!(btf && has_casts ? place_by_casts(&p, s->fd) : place_by_reads(&p, s->fd)))
		return;
	c = count_seen(GROUP_offsets);
	if (!c)
		return;
	flags = s->writes ? FILE_IO_WRITE : 0;
	flags |= s->how ? FILE_IO_GIVEN : 0;
	flags |= s->appends || p.flags & O_APPEND ? FILE_IO_APPEND : 0;
	if (!began_at(&pos, s, &p, call->ret)) {
		pos = 0;
		flags |= FILE_IO_UNKNOWN;
	}
	e = ev_reserve(c, call->ts, call->tid, file_io);
	if (!e)
		return;
	e->pos = pos;
	e->size = p.size;
	e->ino = p.ino;
	e->dev = p.dev;
	e->generation = p.generation;
	e->fd = s->fd;
	e->bytes = call->ret;
	e->count = count > 0xffffffff ? 0xffffffff : count;
	e->nr = call->nr;
	e->abi = call->abi;
	e->flags = flags;
	ev_submit(e);
}

/* A call that may have read or written regular files has returned: POS_* say which arguments. */
static __always_inline void offsets_of(const struct call *call, u8 io, struct pt_regs *regs,
				       const bool btf)
{
	u64 arg0 = SYSCALL_ARG0(btf, regs), arg1 = SYSCALL_ARG1(btf, regs);
	u64 arg2 = SYSCALL_ARG2(btf, regs), arg3 = SYSCALL_ARG3(btf, regs);
	u64 count = io & POS_VECTOR ? 0 : arg2;
	struct side s = { arg0, io & POS_AT, io & POS_WRITES, false, arg3 };

	if (call->ret < 0)
		return;
	if (io & POS_FLAGS) {
		s.appends = s.writes && SYSCALL_ARG5(btf, regs) & RWF_APPEND;
		s.how = arg3 == POS_OF_FILE ? 0 : s.how;
	}
	if (io & POS_SENDS) { /* from the second descriptor, at the third argument, to the first */
		struct side from = { arg1, arg2 ? POS_POINTER : 0, false, false, arg2 };

		moved(call, &from, arg3, btf);
		count = arg3;
	}
	if (io & POS_COPIES) { /* from the first to the third, each with a pointer after it */
		struct side to = { arg2, arg3 ? POS_POINTER : 0, true, false, arg3 };

		count = SYSCALL_ARG4(btf, regs);
		moved(call, &to, count, btf);
		s.how = arg1 ? POS_POINTER : 0;
		s.at = arg1;
	}
	moved(call, &s, count, btf);
}
