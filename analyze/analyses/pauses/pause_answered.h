/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Did the server that a pause waited for answer? */
#pragma once

#include "analyze/analyses/verdict/verdict.h"
#include "analyze/store/finding.h"

/*
 * How long the server took, if it answered all questions of the thread in this time, and they take
 * half of it or more.
 */
int pause_answered(struct pause_upstream *u, sqlite3 *db, s64 tid, s64 from, s64 to, struct err *e);

/* What findings say of it. */
#define VALUES_UPSTREAM(u, address)                                                       \
	VALUE_TEXT((u)->sends ? "receiver" : "upstream", address),                        \
		VALUE_TEXT("silent", (u)->sends || (u)->answered ? NULL : (address)),     \
		VALUE_NUMBER("questions", (u)->questions > 1 ? (u)->questions : NAN, ""), \
		VALUE_NUMBER("answered", (u)->answered ? (u)->answered : NAN, "ns"),      \
		VALUE_MAYBE("peer", thread, (u)->tid > 0 ? (u)->tid : 0),                 \
		VALUE_TEXT("peer_did", (u)->did),                                         \
		VALUE_NUMBER("peer_share", (u)->did ? (u)->share : NAN, "%"),             \
		VALUE_TEXT("beyond", (u)->next.len ? (u)->next.data : NULL),              \
		VALUE_NUMBER("beyond_after", (u)->next.len ? (u)->next_answered : NAN, "ns")
