/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sql at a terminal: queries one after the other. */
#pragma once

#include "question.h"

/* Until the end of the input or .quit. */
int prompt_run(struct question *s, enum rows_form form, struct err *e);
