/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole ELF file, as the object and as its own debug file, through all that a worker does with
 * one. Judged: a table that was compiled passes the check that the profiler makes of it, an
 * examination, too, and a file is the same object as often as it is read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "obj/debug_file.h"
#include "obj/identity.h"
#include "parse/examination.h"
#include "parse/job.h"
#include "symbolize/probe_sites.h"
#include "symbolize/symtab_read.h"
#include "symbolize/symtab_table.h"
#include "unwind/table.h"
#include "unwind/table_check.h"
#include "tests/support/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_identity(const struct elf_file *elf)
{
	struct identity first, again;
	struct fpl_err err = { 0 };
	int error = identity_read(elf, &first, &err);

	REQUIRE(identity_read(elf, &again, &err) == error);
	REQUIRE(error ? *err.msg : !memcmp(&first, &again, sizeof(first)));
}

static void check_links(const struct elf_file *elf)
{
	struct debug_link link;
	struct debug_alt_link alt;

	debug_link_read(elf, &link);
	debug_alt_link_read(elf, &alt);
	REQUIRE(!*link.name || debug_link_name_is_plain(link.name));
	REQUIRE(!*alt.name || debug_alt_link_name_is_plain(alt.name));
	debug_file_belongs(elf, elf, &link);
}

static void check_table(const struct elf_file *elf, bool synth)
{
	struct table_limits limits = table_limits_default;
	struct table *table = NULL;
	struct fpl_err err = { 0 };

	limits.cpu_ns = 200000000;
	limits.memory_bytes = 64 << 20;
	limits.synth = synth;

	int error = table_compile(elf, elf, &limits, &table, &err);

	REQUIRE(!error == !!table && (!error || *err.msg));
	if (table && table_check(table, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		abort();
	}
	table_destroy(table);
}

static void check_examination(const struct elf_file *elf)
{
	struct examination examination;
	struct fpl_err err = { 0 };

	if (!examine(elf, elf, &examination, &err))
		REQUIRE(examination_check(&examination));
}

static void check_names(const struct elf_file *elf)
{
	struct symtab *tab = NULL;

	if (symtab_create(elf, (const struct elf_file *[]){ elf }, 1, &tab, NULL))
		return;
	for (size_t i = 0; i < tab->nr && i < 64; i++) {
		struct symtab_match match;

		if (symtab_find(tab, symbol_vaddr(&tab->list[i]), &match))
			free(symtab_name(tab, &match));
	}
	symtab_destroy(tab);
}

/* The instructions lie in the bytes that were read, and all texts in theirs. */
static void check_draft(const struct listing_draft *draft)
{
	size_t bytes = 0;

	for (size_t i = 0; i < draft->nr; i++) {
		const struct parse_insn *insn = &draft->insns[i];

		REQUIRE(insn->size && insn->size <= LISTING_INSN_MAX);
		REQUIRE(insn->text < draft->text_size);
		REQUIRE(insn->target_name == PARSE_NO_TEXT || insn->target_name < draft->text_size);
		bytes += insn->size;
	}
	REQUIRE(bytes <= draft->nr_bytes && (!draft->nr || !draft->text[draft->text_size - 1]));
	REQUIRE(bytes <= draft->range.end - draft->range.start);
}

static void check_listings(struct elf_file *elf)
{
	struct reading reading = { .elf = elf, .debug = elf };
	uint64_t vaddrs[17] = { elf->entry };
	size_t nr = 1;

	if (!job_open_tables(&reading, NULL))
		for (size_t i = 0; i < reading.tab->nr && nr < 17; i++)
			vaddrs[nr++] = symbol_vaddr(&reading.tab->list[i]);
	for (size_t i = 0; i < nr; i++) {
		struct listing_draft draft;
		struct fpl_err err = { 0 };
		int code = listing_draft_make(&reading, vaddrs[i], i & 1 ? PARSE_INTEL : 0, &draft,
					      &err);

		REQUIRE(!code || *err.msg);
		if (!code)
			check_draft(&draft);
		listing_draft_fini(&draft);
	}
	symtab_destroy(reading.tab);
	elf_file_close(reading.mini);
	function_list_fini(&reading.functions);
}

static void check_probes(const struct elf_file *elf)
{
	static const char *const names[] = { "main", "0x1000", "" };
	struct probe_sites sites = { .nr = 0 };
	struct fpl_err err = { 0 };
	int code = probe_sites_read_notes(elf, &sites, &err);

	for (size_t i = 0; !code && i < 3; i++)
		code = probe_sites_find(elf, (const struct elf_file *const[]){ elf }, 1, names[i],
					&sites, &err);
	REQUIRE(!code || *err.msg);
	REQUIRE(sites.nr <= PROBE_SITES_MAX && sites.text_size <= PROBE_TEXT_MAX);
	REQUIRE(probe_sites_check(&sites));
	probe_sites_fini(&sites);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_file *elf = NULL;

	if (elf_file_from_memory(data, size, "fuzz", &elf, NULL))
		return 0;
	check_identity(elf);
	check_links(elf);
	check_table(elf, false);
	check_table(elf, true);
	check_examination(elf);
	check_names(elf);
	check_listings(elf);
	check_probes(elf);
	elf_file_close(elf);
	return 0;
}
