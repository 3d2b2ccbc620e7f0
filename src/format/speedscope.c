/* SPDX-License-Identifier: Apache-2.0 */
#include "format/speedscope.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "view/json.h"
#include "view/labels.h"
#include "view/measure.h"
#include "view/stack_slots.h"
#include "view/viewer.h"

/* The reader lists them in a menu; all samples are in the first profile. */
enum { NR_THREADS = 500 };

struct labels {
	uint32_t ids[LABELS_MAX]; /* of the strings of the texts */
	uint32_t nr;
};

struct writer {
	struct json json;
	struct viewer viewer;
	struct labels *labels;	/* owned [nr_stacks] */
	uint32_t *label_frames; /* owned [nr strings]: frame of a label + 1; 0: no label */
	struct measure measure;
	bool clock;		  /* samples of a clock are shown by the nanoseconds they weigh */
	uint32_t *sources;	  /* owned: function_index_sources() */
	struct stack_slots slots; /* of the stack at hand */
};

static void writer_fini(struct writer *writer)
{
	viewer_fini(&writer->viewer);
	free(writer->labels);
	free(writer->label_frames);
	free(writer->sources);
	vector_fini(&writer->slots);
}

static void intern_labels(struct writer *writer)
{
	const struct recording *recording = writer->viewer.recording;

	writer->labels = must_calloc(recording->nr_stacks, sizeof(*writer->labels));
	for (size_t i = 0; i < recording->nr_stacks; i++)
		writer->labels[i].nr = labels_intern(&writer->viewer.texts, &recording->stacks[i],
						     writer->labels[i].ids);
	writer->label_frames =
		must_calloc(writer->viewer.texts.strings.nr, sizeof(*writer->label_frames));
}

static void write_function(struct writer *writer, uint32_t idx)
{
	const struct shown_function *function = &writer->viewer.index.functions.list[idx];
	const struct recording *recording = writer->viewer.recording;
	struct json *json = &writer->json;
	const struct recording_function *source = &recording->functions[writer->sources[idx]];
	uint32_t path = recording->objects[function->place].path;

	json_open(json, NULL, '{');
	json_string(json, "name", strings_text(&writer->viewer.texts.strings, function->text));
	if (source->file)
		json_string(json, "file", recording_string(recording, source->file));
	else if (path)
		json_string(json, "file", recording_string(recording, path));
	if (source->file && source->start_line)
		json_number(json, "line", source->start_line);
	json_close(json, '}');
}

/* The functions, and behind them the labels, which stand at the roots. */
static void write_frames(struct writer *writer)
{
	uint32_t nr = (uint32_t)writer->viewer.index.functions.nr;
	struct json *json = &writer->json;

	json_open(json, "shared", '{');
	json_open(json, "frames", '[');
	for (uint32_t i = 0; i < writer->viewer.index.functions.nr; i++)
		write_function(writer, i);
	for (size_t i = 0; i < writer->viewer.recording->nr_stacks; i++) {
		const struct labels *labels = &writer->labels[i];

		for (uint32_t j = 0; j < labels->nr; j++) {
			if (writer->label_frames[labels->ids[j]])
				continue;
			writer->label_frames[labels->ids[j]] = ++nr;
			json_open(json, NULL, '{');
			json_string(json, "name",
				    strings_text(&writer->viewer.texts.strings, labels->ids[j]));
			json_close(json, '}');
		}
	}
	json_close(json, ']');
	json_close(json, '}');
}

static void write_stack(struct writer *writer, uint32_t idx, bool labelled)
{
	const struct recording_stack *stack = &writer->viewer.recording->stacks[idx];
	const struct labels *labels = &writer->labels[idx];
	struct stack_slots *slots = &writer->slots;

	slots->nr = 0;
	must_stack_slots(&writer->viewer.texts, stack, &(struct stack_slot_options){ 0 }, slots);
	json_open(&writer->json, NULL, '[');
	for (uint32_t i = 0; labelled && i < labels->nr; i++)
		json_number(&writer->json, NULL, writer->label_frames[labels->ids[i]] - 1);
	for (size_t i = 0; i < slots->nr; i++)
		json_number(&writer->json, NULL, writer->viewer.index.of_slots[slots->list[i]]);
	json_close(&writer->json, ']');
}

/* The reader knows the units bytes, nanoseconds and none. */
static const char *unit_of(const struct writer *writer)
{
	const struct measure *measure = &writer->measure;

	if (writer->clock || (measure->kind == MEASURE_TIME && measure->unit_ns == 1))
		return "nanoseconds";
	return measure->kind == MEASURE_BYTES ? "bytes" : "none";
}

static void open_profile(struct writer *writer, const char *name, uint64_t end)
{
	struct json *json = &writer->json;

	json_open(json, NULL, '{');
	json_string(json, "type", "sampled");
	json_string(json, "name", name);
	json_string(json, "unit", unit_of(writer));
	json_number(json, "startValue", 0);
	json_number(json, "endValue", end);
}

