/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One record of the perf side-band as hostile bytes. Judged: a record that is taken has a type, and
 * a mapping a range that does not wrap, a build-id of at most 20 bytes and, as a new cgroup, a path
 * inside the record.
 */
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "proc/sideband.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const uint8_t *bytes, size_t size)
{
	struct sideband_record record;

	if (sideband_parse(bytes, size, &record) != 1)
		return;
	if (record.type > SIDEBAND_CGROUP)
		abort();
	if (record.type != SIDEBAND_MAP && record.type != SIDEBAND_CGROUP)
		return;

	size_t at = (size_t)((const uint8_t *)record.path - bytes);

	if (at >= size || strnlen(record.path, size - at) == size - at)
		abort();
	if (record.type == SIDEBAND_CGROUP)
		return;
	if (!record.size || record.start + record.size < record.start ||
	    record.build_id_size > SIDEBAND_BUILD_ID_MAX)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* a copy of its own, so that a read behind it is seen */
	uint8_t *bytes = malloc(size ? size : 1);

	if (!bytes)
		abort();
	memcpy(bytes, data, size);
	check(bytes, size);
	/* and with a header that is true to the size, which few inputs have */
	if (size >= sizeof(struct perf_event_header) && size <= UINT16_MAX) {
		uint16_t claimed = (uint16_t)size;

		memcpy(bytes + offsetof(struct perf_event_header, size), &claimed, sizeof(claimed));
		check(bytes, size);
	}
	free(bytes);
	return 0;
}
