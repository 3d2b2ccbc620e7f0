/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/code_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/cleanup.h"

/* Documentation/admin-guide/mm/pagemap.rst */
#define PAGEMAP_PRESENT (1ull << 63)

/* Opens /proc/PID/@name. */
static int open_of(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);

	int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd >= 0 ? fd : errno == ENOENT ? -ESRCH : -errno;
}

int code_reader_read(pid_t pid, uint64_t addr, void *dst, size_t size)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	AUTO_FD int map_fd = open_of(pid, "pagemap");

	if (map_fd < 0)
		return map_fd;
	if (!size || size > page || addr > INT64_MAX - size)
		return -EIO;
	for (uint64_t n = addr / page; n <= (addr + size - 1) / page; n++) {
		uint64_t entry;

		if (pread(map_fd, &entry, sizeof(entry), (off_t)(n * sizeof(entry))) !=
		    (ssize_t)sizeof(entry))
			return -EIO;
		if (!(entry & PAGEMAP_PRESENT))
			return -ENODATA;
	}

	AUTO_FD int mem_fd = open_of(pid, "mem");

	if (mem_fd < 0)
		return mem_fd;
	return pread(mem_fd, dst, size, (off_t)addr) == (ssize_t)size ? 0 : -EIO;
}
