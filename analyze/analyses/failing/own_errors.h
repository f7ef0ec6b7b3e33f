/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Errors in answers that are the server's own, not those of a wrong request. */
#pragma once

#include <stdbool.h>

/* As a row of table request_error has them; code "": none. */
bool is_own_error(int protocol, int status, const char *code);

/* The client is not let in. each: a command may report it, not the start of a connection only. */
bool is_login_error(int protocol, int status, const char *code, bool *ret_each);
