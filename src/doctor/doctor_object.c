/* SPDX-License-Identifier: Apache-2.0 */
/* The findings in files and processes as text, for people. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/style.h"
#include "base/text.h"
#include "doctor/doctor_report.h"
#include "view/share.h"

/* The stream to write to; colour: lacks are marked. */
struct paper {
	FILE *to;
	bool colour;
};

/* A line; all but @key has @style; STYLE_END: no style. */
FPL_PRINTF(4, 5)
static void put_styled(const struct paper *paper, enum style style, const char *key,
		       const char *fmt, ...)
{
	bool colour = paper->colour && style != STYLE_END;
	char text[2048], safe[4 * sizeof(text)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	text_escape(safe, sizeof(safe), text, "");
	fprintf(paper->to, "  %-14s%s%s%s\n", key, style_text(colour, style), safe,
		style_text(colour, STYLE_END));
}

#define put_line(paper, ...) put_styled(paper, STYLE_END, __VA_ARGS__)

/* A field of @width columns, marked if it is @lacking. */
static void put_field(const struct paper *paper, const char *text, int width, bool lacking)
{
	bool colour = paper->colour && lacking;

	fprintf(paper->to, "%s%-*.*s%s ", style_text(colour, STYLE_YELLOW), width, width, text,
		style_text(colour, STYLE_END));
}

static const char *frame_source(const struct object_report *object)
{
	static const char *const names[CFI_SOURCE_COUNT] = {
		[CFI_SOURCE_EH_FRAME] = ".eh_frame",
		[CFI_SOURCE_GO] = "the pclntab of Go",
		[CFI_SOURCE_DEBUG_FRAME] = ".debug_frame",
		[CFI_SOURCE_DEBUG_FILE] = ".debug_frame of the debug file",
		[CFI_SOURCE_SYNTH] = "made from the code itself",
	};

	for (size_t i = 0; object->found.measured && i < CFI_SOURCE_COUNT; i++) {
		if (object->found.coverage.source_bytes[i])
			return names[i];
	}
	return "none";
}

static const char *symbol_source(const struct object_report *object)
{
	return object->found.has_symtab		? ".symtab"
	       : object->found.has_debug_symtab ? "debug file"
	       : object->found.has_mini_debug	? ".gnu_debugdata"
	       : object->found.has_go_names	? "pclntab of Go"
	       : object->found.has_dynsym	? ".dynsym only"
						: "none";
}

static const char *debug_source(const struct object_report *object)
{
	return object->found.has_debug_info   ? "in the file"
	       : object->found.debug_has_info ? "separate file"
	       : object->debug_path	      ? "separate file without .debug_info"
					      : "missing";
}

static void put_table(const struct paper *paper, const struct object_report *object)
{
	const struct table_stats *stats = &object->found.stats;

	if (!object->found.has_table) {
		put_styled(paper, STYLE_RED, "table", "none: %s", object->found.problem);
		return;
	}
	put_line(paper, "table", "%" PRIu64 " rows, %" PRIu64 " rules, %" PRIu64 " bytes; from %s",
		 stats->rows, stats->rules, stats->image_bytes, frame_source(object));
	if (stats->fdes_bad)
		put_styled(paper, STYLE_YELLOW, "malformed",
			   "%" PRIu64 " of %" PRIu64 " FDEs were skipped", stats->fdes_bad,
			   stats->fdes_bad + stats->fdes);
}

/* Bytes of code without CFI that rows made from this code cover. */
static uint64_t made_bytes(const struct object_report *object)
{
	return object->found.coverage.source_bytes[CFI_SOURCE_SYNTH];
}

static void put_coverage(const struct paper *paper, const struct object_report *object)
{
	const struct coverage *coverage = &object->found.coverage;

	if (!object->found.measured)
		return;
	if (!coverage->code_bytes) {
		put_line(paper, "coverage", "no executable code to cover");
		return;
	}
	put_line(paper, "coverage",
		 "%.2f %% of the code: of %" PRIu64 " bytes %" PRIu64 " by CFI, %" PRIu64
		 " by rows made from the code; %" PRIu64 " without, and %" PRIu64 " of padding",
		 object_report_percent(object), coverage->code_bytes,
		 coverage->covered_bytes - made_bytes(object), made_bytes(object),
		 coverage->bare_bytes, coverage->padding_bytes);
	if (object->found.stats.judged_bytes)
		put_line(paper, "no steps",
			 "%" PRIu64 " bytes without a row are no place for a frame-pointer step "
			 "either",
			 object->found.stats.judged_bytes);
	if (object->found.stats.synth_refused)
		put_styled(paper, STYLE_YELLOW, "refused",
			   "unwind rows not synthesised: over budget (2 s CPU or 256 MiB)");
	put_line(paper, "outside",
		 "%" PRIu64 " rows (%" PRIu64 " bytes of code) need an expression the table has no "
		 "rule for",
		 object->found.stats.rows_expr, coverage->expr_bytes);
	put_line(paper, "without a row", "%zu of %zu functions%s", coverage->nr_bare,
		 coverage->nr_functions, coverage->nr_bare ? ", the largest:" : "");
	for (size_t i = 0; i < coverage->nr_largest; i++) {
		const struct bare_function *bare = &coverage->largest[i];

		put_line(paper, "", "%8" PRIu64 " bytes at 0x%" PRIx64 "  %s", bare->size,
			 bare->vaddr, bare->name[0] ? bare->name : "?");
	}
}

static void put_package(const struct paper *paper, const char *key, const struct package *package)
{
	if (!package->name[0])
		put_line(paper, key, "unknown");
	else
		put_line(paper, key, "%s%s%s%s", package->name, package->version[0] ? " " : "",
			 package->version, package->installed ? "" : " (not installed)");
}

void doctor_report_object(FILE *to, const struct object_report *object, bool colour)
{
	const struct paper whole = { to, colour }, *paper = &whole;
	bool bare = !object->found.has_symtab && !object->found.has_debug_symtab &&
		    !object->found.has_mini_debug && !object->found.has_go_names;
	char safe[16384];

	text_escape(safe, sizeof(safe), object->path, "");
	fprintf(to, "%s%s%s\n", style_text(colour, STYLE_BOLD), safe,
		style_text(colour, STYLE_END));
	put_line(paper, "build-id", "%s",
		 object->found.build_id[0] ? object->found.build_id : "none");
	put_table(paper, object);
	put_coverage(paper, object);
	put_styled(paper, bare ? STYLE_YELLOW : STYLE_END, "symbols", "%s, %zu of code",
		   symbol_source(object), object->found.nr_symbols);
	put_styled(paper, object_report_lacks_debug(object) ? STYLE_YELLOW : STYLE_END,
		   "debug info", "%s%s%s", debug_source(object), object->debug_path ? ": " : "",
		   object->debug_path ? object->debug_path : "");
	if (object->path[0] == '[')
		return; /* the kernel's own */
	put_package(paper, "package", &object->package);
	if (object->debug_package.name[0])
		put_package(paper, "debug package", &object->debug_package);
	if (object->hint[0])
		put_line(paper, "to get it", "%s", object->hint);
}

static void put_row(const struct paper *paper, const struct object_report *object)
{
	const char *symbols = symbol_source(object), *frames = frame_source(object);
	bool lacks_debug = object_report_lacks_debug(object);
	char safe[16384], percent[16] = "-", made[16] = "-";

	if (object->found.measured && object->found.coverage.code_bytes) {
		snprintf(percent, sizeof(percent), "%.2f", object_report_percent(object));
		snprintf(made, sizeof(made), "%.2f",
			 share_percent(made_bytes(object), object->found.coverage.covered_bytes));
	}
	if (object->found.stats.synth_refused)
		snprintf(made, sizeof(made), "refused");
	text_escape(safe, sizeof(safe), object->path, "");
	fprintf(paper->to, "%7s %7s %9" PRIu64 " %6" PRIu64 " %9" PRIu64 " %6zu %6" PRIu64 "  ",
		percent, made, object->found.stats.rows, object->found.stats.rules,
		object->found.stats.image_bytes, object->found.coverage.nr_bare,
		object->found.stats.rows_expr);
	put_field(paper, frames, 12, !strcmp(frames, "none"));
	put_field(paper, symbols, 14, !strcmp(symbols, "none") || !strcmp(symbols, ".dynsym only"));
	put_field(paper,
		  lacks_debug			 ? "missing"
		  : object->found.has_debug_info ? "inside"
						 : "file",
		  7, lacks_debug);
	fprintf(paper->to, "%-12.12s %-18s %s%s\n",
		object->found.build_id[0] ? object->found.build_id : "-",
		object->package.name[0] ? object->package.name : "-", safe,
		object->deleted ? " (deleted)" : "");
}

/* Advice on the missing debug information, each package once. */
static void put_hints(FILE *to, const struct process_report *process)
{
	bool any = false;

	for (size_t i = 0; i < process->nr; i++) {
		const struct object_report *object = &process->objects[i];
		char safe[4 * sizeof(object->hint)];
		bool again = false;

		for (size_t j = 0; j < i && !again; j++)
			again = !strcmp(process->objects[j].hint, object->hint);
		if (!object->hint[0] || again)
			continue;
		if (!any)
			fputs("\nDebug information that is missing:\n", to);
		any = true;
		text_escape(safe, sizeof(safe), object->hint, "");
		fprintf(to, "  %s\n", safe);
	}
}

static void put_remarks(FILE *to, const struct check *remarks, size_t nr, bool colour)
{
	for (size_t i = 0; i < nr; i++) {
		const struct check *check = &remarks[i];
		bool bad = check->verdict != CHECK_OK;

		doctor_report_verdict(to, check->verdict, colour);
		fprintf(to, "  %-14s %s%s%s%s%s\n", check->subject, check->fact, bad ? ": " : "",
			check->cost, bad ? "; fix: " : "", check->fix);
	}
}

void doctor_report_process(FILE *to, const struct process_report *process,
			   const struct check *remarks, size_t nr_remarks, bool colour)
{
	const struct paper paper = { to, colour };
	char safe[4 * sizeof(process->comm)];

	text_escape(safe, sizeof(safe), process->comm, "");
	fprintf(to, "%spid %d (%s): %zu objects%s\n\n", style_text(colour, STYLE_BOLD),
		(int)process->pid, safe, process->nr, style_text(colour, STYLE_END));
	put_remarks(to, remarks, nr_remarks, colour);
	fprintf(to, "\n%s%7s %7s %9s %6s %9s %6s %6s  %-12s %-14s %-7s %-12s %-18s %s%s\n",
		style_text(colour, STYLE_BOLD), "row %", "made %", "rows", "rules", "bytes", "bare",
		"expr", "from", "symbols", "debug", "build-id", "package", "object",
		style_text(colour, STYLE_END));
	for (size_t i = 0; i < process->nr; i++)
		put_row(&paper, &process->objects[i]);
	for (size_t i = 0; i < process->nr_refused; i++) {
		char why[4 * sizeof(process->refused[i].why)];

		text_escape(why, sizeof(why), process->refused[i].why, "");
		fprintf(to, "%7s %s\n", "-", why);
	}
	if (process->nr_beyond)
		fprintf(to, "%7s %zu more mappings were not looked into\n", "-",
			process->nr_beyond);
	put_hints(to, process);
}
