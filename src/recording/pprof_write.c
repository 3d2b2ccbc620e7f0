/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/pprof_write.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "pprof.pb-c.h"
#include "recording/pprof_fields.h"
#include "recording/pprof_places.h"
#include "recording/pprof_rules.h"
#include "recording/sample_type.h"
#include "recording/pprof_meta.h"

struct writer {
	const struct recording *recording;
	struct pprof_fields fields;
	struct pprof_places places;

	int64_t keys[PPROF_LABEL_COUNT];    /* in string_table */
	int64_t stops[FPL_STOP_COUNT];	    /* the same */
	int64_t nanoseconds;		    /* the same */
	uint64_t *locations, *fp_locations; /* owned [room_locations]: of the sample at hand */
	size_t room_locations;
	char *runs; /* owned [room_runs]: text of runs */
	size_t nr_runs, room_runs;

	bool weighed;	     /* samples have a weight beside their count */
	uint64_t shown;	     /* of the samples that are on disk or pending */
	uint64_t shown_kept; /* of those on disk */
	uint64_t members;    /* whole ones, when shown_kept was noted */
};

static void writer_fini(struct writer *writer)
{
	pprof_fields_fini(&writer->fields);
	pprof_places_fini(&writer->places);
	free(writer->locations);
	free(writer->fp_locations);
	free(writer->runs);
}

