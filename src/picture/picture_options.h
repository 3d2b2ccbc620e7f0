/* SPDX-License-Identifier: Apache-2.0 */
/* How pictures are to look: what every verb that draws takes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The schemes of colours. X(name, word, text) */
/* clang-format off */
#define PICTURE_COLORS_LIST(X) \
	X(HOT,    hot,    "warm, by the name of the function; kernel code in pink") \
	X(COLD,   cold,   "blue, by the name of the function; kernel code in green") \
	X(OBJECT, object, "by the file that the code is in") \
	X(ORIGIN, origin, "by how the frame was found")
/* clang-format on */

#define X(name, word, text) PICTURE_COLORS_##name,
enum picture_colors { PICTURE_COLORS_LIST(X) PICTURE_COLORS_COUNT };
#undef X

struct picture_options {
	const char *title, *subtitle; /* borrowed; NULL: as the picture is best called */
	const char *count_name;	      /* borrowed: what is counted; NULL: what the recording says */
	enum picture_colors colors;
	bool colors_given;     /* else what is off the CPU is blue in a picture by state */
	uint32_t width;	       /* pixels; 0: of the window, PICTURE_WIDTH where nothing asks */
	uint32_t frame_height; /* pixels of a row; 0: PICTURE_FRAME_HEIGHT */
	double min_width;  /* pixels: what is narrower is not drawn; below 0: PICTURE_MIN_WIDTH */
	double min_share;  /* per cent of all samples: what has fewer is left out */
	bool inverted;	   /* the root is at the top */
	bool reverse;	   /* the root is what ran, above it who called it */
	bool chart;	   /* in the order of time */
	bool cpu_time;	   /* of a chart: each lane in CPU time */
	const char *given; /* name of the last option that was given; NULL: none */
};

#define PICTURE_WIDTH		 1200u
#define PICTURE_WIDTH_MIN	 100u
#define PICTURE_WIDTH_MAX	 100000u
#define PICTURE_FRAME_HEIGHT	 16u
#define PICTURE_FRAME_HEIGHT_MIN 4u
#define PICTURE_FRAME_HEIGHT_MAX 200u
#define PICTURE_MIN_WIDTH	 (1.0 / 3)

/* The options of a picture by default. */
extern const struct picture_options picture_options_usual;

/* Set options->colors by its word. Returns false and changes nothing if @word is no scheme. */
bool picture_options_set_colors(struct picture_options *options, const char *word);

/* Pixels: what is meant by 0 and below 0. */
uint32_t picture_width(const struct picture_options *options);
uint32_t picture_frame_height(const struct picture_options *options);
double picture_min_width(const struct picture_options *options);
