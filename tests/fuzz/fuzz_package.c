/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dpkg's status file as hostile bytes, and the same bytes as code between functions. Judged: every
 * text ends within its room, an installed package was named by the file, and padding is a prefix
 * that is padding by itself.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "doctor/package.h"
#include "unwind/filler.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_status(const uint8_t *data, size_t size)
{
	AUTO_FREE char *text = malloc(size + 1);
	struct package plain = { .name = "libc6" }, with_arch = { .name = "perl", .arch = "amd64" };
	struct package *const packages[] = { &plain, &with_arch };

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';

	bool named = strstr(text, "Package: ") != NULL;

	packages_parse_status(text, packages, ARRAY_SIZE(packages));
	for (size_t i = 0; i < ARRAY_SIZE(packages); i++) {
		const struct package *package = packages[i];

		if (!memchr(package->version, '\0', sizeof(package->version)) ||
		    !memchr(package->source, '\0', sizeof(package->source)) ||
		    (package->installed && !named))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* exactly as long as it is: a byte too far is seen by the sanitizer */
	AUTO_FREE uint8_t *code = malloc(size ? size : 1);

	if (!code)
		abort();
	memcpy(code, data, size);

	size_t padding = filler_size(code, size, FILLER_INSTRUCTIONS);

	if (padding > size || filler_size(code, padding, FILLER_INSTRUCTIONS) != padding)
		abort();
	check_status(data, size);
	return 0;
}
