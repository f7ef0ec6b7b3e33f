// SPDX-License-Identifier: GPL-2.0-or-later
/* Codes of errors in answers. */
#include "error_codes.h"

#include <stdio.h>
#include <string.h>

u32 error_code(struct error_codes *all, const char *code)
{
	u32 i;

	for (i = 1; i <= all->n; i++)
		if (!memcmp(all->list[i], code, ERROR_CODE))
			return i;
	if (all->n + 1 >= ERROR_CODES)
		return 0;
	memcpy(all->list[++all->n], code, ERROR_CODE);
	return all->n;
}

int error_codes_write(struct replay *r, const struct error_codes *all, struct err *e)
{
	char code[ERROR_CODE + 1];
	int ret = 0;
	u32 i;

	for (i = 1; i <= all->n && ret == 0; i++) {
		snprintf(code, sizeof(code), "%.*s", ERROR_CODE, all->list[i]);
		ret = row_put(r->db, request_code, e, .id = i, .code = code);
	}
	return ret;
}
