/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of several processes, as offsets lists them and files counts them. */
#pragma once

/* Inodes that one process wrote, and another read or wrote. Process 0: those without a row. */
#define SHARED_FILES                                                   \
	"(SELECT inode FROM file_access WHERE pid <> 0 GROUP BY inode" \
	" HAVING count(*) > 1 AND sum(writes) > 0)"
