// SPDX-License-Identifier: GPL-2.0-or-later
/* seedgen RECORDING: its records as recordgen.h wants them, on standard output. */
#include "format/recording.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	struct reader *r = NULL;
	struct err e = { 0 };
	struct record rec;
	u8 head[8] = { 0 };

	if (argc != 2 || reader_open(&r, argv[1], &e) < 0)
		return 1;
	while (reader_next(r, &rec, &e) > 0) {
		head[0] = rec.stream == STREAM_RECORDER ? 7 : rec.stream % 7;
		fwrite(head, 1, sizeof(head), stdout);
		fwrite(rec.raw, 1, rec.size, stdout);
	}
	reader_free(r);
	return fflush(stdout) == 0 ? 0 : 1;
}
