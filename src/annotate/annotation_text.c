/* SPDX-License-Identifier: Apache-2.0 */
#include "annotate/annotation_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "view/jump_lanes.h"
#include "view/share.h"

enum { HOTTEST_LINES = 10, ESCAPED_MAX = 4096, MNEMONIC = 7 };

struct writer {
	FILE *to;
	const struct annotation *of;
	const struct annotation_text_options *options;
	struct jump_lanes lanes;
	char buf[ESCAPED_MAX]; /* of escaped() */
};

/* Valid until the next call. */
static const char *escaped(struct writer *writer, const char *text)
{
	text_escape(writer->buf, sizeof(writer->buf), text, "");
	return writer->buf;
}

static void put_samples(const struct writer *writer, uint64_t samples)
{
	char number[MEASURE_NUMBER_SIZE];

	if (samples)
		fprintf(writer->to, " %6.1f%% %8s  ", share_percent(samples, writer->of->samples),
			measure_plain(writer->options->measure, samples, number));
	else
		fprintf(writer->to, "%*s", 19, "");
}

static void put_head(struct writer *writer)
{
	const struct annotation *of = writer->of;
	const struct measure *measure = writer->options->measure;
	char own[MEASURE_NUMBER_SIZE], all[192];
	FILE *to = writer->to;

	fprintf(to, "%s", escaped(writer, of->function));
	fprintf(to, " in %s\n", escaped(writer, *of->object ? of->object : "no file"));
	fprintf(to, "  %s of %s (%.1f%%) are its own", measure_plain(measure, of->samples, own),
		measure_reported(measure, of->of, all, sizeof(all)),
		share_percent(of->samples, of->of));
	if (of->nr_insns)
		fprintf(to, ", at %zu instructions from 0x%" PRIx64 " to 0x%" PRIx64, of->nr_insns,
			of->start, of->end);
	putc('\n', to);
	if (of->path && strcmp(of->path, of->object) != 0)
		fprintf(to, "  its code is from %s\n", escaped(writer, of->path));
	for (size_t i = 0; i < of->nr_notes; i++)
		fprintf(to, "  %s\n", escaped(writer, of->notes[i]));
}

/* "file.c:12", and its text. */
static void put_line(struct writer *writer, const struct annotation_line *line)
{
	fprintf(writer->to, "%s:%u", escaped(writer, text_path_name(line->file)), line->number);
	if (line->text)
		fprintf(writer->to, "  %s", line->text);
	putc('\n', writer->to);
}

static int by_samples(const void *a, const void *b)
{
	const struct annotation_line *const *left = a, *const *right = b;

	if ((*left)->samples != (*right)->samples)
		return (*left)->samples > (*right)->samples ? -1 : 1;
	return *left < *right ? -1 : *left > *right;
}

static void put_hottest(struct writer *writer)
{
	const struct annotation *of = writer->of;
	AUTO_FREE const struct annotation_line **list =
		must_calloc(of->nr_lines + 1, sizeof(*list));
	size_t nr = 0;

	for (size_t i = 0; i < of->nr_lines; i++) {
		if (of->lines[i].samples)
			list[nr++] = &of->lines[i];
	}
	if (!nr)
		return;
	qsort(list, nr, sizeof(*list), by_samples);
	fprintf(writer->to, "\nHottest lines\n");
	for (size_t i = 0; i < nr && i < HOTTEST_LINES; i++) {
		put_samples(writer, list[i]->samples);
		put_line(writer, list[i]);
	}
	if (nr > HOTTEST_LINES)
		fprintf(writer->to, "%*s... and %zu more\n", 19, "", nr - HOTTEST_LINES);
}

/* "scale, inlined in main at a.c:7" */
static void put_inlined(struct writer *writer, const struct annotation_insn *insn)
{
	const struct annotation_site *sites = &writer->of->sites[insn->first_site];

	fprintf(writer->to, "%*s", 19, "");
	for (uint32_t i = 0; i < insn->nr_sites; i++) {
		if (i)
			fputs(i > 1 ? ", that in " : ", inlined in ", writer->to);
		fputs(escaped(writer, sites[i].function ? sites[i].function : "a function"),
		      writer->to);
		if (i && sites[i].file)
			fprintf(writer->to, " at %s:%u",
				escaped(writer, text_path_name(sites[i].file)), sites[i].line);
	}
	putc('\n', writer->to);
}

