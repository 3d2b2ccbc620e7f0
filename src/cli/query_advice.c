/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/query_advice.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/vector.h"
#include "cli/missing_names.h"
#include "recording/keys.h"
#include "recording/must_add.h"
#include "report/hints.h"
#include "report/recording_tally.h"
#include "report/report_lines.h"
#include "view/frame_texts.h"
#include "view/json.h"
#include "view/share.h"

enum { ADVICE_LIMIT = 10 }; /* places, and objects */

/* A place where stacks end that are not whole. */
struct cut_place {
	uint64_t samples;
	uint32_t object, text; /* of the function, in the texts; 0: there is no frame */
	uint8_t stop;
	bool generated; /* code in no file */
};

struct advice {
	struct recording recording;
	struct frame_texts texts;
	struct recording_tally user;
	struct recording_losses losses;
	struct missing_names names;
	VECTOR(struct cut_place) places; /* most samples first */
	size_t nr_windows, nr_unnamed;	 /* nr_unnamed: objects that lack names */
	size_t nr_places, nr_objects;	 /* to write */
};

static void advice_fini(struct advice *advice)
{
	vector_fini(&advice->places);
	missing_names_fini(&advice->names);
	frame_texts_fini(&advice->texts);
	recording_fini(&advice->recording);
}

/* Could the stack have been whole, and is it not? */
static bool is_cut_short(const struct recording_stack *stack)
{
	return !stack->no_user && stack->stop < FPL_STOP_COUNT &&
	       stack->stop != FPL_STOP_OUTERMOST && stop_is_judged(stack->stop);
}

static struct cut_place place_of(const struct advice *advice, const struct recording_stack *stack)
{
	struct cut_place ret = { .samples = stack->count, .stop = stack->stop };
	const struct recording *recording = &advice->recording;
	uint32_t frame, slot, nr;

	if (!stack->nr_user)
		return ret;
	frame = recording->frame_ids[stack->first_frame + stack->nr_user - 1u];
	slot = frame_slots(&advice->texts, frame, &nr);
	ret.object = recording->frames[frame].object;
	ret.generated = !ret.object;
	ret.text = advice->texts.ids[slot + nr - 1];
	return ret;
}

static int compare_places(const void *left, const void *right)
{
	const struct cut_place *a = left, *b = right;

	if (a->stop != b->stop)
		return a->stop < b->stop ? -1 : 1;
	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	return (a->text > b->text) - (a->text < b->text);
}

