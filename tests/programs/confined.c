// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs a command as systemd does with these settings of a unit. What is refused has the errors that
 * systemd gives it. confined 'FAMILY...' 'NAMESPACE...' COMMAND [ARGUMENT]...
 * - FAMILY: as RestrictAddressFamilies= has it, for example AF_UNIX;
 * - NAMESPACE: as RestrictNamespaces= has it: names of kinds, or yes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(field)                                             \
	((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, \
				      (unsigned int)offsetof(struct seccomp_data, field)))
#define WHEN(how, value, yes, no) \
	((struct sock_filter)BPF_JUMP(BPF_JMP | (how) | BPF_K, (unsigned int)(value), yes, no))
#define RESULT(value) ((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, value))

struct named {
	const char *name;
	unsigned int number;
};

static const struct named families[] = {
	{ "AF_UNIX", AF_UNIX },	      { "AF_INET", AF_INET },	  { "AF_INET6", AF_INET6 },
	{ "AF_NETLINK", AF_NETLINK }, { "AF_PACKET", AF_PACKET },
};
static const struct named kinds[] = {
	{ "net", CLONE_NEWNET },   { "mnt", CLONE_NEWNS },  { "pid", CLONE_NEWPID },
	{ "ipc", CLONE_NEWIPC },   { "uts", CLONE_NEWUTS }, { "user", CLONE_NEWUSER },
	{ "cgroup", 0x02000000u }, /* CLONE_NEWCGROUP */
};
static struct sock_filter code[64];
static unsigned short n;

static void add(struct sock_filter f)
{
	code[n++] = f;
}

static int has_word(const char *list, const char *word)
{
	size_t len = strlen(word);
	const char *at;

	for (at = strstr(list, word); at; at = strstr(at + 1, word))
		if ((at == list || at[-1] == ' ') && (!at[len] || at[len] == ' '))
			return 1;
	return 0;
}

static void restrict_sockets(const char *list)
{
	unsigned int i, known = 0;

	for (i = 0; i < sizeof(families) / sizeof(*families); i++)
		known += has_word(list, families[i].name);
	add(WHEN(BPF_JEQ, SYS_socket, 0, (unsigned char)(known + 2)));
	add(LOAD(args[0]));
	for (i = 0; i < sizeof(families) / sizeof(*families); i++)
		if (has_word(list, families[i].name))
			add(WHEN(BPF_JEQ, families[i].number, (unsigned char)known--, 0));
	add(RESULT(SECCOMP_RET_ERRNO | EAFNOSUPPORT));
	add(RESULT(SECCOMP_RET_ALLOW));
}

/* A call of which one argument names kinds of namespaces. */
static void restrict_call(long nr, int arg, unsigned int refused, int no_zero)
{
	add(LOAD(nr));
	add(WHEN(BPF_JEQ, nr, 0, 4));
	add(arg ? LOAD(args[1]) : LOAD(args[0]));
	add(WHEN(BPF_JSET, refused, 1, 0));
	add(WHEN(BPF_JEQ, no_zero ? 0 : ~0u, 0, 1));
	add(RESULT(SECCOMP_RET_ERRNO | EPERM));
}

int main(int argc, char **argv)
{
	struct sock_fprog program = { 0, code };
	unsigned int i, refused = 0;

	if (argc < 4) {
		fprintf(stderr, "usage: confined 'FAMILY...' 'NAMESPACE...' COMMAND\n");
		return 2;
	}
	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!has_word(argv[2], kinds[i].name))
			refused |= kinds[i].number;
	restrict_call(SYS_setns, 1, refused, 1);
	restrict_call(SYS_unshare, 0, refused, 0);
	add(LOAD(nr));
	restrict_sockets(argv[1]);
	program.len = n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0) {
		perror("confined");
		return 2;
	}
	execvp(argv[3], argv + 3);
	perror(argv[3]);
	return 2;
}
