/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/examination.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "obj/mini_debug.h"
#include "parse/worker_go.h"
#include "script/language.h"
#include "symbolize/symtab_read.h"
#include "unwind/script_find.h"

/* Everything that is open while a file is examined. */
struct open_parts {
	const struct elf_file *elf, *debug; /* borrowed; debug may be NULL */
	struct elf_file *mini;		    /* owned; NULL: none */
	struct symtab *tab;		    /* owned; NULL: no symbols */
	struct go_lines *go_lines;	    /* owned; NULL: not of Go, or it has symbols */
};

static void cleanup_parts(struct open_parts *parts)
{
	symtab_destroy(parts->tab);
	go_lines_close(parts->go_lines);
	elf_file_close(parts->mini);
}

static bool has_section_of(const struct elf_file *elf, uint32_t type)
{
	for (size_t i = 1; i < elf->nr_sections; i++) {
		if (elf->sections[i].type == type && elf->sections[i].size > 0)
			return true;
	}
	return false;
}

static bool has_info(const struct elf_file *elf)
{
	static const char *const names[] = { ".debug_info", ".zdebug_info" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct elf_section *section = elf_file_section(elf, names[i]);

		if (section && section->type != SHT_NOBITS && section->size > 0)
			return true;
	}
	return false;
}

static int read_symbols(struct open_parts *parts, struct examination *ret)
{
	const struct elf_file *others[2];
	size_t nr_others = 0;
	int code;

	if (parts->debug)
		others[nr_others++] = parts->debug;
	code = mini_debug_open(parts->elf, &parts->mini, NULL);
	if (code == -ENOMEM)
		return code;
	if (parts->mini)
		others[nr_others++] = parts->mini;
	code = symtab_create(parts->elf, others, nr_others, &parts->tab, NULL);
	if (!code && !nr_others) {
		size_t nr = symtab_nr_symbols(parts->tab);

		code = worker_go_names(parts->elf, &parts->go_lines, parts->tab);
		ret->has_go_names = symtab_nr_symbols(parts->tab) > nr;
	}
	if (code == -ENOMEM)
		return code;

	ret->has_symtab = has_section_of(parts->elf, SHT_SYMTAB);
	ret->has_dynsym = has_section_of(parts->elf, SHT_DYNSYM);
	ret->has_mini_debug = parts->mini != NULL;
	ret->has_debug_symtab = parts->debug && has_section_of(parts->debug, SHT_SYMTAB);
	ret->nr_symbols = parts->tab ? symtab_nr_symbols(parts->tab) : 0;
	ret->has_debug_info = has_info(parts->elf);
	ret->debug_has_info = parts->debug && has_info(parts->debug);
	return 0;
}

/* The message without the name it begins with: who asks has it already. */
static void say_problem(struct examination *ret, const struct elf_file *elf,
			const struct fpl_err *err)
{
	size_t length = strlen(elf->name);
	const char *msg = err->msg;

	if (strncmp(msg, elf->name, length) == 0 && strncmp(msg + length, ": ", 2) == 0)
		msg += length + 2;
	snprintf(ret->problem, sizeof(ret->problem), "%s", msg);
}

/* Is it an interpreter of a version that is known? */
static void find_scripts(const struct open_parts *parts, const struct table *table,
			 struct examination *ret)
{
	struct script_facts facts;

	script_facts_find(parts->elf, parts->debug, table, &facts);
	ret->has_script_frames = script_language_is_known(&facts);
	ret->names_compiled = ret->has_script_frames && facts.language == SCRIPT_JAVASCRIPT;
}

static int read_table(const struct open_parts *parts, struct examination *ret)
{
	CLEANUP(table_cleanup) struct table *table = NULL;
	struct fpl_err err = { 0 };
	int code = table_compile(parts->elf, parts->debug, &table_limits_default, &table, &err);

	if (code == -ENOMEM)
		return code;
	ret->has_table = code == 0;
	if (code == 0) {
		ret->stats = table->stats;
		find_scripts(parts, table, ret);
	} else {
		say_problem(ret, parts->elf, &err);
	}
	if (code && code != -ENODATA)
		return 0; /* what cannot be decoded cannot be measured */
	code = coverage_measure(parts->elf, parts->debug, parts->tab, &ret->coverage, &err);
	ret->measured = code == 0;
	if (code && !ret->problem[0])
		say_problem(ret, parts->elf, &err);
	return code == -ENOMEM ? code : 0;
}

int examine(const struct elf_file *elf, const struct elf_file *debug, struct examination *ret,
	    struct fpl_err *err)
{
	CLEANUP(cleanup_parts) struct open_parts parts = { .elf = elf, .debug = debug };
	int code;

	/* padding, too: it goes over a socket */
	memset(ret, 0, sizeof(*ret));
	text_hex(elf->build_id, elf->build_id_size, ret->build_id);
	code = read_symbols(&parts, ret);
	if (!code)
		code = read_table(&parts, ret);
	return code ? fpl_fail(err, code, "%s: out of memory", elf->name) : 0;
}

static bool is_text(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

/* A byte that is neither 0 nor 1 is no bool: looked at as what it is. */
static bool bools_are_sound(const struct examination *examination)
{
	static const size_t offsets[] = {
		offsetof(struct examination, has_table),
		offsetof(struct examination, measured),
		offsetof(struct examination, has_symtab),
		offsetof(struct examination, has_dynsym),
		offsetof(struct examination, has_mini_debug),
		offsetof(struct examination, has_debug_symtab),
		offsetof(struct examination, has_go_names),
		offsetof(struct examination, has_debug_info),
		offsetof(struct examination, debug_has_info),
		offsetof(struct examination, has_script_frames),
		offsetof(struct examination, names_compiled),
	};

	for (size_t i = 0; i < ARRAY_SIZE(offsets); i++) {
		if (((const uint8_t *)examination)[offsets[i]] > 1)
			return false;
	}
	return true;
}

bool examination_check(const struct examination *examination)
{
	const struct coverage *coverage = &examination->coverage;

	if (!is_text(examination->build_id, sizeof(examination->build_id)) ||
	    examination->build_id[strspn(examination->build_id, "0123456789abcdef")] ||
	    !is_text(examination->problem, sizeof(examination->problem)) ||
	    !bools_are_sound(examination) || coverage->nr_largest > COVERAGE_LARGEST)
		return false;
	for (size_t i = 0; i < coverage->nr_largest; i++) {
		if (!is_text(coverage->largest[i].name, sizeof(coverage->largest[i].name)))
			return false;
	}
	return true;
}
