/* SPDX-License-Identifier: Apache-2.0 */
#include "picture/svg_page.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "picture/xml.h"
#include "svg_css.h"
#include "svg_js.h"

/* Pixels. */
enum { PAD = 10, TITLE_HEIGHT = 28, SUBTITLE_HEIGHT = 18, BAR_HEIGHT = 44, NOTE_HEIGHT = 17 };

/* Columns of the fonts in pixels, of a height of 12, 17 and 9: those of one width differ by little.
 */
#define COLUMN	     7.3
#define COLUMN_TITLE (COLUMN * 17 / 12)
#define COLUMN_SMALL (COLUMN * 0.75)

/* Boxes that are narrower have no border, of which they would be all. */
enum { THIN_BELOW = 5 };

/* Rows that are lower have the small font, those lower still no text. */
enum { SMALL_BELOW = 14, TEXT_FROM = 10 };

void svg_page_note(struct svg_page *page, const char *fmt, ...)
{
	va_list args;

	if (page->nr_notes == SVG_NOTES_MAX)
		return;
	va_start(args, fmt);
	vsnprintf(page->notes[page->nr_notes], sizeof(page->notes[0]), fmt, args);
	va_end(args);
	page->nr_notes++;
}

void svg_page_legend(struct svg_page *page, const char *class, const char *text)
{
	struct svg_legend *legend = &page->legend[page->nr_legend];

	if (page->nr_legend == SVG_LEGEND_MAX)
		return;
	snprintf(legend->class, sizeof(legend->class), "%s", class);
	snprintf(legend->text, sizeof(legend->text), "%s", text);
	page->nr_legend++;
}

static const char *title_of(const struct svg_page *page)
{
	return page->options->title ? page->options->title : page->title;
}

static const char *subtitle_of(const struct svg_page *page)
{
	return page->options->subtitle ? page->options->subtitle : page->subtitle;
}

static bool is_small(const struct svg_page *page)
{
	return picture_frame_height(page->options) < SMALL_BELOW;
}

static bool has_text(const struct svg_page *page)
{
	return picture_frame_height(page->options) >= TEXT_FROM;
}

/* The distance of the first row's text from the upper edge of its box. */
static double baseline(const struct svg_page *page)
{
	return picture_frame_height(page->options) / 2.0 + (is_small(page) ? 3 : 3.5);
}

static uint32_t rows_height(const struct svg_page *page)
{
	return page->rows * picture_frame_height(page->options);
}

/* Entries of the legend stand beside each other, in as many lines as they need. */
static unsigned legend_lines(const struct svg_page *page)
{
	return (page->nr_legend + 3) / 4;
}

/* As much of @text as there is room for, and, where that is not all, all of it for the script. */
static void write_line(const struct svg_page *page, const char *class, double y, const char *text,
		       double column)
{
	size_t columns = (size_t)((picture_width(page->options) - 2 * PAD) / column);

	fprintf(page->to, "<text class=\"%s\" x=\"%d\" y=\"%g\">", class, PAD, y);
	xml_put_columns(page->to, text, columns);
	if (xml_columns(text, columns + 1) > columns) {
		fputs("<title>", page->to);
		xml_put(page->to, text, XML_NAME_BYTES);
		fputs("</title>", page->to);
	}
	fputs("</text>\n", page->to);
}

static void write_heading(const struct svg_page *page)
{
	const char *subtitle = subtitle_of(page);

	fputs("<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n", page->to);
	write_line(page, "title", 22, title_of(page), COLUMN_TITLE);
	if (*subtitle)
		write_line(page, "subtitle", TITLE_HEIGHT + 12, subtitle, COLUMN);
}

/* The axis of time belongs to the bar, which stays in the window. */
static int bar_height(const struct svg_page *page)
{
	return BAR_HEIGHT + (page->in_time ? NOTE_HEIGHT : 0);
}

