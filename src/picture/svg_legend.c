/* SPDX-License-Identifier: Apache-2.0 */
#include "picture/svg_legend.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "picture/svg_palette.h"

/* Objects in a legend; those of fewer samples are not named. */
enum { NR_OBJECTS = 8 };

static void see(const struct flame_node *node, struct svg_seen *seen)
{
	uint64_t found = 0;

	for (unsigned i = 0; i < FPL_ORIGIN_COUNT; i++) {
		found += node->found[i];
		seen->origins[i] |= node->found[i] > 0;
	}
	seen->kernel |= node->kind == FUNCTION_KERNEL;
	seen->inlined |= node->kind == FUNCTION_INLINED;
	if (node->kind == FUNCTION_USER || node->kind == FUNCTION_INLINED) {
		seen->user = true;
		seen->unknown |= !found;
	}
	seen->by_fp |= node->found[FPL_ORIGIN_FP] > 0;
	seen->by_synth |= node->found[FPL_ORIGIN_SYNTH] > 0;
}

static void add(struct svg_page *page, const struct svg_paint *paint, const char *text)
{
	char class[SVG_PALETTE_CLASS_SIZE];

	svg_page_legend(page, svg_palette_class(page->options, paint, class), text);
}

static void add_origins(struct svg_page *page, const struct svg_seen *seen)
{
	static const char *const words[FPL_ORIGIN_COUNT] = {
		[FPL_ORIGIN_CFI] = "by CFI, in the kernel",
		[FPL_ORIGIN_CFI_USER] = "by CFI, from a snapshot",
		[FPL_ORIGIN_FP] = "by a frame pointer",
		[FPL_ORIGIN_SYNTH] = "by a row made for code without CFI",
		[FPL_ORIGIN_SCRIPT] = "of a script",
		[FPL_ORIGIN_JIT] = "of code made at run time",
	};

	for (uint8_t i = 0; i < FPL_ORIGIN_COUNT; i++)
		if (seen->origins[i])
			add(page,
			    &(struct svg_paint){ .object = "", .kind = FUNCTION_USER, .origin = i },
			    words[i]);
	if (seen->unknown)
		add(page,
		    &(struct svg_paint){
			    .object = "", .kind = FUNCTION_USER, .origin = RECORDING_NO_ORIGIN },
		    "user code, how is not known");
	if (seen->kernel)
		add(page, &(struct svg_paint){ .object = "", .kind = FUNCTION_KERNEL },
		    "kernel code");
}

/* Samples that end in an object. */
struct weighed {
	uint64_t self;
	uint32_t object;
};

static int compare_weighed(const void *left, const void *right)
{
	const struct weighed *a = left, *b = right;

	if (a->self != b->self)
		return a->self > b->self ? -1 : 1;
	return (a->object > b->object) - (a->object < b->object);
}

static void add_objects(struct svg_page *page, const struct flame_tree *tree)
{
	size_t nr = tree->paths->strings.nr;
	AUTO_FREE struct weighed *list = must_calloc(nr, sizeof(*list));

	for (size_t i = 0; i < nr; i++)
		list[i].object = (uint32_t)i;
	for (size_t i = 0; i < tree->nodes.nr; i++)
		list[tree->nodes.list[i].object].self +=
			tree->nodes.list[i].self[0] + tree->nodes.list[i].self[1];
	list[0].self = 0; /* of what is in none */
	qsort(list, nr, sizeof(*list), compare_weighed);
	for (size_t i = 0; i < nr && i < NR_OBJECTS && list[i].self; i++) {
		const char *path = flame_text(tree->paths, list[i].object);

		add(page, &(struct svg_paint){ .name = "", .object = path, .kind = FUNCTION_USER },
		    text_path_name(path));
	}
}

static void add_code(struct svg_page *page, const struct svg_seen *seen)
{
	static const struct svg_paint user = { .name = "fpless",
					       .object = "",
					       .kind = FUNCTION_USER };
	static const struct svg_paint kernel = { .name = "fpless",
						 .object = "",
						 .kind = FUNCTION_KERNEL };
	static const struct svg_paint script = {
		.name = "fpless", .object = "", .kind = FUNCTION_USER, .origin = FPL_ORIGIN_SCRIPT
	};

	if (seen->user)
		add(page, &user, "user code");
	if (seen->origins[FPL_ORIGIN_SCRIPT])
		add(page, &script, "script");
	if (seen->kernel)
		add(page, &kernel, "kernel code");
}

void svg_legend_of(struct svg_page *page, const struct svg_seen *seen)
{
	if (page->options->colors == PICTURE_COLORS_ORIGIN)
		add_origins(page, seen);
	else if (page->options->colors != PICTURE_COLORS_OBJECT)
		add_code(page, seen);
	if (seen->inlined)
		svg_page_legend(page, "l i", "inlined");
	if (seen->by_synth)
		svg_page_legend(page, "l m", "found by rows made from code");
	if (seen->by_fp)
		svg_page_legend(page, "l f", "found by frame pointers");
}

void svg_legend_of_tree(struct svg_page *page, const struct flame_tree *tree)
{
	struct svg_seen seen = { 0 };

	for (size_t i = 0; i < tree->nodes.nr; i++)
		see(&tree->nodes.list[i], &seen);
	if (page->options->colors == PICTURE_COLORS_OBJECT)
		add_objects(page, tree);
	svg_legend_of(page, &seen);
}
