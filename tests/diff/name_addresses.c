/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: name_addresses [-d | -w] FILE < ADDRESSES: for each hexadecimal vaddr a line "VADDR START
 * NAME" as symbolize/ reads it in this process, "VADDR - -" where it has no name. Names stay
 * mangled; no debug files. -d: with the debug file. -w: as a run names them: by workers, with it.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "obj/debug_file.h"
#include "obj/mini_debug.h"
#include "symbolize/symtab_read.h"
#include "tests/diff/addresses.h"
#include "tests/support/debug_open.h"
#include "tests/support/elf_path.h"

/* The symbol named last: all its addresses have its name. */
struct last {
	size_t idx;
	char *name;
};

struct files {
	struct elf_file *elf, *debug, *mini;
};

static struct symtab *read_symbols(const char *path, bool with_debug, struct files *ret)
{
	const struct elf_file *debug[2];
	struct fpl_err err = { 0 };
	struct symtab *tab;
	size_t nr = 0;

	if (elf_file_open_path(path, &ret->elf, &err))
		die(&err);
	if (with_debug && !debug_file_open(ret->elf, path, NULL, &ret->debug, NULL))
		debug[nr++] = ret->debug;
	if (!mini_debug_open(ret->elf, &ret->mini, NULL))
		debug[nr++] = ret->mini;
	if (symtab_create(ret->elf, debug, nr, &tab, &err))
		die(&err);
	return tab;
}

static void name_here(const char *path, bool with_debug, const uint64_t *vaddrs, size_t nr)
{
	struct files files = { 0 };
	struct symtab *tab = read_symbols(path, with_debug, &files);
	struct last last = { SIZE_MAX, NULL };
	struct symtab_match match;

	for (size_t i = 0; i < nr; i++) {
		bool found = symtab_find(tab, vaddrs[i], &match);

		if (found && match.idx != last.idx) {
			free(last.name);
			last = (struct last){ match.idx, symtab_name(tab, &match) };
		}
		if (found && last.name)
			printf("%" PRIx64 " %" PRIx64 " %s\n", vaddrs[i], match.start, last.name);
		else
			printf("%" PRIx64 " - -\n", vaddrs[i]);
	}
	free(last.name);
	symtab_destroy(tab);
	elf_file_close(files.mini);
	elf_file_close(files.debug);
	elf_file_close(files.elf);
}

static void name_by_workers(const char *path, const uint64_t *vaddrs, size_t nr)
{
	const struct namer_options options = { .no_demangle = true };
	struct office office;

	office_open(&office, path, &options);
	for (size_t i = 0; i < nr; i++)
		namer_expect(office.namer, 1, vaddrs[i]);
	for (size_t i = 0; i < nr; i++) {
		struct symbol symbol;

		namer_user(office.namer, 1, vaddrs[i], &symbol);
		if (symbol.name)
			printf("%" PRIx64 " %" PRIx64 " %s\n", vaddrs[i], symbol.start,
			       symbol.name);
		else
			printf("%" PRIx64 " - -\n", vaddrs[i]);
	}
	office_close(&office);
}

int main(int argc, char **argv)
{
	bool by_workers = argc == 3 && strcmp(argv[1], "-w") == 0;
	bool with_debug = argc == 3 && strcmp(argv[1], "-d") == 0;
	size_t nr;
	uint64_t *vaddrs;

	if (argc != 2 + (by_workers || with_debug)) {
		fprintf(stderr, "usage: name_addresses [-d | -w] FILE < ADDRESSES\n");
		return 2;
	}
	vaddrs = read_addresses(&nr);
	if (by_workers)
		name_by_workers(argv[argc - 1], vaddrs, nr);
	else
		name_here(argv[argc - 1], with_debug, vaddrs, nr);
	free(vaddrs);
	return 0;
}
