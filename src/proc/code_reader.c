/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/code_reader.h"

#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/proc_files.h"

/* Documentation/admin-guide/mm/pagemap.rst */
#define PAGEMAP_PRESENT (1ull << 63)

/* The thread of the run asks: the ring holds far more than comes meanwhile. */
#define PATIENCE_NS (50 * NS_PER_MS)

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
