/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The version of both programs. */
#pragma once

#define OBS_VERSION "0.2.0"
