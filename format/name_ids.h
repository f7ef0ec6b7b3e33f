/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ids of names of requests. */
#pragma once

#define OWN_NAMES 65534 /* from here on they are of the analysis, not of the recorder */
