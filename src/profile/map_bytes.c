/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/map_bytes.h"

#include <stdio.h>

uint64_t map_bytes(int fd)
{
	char line[128];
	unsigned long long bytes = 0;

	snprintf(line, sizeof(line), "/proc/self/fdinfo/%d", fd);

	FILE *file = fopen(line, "re");

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "memlock: %llu", &bytes) == 1)
			break;
	}
	if (file)
		fclose(file);
	return bytes;
}
