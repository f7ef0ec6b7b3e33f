/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operations of block requests, column op & 255, as sets for SQL. */
#pragma once

#define BLOCK_MOVES    "(0,1,7)" /* REQ_OP_READ, write, zone append: they move data */
#define BLOCK_WRITES   "(1,7)"
#define BLOCK_DISCARDS "(3,5,9)" /* discard, secure erase, write zeroes: they move nothing */
