/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "diff/frame_judge.h"
#include "picture/flame_tree.h"
#include "picture/svg_about.h"
#include "picture/svg_page.h"
#include "picture/xml.h"

/* Boxes a browser still moves at once, and shades of a colour. */
enum { BOXES_MAX = 50000, NR_SHADES = 8 };

/* The samples of a box that no box above it shows, and the verdict on their change. */
struct own {
	uint64_t count[DIFF_SIDES];
	uint64_t gone; /* of those before, what was in children that are not there after */
	double change; /* samples after, less those before as they would be there */
	bool real;
};

struct drawing {
	const struct diff_picture *picture;
	struct flame_tree tree;
	struct own *own; /* owned [tree.nodes.nr] */
	struct frame_judge judge;
	double most;	 /* the largest change of one that is real */
	uint64_t narrow; /* samples that a box needs at least to be drawn */
	bool has_wakers; /* frames of who ended a wait are there */
	struct svg_page page;
};

static void drawing_fini(struct drawing *drawing)
{
	flame_tree_fini(&drawing->tree);
	free(drawing->own);
}

static bool is_drawn(const struct drawing *drawing, const struct flame_node *node)
{
	return node->total[drawing->judge.wide_by] >= drawing->narrow;
}

/* Take what the drawn children show from their parents. */
static void find_own(struct drawing *drawing)
{
	const struct flame_tree *tree = &drawing->tree;

	for (size_t i = 0; i < tree->nodes.nr; i++)
		for (unsigned side = 0; side < DIFF_SIDES; side++)
			drawing->own[i].count[side] = tree->nodes.list[i].total[side];
	for (size_t i = 1; i < tree->nodes.nr; i++) {
		const struct flame_node *node = &tree->nodes.list[i];

		struct own *parent = &drawing->own[node->parent];

		for (unsigned side = 0; side < DIFF_SIDES && is_drawn(drawing, node); side++)
			parent->count[side] -= node->total[side];
		if (!node->total[DIFF_AFTER] && tree->nodes.list[node->parent].total[DIFF_AFTER])
			parent->gone += node->total[DIFF_BEFORE];
	}
}

static void judge_own(struct drawing *drawing)
{
	const struct flame_tree *tree = &drawing->tree;
	size_t nr_tests = 0;

	for (size_t i = 0; i < tree->nodes.nr; i++)
		nr_tests += is_drawn(drawing, &tree->nodes.list[i]);
	drawing->judge.quantile = significance_quantile(drawing->picture->significance, nr_tests);
	for (size_t i = 0; i < tree->nodes.nr; i++) {
		struct own *own = &drawing->own[i];

		own->change = frame_judge_change(&drawing->judge, own->count);
		own->real = fabs(own->change) > frame_judge_interval(&drawing->judge, own->count);
		if (own->real && is_drawn(drawing, &tree->nodes.list[i]) &&
		    fabs(own->change) > drawing->most)
			drawing->most = fabs(own->change);
	}
}

static void put_shades(FILE *to, char letter, unsigned hue, bool dark)
{
	for (unsigned i = 0; i < NR_SHADES; i++)
		fprintf(to, ".fpl .%c%u rect { fill: hsl(%u,%u%%,%u%%); }\n", letter, i, hue,
			dark ? 35 + 4 * i : 90u, dark ? 24 + 3 * i : 90 - 5 * i);
}

static void put_css(FILE *to, const struct picture_options *options)
{
	(void)options;
	put_shades(to, 'r', 4, false);
	put_shades(to, 'b', 214, false);
	fputs(".fpl .n rect { fill: #e9e9e6; }\n@media (prefers-color-scheme: dark) {\n", to);
	put_shades(to, 'r', 4, true);
	put_shades(to, 'b', 214, true);
	fputs(".fpl .n rect { fill: #3c3f45; }\n}\n", to);
}

