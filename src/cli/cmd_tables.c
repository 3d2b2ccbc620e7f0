/* SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/elf_input.h"
#include "cli/file_guard.h"
#include "cli/parse.h"
#include "cli/tables_code.h"
#include "cli/verbs.h"
#include "obj/elf_file.h"
#include "unwind/row_text.h"
#include "unwind/rows.h"
#include "unwind/table.h"

enum { KEY_STATS = 0x100, KEY_PC, KEY_ROWS, KEY_SYNTH, KEY_AUDIT, KEY_BLIND };

static const struct argp_option options_list[] = {
	{ "stats", KEY_STATS, NULL, 0, "Print a summary of the table (default)", 0 },
	{ "pc", KEY_PC, "VADDR", 0, "Print the row in force at this address of the file", 0 },
	{ "rows", KEY_ROWS, NULL, 0, "Print every row of the CFI, as decoded", 0 },
	{ "synth", KEY_SYNTH, NULL, 0,
	  "Print the rows made from code without CFI, and the reason where other such code has no row",
	  0 },
	{ "audit", KEY_AUDIT, NULL, 0, "Print the places where the CFI contradicts its code", 0 },
	{ "blind", KEY_BLIND, NULL, 0, "As --audit, for one FDE in ten, with the others known", 0 },
	{ 0 },
};

struct tables_options {
	const char *path;
	bool stats, pc, rows, synth, audit, blind;
	uint64_t vaddr;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct tables_options *options = state->input;

	switch (key) {
	case KEY_STATS:
		options->stats = true;
		return 0;
	case KEY_PC:
		options->pc = true;
		if (!parse_address(arg, &options->vaddr))
			argp_failure(state, CLI_EXIT_USAGE, 0,
				     "--pc %s: expected an address such as 0x1000", arg);
		return 0;
	case KEY_ROWS:
		options->rows = true;
		return 0;
	case KEY_SYNTH:
		options->synth = true;
		return 0;
	case KEY_AUDIT:
		options->audit = true;
		return 0;
	case KEY_BLIND:
		options->blind = true;
		return 0;
	case ARGP_KEY_ARG:
		if (options->path)
			argp_failure(state, CLI_EXIT_USAGE, 0,
				     "'%s': unexpected: expected one file", arg);
		options->path = arg;
		return 0;
	case ARGP_KEY_END:
		if (!options->path)
			argp_failure(state, CLI_EXIT_USAGE, 0, "expected a FILE: see --help");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp tables_argp = {
	.options = options_list,
	.parser = parse_option,
	.args_doc = "FILE",
	.doc = "Show the unwind rows of an ELF file, and the size of its compact table.",
};

/* Rows on their way to stdout: a row is printed where its text differs from the one before. */
struct printer {
	bool any;
	uint64_t end; /* of the row before */
	char last[ROW_TEXT_SIZE];
};

static void print_line(struct printer *printer, uint64_t vaddr, const struct cfi_row *row)
{
	char text[ROW_TEXT_SIZE];

	row_text(row, text);
	if (printer->any && !strcmp(text, printer->last))
		return;
	printf("0x%" PRIx64 " %s\n", vaddr, text);
	memcpy(printer->last, text, sizeof(text));
	printer->any = true;
}

static int print_row(const struct cfi_row *row, void *ctx)
{
	struct printer *printer = ctx;

	if (printer->any && row->start != printer->end)
		print_line(printer, printer->end, NULL);
	print_line(printer, row->start, row);
	printer->end = row->end;
	return ferror(stdout) ? -EIO : 0;
}

static int print_rows(const struct elf_file *elf, const struct elf_file *debug, struct fpl_err *err)
{
	struct printer printer = { .any = false };
	struct table_limits limits = table_limits_default;

	limits.synth = false; /* as decoded: --synth lists the others */

	int error = cfi_rows_for_each(elf, debug, &limits, print_row, &printer, err);

	if (!error && printer.any)
		print_line(&printer, printer.end, NULL);
	return error;
}

struct finder {
	uint64_t vaddr;
	bool found;
	struct cfi_row row;
};

static int find_row(const struct cfi_row *row, void *ctx)
{
	struct finder *finder = ctx;

	if (finder->vaddr < row->start || finder->vaddr >= row->end)
		return 0;
	finder->found = true;
	finder->row = *row;
	return -ECANCELED; /* no row behind it can hold the address too */
}

static int print_pc(const struct elf_file *elf, const struct elf_file *debug, uint64_t vaddr,
		    struct fpl_err *err)
{
	static const char *const sources[CFI_SOURCE_COUNT] = {
		[CFI_SOURCE_EH_FRAME] = ".eh_frame",
		[CFI_SOURCE_GO] = "the pclntab of Go",
		[CFI_SOURCE_DEBUG_FRAME] = ".debug_frame",
		[CFI_SOURCE_DEBUG_FILE] = ".debug_frame of the debug file",
		[CFI_SOURCE_SYNTH] = "made from code without FDE",
	};
	struct finder finder = { .vaddr = vaddr };
	int error = cfi_rows_for_each(elf, debug, &table_limits_default, find_row, &finder, err);
	char text[ROW_TEXT_SIZE];