void svg_page_begin(struct svg_page *page)
{
	const struct picture_options *options = page->options;
	uint32_t width = picture_width(options);

	page->per_unit = page->total ? (width - 2.0 * PAD) / (double)page->total : 0;
	page->bar = TITLE_HEIGHT + (*subtitle_of(page) ? SUBTITLE_HEIGHT : 0);
	page->top = page->bar + bar_height(page);
	if (page->in_time) {
		page->waits = must_memstream(&page->wait_bytes, &page->nr_wait_bytes);
		page->texts = must_memstream(&page->text_bytes, &page->nr_text_bytes);
	}

	unsigned height = (unsigned)page->top + rows_height(page) + PAD +
			  (page->nr_notes + legend_lines(page)) * NOTE_HEIGHT + PAD;

	fprintf(page->to,
		"<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n"
		"<svg class=\"fpl\" xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" "
		"width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\" role=\"group\"\n"
		" data-total=\"%" PRIu64 "\" data-all=\"%" PRIu64
		"\" data-pad=\"%d\" data-base=\"%.1f\" data-up=\"%d\" "
		"data-fluid=\"%d\" data-time=\"%d\">\n<title>",
		width, height, width, height, page->total, page->all, PAD, baseline(page), page->up,
		options->width == 0, page->in_time);
	xml_put(page->to, title_of(page), XML_NAME_BYTES);
	fputs("</title>\n<desc>", page->to);
	if (page->description)
		xml_put(page->to, page->description, 1 << 16);
	fputs("</desc>\n<style>\n", page->to);
	if (page->put_css) /* first: what marks a box is stronger than what it is */
		page->put_css(page->to, page->options);
	fputs(svg_css, page->to);
	fputs("</style>\n", page->to);
	write_heading(page);
	fprintf(page->to, "<g class=\"boxes%s%s\">\n", is_small(page) ? " small" : "",
		has_text(page) ? "" : " bare");
}

static double y_of(const struct svg_page *page, uint32_t row)
{
	uint32_t from_top = page->up ? page->rows - 1 - row : row;

	return page->top + (double)from_top * picture_frame_height(page->options);
}

void svg_page_box_begin(struct svg_page *page, const struct svg_box *box)
{
	bool thin = (double)box->count * page->per_unit < THIN_BELOW;

	page->nr_boxes++;
	fprintf(page->to, "<g class=\"%s%s\" data-s=\"%" PRIu64 " %" PRIu64 " %" PRIu32, box->class,
		thin ? " thin" : "", box->from, box->count, box->row);
	if (box->lane)
		fprintf(page->to, " %" PRIu32 " %" PRIu64, box->lane, box->ran);
	fputs("\"><title>", page->to);
	xml_put(page->to, box->name, XML_NAME_BYTES);
}

/*
 * Text of the box written last. In time it stands over what makes boxes lighter, and has the number
 * of its box. Characters beyond ASCII may be wider than was reckoned: they are squeezed.
 */
static void write_text(const struct svg_page *page, const struct svg_box *box, double x, double y,
		       size_t columns)
{
	FILE *to = page->in_time ? page->texts : page->to;

	fputs("<text", to);
	if (page->in_time)
		fprintf(to, " class=\"%s\" data-box=\"%" PRIu64 "\"", box->class,
			page->nr_boxes - 1);
	fprintf(to, " x=\"%.2f\" y=\"%.1f\"", x + 3, y + baseline(page));
	if (!xml_is_ascii(box->name, columns))
		fprintf(to, " textLength=\"%.1f\" lengthAdjust=\"spacingAndGlyphs\"",
			(double)xml_columns(box->name, columns) *
				(is_small(page) ? COLUMN_SMALL : COLUMN));
	putc('>', to);
	xml_put_columns(to, box->name, columns);
	fputs(page->in_time ? "</text>\n" : "</text>", to);
}

void svg_page_box_end(const struct svg_page *page, const struct svg_box *box)
{
	uint32_t height = picture_frame_height(page->options);
	double x = PAD + (double)box->from * page->per_unit;
	double width = (double)box->count * page->per_unit, y = y_of(page, box->row);
	double columns = (width - 6) / (is_small(page) ? COLUMN_SMALL : COLUMN);

	fprintf(page->to,
		"</title><rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%" PRIu32 "\"/>", x, y,
		width > 1 ? width - 0.5 : width, height > 5 ? height - 1 : height);
	if (columns >= 3 && has_text(page))
		write_text(page, box, x, y, (size_t)columns);
	fputs("</g>\n", page->to);
}

void svg_page_wait(struct svg_page *page, uint32_t lane, uint32_t row, uint32_t nr_rows,
		   uint64_t from, uint64_t count)
{
	double width = (double)count * page->per_unit;

	if (lane != page->wait_lane)
		fputs(page->wait_lane ? "\"/>\n<path d=\"" : "<path d=\"", page->waits);
	page->wait_lane = lane;
	/* three digits: browsers keep paths as floats */
	fprintf(page->waits, "M%.3f %.0fh%.3fv%" PRIu32 "h-%.3fz",
		PAD + (double)from * page->per_unit, y_of(page, row), width,
		nr_rows * picture_frame_height(page->options), width);
}