/* Frames of who ended a wait are violet where they would have no colour; else their edge is. */
static void put_waker_css(FILE *to, const struct picture_options *options)
{
	put_css(to, options);
	fputs(".fpl .v rect { fill: #d6c9ee; }\n"
	      ".fpl .e rect { stroke: #8f66cc; stroke-width: 1.2; }\n"
	      "@media (prefers-color-scheme: dark) {\n"
	      ".fpl .v rect { fill: #463864; }\n.fpl .e rect { stroke: #a98be0; }\n}\n",
	      to);
}

#define CLASS_SIZE 8u

static const char *class_of(const struct drawing *drawing, size_t idx, char buf[static CLASS_SIZE])
{
	bool of_waker = drawing->tree.nodes.list[idx].of_waker;
	const struct own *own = &drawing->own[idx];
	bool red = (own->change > 0) != drawing->picture->negate;
	/* the root of the share, so that what is small next to the largest is seen, too */
	double share = drawing->most > 0 ? sqrt(fabs(own->change) / drawing->most) : 0;
	unsigned shade = (unsigned)(share * (NR_SHADES - 1) + 0.5);

	if (!own->real)
		return of_waker ? "v" : "n";
	snprintf(buf, CLASS_SIZE, "%c%u%s", red ? 'r' : 'b',
		 shade < NR_SHADES ? shade : NR_SHADES - 1, of_waker ? " e" : "");
	return buf;
}

static void put_side(const struct drawing *drawing, const struct flame_node *node,
		     enum diff_side side)
{
	FILE *to = drawing->page.to;
	double percent = drawing->judge.percent * (side == DIFF_BEFORE ? drawing->judge.scale : 1);
	char count[192];

	fprintf(to, "\n%s %.2f %%, ", side == DIFF_BEFORE ? "before" : "after",
		percent * (double)node->total[side]);
	xml_put(to,
		measure_said(&drawing->picture->measure, node->total[side], count, sizeof(count)),
		sizeof(count));
	if (node->self[side] && node->self[side] != node->total[side])
		fprintf(to, "; itself %.2f %%", percent * (double)node->self[side]);
}

static void put_details(const struct drawing *drawing, size_t idx)
{
	const struct flame_node *node = &drawing->tree.nodes.list[idx];
	FILE *to = drawing->page.to;
	double change = frame_judge_change(&drawing->judge, node->total);
	double interval = frame_judge_interval(&drawing->judge, node->total);

	put_side(drawing, node, DIFF_BEFORE);
	put_side(drawing, node, DIFF_AFTER);
	fprintf(to, "\n%+.2f points +- %.2f: %s", drawing->judge.percent * change,
		drawing->judge.percent * interval,
		fabs(change) <= interval    ? "may be noise"
		: !node->total[DIFF_BEFORE] ? "new"
		: !node->total[DIFF_AFTER]  ? "gone"
					    : "more than noise");
	if (drawing->own[idx].gone)
		fprintf(to, "\nbelow it, and gone: %.2f %%",
			drawing->judge.percent * drawing->judge.scale *
				(double)drawing->own[idx].gone);
	svg_about_put_place(to, drawing->picture->paths, node);
}

static void draw(struct drawing *drawing, const uint64_t *starts)
{
	const struct flame_tree *tree = &drawing->tree;

	svg_page_begin(&drawing->page);
	for (size_t i = 0; i < tree->nodes.nr; i++) {
		const struct flame_node *node = &tree->nodes.list[i];
		char class[CLASS_SIZE];
		const struct svg_box box = {
			.from = starts[i],
			.count = node->total[drawing->judge.wide_by],
			.row = node->depth,
			.name = i ? flame_text(drawing->picture->paths, node->text) : "all",
			.class = class_of(drawing, i, class),
		};

		if (i && !is_drawn(drawing, node))
			continue;
		svg_page_box_begin(&drawing->page, &box);
		put_details(drawing, i);
		svg_page_box_end(&drawing->page, &box);
	}
	svg_page_end(&drawing->page);
}