	if (error && error != -ECANCELED)
		return error;
	row_text(finder.found ? &finder.row : NULL, text);
	printf("0x%" PRIx64 " %s\n", vaddr, text);
	if (finder.found)
		printf("# in force in [0x%" PRIx64 ", 0x%" PRIx64 "), from %s%s\n",
		       finder.row.start, finder.row.end, sources[finder.row.source],
		       finder.row.signal ? ", a signal frame" : "");
	return 0;
}

static void print_number(const char *what, uint64_t value, const char *remark)
{
	printf("%-16s %12" PRIu64 "  %s\n", what, value, remark);
}

static int print_stats(const struct elf_file *elf, const struct elf_file *debug,
		       struct fpl_err *err)
{
	CLEANUP(table_cleanup) struct table *table = NULL;
	int error = table_compile(elf, debug, &table_limits_default, &table, err);

	if (error)
		return error;
	const struct table_stats *stats = &table->stats;
	print_number("text_bytes", stats->text_bytes, "of executable segments");
	print_number("covered_bytes", stats->covered_bytes, "of them have a row");
	print_number("cfi_bytes", stats->cfi_bytes, "of CFI read");
	print_number("fdes", stats->fdes, "used");
	print_number("fdes_bad", stats->fdes_bad, "skipped: malformed or outside the text");
	print_number("fdes_shadowed", stats->fdes_shadowed, "hidden by others");
	print_number("rows_raw", stats->rows_raw, "as decoded");
	print_number("rows", stats->rows, "in the table");
	print_number("rows_expr", stats->rows_expr, "need an expression without a rule: stop expr");
	print_number("rules", stats->rules, "distinct");
	print_number("rules_ext", stats->rules_ext, "of them in more than one slot");
	print_number("synth_bytes", stats->synth_bytes,
		     "of code without FDE, with rows made from it");
	print_number("judged_bytes", stats->judged_bytes,
		     "of such code, where no row and no frame-pointer step is right");
	if (stats->synth_refused)
		printf("%-16s %12s  %s\n", "synth_refused", "yes",
		       "rows from code refused: over the limit of time or memory");
	print_number("image_bytes", stats->image_bytes, "the table with index and rules");
	if (stats->text_bytes)
		printf("%-16s %12.1f  %s\n", "kib_per_mib",
		       1024.0 * (double)stats->image_bytes / (double)stats->text_bytes,
		       "table KiB per MiB of text");
	return 0;
}

static int run(const struct tables_options *options, struct fpl_err *err)
{
	CLEANUP(elf_input_close) struct elf_input input = { -1, -1 };
	CLEANUP(elf_file_cleanup) struct elf_file *elf = NULL;
	CLEANUP(elf_file_cleanup) struct elf_file *debug = NULL;
	int error = elf_input_open(options->path, PARSER_EXEC, &input, err);

	if (!error)
		error = elf_input_give_up_rights(err);
	if (!error)
		error = elf_file_open(TAKE_FD(input.fd), options->path, &elf, err);
	/* As profile does: the separate debug file may hold CFI of its own; most have none. */
	if (!error && input.debug_fd >= 0)
		error = elf_file_open(TAKE_FD(input.debug_fd), options->path, &debug, err);
	if (!error && options->rows)
		error = print_rows(elf, debug, err);
	if (!error && options->pc)
		error = print_pc(elf, debug, options->vaddr, err);
	if (!error && options->synth)
		error = print_made_rows(elf, debug, err);
	if (!error && options->audit)
		error = print_audit(elf, debug, SYNTH_ALL, err);
	if (!error && options->blind)
		error = print_audit(elf, debug, SYNTH_HIDDEN, err);
	if (!error && (options->stats || !(options->rows || options->pc || options->synth ||
					   options->audit || options->blind)))
		error = print_stats(elf, debug, err);
	return error;
}

int cmd_tables(int argc, char **argv)
{
	struct tables_options options = { 0 };
	struct fpl_err err = { 0 };

	if (argp_parse(&tables_argp, argc, argv, 0, NULL, &options))
		return CLI_EXIT_USAGE;
	file_guard(&options.path, 1);

	int error = run(&options, &err);
	if (fflush(stdout) || ferror(stdout)) {
		fpl_log(FPL_LOG_ERROR, "stdout: the output could not be written");
		return CLI_EXIT_OUTPUT;
	}
	if (error) {
		fpl_log(FPL_LOG_ERROR, "%s", err.msg);
		return CLI_EXIT_CANNOT_RUN;
	}
	return CLI_EXIT_OK;
}
