/* SPDX-License-Identifier: Apache-2.0 */
/* A mangled name of hostile bytes. Judged: the result is bounded, and the library survives. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *name = malloc(size + 1), *readable;

	if (!name)
		abort();
	memcpy(name, data, size);
	name[size] = '\0';
	readable = demangle_name(name);
	if (readable && strlen(readable) > DEMANGLE_OUT_MAX + DEMANGLE_IN_MAX) {
		fprintf(stderr, "%zu bytes from %zu\n", strlen(readable), size);
		abort();
	}
	free(readable);
	free(name);
	return 0;
}
