// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * stackwork: 40 call paths with known shares of the CPU time, waits of known number and length, a
 * signal handler that interrupts a known function, and a thread with a large unused buffer.
 * Compiled without frame pointers. Its stack holds a word that no recording may have. With the
 * argument wait: waits for a line on standard input first. With few: each path once, a stop,
 * and a page fault that waits. With hang [N]: the first thread and N more, or one, wait for ever.
 * With turns: threads that wait in one function and then in another one, until killed.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS	60
#define NAPS	800  /* waits of 1.2 ms */
#define LONG	23   /* waits of 3 ms */
#define SHORT	29   /* of 0.2 ms */
#define TURN	4000 /* us of a wait of a thread that takes turns */
#define TURNERS 40
#define UNIT	400000ull /* ns of CPU time of a path of weight 1 in a round */

#define KEEP	  __asm__ volatile("" ::: "memory") /* no tail call */
#define USE(room) __asm__ volatile("" ::"r"(room) : "memory")

static uint64_t cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static inline __attribute__((always_inline)) void spin(uint64_t ns)
{
	uint64_t end = cpu_time() + ns;
	int i;

	while (cpu_time() < end)
		for (i = 0; i < 20000; i++)
			KEEP;
}

/* Each level has a frame of another size. */
#define PATH(n)                                              \
	__attribute__((noinline)) void leaf_##n(uint64_t ns) \
	{                                                    \
		spin(ns);                                    \
		KEEP;                                        \
	}                                                    \
	__attribute__((noinline)) void mid_##n(uint64_t ns)  \
	{                                                    \
		char room[8 * (n) + 8];                      \
		USE(room);                                   \
		leaf_##n(ns);                                \
		KEEP;                                        \
	}                                                    \
	__attribute__((noinline)) void top_##n(uint64_t ns)  \
	{                                                    \
		char room[300 * (n) + 8];                    \
		USE(room);                                   \
		mid_##n(ns);                                 \
		KEEP;                                        \
	}

/* clang-format off */
#define PATHS(F)                                                            \
	F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9)                   \
	F(10) F(11) F(12) F(13) F(14) F(15) F(16) F(17) F(18) F(19)         \
	F(20) F(21) F(22) F(23) F(24) F(25) F(26) F(27) F(28) F(29)         \
	F(30) F(31) F(32) F(33) F(34) F(35) F(36) F(37) F(38) F(39)

PATHS(PATH)
#define ROW(n) top_##n,
static void (*const tops[])(uint64_t) = { PATHS(ROW) };
/* clang-format on */

static void pause_for(long ns)
{
	nanosleep(&(struct timespec){ 0, ns }, NULL);
	KEEP;
}

__attribute__((noinline)) void wait_inner(long ns)
{
	pause_for(ns);
	KEEP;
}

__attribute__((noinline)) void wait_long(void)
{
	int i;

	for (i = 0; i < LONG; i++)
		wait_inner(3000000);
}

__attribute__((noinline)) void wait_short(void)
{
	int i;

	for (i = 0; i < SHORT; i++)
		wait_inner(200000);
}

static void on_alarm(int signal)
{
	(void)signal;
	spin(40000000);
}

__attribute__((noinline)) void interrupted_work(void)
{
	uint64_t end = cpu_time() + 60000000;
	struct itimerval after = { .it_value.tv_usec = 5000 };

	setitimer(ITIMER_REAL, &after, NULL);
	while (cpu_time() < end)
		KEEP;
}

static void on_other_stack(int signal)
{
	(void)signal;
	spin(100000000);
}