/* The line that instruction @first and those behind it come from. Returns where they end. */
static size_t put_place(struct writer *writer, size_t first)
{
	const struct annotation *of = writer->of;
	const struct annotation_insn *insn = &of->insns[first];
	uint64_t samples;
	size_t end = annotation_place_end(of, first, &samples);

	if (insn->nr_sites > 1 && !(first && annotation_is_same_function(of, insn - 1, insn)))
		put_inlined(writer, insn);
	put_samples(writer, samples);
	if (insn->line == ANNOTATION_NONE)
		fputs("(no line)\n", writer->to);
	else
		put_line(writer, &of->lines[insn->line]);
	return end;
}

/* By enum jump_part: itself, and to its right; the last column's right is the instruction. */
static const struct glyphs {
	const char *part[JUMP_MEETS + 1], *across, *blank, *arrow;
} unicode = { { " ", "│", "┌", "└", "├" }, "─", " ", ">" },
  ascii = { { " ", "|", "/", "\\", "+" }, "-", " ", ">" };

static void put_lanes(const struct writer *writer, size_t row)
{
	const struct glyphs *glyphs = writer->options->ascii ? &ascii : &unicode;
	const struct jump_lanes *lanes = &writer->lanes;
	bool across = false;

	for (unsigned column = lanes->nr_columns; column--;) {
		enum jump_part part = jump_part(lanes, row, column);
		bool meets = part >= JUMP_BEGINS;

		/* a line that is crossed is drawn over */
		fputs(across && part == JUMP_BLANK ? glyphs->across : glyphs->part[part],
		      writer->to);
		across = across || meets;
		fputs(across ? glyphs->across : glyphs->blank, writer->to);
	}
	if (lanes->nr_columns)
		fputs(jump_is_target(lanes, row) ? glyphs->arrow
		      : across			 ? glyphs->across
						 : glyphs->blank,
		      writer->to);
}

static void put_insn(struct writer *writer, size_t row, int width)
{
	const struct annotation_insn *insn = &writer->of->insns[row];
	const char *text = escaped(writer, insn->text);
	size_t first = strcspn(text, " ");

	put_samples(writer, insn->samples);
	fprintf(writer->to, "  %*" PRIx64 "  ", width, insn->vaddr);
	put_lanes(writer, row);
	fprintf(writer->to, " %-*.*s%s", text[first] ? MNEMONIC : 0, (int)first, text,
		text + first);
	if (insn->target_name)
		fprintf(writer->to, " <%s>", escaped(writer, insn->target_name));
	putc('\n', writer->to);
}

static void put_columns(const struct writer *writer)
{
	fprintf(writer->to, "\n   SHARE  %7s  CODE\n",
		writer->options->measure->weight ? "WEIGHT" : "SAMPLES");
}

static void put_code(struct writer *writer)
{
	const struct annotation *of = writer->of;
	AUTO_FREE uint32_t *to = must_calloc(of->nr_insns + 1, sizeof(*to));
	int width = snprintf(NULL, 0, "%" PRIx64, of->end);

	for (size_t i = 0; i < of->nr_insns; i++)
		to[i] = of->insns[i].to;
	jump_lanes_make(to, of->nr_insns, &writer->lanes);
	put_columns(writer);
	for (size_t i = 0, end = 0; i < of->nr_insns; i++) {
		if (of->nr_lines && i == end)
			end = put_place(writer, i);
		put_insn(writer, i, width);
	}
	jump_lanes_fini(&writer->lanes);
}

/* The lines of a function without instructions, a script's. */
static void put_lines(struct writer *writer)
{
	put_columns(writer);
	for (size_t i = 0; i < writer->of->nr_lines; i++) {
		put_samples(writer, writer->of->lines[i].samples);
		put_line(writer, &writer->of->lines[i]);
	}
}

void annotation_text_write(FILE *to, const struct annotation *annotation,
			   const struct annotation_text_options *options)
{
	struct writer writer = { .to = to, .of = annotation, .options = options };

	put_head(&writer);
	put_hottest(&writer);
	if (annotation->nr_insns)
		put_code(&writer);
	else if (annotation->nr_lines)
		put_lines(&writer);
}
