// SPDX-License-Identifier: GPL-2.0-or-later
#include "grow.h"

#include <stdlib.h>
#include <string.h>

int (*grow_asked)(size_t bytes, struct err *e);

int array_double(void *array, size_t n, size_t size, const char *elements, struct err *e)
{
	void *old, *grown = NULL;
	size_t bytes;

	memcpy(&old, array, sizeof(old));
	/* reallocarray(3) is not everywhere */
	if (!__builtin_mul_overflow(n, (size_t)2, &bytes) &&
	    !__builtin_mul_overflow(n ? bytes : 1, size, &bytes)) {
		if (grow_ask(bytes, e) < 0)
			return ERR_FAIL;
		grown = realloc(old, bytes);
	}
	if (!grown)
		return err_set(e, ERR_FAIL, "out of memory for %s", elements);
	memcpy(array, &grown, sizeof(grown));
	return 0;
}
