/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: line_addresses [-w] [-C] [-n] FILE < ADDRESSES: for each hexadecimal vaddr its functions
 * as symbolize/ reads them in this process, innermost first, each two lines: name,
 * FILE:LINE:COLUMN, "??" and 0 for what is not known; then an empty line. The function itself is
 * called what its symbol says. Debug files are searched for. -C: names are demangled. -n: names of
 * symbols only. -w: as a run names them: by workers.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "obj/debug_file.h"
#include "obj/mini_debug.h"
#include "symbolize/debug_index.h"
#include "symbolize/demangle.h"
#include "symbolize/symtab_read.h"
#include "tests/diff/addresses.h"
#include "tests/support/debug_open.h"
#include "tests/support/elf_path.h"

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

/* A file as it is read here. */
struct reading {
	struct elf_file *elf, *debug, *alt, *mini;
	struct symtab *tab;
	struct debug_index *index; /* NULL: no lines */
	bool no_demangle;
};

static void open_reading(struct reading *ret, const char *path, bool lines)
{
	const struct debug_index_options options = { .no_demangle = ret->no_demangle };
	const struct elf_file *debug[2];
	struct fpl_err err = { 0 };
	size_t nr = 0;
	int code = -ENOENT;

	if (elf_file_open_path(path, &ret->elf, &err))
		die(&err);
	if (!debug_file_open(ret->elf, path, NULL, &ret->debug, NULL))
		debug[nr++] = ret->debug;
	if (!mini_debug_open(ret->elf, &ret->mini, NULL))
		debug[nr++] = ret->mini;
	if (symtab_create(ret->elf, debug, nr, &ret->tab, &err))
		die(&err);
	if (!lines)
		return;
	(void)!debug_alt_open(ret->debug ? ret->debug : ret->elf, NULL, &ret->alt);
	if (ret->debug)
		code = debug_index_create(ret->debug, ret->alt, &options, &ret->index, &err);
	if (code == -ENOENT)
		code = debug_index_create(ret->elf, ret->alt, &options, &ret->index, &err);
	if (code)
		fprintf(stderr, "%s\n", err.msg);
}

static void close_reading(struct reading *reading)
{
	debug_index_destroy(reading->index);
	symtab_destroy(reading->tab);
	elf_file_close(reading->mini);
	elf_file_close(reading->alt);
	elf_file_close(reading->debug);
	elf_file_close(reading->elf);
}

static char *symbol_name(const struct reading *reading, uint64_t vaddr)
{
	struct symtab_match match;
	char *raw =
		symtab_find(reading->tab, vaddr, &match) ? symtab_name(reading->tab, &match) : NULL;
	char *readable = raw && !reading->no_demangle ? demangle_name(raw) : NULL;

	if (!readable)
		return raw;
	free(raw);
	return readable;
}

static void answer_here(const struct reading *reading, uint64_t vaddr)
{
	struct symbol_line lines[SYMBOL_LINES_MAX];
	size_t nr = reading->index ? debug_index_find(reading->index, vaddr, lines) : 0;
	char *name = symbol_name(reading, vaddr);

	if (!nr)
		lines[nr++] = (struct symbol_line){ .name = NULL };
	if (name)
		lines[nr - 1].name = name;
	print_lines(lines, nr);
	free(name);
}

static void answer_by_workers(struct namer *namer, uint64_t vaddr)
{
	struct symbol_line lines[SYMBOL_LINES_MAX];
	size_t nr = namer_lines(namer, 1, vaddr, lines);
	struct symbol symbol;

	if (!nr) {
		namer_user(namer, 1, vaddr, &symbol);
		lines[nr++] = (struct symbol_line){ .name = symbol.name };
	}
	print_lines(lines, nr);
}

int main(int argc, char **argv)
{
	struct namer_options options = { .no_demangle = true, .lines = true, .inlined = true };
	struct reading reading = { .index = NULL };
	bool by_workers = false;
	struct office office;
	uint64_t *vaddrs;
	size_t nr;
	int option;

	while ((option = getopt(argc, argv, "Cnw")) != -1) {
		options.no_demangle = options.no_demangle && option != 'C';
		by_workers = by_workers || option == 'w';
		if (option == 'n')
			options.lines = options.inlined = false;
	}
	if (optind + 1 != argc) {
		fprintf(stderr, "usage: line_addresses [-w] [-C] [-n] FILE < ADDRESSES\n");
		return 2;
	}
	vaddrs = read_addresses(&nr);
	if (by_workers) {
		office_open(&office, argv[optind], &options);
		for (size_t i = 0; i < nr; i++)
			namer_expect(office.namer, 1, vaddrs[i]);
		for (size_t i = 0; i < nr; i++)
			answer_by_workers(office.namer, vaddrs[i]);
		office_close(&office);
	} else {
		reading.no_demangle = options.no_demangle;
		open_reading(&reading, argv[optind], options.lines);
		for (size_t i = 0; i < nr; i++)
			answer_here(&reading, vaddrs[i]);
		close_reading(&reading);
	}
	free(vaddrs);
	return 0;
}
