/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A perf map as hostile bytes. Judged: no more functions than lines, none lost between what was
 * taken in and what the table holds, segments in order and without overlap, the budgets kept, and
 * every answer covers the address asked for.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolize/perf_map.h"

#define ROOM 65536u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_table(const struct code_table *table)
{
	uint64_t end = 0;

	if (table->nr_segments > 2 * table->nr || code_table_bytes(table) > ROOM)
		abort();
	for (size_t i = 0; i < table->nr_segments; i++) {
		const struct code_segment *segment = &table->segments[i];
		struct code_match match = { 0 };

		if (segment->start < end || segment->end <= segment->start)
			abort();
		end = segment->end;
		if (!code_table_find(table, segment->start, UINT64_MAX, &match) ||
		    match.start > segment->start || match.was_replaced)
			abort();
		if (!code_table_find(table, segment->end - 1, UINT64_MAX, &match) ||
		    strlen(match.name) > CODE_NAME_MAX)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("perf-map", MFD_CLOEXEC);
	struct code_file_result result;
	struct code_table table;
	size_t nr_lines = 1;
	char remark[64];

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	for (size_t i = 0; i < size; i++)
		nr_lines += data[i] == '\n';
	code_table_init(&table, ROOM);
	if (perf_map_read(fd, 32768, &table, &result))
		abort();
	if (result.nr_entries + result.nr_bad > nr_lines || result.nr_entries != table.nr ||
	    result.end_off > size || (result.nr_bad && result.bad_off >= size))
		abort();
	code_file_remark(&result, "m", remark, sizeof(remark));
	if (code_table_arrange(&table))
		abort();
	check_table(&table);
	code_table_fini(&table);
	close(fd);
	return 0;
}
