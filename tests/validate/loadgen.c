// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Asks a server at a given rate and counts exactly: every request, every latency. Arrivals do not
 * wait for answers (an open loop), so a server that cannot keep up is seen to be late: when all
 * connections are busy an arrival waits here, and its latency counts from when it was due.
 * A rate of 0 is a closed loop: each connection asks again as soon as it has its answer.
 *
 * One connection has at most one request under way. When the time is over nothing is waited for:
 * the rate is that of answers from the first request to the last answer. Prints a line of JSON for
 * each rate; "from" and "to" are ns since 1970, "to_socket" ends when the socket has the answer;
 * "steady" is to_socket of the requests that are counted.
 */
#define _GNU_SOURCE /* epoll_pwait2 */
#include "reply.h"
#include "tests/lib/tool.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CONNS_MAX   4096
#define RATES_MAX   32
#define SAMPLES_MAX (1u << 24)
#define WAITING_MAX (1u << 20)
#define BUFFER	    65536
#define REQUEST_MAX 65536

struct conn {
	int fd;
	bool busy, connected, greeted;
	uint64_t due, sent, reached; /* of the request under way; reached: its reply the socket */
	long left;   /* bytes of the reply still to come, once its length is known */
	size_t have; /* bytes in buffer */
	char buffer[BUFFER];
};

struct samples {
	uint64_t *ns;
	size_t n, cap;
};

static struct {
	struct sockaddr_in address;
	enum protocol protocol;
	const char *before, *after; /* of the request; a random key is between them */
	bool keyed;
	long keys;
	int n_conns;
	double rates[RATES_MAX];
	int n_rates;
	double seconds; /* of each rate */
	bool poisson;
	uint64_t seed, epoch; /* epoch: ns from 1970 to the start of the clock */
} o = { .n_conns = 16, .seconds = 1, .keys = 1000, .seed = 1, .poisson = true };

static struct conn *conns;
static int *idle, n_idle, epfd;
static uint64_t *waiting; /* when the arrivals that found no connection were due, a circle */
static size_t waiting_at, n_waiting;
static struct samples from_due, from_sent, to_socket, steady;
static uint64_t requests, errors, broken, first_sent, last_done;
/* Answers within the step but for a tenth of it at either end: of a load that is steady, on the
 * server's side too, wherever on the way the first and the last requests are. */
static struct {
	uint64_t from, to, requests;
} counted;
/* gaps between sends, all connections together (Welford): arrivals as they were, not as due */
static struct {
	uint64_t n, last;
	double mean, m2;
} gaps;

static double random_exponential(double mean)
{
	return -mean * log(((random_u64(&o.seed) >> 11) + 1) * 0x1p-53);
}

static void add_sample(struct samples *s, uint64_t ns)
{
	if (s->n == s->cap) {
		s->cap = s->cap ? 2 * s->cap : 1 << 16;
		if (s->cap > SAMPLES_MAX)
			return; /* the percentiles are of the first 16 million */
		s->ns = realloc(s->ns, s->cap * sizeof(*s->ns));
		if (!s->ns)
			die("realloc");
	}
	s->ns[s->n++] = ns;
}

static void open_conn(struct conn *c)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = c };
	int one = 1;

	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		die("socket");
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	reply_wants_times(c->fd);
	c->busy = c->connected = c->greeted = false;
	c->have = c->left = 0;
	if (connect(c->fd, (struct sockaddr *)&o.address, sizeof(o.address)) < 0 &&
	    errno != EINPROGRESS)
		die("connect");
	if (epoll_ctl(epfd, EPOLL_CTL_ADD, c->fd, &ev) < 0)
		die("epoll_ctl");
}

static void count_gap(uint64_t sent)
{
	double gap = sent - gaps.last, off = gap - gaps.mean;

	if (gaps.last) {
		gaps.mean += off / ++gaps.n;
		gaps.m2 += off * (gap - gaps.mean);
	}
	gaps.last = sent;
}

static void ask(struct conn *c, uint64_t due)
{
	char text[REQUEST_MAX];
	int n = o.keyed ? snprintf(text, sizeof(text), "%s%lu%s", o.before,
				   random_u64(&o.seed) % o.keys, o.after)
			: snprintf(text, sizeof(text), "%s", o.before);

	if (o.protocol == PROTOCOL_POSTGRES)
		n = postgres_query(text, n, sizeof(text));
	c->due = due;
	c->reached = 0;
	c->sent = now_ns();
	c->busy = true;
	count_gap(c->sent);
	if (!first_sent)
		first_sent = c->sent;
	/* small, and the socket is empty: a short write does not happen */
	if (send(c->fd, text, n, MSG_NOSIGNAL) != n)
		broken++;
}

static void become_idle(struct conn *c)
{
	uint64_t due;

	c->busy = false;
	if (n_waiting) {
		due = waiting[waiting_at];
		waiting_at = (waiting_at + 1) % WAITING_MAX;
		n_waiting--;
		ask(c, due);
		return;
	}
	idle[n_idle++] = c - conns;
}

