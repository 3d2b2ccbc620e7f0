/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/compare_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "view/share.h"

/* Lines of a table that fit a screen; --json has them all. */
enum { NR_PROGRAMS = 30, NR_OBJECTS = 20 };

static void write_classes(FILE *to, const struct comparison *comparison)
{
	fputs("\nThe frame-pointer walk, judged by the CFI walk of the same sample\n\n", to);
	for (unsigned i = 0; i < VERDICT_UNJUDGED; i++)
		fprintf(to, "  %-8s %7.2f%% %9" PRIu64 "  %s\n",
			verdict_class_key((enum verdict_class)i),
			share_whole_percent(comparison->counts[i], comparison->judged),
			comparison->counts[i], verdict_class_text((enum verdict_class)i));
	fprintf(to, "  %-8s          %9" PRIu64 "  %s", verdict_class_key(VERDICT_UNJUDGED),
		comparison->counts[VERDICT_UNJUDGED],
		comparison->counts[VERDICT_UNJUDGED] ? "the CFI walk is no judge here:"
						     : "the CFI walk has all of every stack");
	const char *separator = " ";
	for (unsigned i = 0; i < VERDICT_REASON_COUNT; i++) {
		if (!comparison->reasons[i])
			continue;
		fprintf(to, "%s%s %" PRIu64, separator, verdict_reason_key(i),
			comparison->reasons[i]);
		separator = ", ";
	}
	putc('\n', to);
}

/* How far F can be trusted, in frames. */
static void write_frames(FILE *to, const struct comparison *comparison)
{
	double judged = (double)comparison->judged;

	if (comparison->judged)
		fprintf(to,
			"\nOf %.1f frames a stack has, it has the first %.1f right, counted from "
			"the "
			"leaf (%.1f%%)\n",
			(double)comparison->frames / judged,
			(double)comparison->frames_common / judged,
			share_whole_percent(comparison->frames_common, comparison->frames));
}

/* Why: what the CFI says of the frame whose rbp F followed. */
static void write_rules(FILE *to, const struct comparison *comparison)
{
	fputs("\nWhat the CFI says of rbp in that frame (samples)\n\n"
	      "     wrong      skip       cut\n",
	      to);
	for (unsigned i = 0; i < FP_RULE_COUNT; i++) {
		uint64_t wrong = comparison->rules[VERDICT_WRONG][i];
		uint64_t skip = comparison->rules[VERDICT_SKIP][i];
		uint64_t cut = comparison->rules[VERDICT_CUT][i];

		if (wrong + skip + cut)
			fprintf(to, " %9" PRIu64 " %9" PRIu64 " %9" PRIu64 "  %s: %s\n", wrong,
				skip, cut, fp_rule_key((enum fp_rule)i),
				fp_rule_text((enum fp_rule)i));
	}
}

static void write_more(FILE *to, size_t nr, size_t shown, const char *what)
{
	if (nr > shown)
		fprintf(to, "  ... and %zu more %s\n", nr - shown, what);
}

static void write_programs(FILE *to, const struct comparison *comparison)
{
	const struct comparison_table *table = &comparison->programs;

	fputs("\nBy program (% of its judged samples)\n\n"
	      "   judged   agree   wrong    skip     cut  unjudged  program\n",
	      to);
	for (size_t i = 0; i < table->rows.nr && i < NR_PROGRAMS; i++) {
		const struct comparison_row *row = &table->rows.list[i];
		uint64_t judged = comparison_judged(row);

		fprintf(to, " %8" PRIu64, judged);
		for (unsigned class = 0; class < VERDICT_UNJUDGED; class ++) {
			if (judged)
				fprintf(to, " %6.2f%%",
					share_whole_percent(row->counts[class], judged));
			else
				fputs("       -", to);
		}
		fprintf(to, " %9" PRIu64 "  %s\n", row->counts[VERDICT_UNJUDGED],
			strings_text(&comparison->names->strings, row->text));
	}
	write_more(to, table->rows.nr, NR_PROGRAMS, "programs");
}

