// SPDX-License-Identifier: GPL-2.0-or-later
/* Heads of messages of DNS (RFC 1035); names of codes are those of IANA, as dig prints them. */
#include "dns.h"

#define ID	0x0000ffff
#define ANSWER	0x00800000 /* QR */
#define OPCODE	0x00780000
#define NO_BITS 0x40000000 /* Z */
#define ONE_WAY 0x8f060000 /* AA, TC, RA and the code: of answers */

static const char *const errors[16] = {
	[1] = "FORMERR",  [2] = "SERVFAIL", [4] = "NOTIMP",   [5] = "REFUSED",	[6] = "YXDOMAIN",
	[7] = "YXRRSET",  [8] = "NXRRSET",  [9] = "NOTAUTH",  [10] = "NOTZONE", [11] = "DSOTYPENI",
	[12] = "RCODE12", [13] = "RCODE13", [14] = "RCODE14", [15] = "RCODE15",
};

bool dns_is_question(u32 head)
{
	return head && !(head & (ANSWER | OPCODE | NO_BITS | ONE_WAY));
}

bool dns_is_any_answer(u32 head)
{
	return head & ANSWER && !(head & (OPCODE | NO_BITS));
}

bool dns_is_answer(u32 question, u32 head)
{
	return dns_is_question(question) && !((question ^ head) & ID) && dns_is_any_answer(head);
}

const char *dns_error(u32 head)
{
	return errors[head >> 24 & 15];
}
