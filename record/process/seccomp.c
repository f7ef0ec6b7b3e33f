// SPDX-License-Identifier: GPL-2.0-or-later
/* System calls that the recorder never makes after its start. */
#include "seccomp.h"

#include "format/event.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define OWN_ARCH    AUDIT_ARCH_X86_64
#define OTHER_CALLS 0x40000000u /* from here: the calls of x32 */
#elif defined(__aarch64__)
#define OWN_ARCH    AUDIT_ARCH_AARCH64
#define OTHER_CALLS UINT32_MAX
#endif

#ifdef OWN_ARCH
#define FIELD_OF(name) ((u32)offsetof(struct seccomp_data, name))
#define REFUSE	       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
#define REFUSED(nr)    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##nr, 0, 1), REFUSE

static struct sock_filter filter[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIELD_OF(arch)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0),
	REFUSE,
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIELD_OF(nr)),
	BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, OTHER_CALLS, 0, 1),
	REFUSE,
	/* other programs and processes */
	REFUSED(execve),
	REFUSED(execveat),
	REFUSED(ptrace),
	REFUSED(process_vm_readv),
	REFUSED(process_vm_writev),
	REFUSED(pidfd_getfd),
	/* the network */
	REFUSED(connect),
	REFUSED(bind),
	REFUSED(listen),
	REFUSED(accept),
	REFUSED(accept4),
	REFUSED(io_uring_setup),
	REFUSED(io_uring_enter),
	REFUSED(io_uring_register),
	/* other users, namespaces, roots and mounts */
	REFUSED(setuid),
	REFUSED(setgid),
	REFUSED(setreuid),
	REFUSED(setregid),
	REFUSED(setresuid),
	REFUSED(setresgid),
	REFUSED(setgroups),
	REFUSED(setns),
	REFUSED(unshare),
	REFUSED(chroot),
	REFUSED(pivot_root),
	REFUSED(mount),
	REFUSED(umount2),
	REFUSED(move_mount),
	REFUSED(open_tree),
	REFUSED(fsopen),
	REFUSED(fspick),
	REFUSED(open_by_handle_at),
	/* the host */
	REFUSED(init_module),
	REFUSED(finit_module),
	REFUSED(delete_module),
	REFUSED(kexec_load),
	REFUSED(kexec_file_load),
	REFUSED(reboot),
	REFUSED(swapon),
	REFUSED(swapoff),
	REFUSED(acct),
	REFUSED(settimeofday),
	REFUSED(clock_settime),
	REFUSED(clock_adjtime),
	REFUSED(adjtimex),
	REFUSED(sethostname),
	REFUSED(setdomainname),
	/* doors into the kernel */
	REFUSED(add_key),
	REFUSED(request_key),
	REFUSED(keyctl),
	REFUSED(userfaultfd),
	REFUSED(personality),
	REFUSED(mknodat),
#ifdef __x86_64__
	REFUSED(mknod),
	REFUSED(iopl),
	REFUSED(ioperm),
#endif
	/* of sockets only those that ask for the inode of an unconnected one (snapshot.c) */
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIELD_OF(args[0])),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 1, 0),
	REFUSE,
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};
#endif

int seccomp_install(struct err *e)
{
#ifdef OWN_ARCH
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0 && errno != EINVAL)
		return err_errno(e, ERR_FAIL, "cannot filter system calls");
#else
	(void)e;
#endif
	return 0;
}
