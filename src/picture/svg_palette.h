/* SPDX-License-Identifier: Apache-2.0 */
/* Colours of frames, as classes of CSS: light and dark. */
#pragma once

#include <stdio.h>

#include "picture/flame_tree.h"
#include "picture/picture_options.h"

/* Rules for every class that svg_palette_class() gives with these options. */
void svg_palette_put_css(FILE *to, const struct picture_options *options);

/* Likewise, with those of boxes that are off_cpu. */
void svg_palette_put_state_css(FILE *to, const struct picture_options *options);

/* Likewise, with those of boxes that are of_waker. */
void svg_palette_put_waker_css(FILE *to, const struct picture_options *options);

/* The facts of a box that give its colour. */
struct svg_paint {
	const char *name, *object; /* object "": none */
	uint8_t kind;		   /* enum function_kind */
	uint8_t origin; /* enum fpl_origin that most was found by; RECORDING_NO_ORIGIN: not known */
	bool by_fp;	/* some of it by frame pointers */
	bool by_synth;	/* some of it by rows made from code */
	bool of_waker;	/* of who ended the wait: a colour apart */
	bool off_cpu;	/* the thread had no CPU: blue, as in PICTURE_COLORS_COLD */
};

#define SVG_PALETTE_CLASS_SIZE 16u

/* "h7 i": the colour, then "i": inlined, "f": found by frame pointers. */
const char *svg_palette_class(const struct picture_options *options, const struct svg_paint *paint,
			      char buf[static SVG_PALETTE_CLASS_SIZE]);