static void answered(struct conn *c)
{
	uint64_t now = now_ns();

	requests++;
	last_done = now;
	if (now >= counted.from && now < counted.to) {
		counted.requests++;
		add_sample(&steady, c->reached - c->sent);
	}
	add_sample(&from_due, now - c->due);
	add_sample(&from_sent, now - c->sent);
	add_sample(&to_socket, c->reached - c->sent);
	become_idle(c);
}

/* The server closed the connection: a new one. */
static void reopen(struct conn *c)
{
	int i;

	close(c->fd);
	broken += c->busy;
	for (i = 0; i < n_idle; i++)
		if (idle[i] == c - conns)
			idle[i--] = idle[--n_idle];
	open_conn(c);
}

static void on_bytes(struct conn *c, ssize_t n)
{
	bool error;
	long length;

	if (c->left > 0) {
		c->left -= n;
	} else {
		c->have += n;
		length = reply_length(o.protocol, c->buffer, c->have, &error);
		if (length < 0 || (length == 0 && c->have == BUFFER)) {
			fprintf(stderr, "loadgen: no reply: %.60s\n", c->buffer);
			exit(1);
		}
		if (length == 0)
			return;
		c->left = length - (long)c->have;
		errors += error;
	}
	if (c->left > 0 || (c->greeted && !c->busy))
		return;
	c->have = c->left = 0;
	if (c->greeted)
		answered(c);
	else
		become_idle(c);
	c->greeted = true;
}

static void on_event(struct conn *c, uint32_t events)
{
	uint64_t reached = 0;
	ssize_t n;

	if (!c->connected && events & EPOLLOUT) {
		c->connected = true;
		c->greeted = !greets(o.protocol, c->fd);
		if (c->greeted)
			become_idle(c);
	}
	while ((n = reply_receive(c->fd, c->left > 0 ? c->buffer : c->buffer + c->have,
				  c->left > 0 ? BUFFER : BUFFER - c->have, &reached)) > 0) {
		c->reached = reached - o.epoch;
		on_bytes(c, n);
	}
	if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK))
		reopen(c);
}

static void poll_until(uint64_t when)
{
	struct epoll_event events[256];
	uint64_t now = now_ns(), left = when > now ? when - now : 0;
	struct timespec t = { left / 1000000000, left % 1000000000 };
	int i, n = epoll_pwait2(epfd, events, 256, &t, NULL);

	if (n < 0 && errno != EINTR)
		die("epoll_pwait2");
	for (i = 0; i < n; i++)
		on_event(events[i].data.ptr, events[i].events);
}

static void arrive(uint64_t due)
{
	if (n_idle)
		ask(&conns[idle[--n_idle]], due);
	else if (n_waiting < WAITING_MAX)
		waiting[(waiting_at + n_waiting++) % WAITING_MAX] = due;
}

