/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The status of an answer of HTTP/1 whose words are buffers of their own, as varnish sends them. */
#pragma once

#include "common.bpf.h"

#define ANSWER_BYTES   16     /* looked at here */
#define START_OF_HTTP  0x5448 /* "HT" */
#define STATUS_BYTES   12     /* "HTTP/1.1 200" */
#define STATUS_BUFFERS 4      /* these are looked for in */

struct span {
	u64 at, len;
};

/* Is the first buffer one of a version only, as "HTTP/1.1"? */
static __always_inline bool is_split(u64 first)
{
	return first - 8 < STATUS_BYTES - 8;
}

/*
 * The second word of an answer: with the status in it, if that of HTTP/1 is not in the first buffer
 * of several, which has first bytes of n. As a global function, which the verifier walks once. It
 * counts nothing, so that kernels before 5.12 take it.
 */
__noinline u64 word_of_status(u64 word0, u64 word1, u64 first, u64 buffers, u64 n)
{
	u64 b[2] = {}, len;
	u32 at = 0, bits, i;
	struct span s;

	if (!buffers || (u16)word0 != START_OF_HTTP || !is_split(first) || n < 2 * sizeof(u64))
		return word1;
	for (i = 1; i < STATUS_BUFFERS && at < sizeof(u64); i++) {
		if (bpf_probe_read_user(&s, sizeof(s), (void *)(buffers + i * sizeof(s))))
			break;
		len = s.len;
		barrier_var(len);
		if (len > sizeof(u64))
			len = sizeof(u64);
		if (bpf_probe_read_user((u8 *)b + at, len, (void *)s.at))
			break;
		at += len;
	}
	bits = (first & 3) * 8;
	return (word1 & (((u64)1 << bits) - 1)) | b[0] << bits;
}
