/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Id and flags of messages of DNS, as event datagram has them: the first byte lowest; 0: none. */
#pragma once

#include "format/event.h"

#include <stdbool.h>

bool dns_is_question(u32 head);
bool dns_is_any_answer(u32 head);
/* Of this question, by its id. */
bool dns_is_answer(u32 question, u32 head);
/* The error that an answer reports; NULL: none. That there is no such name is none. */
const char *dns_error(u32 head);