static int compare_samples(const void *left, const void *right)
{
	const struct cut_place *a = left, *b = right;

	if (a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	return compare_places(a, b);
}

static void find_places(struct advice *advice)
{
	const struct recording *recording = &advice->recording;
	struct cut_place *list;
	size_t kept = 0;

	for (size_t i = 0; i < recording->nr_stacks; i++)
		if (is_cut_short(&recording->stacks[i]))
			must_push(&advice->places, place_of(advice, &recording->stacks[i]));
	list = advice->places.list;
	if (!list)
		return;
	qsort(list, advice->places.nr, sizeof(*list), compare_places);
	for (size_t i = 0; i < advice->places.nr; i++) {
		if (kept && !compare_places(&list[kept - 1], &list[i]))
			list[kept - 1].samples += list[i].samples;
		else
			list[kept++] = list[i];
	}
	advice->places.nr = kept;
	qsort(list, kept, sizeof(*list), compare_samples);
}

static const char *function_of(const struct advice *advice, const struct cut_place *place)
{
	return place->text ? strings_text(&advice->texts.strings, place->text)
			   : "code without a frame";
}

static const char *path_of(const struct advice *advice, uint32_t object)
{
	return recording_string(&advice->recording, advice->recording.objects[object].path);
}

static const char *help_for(const struct advice *advice, const struct cut_place *place)
{
	const char *path = path_of(advice, place->object);
	enum runtime runtime = runtime_of_path(path);

	if (!place->text)
		return NULL;
	if (!runtime)
		runtime = runtime_of_symbol(function_of(advice, place));
	return hint_advice((enum fpl_stop)place->stop, runtime, place->generated, WITHOUT_NOTHING);
}

static void judge(struct advice *advice, size_t limit)
{
	const struct frame_text_options options = { .by_function = true };

	frame_texts_init(&advice->recording, &options, &advice->texts);
	recording_tally_count(&advice->recording, &advice->user);
	recording_losses_count(&advice->recording, &advice->losses);
	missing_names_find(&advice->recording, &advice->names);
	find_places(advice);
	/* those that lack lines alone come behind them, and a store keeps no lines */
	while (advice->nr_unnamed < advice->names.missing.nr &&
	       advice->names.missing.list[advice->nr_unnamed].unnamed)
		advice->nr_unnamed++;
	advice->nr_objects = advice->nr_unnamed < limit ? advice->nr_unnamed : limit;
	advice->nr_places = advice->places.nr < limit ? advice->places.nr : limit;
}

static void write_escaped(FILE *to, const char *prefix, const char *text)
{
	char escaped[512];

	text_escape(escaped, sizeof(escaped), text, "");
	fprintf(to, "%s%s", prefix, escaped);
}

static void write_place(FILE *to, const struct advice *advice, const struct cut_place *place)
{
	const char *help = help_for(advice, place);

	fprintf(to, "  %12" PRIu64 " %-13s %s", place->samples,
		stop_key((enum fpl_stop)place->stop), function_of(advice, place));
	if (place->object) {
		write_escaped(to, "  (", text_path_name(path_of(advice, place->object)));
		fputs(")", to);
	}
	fputc('\n', to);
	if (help)
		fprintf(to, "               %s\n", help);
}

static void write_object(FILE *to, const struct advice *advice, const struct missing_object *object)
{
	fprintf(to, "  %11.1f%%",
		share_whole_percent(object->unnamed, advice->names.missing.samples));
	write_escaped(to, " ", path_of(advice, object->object));
	fputc('\n', to);
	if (*object->hint) {
		write_escaped(to, "               ", object->hint);
		fputc('\n', to);
	}
}

static void write_advice(FILE *to, const struct advice *advice)
{
	const struct recording_tally *user = &advice->user;
	uint64_t complete = user->stops[FPL_STOP_OUTERMOST];

	fprintf(to, "%" PRIu64 " samples in %zu window%s, %" PRIu64 " lost\n",
		advice->names.missing.samples, advice->nr_windows,
		advice->nr_windows == 1 ? "" : "s", advice->losses.sum);
	losses_write(to, advice->losses.by_reason, !advice->recording.weight_unit);
	if (user->judged)
		fprintf(to, "\n%.2f %% of %" PRIu64 " user stacks are whole%s\n",
			share_whole_percent(complete, user->judged), user->judged,
			advice->places.nr ? "; the others end in" : "");
	for (size_t i = 0; i < advice->nr_places; i++)
		write_place(to, advice, &advice->places.list[i]);
	if (advice->places.nr > advice->nr_places)
		fprintf(to, "  ... and %zu other places\n", advice->places.nr - advice->nr_places);
	fputs(advice->nr_unnamed ? "\nSamples with functions without a name, by file\n"
				 : "\nNo file lacks names\n",
	      to);
	for (size_t i = 0; i < advice->nr_objects; i++)
		write_object(to, advice, &advice->names.missing.list[i]);
	if (advice->nr_unnamed > advice->nr_objects)
		fprintf(to, "  ... and %zu more files\n", advice->nr_unnamed - advice->nr_objects);
}

static void json_losses(struct json *json, const struct advice *advice)
{
	json_open(json, "losses", '[');
	for (unsigned i = 0; i < FPL_LOST_COUNT; i++) {
		if (!advice->losses.by_reason[i])
			continue;
		json_open(json, NULL, '{');
		json_string(json, "reason", lost_key((enum fpl_lost)i));
		json_number(json, "samples", advice->losses.by_reason[i]);
		json_string(json, "advice",
			    lost_advice((enum fpl_lost)i, !advice->recording.weight_unit));
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void json_place(struct json *json, const struct advice *advice,
		       const struct cut_place *place)
{
	const char *help = help_for(advice, place);

	json_open(json, NULL, '{');
	json_string(json, "stop", stop_key((enum fpl_stop)place->stop));
	json_string(json, "meaning", stop_text((enum fpl_stop)place->stop));
	json_number(json, "samples", place->samples);
	json_string(json, "function", function_of(advice, place));
	json_string(json, "object", path_of(advice, place->object));
	if (help)
		json_string(json, "advice", help);
	json_close(json, '}');
}

static void json_object(struct json *json, const struct advice *advice,
			const struct missing_object *missing)
{
	const struct recording_object *object = &advice->recording.objects[missing->object];

	json_open(json, NULL, '{');
	json_string(json, "object", path_of(advice, missing->object));
	json_string(json, "build_id", recording_string(&advice->recording, object->build_id));
	json_number(json, "samples", missing->unnamed);
	json_number(json, "leaf_samples", missing->unnamed_leaf);
	if (*missing->hint)
		json_string(json, "advice", missing->hint);
	json_close(json, '}');
}

static void json_advice(FILE *to, const struct advice *advice)
{
	struct json json = { .to = to };

	json_open(&json, NULL, '{');
	json_number(&json, "windows", advice->nr_windows);
	json_number(&json, "samples", advice->names.missing.samples);
	json_number(&json, "judged", advice->user.judged);
	json_number(&json, "complete", advice->user.stops[FPL_STOP_OUTERMOST]);
	json_number(&json, "lost", advice->losses.sum);
	json_losses(&json, advice);
	json_number(&json, "places", advice->places.nr);
	JSON_ARRAY(&json, "cut_short", advice->nr_places,
		   json_place(&json, advice, &advice->places.list[i]));
	json_number(&json, "objects", advice->nr_unnamed);
	JSON_ARRAY(&json, "names_missing", advice->nr_objects,
		   json_object(&json, advice, &advice->names.missing.list[i]));
	json_close(&json, '}');
	fputc('\n', to);
}

int query_advice(FILE *to, struct store *store, const struct query_options *options,
		 struct fpl_err *err)
{
	CLEANUP(advice_fini) struct advice advice = { 0 };
	int code;

	must_recording_init(&advice.recording);
	code = store_read(store, &options->input.range, &advice.recording, &advice.nr_windows, err);
	if (code || !advice.recording.nr_stacks)
		return code ? code : -ENODATA;
	judge(&advice, options->limit ? options->limit : ADVICE_LIMIT);
	if (options->json)
		json_advice(to, &advice);
	else
		write_advice(to, &advice);
	return 0;
}
