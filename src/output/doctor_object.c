/* SPDX-License-Identifier: Apache-2.0 */
/* What doctor found in files and processes, for people. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/text.h"
#include "output/doctor_report.h"

FPL_PRINTF(3, 4) static void put_line(FILE *to, const char *key, const char *fmt, ...)
{
	char text[2048], safe[4 * sizeof(text)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	text_escape(safe, sizeof(safe), text, "");
	fprintf(to, "  %-14s%s\n", key, safe);
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

static void put_table(FILE *to, const struct object_report *object)
{
	const struct table_stats *stats = &object->found.stats;

	if (!object->found.has_table) {
		put_line(to, "table", "none: %s", object->found.problem);
		return;
	}
	put_line(to, "table", "%" PRIu64 " rows, %" PRIu64 " rules, %" PRIu64 " bytes; from %s",
		 stats->rows, stats->rules, stats->image_bytes, frame_source(object));
	if (stats->fdes_bad)
		put_line(to, "malformed", "%" PRIu64 " of %" PRIu64 " FDEs were skipped",
			 stats->fdes_bad, stats->fdes_bad + stats->fdes);
}

static void put_coverage(FILE *to, const struct object_report *object)
{
	const struct coverage *coverage = &object->found.coverage;

	if (!object->found.measured)
		return;
	if (!coverage->code_bytes) {
		put_line(to, "coverage", "no executable code to cover");
		return;
	}
	put_line(to, "coverage",
		 "%.2f %% of the code by CFI: %" PRIu64 " of %" PRIu64 " bytes; %" PRIu64
		 " without, and %" PRIu64 " of padding",
		 object_report_percent(object), coverage->covered_bytes, coverage->code_bytes,
		 coverage->bare_bytes, coverage->padding_bytes);
	put_line(to, "outside",
		 "%" PRIu64 " rows (%" PRIu64 " bytes of code) need an expression the table has no "
		 "rule for",
		 object->found.stats.rows_expr, coverage->expr_bytes);
	put_line(to, "without CFI", "%zu of %zu functions%s", coverage->nr_bare,
		 coverage->nr_functions, coverage->nr_bare ? ", the largest:" : "");
	for (size_t i = 0; i < coverage->nr_largest; i++) {
		const struct bare_function *bare = &coverage->largest[i];

		put_line(to, "", "%8" PRIu64 " bytes at 0x%" PRIx64 "  %s", bare->size, bare->vaddr,
			 bare->name[0] ? bare->name : "?");
	}
}

static void put_package(FILE *to, const char *key, const struct package *package)
{
	if (!package->name[0])
		put_line(to, key, "unknown");
	else
		put_line(to, key, "%s%s%s%s", package->name, package->version[0] ? " " : "",
			 package->version, package->installed ? "" : " (not installed)");
}

void doctor_report_object(FILE *to, const struct object_report *object)
{
	char safe[16384];

	text_escape(safe, sizeof(safe), object->path, "");
	fprintf(to, "%s\n", safe);
	put_line(to, "build-id", "%s", object->found.build_id[0] ? object->found.build_id : "none");
	put_table(to, object);
	put_coverage(to, object);
	put_line(to, "symbols", "%s, %zu of code", symbol_source(object), object->found.nr_symbols);
	put_line(to, "debug info", "%s%s%s", debug_source(object), object->debug_path ? ": " : "",
		 object->debug_path ? object->debug_path : "");
	if (object->path[0] == '[')
		return; /* the kernel's own */
	put_package(to, "package", &object->package);
	if (object->debug_package.name[0])
		put_package(to, "debug package", &object->debug_package);
	if (object->hint[0])
		put_line(to, "to get it", "%s", object->hint);
}

static void put_row(FILE *to, const struct object_report *object)
{
	char safe[16384], percent[16] = "-";

	if (object->found.measured && object->found.coverage.code_bytes)
		snprintf(percent, sizeof(percent), "%.2f", object_report_percent(object));
	text_escape(safe, sizeof(safe), object->path, "");
	fprintf(to,
		"%7s %9" PRIu64 " %6" PRIu64 " %9" PRIu64 " %6zu %6" PRIu64 "  %-12.12s %-14s %-7s "
		"%-12.12s %-18s %s%s\n",
		percent, object->found.stats.rows, object->found.stats.rules,
		object->found.stats.image_bytes, object->found.coverage.nr_bare,
		object->found.stats.rows_expr, frame_source(object), symbol_source(object),
		object_report_lacks_debug(object) ? "missing"
		: object->found.has_debug_info	  ? "inside"
						  : "file",
		object->found.build_id[0] ? object->found.build_id : "-",
		object->package.name[0] ? object->package.name : "-", safe,
		object->deleted ? " (deleted)" : "");
}

/* What would bring the missing debug information, each package once. */
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

static void put_remarks(FILE *to, const struct check *remarks, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const struct check *check = &remarks[i];
		bool bad = check->verdict != CHECK_OK;

		fprintf(to, "%-4s  %-14s %s%s%s%s%s\n", check_verdict_text(check->verdict),
			check->subject, check->fact, bad ? ": " : "", check->cost,
			bad ? "; fix: " : "", check->fix);
	}
}

void doctor_report_process(FILE *to, const struct process_report *process,
			   const struct check *remarks, size_t nr_remarks)
{
	char safe[4 * sizeof(process->comm)];

	text_escape(safe, sizeof(safe), process->comm, "");
	fprintf(to, "pid %d (%s): %zu objects\n\n", (int)process->pid, safe, process->nr);
	put_remarks(to, remarks, nr_remarks);
	fprintf(to, "\n%7s %9s %6s %9s %6s %6s  %-12s %-14s %-7s %-12s %-18s %s\n", "CFI %", "rows",
		"rules", "bytes", "bare", "expr", "from", "symbols", "debug", "build-id", "package",
		"object");
	for (size_t i = 0; i < process->nr; i++)
		put_row(to, &process->objects[i]);
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