static uint64_t shown_of(const struct writer *writer, uint64_t count, uint64_t weight)
{
	return writer->clock ? weight : measure_of(&writer->measure, count, weight);
}

static uint64_t write_all(struct writer *writer)
{
	const struct recording *recording = writer->viewer.recording;
	struct measure *measure = &writer->measure;
	uint64_t shown = 0, end = 0;

	for (size_t i = 0; i < recording->nr_stacks; i++)
		end += shown_of(writer, recording->stacks[i].count, recording->stacks[i].weight);
	open_profile(writer, "all", end);
	json_open(&writer->json, "samples", '[');
	for (size_t i = 0; i < recording->nr_stacks; i++)
		write_stack(writer, (uint32_t)i, true);
	json_close(&writer->json, ']');
	json_open(&writer->json, "weights", '[');
	for (size_t i = 0; i < recording->nr_stacks; i++) {
		const struct recording_stack *stack = &recording->stacks[i];

		json_number(&writer->json, NULL, shown_of(writer, stack->count, stack->weight));
		shown += measure_stack(measure, stack);
	}
	json_close(&writer->json, ']');
	json_close(&writer->json, '}');
	return shown;
}

/* "comm (pid 1, tid 2)", as far as it is known; to be freed. */
static char *name_thread(const struct writer *writer, const struct thread *thread)
{
	const char *comm = recording_string(writer->viewer.recording, thread->comm);

	if (thread->tid && thread->tid != thread->pid)
		return must_asprintf("%s (pid %u, tid %u)", comm, thread->pid, thread->tid);
	if (thread->pid)
		return must_asprintf("%s (pid %u)", comm, thread->pid);
	return must_strdup(comm);
}

/*
 * If the recording keeps each sample, and shows times, a thread is shown in time: the weight of a
 * sample is the time before it, and time in which the thread was not seen has no frames. Returns
 * how much of such time is before @sample; *at moves to its end.
 */
static uint64_t idle_before(const struct writer *writer, const struct thread_sample *sample,
			    uint64_t *at)
{
	uint64_t from = sample->time_ns > sample->weight ? sample->time_ns - sample->weight : 0;
	bool in_time = writer->clock || (writer->measure.weight && writer->measure.weighs_ns);
	uint64_t idle =
		in_time && writer->viewer.recording->nr_events && from > *at ? from - *at : 0;

	*at += idle + shown_of(writer, sample->count, sample->weight);
	return idle;
}

static void write_thread(struct writer *writer, const struct thread *thread)
{
	const struct thread_sample *samples = &writer->viewer.threads.samples[thread->first];
	AUTO_FREE char *name = name_thread(writer, thread);
	uint64_t end = 0, at = 0;

	for (size_t i = 0; i < thread->nr; i++)
		idle_before(writer, &samples[i], &end);
	open_profile(writer, name, end);
	json_open(&writer->json, "samples", '[');
	for (size_t i = 0; i < thread->nr; i++) {
		if (idle_before(writer, &samples[i], &at)) {
			json_open(&writer->json, NULL, '[');
			json_close(&writer->json, ']');
		}
		write_stack(writer, samples[i].stack, false);
	}
	json_close(&writer->json, ']');
	json_open(&writer->json, "weights", '[');
	at = 0;
	for (size_t i = 0; i < thread->nr; i++) {
		uint64_t idle = idle_before(writer, &samples[i], &at);

		if (idle)
			json_number(&writer->json, NULL, idle);
		json_number(&writer->json, NULL,
			    shown_of(writer, samples[i].count, samples[i].weight));
	}
	json_close(&writer->json, ']');
	json_close(&writer->json, '}');
}

/* Are these samples of a clock, each with the time that it weighs? */
static bool is_clock(const struct recording *recording, const struct measure *measure)
{
	if (!measure->clock)
		return false;
	for (size_t i = 0; i < recording->nr_stacks; i++)
		if (!recording->stacks[i].weight && recording->stacks[i].count)
			return false;
	return true;
}

int speedscope_write(FILE *to, const struct recording *recording,
		     const struct format_options *options, uint64_t *ret_shown, struct fpl_err *err)
{
	CLEANUP(writer_fini)
	struct writer writer = { .json = { .to = to } };
	const struct threads *threads = &writer.viewer.threads;
	struct json *json = &writer.json;

	(void)err;
	measure_init(recording, &writer.measure);
	writer.clock = is_clock(recording, &writer.measure);
	viewer_init(recording, options, &writer.viewer);
	writer.sources = function_index_sources(&writer.viewer.index);
	intern_labels(&writer);
	json_open(json, NULL, '{');
	json_string(json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_string(json, "exporter", "fpless " FPL_VERSION);
	json_string(json, "name", "fpless");
	json_number(json, "activeProfileIndex", 0);
	write_frames(&writer);
	json_open(json, "profiles", '[');
	*ret_shown = write_all(&writer);
	for (size_t i = 0; threads->nr > 1 && i < threads->nr && i < NR_THREADS; i++)
		write_thread(&writer, &threads->list[i]);
	json_close(json, ']');
	json_close(json, '}');
	putc('\n', to);
	return 0;
}
