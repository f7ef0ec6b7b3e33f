/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Connections whose requests cannot be read: see track_encrypted.c. */
#pragma once

#include "analyze/replay/io/descriptors.h"

/* request_name.id of what this connection receives, if it is encrypted; 0: it is not. */
u32 encrypted_name(const struct replay *r, struct file *f);
