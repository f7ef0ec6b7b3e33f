/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of programs that name a wait. */
#pragma once

#include <stdbool.h>

/* What a thread waits for in the function; NULL: nothing that its name says. */
const char *function_waits(const char *name);
/*
 * What code within the function does that stops others or its own thread: "garbage collection of
 * Java"; NULL: nothing that its name says.
 */
const char *function_collects(const char *name);
/* A lock that threads of an interpreter have while they compute. */
bool function_waits_for_computing(const char *name);