/* Write the path of an object, or its last part, safe for a terminal. */
static void write_object(FILE *to, const struct comparison *comparison, uint32_t object, bool whole)
{
	char escaped[512] = "(no object)";

	if (object) {
		const char *path = comparison->names->profile->objects[object - 1].path;

		text_escape(escaped, sizeof(escaped), whole ? path : text_path_name(path), "");
	}
	fputs(escaped, to);
}

static void write_objects(FILE *to, const struct comparison *comparison, const char *title,
			  const struct comparison_table *table)
{
	fprintf(to,
		"\nBy object of %s (%% of all judged samples)\n\n"
		"  samples   wrong    skip     cut  object\n",
		title);
	for (size_t i = 0; i < table->rows.nr && i < NR_OBJECTS; i++) {
		const struct comparison_row *row = &table->rows.list[i];

		fprintf(to, " %8" PRIu64 " %6.2f%% %6.2f%% %6.2f%%  ", comparison_parted(row),
			share_whole_percent(row->counts[VERDICT_WRONG], comparison->judged),
			share_whole_percent(row->counts[VERDICT_SKIP], comparison->judged),
			share_whole_percent(row->counts[VERDICT_CUT], comparison->judged));
		write_object(to, comparison, row->object, true);
		putc('\n', to);
	}
	write_more(to, table->rows.nr, NR_OBJECTS, "objects");
}

static void write_partings(FILE *to, const struct comparison *comparison)
{
	const struct comparison_table *table = &comparison->partings;

	fputs("\nThe first frame it lacks or gets wrong (% of all judged samples)\n\n"
	      "    share   samples  class  function (object), and rbp in the frame before it\n",
	      to);
	for (size_t i = 0; i < table->rows.nr && i < COMPARISON_NR_PARTINGS; i++) {
		const struct comparison_row *row = &table->rows.list[i];

		fprintf(to, " %7.2f%% %9" PRIu64 "  %-5s  %s  (",
			share_whole_percent(comparison_parted(row), comparison->judged),
			comparison_parted(row), verdict_class_key(row->class),
			strings_text(&comparison->names->strings, row->text));
		write_object(to, comparison, row->object, false);
		fprintf(to, ")  %s\n", fp_rule_key(row->rule));
	}
	write_more(to, table->rows.nr, COMPARISON_NR_PARTINGS, "places");
}

void compare_text_write(FILE *to, const struct comparison *comparison)
{
	const struct profile *profile = comparison->names->profile;

	fprintf(to, "%" PRIu64 " of %" PRIu64 " samples judged: %s", comparison->judged,
		comparison->shown, profile->source.name);
	if (profile_source_is_clock(&profile->source))
		fprintf(to, " at %" PRIu64 " Hz", profile->source.hz);
	fprintf(to, ", %.1f s, %u CPUs\n", (double)profile->duration_ns / 1e9, profile->nr_cpus);
	write_classes(to, comparison);
	write_frames(to, comparison);
	write_programs(to, comparison);
	if (comparison->judged == comparison->counts[VERDICT_AGREE])
		return;
	write_objects(to, comparison, "the first frame it lacks or gets wrong",
		      &comparison->objects);
	write_objects(to, comparison, "the frame before that, whose rbp it followed",
		      &comparison->before);
	write_rules(to, comparison);
	write_partings(to, comparison);
}

void compare_text_report(FILE *to, const struct comparison *comparison)
{
	const char *separator = "";

	fprintf(to, "  compare      %" PRIu64 " judged: ", comparison->judged);
	for (unsigned i = 0; i < VERDICT_UNJUDGED; i++) {
		fprintf(to, "%s%s %.2f %%", separator, verdict_class_key((enum verdict_class)i),
			share_whole_percent(comparison->counts[i], comparison->judged));
		separator = ", ";
	}
	fprintf(to, "; %" PRIu64 " unjudged\n", comparison->counts[VERDICT_UNJUDGED]);
}
