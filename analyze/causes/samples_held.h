/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads samples.held. */
#pragma once

#include "samples.h"

/* Of waits that began around the examples. */
int samples_read_held(struct samples *d, struct moment around, struct err *e);
