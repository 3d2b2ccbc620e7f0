/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: line_addresses [-C] [-n] [-d DIR] FILE < ADDRESSES: for each hexadecimal vaddr its
 * functions as symbolize/ sees them, innermost first, each two lines: name, FILE:LINE:COLUMN, "??"
 * and 0 for what is not known; then an empty line. Debug files are searched for, below DIR in place
 * of /usr/lib/debug. -C: names are demangled. -n: names of symbols only.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "symbolize/symbolizer.h"

static void print_lines(const struct symbol_line *lines, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		fputs_unlocked(lines[i].name ? lines[i].name : "??", stdout);
		fputc_unlocked('\n', stdout);
		fputs_unlocked(lines[i].file ? lines[i].file : "??", stdout);
		printf(":%u:%u\n", lines[i].line, lines[i].column);
	}
	fputc_unlocked('\n', stdout);
}

static void answer(struct symbolizer *sym, uint64_t vaddr)
{
	struct symbol_line lines[SYMBOL_LINES_MAX];
	size_t nr = symbolizer_lines(sym, 1, vaddr, lines);
	struct symbol symbol;

	if (!nr) {
		symbolizer_user(sym, 1, vaddr, &symbol);
		lines[nr++] = (struct symbol_line){ .name = symbol.name };
	}
	print_lines(lines, nr);
}

int main(int argc, char **argv)
{
	struct symbolizer_options options = { .no_demangle = true, .lines = true, .inlined = true };
	struct symbolizer *sym = NULL;
	struct fpl_err err = { 0 };
	char line[64];
	int option, fd;

	while ((option = getopt(argc, argv, "Cd:n")) != -1) {
		options.no_demangle = options.no_demangle && option != 'C';
		if (option == 'd')
			options.debug_dir = optarg;
		if (option == 'n')
			options.lines = options.inlined = false;
	}
	if (optind + 1 != argc || (fd = open(argv[optind], O_RDONLY | O_CLOEXEC)) < 0) {
		fprintf(stderr, "usage: line_addresses [-C] [-n] [-d DIR] FILE < ADDRESSES\n");
		return 2;
	}
	if (symbolizer_create(&options, &sym, &err) ||
	    symbolizer_add_object(sym, 1, fd, NULL, 0, argv[optind], &err)) {
		fprintf(stderr, "%s\n", err.msg);
		return 2;
	}
	close(fd);
	while (fgets_unlocked(line, sizeof(line), stdin))
		answer(sym, strtoull(line, NULL, 16));
	symbolizer_destroy(sym);
	return 0;
}