static void run(double rate, uint64_t end)
{
	uint64_t now = now_ns(), next = now;

	while (now < end) {
		if (rate <= 0)
			while (n_idle)
				arrive(now);
		for (; rate > 0 && next <= now;
		     next += (o.poisson ? random_exponential(1e9 / rate) : 1e9 / rate))
			arrive(next);
		poll_until(rate > 0 && next < end ? next : end);
		now = now_ns();
	}
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void print_samples(const char *name, struct samples *s)
{
	static const struct {
		const char *name;
		double q;
	} quantiles[] = {
		{ "p50", .5 }, { "p90", .9 }, { "p99", .99 }, { "p999", .999 }, { "max", 1 }
	};
	double sum = 0;
	size_t i;

	qsort(s->ns, s->n, sizeof(*s->ns), by_value);
	for (i = 0; i < s->n; i++)
		sum += s->ns[i];
	printf(", \"%s\": {\"mean\": %.0f", name, s->n ? sum / s->n : 0);
	for (i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++)
		printf(", \"%s\": %lu", quantiles[i].name,
		       s->n ? s->ns[(size_t)(quantiles[i].q * (s->n - 1))] : 0);
	printf("}");
	s->n = 0;
}

static void print_step(double rate, uint64_t begin)
{
	double seconds = last_done > first_sent ? (last_done - first_sent) / 1e9 : 0;

	printf("{\"offered\": %.1f, \"requests\": %lu, \"errors\": %lu, \"broken\": %lu, "
	       "\"unasked\": %zu, \"unanswered\": %d, \"begin\": %lu, \"seconds\": %.6f, \"rate\": %.3f",
	       rate, requests, errors, broken, n_waiting, o.n_conns - n_idle, begin, seconds,
	       seconds > 0 ? requests / seconds : 0);
	printf(", \"counted\": {\"from\": %lu, \"to\": %lu, \"rate\": %.3f}",
	       o.epoch + counted.from, o.epoch + counted.to,
	       counted.requests * 1e9 / (counted.to - counted.from));
	print_samples("from_due", &from_due);
	print_samples("from_sent", &from_sent);
	print_samples("to_socket", &to_socket);
	print_samples("steady", &steady);
	if (gaps.n > 1)
		printf(", \"sent_cv2\": %.4f", gaps.m2 / (gaps.n - 1) / gaps.mean / gaps.mean);
	printf("}\n");
	fflush(stdout);
	requests = errors = broken = first_sent = last_done = counted.requests = 0;
	gaps.n = 0;
	gaps.mean = gaps.m2 = 0;
}

static void start(void)
{
	uint64_t give_up = now_ns() + 10000000000ull;
	int i;

	conns = calloc(o.n_conns, sizeof(*conns));
	idle = calloc(o.n_conns, sizeof(*idle));
	waiting = calloc(WAITING_MAX, sizeof(*waiting));
	epfd = epoll_create1(EPOLL_CLOEXEC);
	o.epoch = ns_of(CLOCK_REALTIME) - now_ns();
	if (!conns || !idle || !waiting || epfd < 0)
		die("start");
	for (i = 0; i < o.n_conns; i++)
		open_conn(&conns[i]);
	while (n_idle < o.n_conns && now_ns() < give_up)
		poll_until(give_up);
	if (n_idle < o.n_conns) {
		fprintf(stderr, "loadgen: only %d of %d connections\n", n_idle, o.n_conns);
		exit(1);
	}
}

/* Connections are cut off: closed properly, the kernel would send requests again that were lost
 * on the way, and the server would answer long after the count. */
static void cut(void)
{
	struct linger none = { .l_onoff = 1 };
	int i;

	for (i = 0; i < o.n_conns; i++) {
		setsockopt(conns[i].fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
		close(conns[i].fd);
	}
}

/* REQUEST's backslash escapes, as printf(1) has them. */
static char *unescape(const char *text)
{
	char *out = malloc(strlen(text) + 1), *at = out;

	for (; out && *text; text++) {
		if (*text != '\\' || !text[1]) {
			*at++ = *text;
			continue;
		}
		text++;
		*at++ = *text == 'n' ? '\n' : *text == 'r' ? '\r' : *text;
	}
	if (!out)
		die("malloc");
	*at = 0;
	return out;
}

static void usage(void)
{
	fprintf(stderr,
		"usage: loadgen [-P redis|memcached|http|line|postgres] [-c CONNECTIONS] [-r RATE,RATE,...]\n"
		"            [-d SECONDS_OF_EACH] [-k KEYS] [-s SEED] [-C] ADDRESS PORT REQUEST\n"
		"-C: constant gaps between arrivals instead of exponential ones; rate 0: closed loop;\n"
		"%%d in REQUEST becomes a random number below KEYS; \\r and \\n are known in it.\n");
	exit(1);
}

static enum protocol protocol_of(const char *name)
{
	static const char *const names[] = { "redis", "memcached", "http", "line", "postgres" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], name) == 0)
			return i;
	usage();
	return 0;
}

static void options(int argc, char **argv)
{
	char *end, *request;
	int c;

	while ((c = getopt(argc, argv, "P:c:r:d:k:s:C")) != -1) {
		if (c == 'P')
			o.protocol = protocol_of(optarg);
		else if (c == 'c')
			o.n_conns = strtol(optarg, NULL, 10);
		else if (c == 'd')
			o.seconds = strtod(optarg, NULL);
		else if (c == 'k')
			o.keys = strtol(optarg, NULL, 10);
		else if (c == 's')
			o.seed = strtoull(optarg, NULL, 10);
		else if (c == 'C')
			o.poisson = false;
		else if (c == 'r')
			for (end = optarg; *end && o.n_rates < RATES_MAX; end += *end == ',')
				o.rates[o.n_rates++] = strtod(end, &end);
		else
			usage();
	}
	if (argc - optind != 3 || o.n_conns < 1 || o.n_conns > CONNS_MAX || o.keys < 1 ||
	    !(o.seconds > 0 && o.seconds <= 600))
		usage();
	if (!o.n_rates)
		o.n_rates = 1;
	o.address.sin_family = AF_INET;
	o.address.sin_port = htons(strtol(argv[optind + 1], NULL, 10));
	if (inet_pton(AF_INET, argv[optind], &o.address.sin_addr) != 1)
		usage();
	request = unescape(argv[optind + 2]);
	end = strstr(request, "%d");
	o.keyed = end;
	if (end) {
		*end = 0;
		o.after = end + 2;
	}
	o.before = request;
}

int main(int argc, char **argv)
{
	uint64_t begin;
	int i;

	options(argc, argv);
	prctl(PR_SET_TIMERSLACK, 1);
	start();
	for (i = 0; i < o.n_rates; i++) {
		begin = now_ns();
		counted.from = begin + o.seconds * 1e8;
		counted.to = begin + o.seconds * 9e8;
		run(o.rates[i], begin + o.seconds * 1e9);
		print_step(o.rates[i], begin);
	}
	cut();
	return 0;
}
