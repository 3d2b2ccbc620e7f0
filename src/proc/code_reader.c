/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/code_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/proc_files.h"

/* Documentation/admin-guide/mm/pagemap.rst */
#define PAGEMAP_PRESENT (1ull << 63)

/* The thread of the run asks: the ring holds far more than comes meanwhile. */
#define PATIENCE_NS (50 * NS_PER_MS)

/* proc_pid_stat(5), field 22: the start in clock ticks. The name in field 2 may hold anything. */
static bool started_at(const char *stat, uint64_t start_ns)
{
	const char *pos = strrchr(stat, ')');
	uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t ticks;

	for (unsigned field = 2; pos && field < 22; field++)
		pos = strchr(pos + 1, ' ');
	if (!pos)
		return false;
	ticks = strtoull(pos, NULL, 10);
	return ticks == start_ns / tick_ns;
}

bool code_reader_is_of(pid_t pid, uint64_t start_ns)
{
	char text[PROC_FILES_READ];
	ssize_t nr = proc_file_read(pid, "stat", 0, text, sizeof(text) - 1, UINT64_MAX);

	text[nr < 0 ? 0 : nr] = '\0';
	return nr > 0 && started_at(text, start_ns);
}

int code_reader_read(pid_t pid, uint64_t addr, void *dst, size_t size)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), first = addr / page, entries[2], nr;
	ssize_t got;

	if (!size || size > page || size > PROC_FILES_READ || addr > INT64_MAX - size)
		return -EIO;
	nr = (addr + size - 1) / page - first + 1;
	got = proc_file_read(pid, "pagemap", first * sizeof(*entries), entries,
			     nr * sizeof(*entries), PATIENCE_NS);
	if (got < 0)
		return got == -ENOENT ? -ESRCH : (int)got;
	for (uint64_t i = 0; i < nr; i++) {
		if ((size_t)got != nr * sizeof(*entries))
			return -EIO;
		if (!(entries[i] & PAGEMAP_PRESENT))
			return -ENODATA;
	}
	got = proc_file_read(pid, "mem", addr, dst, size, PATIENCE_NS);
	if (got < 0)
		return got == -ENOENT ? -ESRCH : (int)got;
	return (size_t)got == size ? 0 : -EIO;
}
