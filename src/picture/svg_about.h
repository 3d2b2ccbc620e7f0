/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of a picture about the run it shows, beside its boxes. */
#pragma once

#include "picture/flame_tree.h"
#include "picture/svg_page.h"
#include "recording/recording.h"
#include "view/measure.h"

/* Texts that a page borrows. */
struct svg_about {
	char title[512];	/* the command that was sampled; without one @usual */
	struct measure measure; /* of the recording, or counts of what the options name */
	char subtitle[256];	/* "12,345 samples: cpu-clock at 99 Hz, 10.0 s, 2 CPUs" */
	char *description;	/* owned: the books and the stop reasons */
};

/* @usual: the heading of such a picture of no command. */
void svg_about_init(const struct recording *recording, const struct picture_options *options,
		    const char *usual, uint64_t shown, struct svg_about *ret);
void svg_about_fini(struct svg_about *about);

/* A line of the books, where there are any, and how many stacks are whole. */
void svg_about_note_books(struct svg_page *page, const struct recording *recording);

/* Say how much of @tree is not drawn: too narrow, or too deep. @total: of the side that gives the
 * width. */
void svg_about_note_pruned(struct svg_page *page, const struct flame_tree *tree, unsigned side,
			   const struct measure *measure);

/* Lines of a box: whose code @node is, of @paths, and whether it is inlined. */
void svg_about_put_place(FILE *to, const struct flame_paths *paths, const struct flame_node *node);
