/* SPDX-License-Identifier: Apache-2.0 */
#include "base/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool program_is_found(const char *name)
{
	const char *paths = getenv("PATH");
	char path[512];

	for (const char *at = paths; at; at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
		snprintf(path, sizeof(path), "%.*s/%s", (int)strcspn(at, ":"), at, name);
		if (!access(path, X_OK))
			return true;
	}
	return false;
}
