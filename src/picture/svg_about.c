/* SPDX-License-Identifier: Apache-2.0 */
#include "picture/svg_about.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "picture/xml.h"
#include "recording/sample_type.h"
#include "view/share.h"

static void put_subtitle(const struct recording *recording, uint64_t shown, struct svg_about *about)
{
	char said[192];
	int length = snprintf(about->subtitle, sizeof(about->subtitle), "%s",
			      measure_said(&about->measure, shown, said, sizeof(said)));
	const char *event = recording_string(recording, recording->event);

	char rate[48] = "";

	if (!*event || (!recording->hz && !recording->weight_unit) ||
	    !sample_type_is_samples(recording))
		return;
	if (recording->hz)
		snprintf(rate, sizeof(rate), " at %" PRIu64 " Hz", recording->hz);
	else if (recording->period > 1)
		snprintf(rate, sizeof(rate), ", one in %" PRIu64, recording->period);
	snprintf(about->subtitle + length, sizeof(about->subtitle) - (size_t)length,
		 ": %.64s%s, %.1f s, %" PRIu32 " CPUs", event, rate,
		 (double)recording->duration_ns / 1e9, recording->nr_cpus);
}

/* Is @key one of the books, or a reason? */
static bool is_told(const char *key)
{
	static const char *const told[] = { "fired",	"shown",	"idle",	   "filtered",
					    "expected", "user_samples", "complete" };

	if (!strncmp(key, "lost.", 5) || !strncmp(key, "stop.", 5))
		return true;
	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++)
		if (!strcmp(key, told[i]))
			return true;
	return false;
}

static void make_description(const struct recording *recording, struct svg_about *about)
{
	size_t size;
	FILE *to = must_memstream(&about->description, &size);

	fprintf(to,
		"%s. Each box is a frame, as wide as it was on the stack; what called it is next "
		"to "
		"it, towards the root.",
		about->subtitle);
	for (size_t i = 0; i < recording->nr_numbers; i++) {
		const struct recording_number *number = &recording->numbers[i];
		const char *key = recording_string(recording, number->key);
		char value[NUMBER_GROUPED_SIZE];

		if (!number->note && number->value && is_told(key))
			fprintf(to, " %.64s: %s.", key, number_grouped(number->value, value));
	}
	must_memstream_close(to);
}

void svg_about_init(const struct recording *recording, const struct picture_options *options,
		    const char *usual, uint64_t shown, struct svg_about *ret)
{
	const char *command = recording_note(recording, "command");

	*ret = (struct svg_about){ 0 };
	snprintf(ret->title, sizeof(ret->title), "%s%s", command ? command : usual,
		 command && options->reverse ? ", by leaf" : "");
	if (options->count_name)
		measure_init_counts(options->count_name, &ret->measure);
	else
		measure_init(recording, &ret->measure);
	put_subtitle(recording, shown, ret);
	make_description(recording, ret);
}

void svg_about_fini(struct svg_about *about)
{
	free(about->description);
	about->description = NULL;
}

/* Sum of the numbers "lost.*". */
static uint64_t sum_lost(const struct recording *recording)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < recording->nr_numbers; i++)
		if (!strncmp(recording_string(recording, recording->numbers[i].key), "lost.", 5))
			lost += recording->numbers[i].value;
	return lost;
}

static void note_complete(struct svg_page *page, const struct recording *recording)
{
	uint64_t user = recording_number(recording, "user_samples"), gone;
	uint64_t complete = recording_number(recording, "complete");
	char a[NUMBER_GROUPED_SIZE], b[NUMBER_GROUPED_SIZE];

	gone = recording_number(recording, "stop.exiting") +
	       recording_number(recording, "stop.execing");
	if (user <= gone)
		return;
	svg_page_note(page, "Complete: %.2f %% (%s of %s user stacks)",
		      share_whole_percent(complete, user - gone), number_grouped(complete, a),
		      number_grouped(user - gone, b));
}

void svg_about_note_books(struct svg_page *page, const struct recording *recording)
{
	uint64_t shown = recording_shown(recording);
	uint64_t fired = recording_number(recording, "fired");
	uint64_t idle = recording_number(recording, "idle");
	uint64_t filtered = recording_number(recording, "filtered"), lost = sum_lost(recording);
	char numbers[5][NUMBER_GROUPED_SIZE];

	if (!fired)
		return;
	svg_page_note(page, "Books: fired %s = shown %s + idle %s + filtered %s + lost %s%s",
		      number_grouped(fired, numbers[0]), number_grouped(shown, numbers[1]),
		      number_grouped(idle, numbers[2]), number_grouped(filtered, numbers[3]),
		      number_grouped(lost, numbers[4]),
		      fired == shown + idle + filtered + lost ? "" : ": DO NOT CLOSE");
	note_complete(page, recording);
}

void svg_about_note_pruned(struct svg_page *page, const struct flame_tree *tree, unsigned side,
			   const struct measure *measure)
{
	uint64_t total = tree->paths->samples[side], cut = tree->paths->cut[side];
	char nr[NUMBER_GROUPED_SIZE], count[192], min[192];

	if (tree->pruned)
		svg_page_note(
			page, "Not drawn: %s frames of less than %s; %s (%.2f %%) end in them",
			number_grouped(tree->pruned, nr),
			measure_said(measure, tree->min_total, min, sizeof(min)),
			measure_said(measure, tree->pruned_samples[side], count, sizeof(count)),
			share_percent(tree->pruned_samples[side], total));
	if (cut)
		svg_page_note(page, "Not drawn: what is deeper than %u frames, of %s",
			      FLAME_STEPS_MAX, measure_said(measure, cut, count, sizeof(count)));
}

void svg_about_put_place(FILE *to, const struct flame_paths *paths, const struct flame_node *node)
{
	if (node->object) {
		fputs(node->kind == FUNCTION_KERNEL ? "\nkernel: " : "\nin ", to);
		xml_put(to, flame_text(paths, node->object), XML_NAME_BYTES);
		fputs(node->objects_differ ? " and others" : "", to);
	} else if (node->kind == FUNCTION_KERNEL) {
		fputs("\nkernel", to);
	}
	if (node->kind == FUNCTION_INLINED)
		fputs("\ninlined", to);
}
