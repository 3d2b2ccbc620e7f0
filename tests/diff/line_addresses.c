/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: line_addresses [-C] FILE < ADDRESSES: for each hexadecimal vaddr its frames as symbolize/
 * sees them, innermost first, each two lines: name, FILE:LINE:COLUMN, "??" and 0 for what is not
 * known; then an empty line. Debug files are searched for. -C: names are demangled.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "obj/debug_file.h"
#include "symbolize/debug_index.h"

static void print_frames(const struct symbol_line *frames, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		fputs_unlocked(frames[i].name ? frames[i].name : "??", stdout);
		fputc_unlocked('\n', stdout);
		fputs_unlocked(frames[i].file ? frames[i].file : "??", stdout);
		printf(":%u:%u\n", frames[i].line, frames[i].column);
	}
	if (!nr)
		fputs_unlocked("??\n??:0:0\n", stdout);
	fputc_unlocked('\n', stdout);
}

int main(int argc, char **argv)
{
	struct debug_index_options options = { .no_demangle = true };
	struct symbol_line frames[SYMBOL_LINES_MAX];
	struct elf_file *elf = NULL, *debug = NULL;
	struct debug_index *index = NULL;
	struct fpl_err err = { 0 };
	const char *path = argc > 1 ? argv[argc - 1] : NULL;
	char line[64];

	if (argc == 3 && strcmp(argv[1], "-C") == 0)
		options.no_demangle = false;
	else if (argc != 2) {
		fprintf(stderr, "usage: line_addresses [-C] FILE < ADDRESSES\n");
		return 2;
	}
	if (elf_file_open_path(path, &elf, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		return 2;
	}
	(void)!debug_file_open(elf, path, NULL, &debug, NULL);
	if (debug_index_create(debug ? debug : elf, NULL, &options, &index, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		return 2;
	}
	while (fgets_unlocked(line, sizeof(line), stdin))
		print_frames(frames, debug_index_find(index, strtoull(line, NULL, 16), frames));
	debug_index_destroy(index);
	elf_file_close(debug);
	elf_file_close(elf);
	return 0;
}
