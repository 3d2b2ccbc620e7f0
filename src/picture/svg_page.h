/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An SVG of boxes in rows: the common part of flame graphs, charts and differences. One file that
 * asks for nothing else: its style and its script are in it. The script is the same in all of them
 * and holds no text of a recording. Readable without the script, too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "picture/picture_options.h"

#define SVG_NOTES_MAX  8u
#define SVG_LEGEND_MAX 12u
#define SVG_CLASS_SIZE 16u
#define SVG_UNIT_SIZE  64u

struct svg_legend {
	char class[SVG_CLASS_SIZE]; /* as of boxes */
	char text[64];
};

struct svg_page {
	FILE *to;			       /* borrowed */
	const struct picture_options *options; /* borrowed */
	const char *title, *subtitle;	       /* borrowed: where the options have none */
	const char *description; /* borrowed: of the whole, for who cannot see it; may be NULL */
	/* Writes the rules for the classes of the boxes, ".fpl .CLASS rect { fill: ... }"; may be
	 * NULL */
	void (*put_css)(FILE *to, const struct picture_options *options);
	uint64_t total; /* what the width shows */
	uint64_t all;	/* what searches find shares of; mostly total */
	uint32_t rows;
	bool up;	  /* row 0 is at the bottom */
	bool in_time;	  /* x is time, in nanoseconds; what is below a box may be no part of it */
	bool cpu_time;	  /* and that is CPU time of each lane */
	uint64_t from_ns; /* in time: the left edge */
	/* Below the picture, in this order: svg_page_note(), svg_page_legend(). */
	char notes[SVG_NOTES_MAX][240];
	struct svg_legend legend[SVG_LEGEND_MAX];
	unsigned nr_notes, nr_legend;

	/* private */
	double per_unit, top, bar;
	uint64_t nr_boxes;
	uint32_t wait_lane; /* of the path under way; 0: none yet */
	/* In time: what is drawn over all boxes. Owned until svg_page_end(). */
	FILE *waits, *texts;
	char *wait_bytes, *text_bytes;
	size_t nr_wait_bytes, nr_text_bytes;
};

/* One line below the picture; one too many is left out. */
void svg_page_note(struct svg_page *page, const char *fmt, ...)
	__attribute__((__format__(__printf__, 2, 3)));

/* Add an entry to the legend: the meaning of the boxes of a class. */
void svg_page_legend(struct svg_page *page, const char *class, const char *text);

/* A box of @count units, at @from of them. */
struct svg_box {
	uint64_t from, count;
	uint32_t row;
	uint32_t lane;	   /* boxes above each other in one lane are counted once by searches */
	uint64_t ran;	   /* with a lane: units of @count that searches add up */
	const char *name;  /* untrusted, as the recording has it */
	const char *class; /* of CSS, separated by spaces */
};

/*
 * Begin with all of the page known but its boxes; then each box: begin, what else there is to say
 * to page->to as XML text, a line each that begins with a newline, end; then the end. Write errors
 * stay in page->to (ferror).
 */
void svg_page_begin(struct svg_page *page);
void svg_page_box_begin(struct svg_page *page, const struct svg_box *box);
void svg_page_box_end(const struct svg_page *page, const struct svg_box *box);
void svg_page_end(struct svg_page *page);

/* In time, among the boxes: the lane did not run for @count units from @from on; the boxes of
 * @nr_rows rows from @row on are lighter there. */
void svg_page_wait(struct svg_page *page, uint32_t lane, uint32_t row, uint32_t nr_rows,
		   uint64_t from, uint64_t count);

/* Among the boxes: @text in a row of its own. */
void svg_page_label(const struct svg_page *page, uint32_t row, const char *text);

/*
 * Units of @total that a box needs to be drawn: as wide as min_width, and a share of min_share. 0
 * where any will do.
 */
uint64_t svg_page_min_count(const struct picture_options *options, uint64_t total);
