/* SPDX-License-Identifier: Apache-2.0 */
#include "format/pprof_write.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "pprof.pb-c.h"
#include "format/pprof_fields.h"
#include "format/pprof_meta.h"
#include "format/pprof_places.h"
#include "format/pprof_rules.h"
#include "recording/keys.h"
#include "recording/sample_type.h"
#include "recording/sources.h"
#include "view/measure.h"

struct writer {
	const struct recording *recording;
	struct pprof_fields fields;
	struct pprof_places places;

	int64_t keys[PPROF_LABEL_COUNT]; /* in string_table */
	int64_t stops[FPL_STOP_COUNT];	 /* the same */
	int64_t nanoseconds;		 /* the same */
	VECTOR(uint64_t) locations;	 /* of the sample at hand */
	VECTOR(char) runs;		 /* text of runs */

	bool weighed;	     /* samples have a weight beside their count */
	bool plain;	     /* without labels and comments */
	uint64_t shown;	     /* of the samples that are on disk or pending */
	uint64_t shown_kept; /* of those on disk */
	uint64_t weight, weight_kept;
	uint64_t members; /* whole ones, when shown_kept was noted */
};

static void writer_fini(struct writer *writer)
{
	pprof_fields_fini(&writer->fields);
	pprof_places_fini(&writer->places);
	vector_fini(&writer->locations);
	vector_fini(&writer->runs);
}

static bool has_states(const struct recording *recording)
{
	for (size_t i = 0; i < recording->nr_stacks; i++)
		if (recording->stacks[i].state)
			return true;
	return false;
}

/* The words that many samples have, before the first. */
static void put_words(struct writer *writer)
{
	static const char *const keys[PPROF_LABEL_COUNT] = {
#define X(name, key) [PPROF_LABEL_##name] = (key),
		PPROF_LABEL_LIST(X)
#undef X
	};
	struct pprof_fields *fields = &writer->fields;

	if (writer->plain)
		return;
	writer->nanoseconds = pprof_fields_word(fields, "nanoseconds");
	for (size_t i = 0; i < PPROF_LABEL_COUNT; i++)
		if ((i != PPROF_LABEL_EVENT || writer->recording->nr_sources) &&
		    (i != PPROF_LABEL_KEY || writer->recording->key) &&
		    (i != PPROF_LABEL_STATE || has_states(writer->recording)))
			writer->keys[i] = pprof_fields_word(fields, keys[i]);
	for (size_t i = 0; i < FPL_STOP_COUNT; i++)
		writer->stops[i] = pprof_fields_word(fields, stop_key((enum fpl_stop)i));
}

/* A label under construction; those that are used are linked. */
struct labels {
	Pprof__Label list[PPROF_LABEL_COUNT], *used[PPROF_LABEL_COUNT];
	size_t nr;
};

static Pprof__Label *add_label(struct writer *writer, struct labels *labels, enum pprof_label which)
{
	Pprof__Label *label = labels->used[labels->nr] = &labels->list[labels->nr];

	labels->nr++;
	pprof__label__init(label);
	label->key = writer->keys[which];
	return label;
}

static void add_number(struct writer *writer, struct labels *labels, enum pprof_label which,
		       uint64_t value)
{
	add_label(writer, labels, which)->num = (int64_t)value;
}

static void add_text(struct writer *writer, struct labels *labels, enum pprof_label which,
		     uint32_t text)
{
	add_label(writer, labels, which)->str = pprof_fields_text(&writer->fields, text);
}

static void append_run(struct writer *writer, const struct pprof_run *run, uint32_t nr)
{
	char text[32];
	int length = snprintf(text, sizeof(text), "%s%s%s:%" PRIu32, writer->runs.nr ? "," : "",
			      pprof_run_key(run), run->exact ? "!" : "", nr);

	must_reserve(&writer->runs, writer->runs.nr + sizeof(text));
	memcpy(writer->runs.list + writer->runs.nr, text, (size_t)length + 1);
	writer->runs.nr += (size_t)length;
}

