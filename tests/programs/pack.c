// SPDX-License-Identifier: GPL-2.0-or-later
/* pack TEXT RECORDING: makes a recording of one written as text (textpack.h). */
#include "format/buf.h"
#include "tests/lib/textpack.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int read_all(struct buf *b, const char *path, struct err *e)
{
	int fd = open(path, O_RDONLY);
	char chunk[4096];
	ssize_t n;

	if (fd < 0)
		return err_errno(e, ERR_FAIL, "cannot open %s", path);
	while ((n = read(fd, chunk, sizeof(chunk))) > 0)
		if (buf_add(b, chunk, n, e) < 0)
			break;
	close(fd);
	return n == 0 ? 0 : err_errno(e, ERR_FAIL, "cannot read %s", path);
}

int main(int argc, char **argv)
{
	struct buf text = { 0 };
	struct err e = { 0 };
	int fd, ret;

	if (argc != 3) {
		fprintf(stderr, "usage: pack TEXT RECORDING\n");
		return 1;
	}
	ret = read_all(&text, argv[1], &e);
	fd = ret == 0 ? open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
	if (ret == 0 && fd < 0)
		ret = err_errno(&e, ERR_FAIL, "cannot make %s", argv[2]);
	if (ret == 0)
		ret = textpack(text.data ? text.data : "", fd, &e);
	buf_free(&text);
	if (ret < 0)
		fprintf(stderr, "pack: %s: %s\n", argv[1], e.text);
	return ret < 0;
}
