/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Other words for words, by a secret key: the same word always becomes the same one, different
 * words become different ones, and without the key the original cannot be found.
 */
#pragma once

#include "format/buf.h"
#include "format/event.h"

#include <stdbool.h>
#include <stddef.h>

#define PSEUDONYM_KEY  16 /* bytes */
#define PSEUDONYM_WORD 14 /* bytes of a word, with its NUL */

/* SipHash-2-4 (Aumasson and Bernstein, 2012). */
u64 siphash(const u8 key[PSEUDONYM_KEY], const void *data, size_t n);

/* "x" and twelve hexadecimal digits; an empty word stays empty. */
void pseudonym_word(const u8 key[PSEUDONYM_KEY], const char *word, size_t n,
		    char ret[PSEUDONYM_WORD]);

/*
 * Appends a path with every name in it replaced: depth, common directories and " (deleted)"
 * stay. Names of the kernel's own kind (socket:[1], anon_inode:[eventpoll]) stay as they are.
 */
int pseudonym_path(const u8 key[PSEUDONYM_KEY], const char *path, size_t n, struct buf *out,
		   struct err *e);

/*
 * Replaces an address: IPv4 (family 2) one to one by another IPv4 address, IPv6 by one of
 * fd00::/8; loopback and unspecified addresses stay, and so do other families.
 */
void pseudonym_address(const u8 key[PSEUDONYM_KEY], u16 family, u8 address[16]);
