/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recordings written as text, for tests: people read and review them, textpack makes
 * them real. Driven by descriptors. A line is one of
 *
 *   # comment                        (and empty lines)
 *   @cpu 0 | @recorder               the stream of the records that follow
 *   @block                           ends a block; so does a change of stream
 *   @lost 7                          events lost so far on this CPU, for its next blocks
 *   @gap 64                          leaves a hole in the CPU's ring positions
 *   @times 5 10 1                    the next record so often, its ts and tid rising by so much
 *   @again                           this block twice
 *   @cut                             no index and no end: as if obsrec had been killed
 *   1_000 100 syscall ret=5 nr=read  ts tid event field=value ...; other fields are 0.
 *   +250 100 switch next=0           ts may be relative to the record above
 *
 * Values: numbers (decimal, 0x, negative, _ between digits), names of system calls for fields of
 * kind SYSCALL, names of groups, "text with \x1b" for names and tails, a.b.c.d for addresses.
 * Codes have names: state=S, mode=socket, family=inet, role=accepted, context=softirq, abi=arm,
 * op=WRITE of block requests; op=WAKE|PRIVATE of syscall_args is arg1 of futex.
 */
#pragma once

#include "format/err.h"
#include "format/event.h"

/* Writes the recording that text describes to fd. The error names the line. */
int textpack(const char *text, int fd, struct err *e);

/* A record's first 16 bytes as a recording has them, little-endian on every machine. */
void textpack_header(void *record, u64 ts, u32 tid, u16 type, u16 size);
