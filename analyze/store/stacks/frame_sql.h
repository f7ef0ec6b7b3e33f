/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SQL: a frame f with its module m and its symbol y, and what it is called. */
#pragma once

#define FRAME_OF \
	" frame f LEFT JOIN module m ON m.id = f.module LEFT JOIN symbol y ON y.frame = f.id"

/*
 * The function; without a symbol file+address, of its start where that is known. A file without a
 * path has the first digits of its build-id.
 */
#define FRAME_NAME                                                                             \
	"coalesce(y.name, coalesce(nullif(replace(m.path, rtrim(m.path, replace(m.path, '/', " \
	"'')), ''), ''), '[' || substr(m.build_id, 1, 8) || ']', '[unknown]')"                 \
	" || iif(f.address=0 AND m.path IS NULL, '', printf('+0x%llx',"                        \
	" coalesce(f.start, f.address))))"

#define FRAME_IN_KERNEL "coalesce(m.kind IN ('kernel', 'kernel module'), 0)"