/* A walk as it is written: leaf first, kernel frames first. */
struct walk {
	const struct recording_stack *stack;
	size_t first_kernel, nr_kernel; /* frames of the stack */
	size_t first_user, nr_user;	/* the same */
	uint8_t usual;			/* origin of its frames where nothing is said */
};

static const struct recording_frame *frame_of(const struct writer *writer, const struct walk *walk,
					      size_t i)
{
	return recording_frame_at(writer->recording, walk->stack,
				  i < walk->nr_kernel ? walk->first_kernel + i
						      : walk->first_user + i - walk->nr_kernel);
}

static struct pprof_run run_of(const struct writer *writer, const struct walk *walk, size_t i)
{
	const struct recording_frame *frame = frame_of(writer, walk, i);

	bool kernel = frame->kind == RECORDING_KERNEL;

	return (struct pprof_run){
		.kernel = kernel,
		.exact = frame->exact,
		.origin = kernel ? 0 : frame->origin,
	};
}

/* Is every frame what a reader takes it for that is told nothing? */
static bool walk_is_usual(const struct writer *writer, const struct walk *walk)
{
	size_t nr = walk->nr_kernel + walk->nr_user, nr_kernel = 0;

	while (nr_kernel < nr &&
	       pprof_places_is_kernel(&writer->places, frame_of(writer, walk, nr_kernel)))
		nr_kernel++;
	if (nr_kernel != walk->nr_kernel)
		return false;
	for (size_t i = 0; i < nr; i++) {
		struct pprof_run usual = pprof_run_usual(i, nr_kernel, walk->usual);
		struct pprof_run run = run_of(writer, walk, i);

		if (!pprof_runs_equal(&usual, &run))
			return false;
	}
	return true;
}

/* Label @which, unless it says what goes without saying. */
static void add_runs(struct writer *writer, struct labels *labels, enum pprof_label which,
		     const struct walk *walk)
{
	size_t nr = walk->nr_kernel + walk->nr_user, length;

	if (walk_is_usual(writer, walk))
		return;
	writer->runs.nr = 0;
	for (size_t i = 0; i < nr; i += length) {
		struct pprof_run run = run_of(writer, walk, i), next = run;

		for (length = 1; i + length < nr; length++) {
			next = run_of(writer, walk, i + length);
			if (!pprof_runs_equal(&run, &next))
				break;
		}
		append_run(writer, &run, (uint32_t)length);
	}
	add_label(writer, labels, which)->str =
		pprof_fields_word(&writer->fields, writer->runs.list);
}

/* Put the locations of @walk behind those before. */
static void add_locations(struct writer *writer, const struct walk *walk)
{
	for (size_t i = 0; i < walk->nr_kernel + walk->nr_user; i++)
		must_push(&writer->locations,
			  pprof_places_location(&writer->places, &writer->fields,
						frame_of(writer, walk, i)));
}

/* Add what is known of the task, and the thread and the CPU of an event. */
static void add_task(struct writer *writer, struct labels *labels,
		     const struct recording_stack *stack, const struct recording_event *event)
{
	if (stack->has & RECORDING_HAS_COMM)
		add_text(writer, labels, PPROF_LABEL_COMM, stack->comm);
	if (stack->has & RECORDING_HAS_PID)
		add_number(writer, labels, PPROF_LABEL_PID, stack->pid);
	if (event || stack->has & RECORDING_HAS_TID)
		add_number(writer, labels, PPROF_LABEL_TID, event ? event->tid : stack->tid);
	if (event || stack->has & RECORDING_HAS_CPU)
		add_number(writer, labels, PPROF_LABEL_CPU, event ? event->cpu : stack->cpu);
	if (stack->has & RECORDING_HAS_CGROUP)
		add_text(writer, labels, PPROF_LABEL_CGROUP, stack->cgroup);
	if (stack->task)
		add_number(writer, labels, PPROF_LABEL_PROCESS_START, stack->task);
	if (stack->no_user)
		add_number(writer, labels, PPROF_LABEL_NO_USER, 1);
	if (stack->has & RECORDING_HAS_FP)
		add_number(writer, labels, PPROF_LABEL_CLASS, stack->class);
	if (stack->has & RECORDING_HAS_KEY)
		add_text(writer, labels, PPROF_LABEL_KEY, stack->key);
	if (stack->state)
		add_label(writer, labels, PPROF_LABEL_STATE)->str =
			pprof_fields_word(&writer->fields, state_key(stack->state));
	if (writer->recording->nr_sources)
		add_text(writer, labels, PPROF_LABEL_EVENT,
			 writer->recording->sources[stack->source].event);
}

