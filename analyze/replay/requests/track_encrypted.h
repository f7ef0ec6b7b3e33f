/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Connections whose requests cannot be read: see track_encrypted.c. */
#pragma once

#include "analyze/replay/io/descriptors.h"

/* request_name.id of what this connection receives, if it is encrypted; 0: it is not. */
u32 encrypted_name(const struct replay *r, struct file *f);

/*
 * Whether a send after an answer is as long as the alert with which TLS closes a connection: no
 * part of the answer. If more follows, it was one.
 */
bool encrypted_alert(const struct replay *r, struct file *f, u64 bytes);
