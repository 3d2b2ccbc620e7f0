/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: name_addresses FILE < ADDRESSES: for each hexadecimal vaddr a line "VADDR START NAME" as
 * symbolize/ sees it, "VADDR - -" where it has no name. Names stay mangled; no debug files.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "symbolize/symbolizer.h"

int main(int argc, char **argv)
{
	const struct symbolizer_options options = { .no_demangle = true,
						    .debug_dir = "/nonexistent" };
	struct symbolizer *sym = NULL;
	struct fpl_err err = { 0 };
	char line[64];
	int fd;

	if (argc != 2 || (fd = open(argv[1], O_RDONLY | O_CLOEXEC)) < 0) {
		fprintf(stderr, "usage: name_addresses FILE < ADDRESSES\n");
		return 2;
	}
	if (symbolizer_create(&options, &sym, &err) ||
	    symbolizer_add_object(sym, 1, fd, NULL, 0, argv[1], &err)) {
		fprintf(stderr, "%s\n", err.msg);
		return 2;
	}
	close(fd);
	while (fgets(line, sizeof(line), stdin)) {
		uint64_t vaddr = strtoull(line, NULL, 16);
		struct symbol symbol;

		symbolizer_user(sym, 1, vaddr, &symbol);
		if (symbol.name)
			printf("%" PRIx64 " %" PRIx64 " %s\n", vaddr, vaddr - symbol.offset,
			       symbol.name);
		else
			printf("%" PRIx64 " - -\n", vaddr);
	}
	symbolizer_destroy(sym);
	return 0;
}
