/* SPDX-License-Identifier: Apache-2.0 */
#include "picture/svg.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "picture/chart_svg.h"
#include "picture/svg_about.h"
#include "picture/svg_legend.h"
#include "picture/svg_page.h"
#include "picture/svg_palette.h"
#include "picture/xml.h"
#include "recording/keys.h"
#include "view/share.h"

/* Boxes a browser still moves at once: where there were more, the narrowest are left out. */
enum { BOXES_MAX = 50000 };

/* One picture, from the recording to the file. */
struct drawing {
	const struct picture_options *options;
	struct picture_options own; /* options, where the states choose other colours */
	bool *off_cpu;		    /* owned, by node, where states are shown; NULL: none is */
	bool has_wakers;	    /* frames of who ended a wait are there */
	struct flame_paths paths;
	struct flame_tree tree;
	struct svg_about about;
	struct svg_page page;
};

static void drawing_fini(struct drawing *drawing)
{
	free(drawing->off_cpu);
	svg_about_fini(&drawing->about);
	flame_tree_fini(&drawing->tree);
	flame_paths_fini(&drawing->paths);
}

static const char *usual_title(const struct picture_options *options)
{
	if (options->reverse)
		return options->inverted ? "Icicle graph by leaf" : "Flame graph by leaf";
	return options->inverted ? "Icicle graph" : "Flame graph";
}

static int make_tree(struct drawing *drawing, const struct recording *recording,
		     const struct format_options *options, struct fpl_err *err)
{
	const struct flame_paths_options paths_options = {
		.text = format_texts(options, true),
		.delimited = options->delimited,
		.reverse = drawing->options->reverse,
		.wakers = true,
	};
	struct flame_tree_options tree_options = { .nodes_max = BOXES_MAX };
	int error;

	flame_paths_init(&drawing->paths);
	error = flame_paths_add(&drawing->paths, recording, &paths_options, 0, err);
	if (error)
		return error;
	tree_options.min_total = svg_page_min_count(drawing->options, drawing->paths.samples[0]);
	flame_tree_make(&drawing->paths, &tree_options, &drawing->tree);
	drawing->has_wakers = flame_tree_has_wakers(&drawing->tree);
	svg_about_init(recording, drawing->options, usual_title(drawing->options),
		       drawing->paths.samples[0], &drawing->about);
	return 0;
}

/* Is there a stack off the CPU, and none on one? */
static bool is_all_off_cpu(const struct recording *recording)
{
	bool off = false, on = false;

	for (size_t i = 0; i < recording->nr_stacks; i++) {
		uint8_t state = recording->stacks[i].state;

		off |= recording_state_is_off_cpu(state);
		on |= !recording_state_is_off_cpu(state);
	}
	return off && !on;
}

/* Threads without a CPU are blue, unless other colours were asked for. */
static void choose_colors(struct drawing *drawing, const struct recording *recording)
{
	if (drawing->options->colors_given || !is_all_off_cpu(recording))
		return;
	drawing->own = *drawing->options;
	drawing->own.colors = PICTURE_COLORS_COLD;
	drawing->options = &drawing->own;
}

static bool is_off_cpu_label(const char *text)
{
	return recording_state_is_off_cpu(state_of_key(text));
}

/* In a picture by state, find what is behind the labels of those without a CPU. */
static void find_off_cpu(struct drawing *drawing, const struct recording *recording)
{
	const struct flame_node *nodes = drawing->tree.nodes.list;

	if (!(recording->by & RECORDING_HAS_STATE) || drawing->options->colors_given ||
	    drawing->options->colors != PICTURE_COLORS_HOT)
		return;
	drawing->off_cpu = must_calloc(drawing->tree.nodes.nr, sizeof(*drawing->off_cpu));
	for (size_t i = 1; i < drawing->tree.nodes.nr; i++)
		drawing->off_cpu[i] =
			drawing->off_cpu[nodes[i].parent] ||
			(nodes[i].kind == FUNCTION_LABEL &&
			 is_off_cpu_label(flame_text(&drawing->paths, nodes[i].text)));
}

static void set_page(struct drawing *drawing, FILE *to)
{
	uint64_t total = drawing->paths.samples[0];

	drawing->page = (struct svg_page){
		.to = to,
		.options = drawing->options,
		.title = drawing->about.title,
		.subtitle = drawing->about.subtitle,
		.description = drawing->about.description,
		.put_css = drawing->has_wakers ? svg_palette_put_waker_css
			   : drawing->off_cpu  ? svg_palette_put_state_css
					       : svg_palette_put_css,
		.total = total,
		.all = total,
		.rows = drawing->tree.depth + 1,
		.up = !drawing->options->inverted,
	};
}

/* Counts, also of what has another name, are told as samples. */
static const char *said_found(const struct drawing *drawing, uint64_t found, char *buf, size_t size)
{
	struct measure samples;

	measure_init_counts("samples", &samples);
	return measure_said(drawing->about.measure.weight ? &drawing->about.measure : &samples,
			    found, buf, size);
}