/* Waits and texts stand over the boxes of all lanes; the pointer goes through them. */
static void write_over_boxes(struct svg_page *page)
{
	must_memstream_close(page->waits);
	must_memstream_close(page->texts);
	fputs("<g class=\"waits\">\n", page->to);
	fwrite(page->wait_bytes, 1, page->nr_wait_bytes, page->to);
	fprintf(page->to, "%s</g>\n<g class=\"texts%s\">\n", page->wait_lane ? "\"/>\n" : "",
		is_small(page) ? " small" : "");
	fwrite(page->text_bytes, 1, page->nr_text_bytes, page->to);
	fputs("</g>\n", page->to);
	free(page->wait_bytes);
	free(page->text_bytes);
}

void svg_page_label(const struct svg_page *page, uint32_t row, const char *text)
{
	write_line(page, "lane", y_of(page, row) + baseline(page), text, COLUMN);
}

/* Times at equal distances; the script writes them anew for what is zoomed to. */
static void write_axis(const struct svg_page *page)
{
	unsigned width = picture_width(page->options) - 2 * PAD;
	unsigned nr = width / 120 + 1;
	const char *unit = page->cpu_time ? "s CPU" : "s";

	fprintf(page->to,
		"<g class=\"axis\" data-from=\"%" PRIu64 "\" data-y=\"%.0f\" data-unit=\"%s\">\n",
		page->from_ns, page->top - 4, unit);
	for (unsigned i = 0; i < nr; i++) {
		double share = (double)i / nr;

		fprintf(page->to, "<text class=\"note\" x=\"%.0f\" y=\"%.0f\">%.3f %s</text>\n",
			PAD + share * width, page->top - 4,
			((double)page->from_ns + share * (double)page->total) / 1e9, unit);
	}
	fputs("</g>\n", page->to);
}

static void write_legend(const struct svg_page *page, double y)
{
	unsigned column = (picture_width(page->options) - 2 * PAD) / 4;

	for (unsigned i = 0; i < page->nr_legend; i++) {
		const struct svg_legend *legend = &page->legend[i];
		unsigned x = PAD + i % 4 * column;
		double top = y + i / 4 * NOTE_HEIGHT;

		fprintf(page->to,
			"<g class=\"%s\" data-x=\"%u\" data-y=\"%.0f\"><rect x=\"%u\" y=\"%.0f\" "
			"width=\"22\" height=\"12\"/>"
			"<text class=\"note\" x=\"%u\" y=\"%.0f\">",
			legend->class, x, top, x, top + 2, x + 28, top + 12);
		xml_put_columns(page->to, legend->text,
				(size_t)(column > 60 ? (column - 36) / COLUMN : 3));
		fputs("</text></g>\n", page->to);
	}
}

void svg_page_end(struct svg_page *page)
{
	double y = page->top + rows_height(page) + PAD;

	fputs("</g>\n", page->to);
	if (page->in_time) {
		write_over_boxes(page);
		write_axis(page);
	}
	fprintf(page->to, "<g class=\"notes\" data-y=\"%.0f\">\n", y);
	write_legend(page, y);
	y += legend_lines(page) * NOTE_HEIGHT;
	for (unsigned i = 0; i < page->nr_notes; i++) {
		fprintf(page->to, "<text class=\"note\" x=\"%d\" y=\"%.0f\">", PAD,
			y + (i + 1) * NOTE_HEIGHT - 5);
		xml_put(page->to, page->notes[i], sizeof(page->notes[i]));
		fputs("</text>\n", page->to);
	}
	fprintf(page->to,
		"</g>\n<g class=\"bar\" data-y=\"%.0f\" data-height=\"%d\"></g>\n"
		"<script><![CDATA[\n",
		page->bar, bar_height(page));
	fputs(svg_js, page->to);
	fputs("]]></script>\n</svg>\n", page->to);
}

uint64_t svg_page_min_count(const struct picture_options *options, uint64_t total)
{
	double pixels = picture_width(options) - 2.0 * PAD;
	double by_width = picture_min_width(options) / pixels * (double)total;
	double by_share = options->min_share / 100 * (double)total;
	double count = by_width > by_share ? by_width : by_share;

	if (pixels <= 0 || count < 0)
		return 0;
	return count >= (double)UINT64_MAX ? UINT64_MAX
					   : (uint64_t)count + ((double)(uint64_t)count < count);
}
