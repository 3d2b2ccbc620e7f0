/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A jitdump as hostile bytes. Judged: a refusal says where, no more functions than the file has
 * room for, the budgets kept, and every answer covers the address asked for, at any time.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolize/jitdump.h"

#define ROOM	  65536u
#define LOAD_SIZE 56u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_entry(const struct code_table *table, const struct code_entry *entry)
{
	const uint64_t times[] = { 0, entry->from_ns, UINT64_MAX };
	struct code_match match = { 0 };

	for (size_t i = 0; i < 3; i++) {
		if (code_table_find(table, entry->start, times[i], &match) &&
		    (match.start > entry->start || strlen(match.name) > CODE_NAME_MAX))
			abort();
	}
	/* at its own time, nothing being added later at that time, it is the answer */
	if (!code_table_find(table, entry->start, entry->from_ns, &match) &&
	    entry->name_off != CODE_NO_NAME)
		for (size_t i = 0;; i++) {
			if (i == table->nr)
				abort();
			if (table->entries[i].name_off == CODE_NO_NAME)
				break; /* moved away by then */
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("jitdump", MFD_CLOEXEC);
	struct code_file_result result;
	struct code_table table;
	struct fpl_err err = { 0 };
	char remark[64];

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	code_table_init(&table, ROOM);
	if (jitdump_read(fd, 32768, 0, &table, &result, &err)) {
		if (strncmp(err.msg, "offset ", 7) != 0)
			abort();
		goto out;
	}
	if (result.nr_entries > table.nr || result.nr_entries > size / LOAD_SIZE)
		abort();
	code_file_remark(&result, "d", remark, sizeof(remark));
	if (code_table_arrange(&table) || code_table_bytes(&table) > ROOM)
		abort();
	for (size_t i = 0; i < table.nr; i++)
		check_entry(&table, &table.entries[i]);
out:
	code_table_fini(&table);
	close(fd);
	return 0;
}
