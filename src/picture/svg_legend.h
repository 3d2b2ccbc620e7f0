/* SPDX-License-Identifier: Apache-2.0 */
/* What the colours and the marks of a picture are: entries for those that are in it. */
#pragma once

#include "picture/flame_tree.h"
#include "picture/svg_page.h"

/* Errors: -ENOMEM. */
FPL_MUST_CHECK int svg_legend_of_tree(struct svg_page *page, const struct flame_tree *tree);