static void add_labels(struct writer *writer, struct labels *labels,
		       const struct recording_stack *stack, const struct recording_event *event)
{
	add_task(writer, labels, stack, event);
	if (stack->stop < FPL_STOP_COUNT)
		add_label(writer, labels, PPROF_LABEL_STOP)->str = writer->stops[stack->stop];
	if (event) {
		Pprof__Label *label = add_label(writer, labels, PPROF_LABEL_TIMESTAMP);

		label->num = (int64_t)(writer->recording->start_unix_ns + event->time_ns);
		label->num_unit = writer->nanoseconds;
	}
}

/* Note how much is on disk for good. */
static void note_kept(struct writer *writer)
{
	const struct gzip_members *members = &writer->fields.members;

	if (members->error || members->nr == writer->members)
		return;
	writer->members = members->nr;
	writer->shown_kept = writer->shown;
	writer->weight_kept = writer->weight;
}

/* In the order of PPROF_HEAP_LIST. */
static void put_heap(const struct recording *recording, const struct recording_stack *stack,
		     int64_t *values)
{
	const struct recording_heap heap =
		recording_heap_of(recording, (size_t)(stack - recording->stacks));
	size_t i = 0;

#define X(name, unit) values[i++] = (int64_t)heap.name;
	PPROF_HEAP_LIST(X)
#undef X
}

/* @count samples of @stack, or one at the time of @event (NULL: none). */
static void write_sample(struct writer *writer, const struct recording_stack *stack,
			 const struct recording_event *event, uint64_t count, uint64_t weight)
{
	const struct walk walk = { stack, stack->nr_user, stack->nr_kernel, 0, stack->nr_user, 0 };
	const struct walk fp = { .stack = stack,
				 .first_user = (size_t)stack->nr_user + stack->nr_kernel,
				 .nr_user = stack->nr_fp,
				 .usual = FPL_ORIGIN_FP };
	int64_t values[1 + RECORDING_SOURCES_MAX] = { (int64_t)count };
	Pprof__Sample sample = PPROF__SAMPLE__INIT;
	struct labels labels;

	values[1 + stack->source] = (int64_t)weight;
	if (writer->recording->has_heap)
		put_heap(writer->recording, stack, values);
	labels.nr = 0;
	writer->locations.nr = 0;
	add_locations(writer, &walk);
	add_locations(writer, &fp);
	if (!writer->plain) {
		add_labels(writer, &labels, stack, event);
		add_runs(writer, &labels, PPROF_LABEL_ORIGIN, &walk);
		add_runs(writer, &labels, PPROF_LABEL_FP_ORIGIN, &fp);
	}
	note_kept(writer); /* this sample is not there yet */
	if (event)
		sample.own_labels = (RECORDING_HAS_TID | RECORDING_HAS_CPU) & ~(unsigned)stack->has;
	sample.n_location_id = walk.nr_kernel + walk.nr_user;
	sample.n_fp_location_id = fp.nr_user;
	sample.location_id = writer->locations.list;
	if (fp.nr_user)
		sample.fp_location_id = writer->locations.list + sample.n_location_id;
	sample.n_value = writer->recording->has_heap
				 ? PPROF_HEAP_TYPES
				 : 1 + (writer->weighed ? sources_nr(writer->recording) : 0);
	sample.value = values;
	sample.n_label = labels.nr;
	sample.label = labels.used;
	pprof_fields_message(&writer->fields, PPROF_FIELD_SAMPLE, &sample.base);
	writer->shown += count;
	writer->weight += weight;
	note_kept(writer);
}

