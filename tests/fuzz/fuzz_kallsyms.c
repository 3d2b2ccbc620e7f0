/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of /proc/kallsyms as hostile bytes. Judged: a match starts at or below the address asked
 * for, has a name, and the table holds no more symbols than the text has lines.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolize/kallsyms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct kallsyms *syms, uint64_t addr)
{
	struct kallsyms_match match = { 0 };

	if (kallsyms_find(syms, addr, &match) && (match.start > addr || !match.name[0]))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("kallsyms", MFD_CLOEXEC);
	struct kallsyms *syms = NULL;
	char path[64];
	size_t nr_lines = 1;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (kallsyms_read(path, &syms, NULL) == 0) {
		for (size_t i = 0; i < size; i++)
			nr_lines += data[i] == '\n';
		/* fgets cuts long lines into several */
		if (kallsyms_nr_symbols(syms) > nr_lines + size / 1023)
			abort();
		check(syms, 0);
		check(syms, 0xffffffff81000000);
		check(syms, 0xffffffff81000123);
		check(syms, UINT64_MAX);
	}
	kallsyms_destroy(syms);
	close(fd);
	return 0;
}
