/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Control groups as paths. */
#pragma once

/*
 * For SQL: a path is that of a control group, or of one below it. No LIKE: names of groups may have
 * _ and %, and differ in case.
 */
#define CGROUP_WITHIN(path, group) "(instr(" path " || '/', rtrim(" group ", '/') || '/')=1)"

/*
 * For SQL, of rows m of table memory in which a cgroup was stopped at max: path, limit, id and
 * major page faults of the one that the process is in. A process is known by one of its cgroups,
 * which may be of another hierarchy: then the one, if there is only one.
 */
#define LIMITED_CGROUP(pid)                                                                                            \
	"g AS MATERIALIZED (SELECT cgroup, max(max) AS size, max(path) AS path,"                                       \
	" total(major_faults) AS faults, EXISTS (SELECT 1 FROM process p JOIN cgroup c ON"                             \
	" c.id=p.cgroup WHERE p.pid=" pid " AND " CGROUP_WITHIN(                                                       \
		"c.path",                                                                                              \
		"m.path") ") AS own FROM"                                                                              \
			  " m GROUP BY cgroup) SELECT path, size, cgroup, faults FROM g WHERE own OR (SELECT count(*)" \
			  " FROM g)=1 ORDER BY own DESC, length(path) DESC LIMIT 1"
