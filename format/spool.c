// SPDX-License-Identifier: GPL-2.0-or-later
/* Standard input as a file. */
#include "spool.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

static bool spool(int to)
{
	char chunk[1 << 16];
	ssize_t n;

	while ((n = read(STDIN_FILENO, chunk, sizeof(chunk))) > 0)
		if (write(to, chunk, n) != n)
			return false;
	return n == 0;
}

int spool_stdin(struct err *e)
{
	FILE *f = tmpfile();
	int fd;

	if (!f)
		return err_errno(e, ERR_FAIL, "cannot make a temporary file for standard input");
	fd = dup(fileno(f));
	if (fd >= 0 && !spool(fd)) {
		err_errno(e, ERR_FAIL, "cannot read standard input into a temporary file");
		close(fd);
		fd = ERR_FAIL;
	}
	fclose(f);
	return fd;
}
