// SPDX-License-Identifier: GPL-2.0-or-later
/* Each request asks another server over TCP, the port after this one's, which becomes slow. */
#include "stage.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void answer(void)
{
	if (stage_faulty())
		stage_sleep(10000000 + stage_exponential(10000000));
	else
		stage_spin(50000);
}

static void peer(void)
{
	stage.port++;
	stage_serve_threads(answer);
}

static int reach(int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = -1, tries;

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (tries = 0; tries < 100; tries++) {
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0)
			return fd;
		close(fd);
		stage_sleep(20000000);
	}
	stage_die("connect");
	return -1;
}

static void handle(void)
{
	static __thread int fd = -1;
	char c;

	if (fd < 0)
		fd = reach(stage.port + 1);
	if (send(fd, "\n", 1, 0) != 1 || recv(fd, &c, 1, 0) != 1)
		stage_die("peer");
	stage_spin(stage.work);
}

int main(int argc, char **argv)
{
	stage_start(argc, argv);
	printf("culprit=%d\n", stage_child("peer", peer));
	stage_serve_threads(handle);
}
