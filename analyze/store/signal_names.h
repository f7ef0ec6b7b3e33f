/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/* "SIGTERM", by the numbers of Linux that all its processors share; NULL: none of these. */
const char *signal_name(int number);