/* Events by stack, those of one stack in the order of time. */
struct events {
	size_t *order; /* owned: indexes */
	size_t *first; /* owned [nr_stacks + 1]: those of stack i are order[first[i] .. first[i +
			  1]) */
};

static void events_fini(struct events *events)
{
	free(events->order);
	free(events->first);
}

static void events_init(const struct recording *recording, struct events *ret)
{
	size_t *first = must_calloc(recording->nr_stacks + 2, sizeof(*first));

	*ret = (struct events){ must_calloc(recording->nr_events, sizeof(*ret->order)), first };
	/* first[i + 2]: how many stack i has; then first[i + 1]: where its next one goes */
	for (size_t i = 0; i < recording->nr_events; i++)
		first[recording->events[i].stack + 2]++;
	for (size_t i = 2; i < recording->nr_stacks + 2; i++)
		first[i] += first[i - 1];
	for (size_t i = 0; i < recording->nr_events; i++)
		ret->order[first[recording->events[i].stack + 1]++] = i;
}

static uint64_t at_most(uint64_t value, uint64_t most)
{
	return value < most ? value : most;
}

/*
 * One sample for each event of the stack, and what its count holds beyond them (samples whose time
 * was not kept) as one more, so that counts and weights add up.
 */
static void write_stack(struct writer *writer, const struct recording_stack *stack,
			const size_t *events, size_t nr_events)
{
	uint64_t count = stack->count, weight = stack->weight;

	for (size_t i = 0; i < nr_events && !writer->fields.members.error; i++) {
		const struct recording_event *event = &writer->recording->events[events[i]];
		uint64_t one = at_most(1, count), share = at_most(event->weight, weight);

		write_sample(writer, stack, event, one, share);
		count -= one;
		weight -= share;
	}
	if (count || weight || !nr_events)
		write_sample(writer, stack, NULL, count, weight);
}

static void write_stacks(struct writer *writer)
{
	const struct recording *recording = writer->recording;
	CLEANUP(events_fini) struct events events;

	events_init(recording, &events);
	for (size_t i = 0; i < recording->nr_stacks && !writer->fields.members.error; i++)
		write_stack(writer, &recording->stacks[i], &events.order[events.first[i]],
			    events.first[i + 1] - events.first[i]);
	gzip_members_flush(&writer->fields.members);
	note_kept(writer);
}

/* Write all; @writer: what it is told to leave out. */
static int write_all(struct writer *writer, FILE *to, uint64_t *ret_shown, struct fpl_err *err)
{
	const struct recording *recording = writer->recording;
	struct measure measure;
	int error;

	measure_init(recording, &measure);
	writer->weighed = sample_type_is_weighed(recording);
	pprof_fields_init(&writer->fields, to, recording);
	pprof_places_init(&writer->places, recording);
	writer->places.all_named = writer->plain;
	pprof_meta_write(&writer->fields, writer->weighed, writer->plain);
	put_words(writer);
	pprof_places_start(&writer->places, &writer->fields);
	write_stacks(writer);
	*ret_shown = measure_of(&measure, writer->shown_kept, writer->weight_kept);
	error = writer->fields.members.error;
	if (error)
		return fpl_fail(err, error, "%" PRIu64 " of %" PRIu64 " samples are in it: %s",
				writer->shown_kept, recording_shown(recording), strerror(-error));
	return 0;
}

int pprof_write(FILE *to, const struct recording *recording, const struct format_options *options,
		uint64_t *ret_shown, struct fpl_err *err)
{
	CLEANUP(writer_fini) struct writer writer = { .recording = recording };

	(void)options;
	return write_all(&writer, to, ret_shown, err);
}

int pprof_write_plain(FILE *to, const struct recording *recording, uint64_t *ret_bytes,
		      struct fpl_err *err)
{
	CLEANUP(writer_fini) struct writer writer = { .recording = recording, .plain = true };
	uint64_t shown;
	int code = write_all(&writer, to, &shown, err);

	*ret_bytes = writer.fields.bytes;
	return code;
}