/* If frames of @node were found in a way that is marked, say in how many samples. */
static void put_found(const struct drawing *drawing, const struct flame_node *node,
		      enum fpl_origin origin, const char *by)
{
	uint64_t found = node->found[origin];
	FILE *to = drawing->page.to;
	char count[192];

	if (!found)
		return;
	fprintf(to, "\nfound by %s", by);
	if (found != node->total[0])
		fprintf(to, " in %s", said_found(drawing, found, count, sizeof(count)));
}

/* Write the details of a node, behind its name. */
static void put_details(const struct drawing *drawing, const struct flame_node *node)
{
	const struct flame_paths *paths = &drawing->paths;
	uint64_t all = paths->samples[0];
	FILE *to = drawing->page.to;
	char count[192];

	putc('\n', to);
	xml_put(to, measure_said(&drawing->about.measure, node->total[0], count, sizeof(count)),
		sizeof(count));
	fprintf(to, ", %.2f %%", share_percent(node->total[0], all));
	if (node->self[0] && node->self[0] != node->total[0])
		fprintf(to, "; itself %s, %.2f %%",
			measure_number(&drawing->about.measure, node->self[0], count),
			share_percent(node->self[0], all));
	if (node->elided && !strcmp(flame_text(paths, node->text), RECORDING_GAP)) {
		fprintf(to, "\n%s frames at most", number_grouped(node->elided, count));
		return;
	}
	svg_about_put_place(to, paths, node);
	put_found(drawing, node, FPL_ORIGIN_SYNTH, "rows made from code");
	put_found(drawing, node, FPL_ORIGIN_FP, "frame pointers");
}

static struct svg_paint paint_of(const struct drawing *drawing, const struct flame_node *node)
{
	struct svg_paint paint = {
		.name = flame_text(&drawing->paths, node->text),
		.object = flame_text(&drawing->paths, node->object),
		.kind = node->kind,
		.origin = RECORDING_NO_ORIGIN,
		.by_fp = node->found[FPL_ORIGIN_FP] > 0,
		.by_synth = node->found[FPL_ORIGIN_SYNTH] > 0,
		.of_waker = node->of_waker,
	};
	uint64_t most = 0;

	for (uint8_t i = 0; i < FPL_ORIGIN_COUNT; i++) {
		if (node->found[i] > most) {
			most = node->found[i];
			paint.origin = i;
		}
	}
	return paint;
}

static void draw_node(struct drawing *drawing, size_t idx, uint64_t from)
{
	const struct flame_node *node = &drawing->tree.nodes.list[idx];
	struct svg_paint paint = paint_of(drawing, node);
	char class[SVG_PALETTE_CLASS_SIZE];

	paint.off_cpu = drawing->off_cpu && drawing->off_cpu[idx];

	const struct svg_box box = {
		.from = from,
		.count = node->total[0],
		.row = node->depth,
		.name = idx ? paint.name : "all",
		.class = svg_palette_class(drawing->options, &paint, class),
	};

	svg_page_box_begin(&drawing->page, &box);
	put_details(drawing, node);
	svg_page_box_end(&drawing->page, &box);
}

/* Returns what all boxes show. */
static uint64_t draw(struct drawing *drawing, const uint64_t *starts)
{
	const struct flame_tree *tree = &drawing->tree;
	uint64_t shown = tree->pruned_samples[0];

	svg_page_begin(&drawing->page);
	for (size_t i = 0; i < tree->nodes.nr; i++) {
		draw_node(drawing, i, starts[i]);
		shown += tree->nodes.list[i].self[0];
	}
	svg_page_end(&drawing->page);
	return shown;
}

int svg_write(FILE *to, const struct recording *recording, const struct format_options *options,
	      uint64_t *ret_shown, struct fpl_err *err)
{
	CLEANUP(drawing_fini)
	struct drawing drawing = {
		.options = options->picture ? options->picture : &picture_options_usual,
	};
	AUTO_FREE uint64_t *starts = NULL;
	int error;

	if (drawing.options->chart)
		return chart_svg_write(to, recording, options, ret_shown, err);
	choose_colors(&drawing, recording);
	error = make_tree(&drawing, recording, options, err);
	if (error)
		return error;
	find_off_cpu(&drawing, recording);
	starts = flame_tree_starts(&drawing.tree, 0);
	set_page(&drawing, to);
	svg_legend_of_tree(&drawing.page, &drawing.tree);
	if (drawing.off_cpu)
		svg_page_legend(&drawing.page, "b8", "not on a CPU");
	if (drawing.has_wakers && drawing.options->colors != PICTURE_COLORS_OBJECT &&
	    drawing.options->colors != PICTURE_COLORS_ORIGIN)
		svg_page_legend(&drawing.page, "w8", "who ended the wait");
	svg_about_note_pruned(&drawing.page, &drawing.tree, 0, &drawing.about.measure);
	svg_about_note_books(&drawing.page, recording);
	*ret_shown = draw(&drawing, starts);
	return 0;
}