/* "1,975 samples of 2 runs before, 1,286 of 2 after: -34.9 %" */
static void make_subtitle(const struct drawing *drawing, char *buf, size_t size)
{
	const struct diff_picture *picture = drawing->picture;
	const uint64_t *samples = picture->paths->samples;
	const struct measure *measure = &picture->measure;
	char before[192], after[MEASURE_NUMBER_SIZE];
	double change = frame_judge_change(&drawing->judge, samples);
	int length = snprintf(
		buf, size, "%s of %zu run%s before, %s of %zu after",
		measure_many(measure, samples[DIFF_BEFORE], before, sizeof(before)),
		picture->runs[DIFF_BEFORE], picture->runs[DIFF_BEFORE] == 1 ? "" : "s",
		measure_number(measure, samples[DIFF_AFTER], after), picture->runs[DIFF_AFTER]);

	if (picture->normalize)
		snprintf(buf + length, size - (size_t)length, "; as shares");
	else if (samples[DIFF_BEFORE])
		snprintf(buf + length, size - (size_t)length, "; %+.2f %% a run",
			 drawing->judge.percent * change);
}

/* Say how much has no box since it has no samples after. */
static void note_gone(struct drawing *drawing)
{
	uint64_t gone = 0;

	for (size_t i = 0; i < drawing->tree.nodes.nr; i++)
		gone += drawing->own[i].gone;
	if (gone && drawing->judge.wide_by == DIFF_AFTER)
		svg_page_note(&drawing->page,
			      "%.2f %% of what was before is gone and has no box: the other way "
			      "round, with --negate, it has",
			      100 * (double)gone /
				      (double)drawing->picture->paths->samples[DIFF_BEFORE]);
}

static void set_page(struct drawing *drawing, FILE *to, const char *subtitle)
{
	const struct diff_picture *picture = drawing->picture;
	uint64_t total = picture->paths->samples[drawing->judge.wide_by];

	drawing->page = (struct svg_page){
		.to = to,
		.options = picture->options,
		.title = picture->headline,
		.subtitle = subtitle,
		.description =
			"A differential flame graph: each box is a frame, as wide as it was on the stack after. Its "
			"colour tells what changed in it.",
		.put_css = drawing->has_wakers ? put_waker_css : put_css,
		.total = total,
		.all = total,
		.rows = drawing->tree.depth + 1,
		.up = !picture->options->inverted,
	};
	svg_page_legend(&drawing->page, picture->negate ? "b6" : "r6", "more than before");
	svg_page_legend(&drawing->page, picture->negate ? "r6" : "b6", "less than before");
	svg_page_legend(&drawing->page, "n", "no change beyond noise");
	if (drawing->has_wakers)
		svg_page_legend(&drawing->page, "v e", "who ended the wait");
	if (picture->options->title)
		svg_page_note(&drawing->page, "%s", picture->headline);
	note_gone(drawing);
	if (drawing->judge.wide_by == DIFF_BEFORE)
		svg_page_note(&drawing->page, "There is nothing after: widths are those before");
	svg_about_note_pruned(&drawing->page, &drawing->tree, drawing->judge.wide_by,
			      &picture->measure);
}

static void make_tree(struct drawing *drawing)
{
	const struct diff_picture *picture = drawing->picture;
	uint64_t total = picture->paths->samples[drawing->judge.wide_by];
	struct flame_tree_options options = {
		.nodes_max = BOXES_MAX,
		.min_total = svg_page_min_count(picture->options, total),
	};

	flame_tree_make(picture->paths, &options, &drawing->tree);
	drawing->has_wakers = flame_tree_has_wakers(&drawing->tree);
	drawing->narrow = drawing->tree.min_total ? drawing->tree.min_total : 1;
	drawing->own = must_calloc(drawing->tree.nodes.nr, sizeof(*drawing->own));
}

void diff_svg_write(FILE *to, const struct diff_picture *picture)
{
	CLEANUP(drawing_fini)
	struct drawing drawing = { .picture = picture, .judge = frame_judge_make(picture) };
	AUTO_FREE uint64_t *starts = NULL;
	char subtitle[256];

	make_tree(&drawing);
	find_own(&drawing);
	judge_own(&drawing);
	starts = flame_tree_starts(&drawing.tree, drawing.judge.wide_by);
	make_subtitle(&drawing, subtitle, sizeof(subtitle));
	set_page(&drawing, to, subtitle);
	draw(&drawing, starts);
}