/* The words that many samples have, before the first. */
static int put_words(struct writer *writer, struct fpl_err *err)
{
	static const char *const keys[PPROF_LABEL_COUNT] = {
#define X(name, key) [PPROF_LABEL_##name] = (key),
		PPROF_LABEL_LIST(X)
#undef X
	};
	static const char *const stops[FPL_STOP_COUNT] = {
#define X(name, key, text) [FPL_STOP_##name] = #key,
		FPL_STOP_LIST(X)
#undef X
	};
	struct pprof_fields *fields = &writer->fields;
	int error = pprof_fields_word(fields, "nanoseconds", &writer->nanoseconds, err);

	for (size_t i = 0; !error && i < PPROF_LABEL_COUNT; i++)
		error = pprof_fields_word(fields, keys[i], &writer->keys[i], err);
	for (size_t i = 0; !error && i < FPL_STOP_COUNT; i++)
		error = pprof_fields_word(fields, stops[i], &writer->stops[i], err);
	return error;
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

static int add_text(struct writer *writer, struct labels *labels, enum pprof_label which,
		    uint32_t text, struct fpl_err *err)
{
	return pprof_fields_text(&writer->fields, text, &add_label(writer, labels, which)->str,
				 err);
}

static int append_run(struct writer *writer, const struct pprof_run *run, uint32_t nr)
{
	char text[32];
	int length = snprintf(text, sizeof(text), "%s%s%s:%" PRIu32, writer->nr_runs ? "," : "",
			      pprof_run_key(run), run->exact ? "!" : "", nr);

	if (writer->nr_runs + sizeof(text) > writer->room_runs) {
		size_t room = 2 * writer->room_runs + sizeof(text);
		char *bigger = realloc(writer->runs, room);

		if (!bigger)
			return -ENOMEM;
		writer->runs = bigger;
		writer->room_runs = room;
	}
	memcpy(writer->runs + writer->nr_runs, text, (size_t)length + 1);
	writer->nr_runs += (size_t)length;
	return 0;
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

	return (struct pprof_run){
		.kernel = i < walk->nr_kernel,
		.exact = frame->exact,
		.origin = i < walk->nr_kernel ? 0 : frame->origin,
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
static int add_runs(struct writer *writer, struct labels *labels, enum pprof_label which,
		    const struct walk *walk, struct fpl_err *err)
{
	size_t nr = walk->nr_kernel + walk->nr_user, length;
	int error = 0;

	if (walk_is_usual(writer, walk))
		return 0;
	writer->nr_runs = 0;
	for (size_t i = 0; !error && i < nr; i += length) {
		struct pprof_run run = run_of(writer, walk, i), next = run;

		for (length = 1; i + length < nr; length++) {
			next = run_of(writer, walk, i + length);
			if (!pprof_runs_equal(&run, &next))
				break;
		}
		error = append_run(writer, &run, (uint32_t)length);
	}
	if (error)
		return fpl_fail(err, error, "out of memory");
	return pprof_fields_word(&writer->fields, writer->runs,
				 &add_label(writer, labels, which)->str, err);
}

static int add_locations(struct writer *writer, const struct walk *walk, uint64_t *ret,
			 struct fpl_err *err)
{
	int error = 0;

	for (size_t i = 0; !error && i < walk->nr_kernel + walk->nr_user; i++)
		error = pprof_places_location(&writer->places, &writer->fields,
					      frame_of(writer, walk, i), &ret[i], err);
	return error;
}

/* What is known of the task; of an event the thread and the CPU it was on. */
static int add_task(struct writer *writer, struct labels *labels,
		    const struct recording_stack *stack, const struct recording_event *event,
		    struct fpl_err *err)
{
	int error = 0;

	if (stack->has & RECORDING_HAS_COMM)
		error = add_text(writer, labels, PPROF_LABEL_COMM, stack->comm, err);
	if (stack->has & RECORDING_HAS_PID)
		add_number(writer, labels, PPROF_LABEL_PID, stack->pid);
	if (event || stack->has & RECORDING_HAS_TID)
		add_number(writer, labels, PPROF_LABEL_TID, event ? event->tid : stack->tid);
	if (event || stack->has & RECORDING_HAS_CPU)
		add_number(writer, labels, PPROF_LABEL_CPU, event ? event->cpu : stack->cpu);
	if (!error && stack->has & RECORDING_HAS_CGROUP)
		error = add_text(writer, labels, PPROF_LABEL_CGROUP, stack->cgroup, err);
	if (stack->task)
		add_number(writer, labels, PPROF_LABEL_PROCESS_START, stack->task);
	if (stack->no_user)
		add_number(writer, labels, PPROF_LABEL_NO_USER, 1);
	if (stack->has & RECORDING_HAS_FP)
		add_number(writer, labels, PPROF_LABEL_CLASS, stack->class);
	return error;
}

static int add_labels(struct writer *writer, struct labels *labels,
		      const struct recording_stack *stack, const struct recording_event *event,
		      struct fpl_err *err)
{
	int error = add_task(writer, labels, stack, event, err);

	if (!error && stack->stop < FPL_STOP_COUNT)
		add_label(writer, labels, PPROF_LABEL_STOP)->str = writer->stops[stack->stop];
	if (!error && event) {
		Pprof__Label *label = add_label(writer, labels, PPROF_LABEL_TIMESTAMP);

		label->num = (int64_t)(writer->recording->start_unix_ns + event->time_ns);
		label->num_unit = writer->nanoseconds;
	}
	return error;
}

static int reserve_locations(struct writer *writer, size_t nr)
{
	if (nr <= writer->room_locations)
		return 0;

	uint64_t *walk = reallocarray(writer->locations, 2 * nr, sizeof(*walk));

	if (walk)
		writer->locations = walk;

	uint64_t *fp = reallocarray(writer->fp_locations, 2 * nr, sizeof(*fp));

	if (fp)
		writer->fp_locations = fp;
	if (!walk || !fp)
		return -ENOMEM;
	writer->room_locations = 2 * nr;
	return 0;
}

/* What is on disk for good. */
static void note_kept(struct writer *writer)
{
	if (writer->fields.members.nr == writer->members)
		return;
	writer->members = writer->fields.members.nr;
	writer->shown_kept = writer->shown;
}

/* @count samples of @stack, or one at the time of @event (NULL: none). */
static int write_sample(struct writer *writer, const struct recording_stack *stack,
			const struct recording_event *event, uint64_t count, uint64_t weight_ns,
			struct fpl_err *err)
{
	const struct walk walk = { stack, stack->nr_user, stack->nr_kernel, 0, stack->nr_user, 0 };
	const struct walk fp = { .stack = stack,
				 .first_user = (size_t)stack->nr_user + stack->nr_kernel,
				 .nr_user = stack->nr_fp,
				 .usual = FPL_ORIGIN_FP };
	int64_t values[] = { (int64_t)count, (int64_t)weight_ns };
	Pprof__Sample sample = PPROF__SAMPLE__INIT;
	struct labels labels;

	labels.nr = 0;
	sample.n_location_id = walk.nr_kernel + walk.nr_user;
	sample.n_fp_location_id = fp.nr_user;
	if (reserve_locations(writer, sample.n_location_id + sample.n_fp_location_id))
		return fpl_fail(err, -ENOMEM, "out of memory");

	int error = add_locations(writer, &walk, writer->locations, err);

	if (!error)
		error = add_locations(writer, &fp, writer->fp_locations, err);
	if (!error)
		error = add_labels(writer, &labels, stack, event, err);
	if (!error)
		error = add_runs(writer, &labels, PPROF_LABEL_ORIGIN, &walk, err);
	if (!error)
		error = add_runs(writer, &labels, PPROF_LABEL_FP_ORIGIN, &fp, err);
	if (error)
		return error;
	note_kept(writer); /* this sample is not there yet */
	if (event)
		sample.own_labels = (RECORDING_HAS_TID | RECORDING_HAS_CPU) & ~(unsigned)stack->has;
	sample.location_id = writer->locations;
	sample.fp_location_id = writer->fp_locations;
	sample.n_value = writer->weighed ? 2 : 1;
	sample.value = values;
	sample.n_label = labels.nr;
	sample.label = labels.used;
	error = pprof_fields_message(&writer->fields, PPROF_FIELD_SAMPLE, &sample.base, err);
	if (error)
		return error;
	writer->shown += count;
	note_kept(writer);
	return 0;
}

/* Indexes of the events, those of one stack together, in the order of time. */
static int order_events(const struct recording *recording, size_t **ret_first, size_t **ret_order)
{
	AUTO_FREE size_t *first = calloc(recording->nr_stacks + 2, sizeof(*first));
	AUTO_FREE size_t *order = calloc(recording->nr_events + 1, sizeof(*order));

	if (!first || !order)
		return -ENOMEM;
	/* first[i + 2]: how many stack i has; then first[i + 1]: where its next one goes */
	for (size_t i = 0; i < recording->nr_events; i++)
		first[recording->events[i].stack + 2]++;
	for (size_t i = 2; i < recording->nr_stacks + 2; i++)
		first[i] += first[i - 1];
	for (size_t i = 0; i < recording->nr_events; i++)
		order[first[recording->events[i].stack + 1]++] = i;
	*ret_first = TAKE_PTR(first);
	*ret_order = TAKE_PTR(order);
	return 0;
}

static uint64_t at_most(uint64_t value, uint64_t most)
{
	return value < most ? value : most;
}

/*
 * One sample for each event of the stack, and what its count holds beyond them (samples whose time
 * was not kept) as one more, so that counts and weights add up.
 */
static int write_stack(struct writer *writer, const struct recording_stack *stack,
		       const size_t *events, size_t nr_events, struct fpl_err *err)
{
	uint64_t count = stack->count, weight_ns = stack->weight_ns;
	int error = 0;

	for (size_t i = 0; !error && i < nr_events; i++) {
		const struct recording_event *event = &writer->recording->events[events[i]];
		uint64_t one = at_most(1, count), weight = at_most(event->weight_ns, weight_ns);

		error = write_sample(writer, stack, event, one, weight, err);
		count -= one;
		weight_ns -= weight;
	}
	if (!error && (count || weight_ns || !nr_events))
		error = write_sample(writer, stack, NULL, count, weight_ns, err);
	return error;
}

static int write_stacks(struct writer *writer, struct fpl_err *err)
{
	const struct recording *recording = writer->recording;
	AUTO_FREE size_t *first = NULL;
	AUTO_FREE size_t *order = NULL;
	int error = order_events(recording, &first, &order);

	if (error)
		return fpl_fail(err, error, "out of memory");
	for (size_t i = 0; !error && i < recording->nr_stacks; i++)
		error = write_stack(writer, &recording->stacks[i], &order[first[i]],
				    first[i + 1] - first[i], err);
	if (!error)
		error = gzip_members_flush(&writer->fields.members, err);
	if (!error)
		note_kept(writer);
	return error;
}

int pprof_write(FILE *to, const struct recording *recording, uint64_t *ret_shown,
		struct fpl_err *err)
{
	CLEANUP(writer_fini)
	struct writer writer = { .recording = recording,
				 .weighed = sample_type_is_weighed(recording) };
	int error = pprof_fields_init(&writer.fields, to, recording, err);

	if (!error)
		error = pprof_places_init(&writer.places, recording, err);
	if (!error)
		error = pprof_meta_write(&writer.fields, writer.weighed, err);
	if (!error)
		error = put_words(&writer, err);
	if (!error)
		error = pprof_places_start(&writer.places, &writer.fields, err);
	if (!error)
		error = write_stacks(&writer, err);
	*ret_shown = writer.shown_kept;
	if (error)
		return fpl_fail_in(err, error, "%" PRIu64 " of %" PRIu64 " samples are in it",
				   writer.shown_kept, recording_shown(recording));
	return 0;
}
