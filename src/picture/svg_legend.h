/* SPDX-License-Identifier: Apache-2.0 */
/* The legend of a picture: an entry for each colour and mark that is in it. */
#pragma once

#include "picture/flame_tree.h"
#include "picture/svg_page.h"

struct svg_seen {
	bool user, kernel, inlined, by_fp, by_synth,
		unknown; /* kinds of frames, and unknown ones */
	bool origins[FPL_ORIGIN_COUNT];
};

/* Entries for kinds of code and ways to find it; with colours by object those are the caller's. */
void svg_legend_of(struct svg_page *page, const struct svg_seen *seen);

void svg_legend_of_tree(struct svg_page *page, const struct flame_tree *tree);
