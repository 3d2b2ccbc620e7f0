/* SPDX-License-Identifier: Apache-2.0 */
/* What the colours and the marks of a picture are: entries for those that are in it. */
#pragma once

#include "picture/flame_tree.h"
#include "picture/svg_page.h"

struct svg_seen {
	bool user, kernel, inlined, by_fp, by_synth,
		unknown; /* kinds of frames, and what nobody knows of */
	bool origins[FPL_ORIGIN_COUNT];
};

/* Entries for kinds of code and ways to find it; with colours by object those are the caller's. */
void svg_legend_of(struct svg_page *page, const struct svg_seen *seen);

void svg_legend_of_tree(struct svg_page *page, const struct flame_tree *tree);
