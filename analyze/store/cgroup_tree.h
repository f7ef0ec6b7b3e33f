/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Control groups as paths. */
#pragma once

/*
 * For SQL: a path is that of a control group, or of one below it. No LIKE: names of groups may have
 * _ and %, and differ in case.
 */
#define CGROUP_WITHIN(path, group) "(instr(" path " || '/', rtrim(" group ", '/') || '/')=1)"
