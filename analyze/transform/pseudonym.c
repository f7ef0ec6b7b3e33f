// SPDX-License-Identifier: GPL-2.0-or-later
/* Other words for words, by a secret key. */
#include "pseudonym.h"

#include "format/frame.h"
#include "format/linux_abi.h"

#include <stdio.h>
#include <string.h>

#define PATH_MOST 4000 /* bytes: a record must hold it */

static u64 rotate(u64 v, int bits)
{
	return v << bits | v >> (64 - bits);
}

static void round_of(u64 v[4])
{
	v[0] += v[1];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[0] = rotate(v[0], 32);
	v[2] += v[3];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[2] = rotate(v[2], 32);
}

u64 siphash(const u8 key[PSEUDONYM_KEY], const void *data, size_t n)
{
	u64 k0 = le_get(key, 8), k1 = le_get(key + 8, 8), m;
	u64 v[4] = { k0 ^ 0x736f6d6570736575ull, k1 ^ 0x646f72616e646f6dull,
		     k0 ^ 0x6c7967656e657261ull, k1 ^ 0x7465646279746573ull };
	const u8 *in = data;
	size_t left;

	for (left = n; left >= 8; left -= 8, in += 8) {
		m = le_get(in, 8);
		v[3] ^= m;
		round_of(v);
		round_of(v);
		v[0] ^= m;
	}
	m = (u64)(n & 0xff) << 56 | (left ? le_get(in, (int)left) : 0);
	v[3] ^= m;
	round_of(v);
	round_of(v);
	v[0] ^= m;
	v[2] ^= 0xff;
	round_of(v);
	round_of(v);
	round_of(v);
	round_of(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void pseudonym_word(const u8 key[PSEUDONYM_KEY], const char *word, size_t n,
		    char ret[PSEUDONYM_WORD])
{
	ret[0] = '\0';
	if (n)
		snprintf(ret, PSEUDONYM_WORD, "x%012llx",
			 (unsigned long long)(siphash(key, word, n) >> 16));
}

/* "socket:[123]", "pipe:[123]", "anon_inode:[eventpoll]": what the kernel calls nameless things. */
static bool kernels_own(const char *path, size_t n)
{
	static const char *const kinds[] = { "socket:[", "pipe:[", "anon_inode:[", "mnt:[",
					     "net:[" };
	size_t i, k, at;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		k = strlen(kinds[i]);
		if (n <= k + 1 || memcmp(path, kinds[i], k) != 0 || path[n - 1] != ']')
			continue;
		for (at = k; at < n - 1; at++)
			if (!strchr("abcdefghijklmnopqrstuvwxyz_0123456789", path[at]) || !path[at])
				return false;
		return true;
	}
	return false;
}

int pseudonym_path(const u8 key[PSEUDONYM_KEY], const char *path, size_t n, struct buf *out,
		   struct err *e)
{
	static const char deleted[] = " (deleted)";
	size_t tail = sizeof(deleted) - 1, start = out->len, word;
	bool gone = n > tail && memcmp(path + n - tail, deleted, tail) == 0;
	const char *at = path, *end = path + n - (gone ? tail : 0);
	char name[PSEUDONYM_WORD];
	int ret = 0;

	if (kernels_own(path, n))
		return buf_add(out, path, n, e);
	while (at < end && ret == 0) {
		for (word = 0; at + word < end && at[word] != '/'; word++)
			;
		pseudonym_word(key, at, word, name);
		ret = buf_add(out, name, strlen(name), e);
		at += word;
		if (ret == 0 && at < end) {
			ret = buf_add(out, "/", 1, e);
			at++;
		}
	}
	if (ret == 0 && out->len - start > PATH_MOST) { /* too deep: one name for all of it */
		out->len = start;
		pseudonym_word(key, path, n, name);
		ret = buf_add(out, name, strlen(name), e);
	}
	return ret < 0 || !gone ? ret : buf_add(out, deleted, tail, e);
}

/* A permutation of 32 bits: four rounds of Feistel, so no two addresses become one. */
static u32 permute(const u8 key[PSEUDONYM_KEY], u32 v)
{
	u16 left = v >> 16, right = v, next;
	u8 in[4];
	int i;

	for (i = 0; i < 4; i++) {
		le_put(in, right, 2);
		le_put(in + 2, (u64)i + 1, 2);
		next = left ^ (u16)siphash(key, in, sizeof(in));
		left = right;
		right = next;
	}
	return (u32)left << 16 | right;
}

static bool plain_v4(u32 a)
{
	return a == 0 || a == 0xffffffff || a >> 24 == 127;
}

static void replace_v4(const u8 key[PSEUDONYM_KEY], u8 *at)
{
	u32 a = (u32)at[0] << 24 | (u32)at[1] << 16 | (u32)at[2] << 8 | at[3];

	if (plain_v4(a))
		return;
	do /* what stays as it is must not be hit: go on along the cycle */
		a = permute(key, a);
	while (plain_v4(a));
	at[0] = a >> 24;
	at[1] = a >> 16;
	at[2] = a >> 8;
	at[3] = a;
}

void pseudonym_address(const u8 key[PSEUDONYM_KEY], u16 family, u8 address[16])
{
	static const u8 zeros[16], mapped[12] = { [10] = 0xff, [11] = 0xff };
	u8 in[17];
	u64 h;

	if (family == LINUX_AF_INET)
		replace_v4(key, address);
	if (family != LINUX_AF_INET6)
		return;
	if (memcmp(address, mapped, sizeof(mapped)) == 0) {
		replace_v4(key, address + 12);
		return;
	}
	if (memcmp(address, zeros, 15) == 0 && address[15] <= 1)
		return;
	memcpy(in, address, 16);
	in[16] = 1;
	h = siphash(key, in, sizeof(in));
	le_put(address, h, 8);
	in[16] = 2;
	h = siphash(key, in, sizeof(in));
	le_put(address + 8, h, 8);
	address[0] = 0xfd;
}