/* Its handler has a stack of its own. */
__attribute__((noinline)) void raising_work(void)
{
	static char room[65536];
	struct sigaction action = { .sa_handler = on_other_stack, .sa_flags = SA_ONSTACK };

	sigaltstack(&(stack_t){ .ss_sp = room, .ss_size = sizeof(room) }, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	KEEP;
}

/* The pages of the buffer were never in memory. */
__attribute__((noinline)) void sparse_work(void)
{
	char room[14000];

	USE(room);
	spin(60000000);
	KEEP;
}

static void *thread_work(void *arg)
{
	sparse_work();
	KEEP;
	return arg;
}

/* Its stop begins after the call that asks for it has returned. */
static __attribute__((noinline)) void stopped(pid_t by)
{
	if (by > 0)
		kill(getpid(), SIGSTOP);
	KEEP;
}

static __attribute__((noinline)) void after_stop(void)
{
	close(-1);
	KEEP;
}

static void stop(void)
{
	pid_t self = getpid(), by = fork();

	while (by == 0 && getppid() == self) {
		usleep(20000);
		kill(self, SIGCONT);
	}
	if (by == 0)
		_exit(0);
	stopped(by);
	after_stop();
	kill(by, SIGKILL);
	waitpid(by, NULL, 0);
}

/* ---- a page fault that waits for 5 ms ---- */

static void *pages(void *arg)
{
	struct uffd_msg m;
	struct uffdio_zeropage zero = { .range = { .len = 4096 } };
	int fd = *(int *)arg;

	if (read(fd, &m, sizeof(m)) != sizeof(m))
		return NULL;
	usleep(5000);
	zero.range.start = m.arg.pagefault.address & ~4095ull;
	ioctl(fd, UFFDIO_ZEROPAGE, &zero);
	return NULL;
}

static __attribute__((noinline)) void faulting(volatile char *page)
{
	*page = 1;
	KEEP;
}

/* How many there were: the kernel may refuse. */
static int slow_fault(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register r = { .range = { .len = 4096 },
				     .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t pager;

	r.range.start = (uintptr_t)page;
	if (fd < 0 || page == MAP_FAILED || ioctl(fd, UFFDIO_API, &api) < 0 ||
	    ioctl(fd, UFFDIO_REGISTER, &r) < 0 || pthread_create(&pager, NULL, pages, &fd) != 0)
		return 0;
	faulting(page);
	pthread_join(pager, NULL);
	return 1;
}

/* ---- threads that wait for ever ---- */

static pthread_mutex_t never = PTHREAD_MUTEX_INITIALIZER;

static __attribute__((noinline)) void lock_never(void)
{
	pthread_mutex_lock(&never);
	KEEP;
}

static void *stuck(void *arg)
{
	lock_never();
	return arg;
}

static void hang(long others)
{
	pthread_t thread;

	pthread_mutex_lock(&never);
	while (others-- > 0 && pthread_create(&thread, NULL, stuck, NULL) == 0)
		if (!others)
			pthread_join(thread, NULL);
}

static __attribute__((noinline)) void nap_turn(void)
{
	usleep(TURN);
	KEEP;
}

static __attribute__((noinline)) void poll_turn(void)
{
	poll(NULL, 0, TURN / 1000);
	KEEP;
}

static void *take_turns(void *arg)
{
	for (;;) {
		nap_turn();
		poll_turn();
	}
	return arg;
}

static void turns(void)
{
	pthread_t thread;
	int i;

	for (i = 1; i < TURNERS; i++)
		pthread_create(&thread, NULL, take_turns, NULL);
	take_turns(NULL);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	char line[8], word[32];
	bool few = argc > 1 && strcmp(argv[1], "few") == 0;
	int round, i;

	if (argc > 1 && strcmp(argv[1], "hang") == 0)
		hang(argc > 2 ? strtol(argv[2], NULL, 10) : 1);
	if (argc > 1 && strcmp(argv[1], "turns") == 0)
		turns();
	if (argc > 1 && strcmp(argv[1], "naps") == 0) {
		for (i = 0; i < NAPS; i++)
			wait_inner(1200000);
		return 0;
	}

	if (argc > 1 && !few && !fgets(line, sizeof(line), stdin))
		return 1;
	snprintf(word, sizeof(word), "%s-%s", "kept", "secret");
	USE(word);
	signal(SIGALRM, on_alarm);
	for (round = 0; round < (few ? 1 : ROUNDS); round++)
		for (i = 0; i < 40; i++)
			tops[(i * 7 + round) % 40](UNIT * (1 + (i * 7 + round) % 40 % 4));
	wait_long();
	wait_short();
	for (i = 0; i < 5; i++)
		interrupted_work();
	raising_work();
	if (few)
		stop();
	if (pthread_create(&thread, NULL, thread_work, NULL) == 0)
		pthread_join(thread, NULL);
	printf("paths=40 weights=100 long=%d faults=%d\n", LONG, few ? slow_fault() : 0);
	return 0;
}
