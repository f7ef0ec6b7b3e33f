/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report as one HTML file that fetches nothing and needs no scripts. */
#pragma once

#include "render.h"

#define HTML_MAX 1950000 /* bytes: pictures beyond it are left out, and that is said */

extern const char html_style[];
