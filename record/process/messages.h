/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages of the recorder on standard error. */
#pragma once

/*
 * From now on stderr waits for a reader that does not read for at most 200 ms. After such a wait,
 * messages are dropped until it reads again.
 */
void messages_start(void);
