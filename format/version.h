/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The version of both programs. */
#ifndef OBS_VERSION_H
#define OBS_VERSION_H

#define OBS_VERSION "0.1.0"

#endif
