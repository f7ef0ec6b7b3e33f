/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of podman's containers, which each user keeps in one file. */
#pragma once

#include "record/files/safe_open.h"

/* What a walk of cgroups has read: the file of a user once. All zero at first. */
struct podman {
	struct podman_user *users; /* of /etc/passwd */
	size_t n;
	u64 held;  /* bytes of their files */
	bool read; /* /etc/passwd */
};

/* The name of a user's container, valid until podman_free(); NULL: not known. */
const char *podman_name(struct podman *p, struct safe_files *files, uid_t user, const char *id);

void podman_free(struct podman *p);
