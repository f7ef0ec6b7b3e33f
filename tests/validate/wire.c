// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A wire with delay and loss between two network namespaces, for kernels without netem: packets
 * read from the TUN device in one are written to that in the other, later, or never.
 *
 * wire -d DELAY_US -l LOSS_PPM -s SEED NAMESPACE DEVICE NAMESPACE DEVICE
 *
 * Delay and loss apply to each direction. The namespaces are files (/run/netns/NAME). The devices
 * are made here and vanish with this program; giving them addresses is left to the caller. Ends
 * by SIGTERM, with its parent, or when standard input does, and says what it carried.
 */
#define _GNU_SOURCE /* setns, ppoll */
#include "tests/lib/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define SLOTS  16384 /* packets under way in one direction: 1.6 million a second at 10 ms */
#define PACKET 1600  /* longest: the devices keep their MTU of 1500 */
#define BATCH  64    /* packets taken from one device before the other has its request */

struct packet {
	uint64_t due;
	uint32_t size;
	char bytes[PACKET];
};

struct direction {
	int from, to;
	struct packet *slots; /* a circle */
	uint64_t head, tail;  /* taken in, passed on */
	uint64_t carried, lost, overrun;
};

static struct direction ways[2];
static uint64_t delay_ns, loss_ppm, seed = 1;
static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static bool is_lost(void)
{
	return random_u64(&seed) % 1000000 < loss_ppm;
}

static void enter(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || setns(fd, CLONE_NEWNET) < 0)
		die(path);
	close(fd);
}

static int open_device(const char *namespace, const char *name)
{
	struct ifreq r = { .ifr_flags = IFF_TUN | IFF_NO_PI };
	int fd;

	enter(namespace);
	fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		die("/dev/net/tun");
	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", name);
	if (ioctl(fd, TUNSETIFF, &r) < 0)
		die(name);
	return fd;
}

/* Takes in what the device has. */
static void take(struct direction *d)
{
	struct packet *p;
	ssize_t n;
	int i;

	for (i = 0; i < BATCH; i++) {
		p = &d->slots[d->head % SLOTS];
		if (d->head - d->tail == SLOTS)
			return; /* the device's queue fills up and drops, as a real one does */
		n = read(d->from, p->bytes, PACKET);
		if (n <= 0)
			return;
		if (is_lost()) {
			d->lost++;
			continue;
		}
		p->due = now_ns() + delay_ns;
		p->size = n;
		d->head++;
	}
}

/* Passes on what is due. Returns when the next packet is, or UINT64_MAX. */
static uint64_t pass(struct direction *d)
{
	uint64_t now = now_ns();
	struct packet *p;

	while (d->tail < d->head) {
		p = &d->slots[d->tail % SLOTS];
		if (p->due > now)
			return p->due;
		if (write(d->to, p->bytes, p->size) == (ssize_t)p->size)
			d->carried++;
		else
			d->overrun++;
		d->tail++;
	}
	return UINT64_MAX;
}

static void carry(void)
{
	struct pollfd fds[3] = { { .fd = ways[0].from, .events = POLLIN },
				 { .fd = ways[1].from, .events = POLLIN },
				 { .fd = 0, .events = POLLIN } };
	uint64_t next, other, now;
	struct timespec t;
	char c;

	while (!stop) {
		next = pass(&ways[0]);
		other = pass(&ways[1]);
		if (other < next)
			next = other;
		now = now_ns();
		next = next > now ? next - now : 0;
		if (next > 1000000000)
			next = 1000000000;
		t = (struct timespec){ next / 1000000000, next % 1000000000 };
		if (ppoll(fds, 3, &t, NULL) < 0 && errno != EINTR)
			die("ppoll");
		if (fds[2].revents && read(0, &c, 1) <= 0)
			return;
		take(&ways[0]);
		take(&ways[1]);
	}
}

int main(int argc, char **argv)
{
	int i, c, a, b;

	while ((c = getopt(argc, argv, "d:l:s:")) != -1) {
		if (c == 'd')
			delay_ns = strtoull(optarg, NULL, 10) * 1000;
		else if (c == 'l')
			loss_ppm = strtoull(optarg, NULL, 10);
		else if (c == 's')
			seed = strtoull(optarg, NULL, 10);
		else
			return 1;
	}
	if (argc - optind != 4) {
		fprintf(stderr, "usage: wire [-d DELAY_US] [-l LOSS_PPM] [-s SEED] "
				"NAMESPACE DEVICE NAMESPACE DEVICE\n");
		return 1;
	}
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	prctl(PR_SET_TIMERSLACK, 1);
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	a = open_device(argv[optind], argv[optind + 1]);
	b = open_device(argv[optind + 2], argv[optind + 3]);
	ways[0].from = ways[1].to = a;
	ways[0].to = ways[1].from = b;
	for (i = 0; i < 2; i++) {
		ways[i].slots = malloc(SLOTS * sizeof(struct packet));
		if (!ways[i].slots)
			die("malloc");
	}
	printf("ready\n");
	fflush(stdout);
	carry();
	for (i = 0; i < 2; i++)
		printf("%s: %lu packets carried, %lu lost, %lu refused\n", i ? "back" : "forth",
		       ways[i].carried, ways[i].lost, ways[i].overrun);
	return 0;
}
