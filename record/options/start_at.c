// SPDX-License-Identifier: GPL-2.0-or-later
/* Starting at a time of the wall clock. */
#define _GNU_SOURCE /* strptime, timegm */
#include "start_at.h"

#include "options.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SECOND	    1000000000ull
#define DAY	    (86400 * SECOND)
#define SECONDS_MAX (UINT64_MAX / SECOND)

u64 start_at_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (u64)t.tv_sec * SECOND + (u64)t.tv_nsec;
}

/* ".25", or nothing: ns. Returns what follows. */
static const char *fraction(u64 *ns, const char *text)
{
	u64 digit = SECOND / 10;

	*ns = 0;
	if (*text != '.')
		return text;
	for (text++; *text >= '0' && *text <= '9'; text++, digit /= 10)
		*ns += digit * (u64)(*text - '0');
	return text;
}

static bool parse_date(u64 *ret, const char *text)
{
	struct tm tm = { 0 };
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	int day = tm.tm_mday;
	time_t s;
	u64 ns;

	if (!rest)
		return false;
	rest = fraction(&ns, rest);
	s = timegm(&tm); /* of February 30 it makes March 2 */
	*ret = (u64)s * SECOND + ns;
	return strcmp(rest, "Z") == 0 && s > 0 && (u64)s < SECONDS_MAX && tm.tm_mday == day;
}

static bool parse_time_of_day(u64 *ret, const char *text, u64 now)
{
	struct tm tm = { 0 };
	const char *rest = strptime(text, "%H:%M:%S", &tm);
	u64 ns = 0;

	if (rest)
		rest = fraction(&ns, rest);
	else
		rest = strptime(text, "%H:%M", &tm);
	if (!rest || *rest)
		return false;
	ns += ((u64)tm.tm_hour * 3600 + (u64)tm.tm_min * 60 + (u64)tm.tm_sec) * SECOND;
	*ret = now - now % DAY + ns;
	*ret += *ret < now ? DAY : 0;
	return true;
}

int start_at_parse(struct start_at *ret, const char *text, u64 now, struct err *e)
{
	*ret = (struct start_at){ 0 };
	if (text[0] == '/')
		return options_time(&ret->every, "at", text + 1, e);
	if (parse_time_of_day(&ret->moment, text, now))
		return 0;
	if (!parse_date(&ret->moment, text))
		return err_set(e, ERR_FAIL,
			       "--at needs a time of day such as 14:03:07 (UTC), "
			       "2026-11-21T14:03:07Z or /10s, not %.40s",
			       text);
	return ret->moment > now ? 0 : err_set(e, ERR_FAIL, "--at %.40s has passed", text);
}

u64 start_at_moment(const struct start_at *a, u64 now)
{
	return a->every ? now - now % a->every + a->every : a->moment;
}

static void print_moment(u64 moment)
{
	time_t s = (time_t)(moment / SECOND);
	char text[32] = "";
	struct tm tm;

	if (gmtime_r(&s, &tm))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	fprintf(stderr, "obsrec: recording starts at %s.%03uZ\n", text,
		(unsigned int)(moment % SECOND / 1000000));
}

int start_at_wait(const struct start_at *a, int fd, bool say, struct err *e)
{
	struct pollfd p = { fd, POLLIN, 0 };
	u64 now = start_at_now(), moment = start_at_moment(a, now), left;
	int got = 0;

	if (!moment)
		return 0;
	if (say && now < moment)
		print_moment(moment);
	else if (say)
		fprintf(stderr, "obsrec: starts %.3f s late: attaching took longer\n",
			(double)(now - moment) / (double)SECOND);
	for (; now < moment && got <= 0; now = start_at_now()) {
		left = (moment - now + 999999) / 1000000;
		got = poll(&p, 1, left < 1000 ? (int)left : 1000);
		if (got < 0 && errno != EINTR)
			return err_errno(e, ERR_FAIL, "cannot wait");
	}
	return 0;
}
