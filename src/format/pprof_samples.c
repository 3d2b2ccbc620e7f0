/* SPDX-License-Identifier: Apache-2.0 */
#include "format/pprof_samples.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/pprof_rules.h"
#include "recording/keys.h"
#include "recording/must_add.h"
#include "recording/sample_type.h"
#include "recording/sources.h"

#define FRAMES_MAX UINT16_MAX

void pprof_samples_init(struct pprof_samples *samples, struct pprof_tables *tables,
			const struct pprof_values *values, bool events)
{
	*samples = (struct pprof_samples){ .tables = tables, .values = values, .events = events };
}

void pprof_samples_fini(struct pprof_samples *samples)
{
	vector_fini(&samples->locations);
	vector_fini(&samples->runs);
	vector_fini(&samples->frames);
	vector_fini(&samples->labels);
}

size_t pprof_samples_bytes(const struct pprof_samples *samples)
{
	return vector_bytes(&samples->locations) + vector_bytes(&samples->runs) +
	       vector_bytes(&samples->frames) + vector_bytes(&samples->labels);
}

/* Keys by which others say what our labels say, behind our own. */
static const struct {
	const char *key;
	enum pprof_label label;
} label_keys[] = {
#define X(name, key) { key, PPROF_LABEL_##name },
	PPROF_LABEL_LIST(X)
#undef X
		{ "process_id", PPROF_LABEL_PID },
	{ "process.pid", PPROF_LABEL_PID },
	{ "thread id", PPROF_LABEL_TID },
	{ "thread_id", PPROF_LABEL_TID },
	{ "thread-id", PPROF_LABEL_TID },
	{ "thread.id", PPROF_LABEL_TID },
	{ "thread", PPROF_LABEL_COMM },
	{ "thread name", PPROF_LABEL_COMM },
	{ "thread_name", PPROF_LABEL_COMM },
	{ "thread-name", PPROF_LABEL_COMM },
	{ "thread.name", PPROF_LABEL_COMM },
	{ "thread_comm", PPROF_LABEL_COMM },
	{ "process", PPROF_LABEL_COMM },
	{ "process_comm", PPROF_LABEL_COMM },
	{ "process_name", PPROF_LABEL_COMM },
	{ "end_timestamp_ns", PPROF_LABEL_TIMESTAMP },
};

/* Which label a key is; PPROF_LABEL_COUNT: none. Looked up once for each text. */
static enum pprof_label label_of(struct pprof_samples *samples, uint32_t text)
{
	const char *key = recording_string(samples->tables->recording, text);
	enum pprof_label label = PPROF_LABEL_COUNT;
	uint8_t *known;

	while (text >= samples->labels.nr)
		must_push(&samples->labels, 0);
	known = &samples->labels.list[text];
	if (*known)
		return (enum pprof_label)(*known - 1);
	for (size_t i = 0; label == PPROF_LABEL_COUNT && i < ARRAY_SIZE(label_keys); i++)
		if (!strcmp(key, label_keys[i].key))
			label = label_keys[i].label;
	*known = (uint8_t)(label + 1);
	return label;
}

/* The labels of a sample that do not go into the stack. */
struct said {
	const char *origin, *fp_origin; /* NULL: nothing */
	bool has_time;
	uint64_t time;
	uint32_t tid, cpu;
};

/* A number some write as one, and some as text. False: not of 32 bits. */
static bool number_of(const Pprof__Label *label, const char *text, uint32_t *ret)
{
	uint64_t value = (uint64_t)label->num;

	if (*text) {
		char *end;

		errno = 0;
		value = strtoull(text, &end, 10);
		if (errno || *end || *text < '0' || *text > '9')
			return false;
	}
	if (value > UINT32_MAX)
		return false;
	*ret = (uint32_t)value;
	return true;
}

static void set_name(struct recording_stack *stack, uint32_t *name, unsigned has, uint32_t text)
{
	if (stack->has & has)
		return; /* the first one, of a thread and its process */
	*name = text;
	stack->has |= (uint8_t)has;
}

static void set_number(struct recording_stack *stack, uint32_t *number, unsigned has,
		       const Pprof__Label *label, const char *text)
{
	if (number_of(label, text, number))
		stack->has |= (uint8_t)has;
}

static void set_source(struct pprof_samples *samples, struct recording_stack *stack,
		       const char *event)
{
	const struct recording *recording = samples->tables->recording;
	size_t source = recording->nr_sources ? sources_find(recording, event) : 0;

	stack->source = source == SOURCES_NONE ? 0 : (uint8_t)source;
}

static void apply_label(struct pprof_samples *samples, enum pprof_label which,
			const Pprof__Label *label, struct recording_stack *stack, struct said *said)
{
	uint32_t text = pprof_tables_text(samples->tables, label->str);
	const char *string = recording_string(samples->tables->recording, text);

	switch (which) {
	case PPROF_LABEL_COMM:
		set_name(stack, &stack->comm, RECORDING_HAS_COMM, text);
		break;
	case PPROF_LABEL_CGROUP:
		set_name(stack, &stack->cgroup, RECORDING_HAS_CGROUP, text);
		break;
	case PPROF_LABEL_PID:
		set_number(stack, &stack->pid, RECORDING_HAS_PID, label, string);
		break;
	case PPROF_LABEL_TID:
		set_number(stack, &stack->tid, RECORDING_HAS_TID, label, string);
		break;
	case PPROF_LABEL_CPU:
		set_number(stack, &stack->cpu, RECORDING_HAS_CPU, label, string);
		break;
	case PPROF_LABEL_STOP:
		stack->stop = stop_of_key(string);
		break;
	case PPROF_LABEL_ORIGIN:
		said->origin = string;
		break;
	case PPROF_LABEL_FP_ORIGIN:
		said->fp_origin = string;
		break;
	case PPROF_LABEL_PROCESS_START:
		stack->task = (uint64_t)label->num;
		break;
	case PPROF_LABEL_TIMESTAMP:
		said->time = (uint64_t)label->num;
		said->has_time = true;
		break;
	case PPROF_LABEL_NO_USER:
		stack->no_user = label->num;
		break;
	case PPROF_LABEL_KEY:
		set_name(stack, &stack->key, RECORDING_HAS_KEY, text);
		break;
	case PPROF_LABEL_STATE:
		stack->state = state_of_key(string);
		break;
	case PPROF_LABEL_EVENT:
		set_source(samples, stack, string);
		break;
	case PPROF_LABEL_CLASS:
		stack->class = (uint8_t)label->num;
		stack->has |= RECORDING_HAS_FP;
		break;
	case PPROF_LABEL_COUNT:
		break;
	}
}

static void apply_labels(struct pprof_samples *samples, const Pprof__Sample *sample,
			 struct recording_stack *stack, struct said *said)
{
	const struct pprof_tables *tables = samples->tables;

	for (size_t i = 0; i < sample->n_label; i++) {
		const Pprof__Label *label = sample->label[i];
		enum pprof_label which = label_of(samples, pprof_tables_text(tables, label->key));

		/* what others mean by a word of ours is not known */
		if (tables->own || (which != PPROF_LABEL_ORIGIN && which != PPROF_LABEL_FP_ORIGIN &&
				    which != PPROF_LABEL_STOP && which != PPROF_LABEL_CLASS &&
				    which != PPROF_LABEL_EVENT && which != PPROF_LABEL_KEY &&
				    which != PPROF_LABEL_STATE && which != PPROF_LABEL_NO_USER))
			apply_label(samples, which, label, stack, said);
	}
	said->tid = stack->tid;
	said->cpu = stack->cpu;
	if (sample->own_labels & RECORDING_HAS_TID)
		stack->tid = 0;
	if (sample->own_labels & RECORDING_HAS_CPU)
		stack->cpu = 0;
	stack->has &= (uint8_t) ~(sample->own_labels & (RECORDING_HAS_TID | RECORDING_HAS_CPU));
}

/* A walk of the sample at hand: locations[first .. + nr), leaf first. */
struct walk {
	size_t first, nr, nr_kernel;
};

/* The walk over the locations @ids [nr], behind those before. */
static struct walk find_locations(struct pprof_samples *samples, const uint64_t *ids, size_t nr)
{
	struct walk walk = { .first = samples->locations.nr, .nr = nr };

	must_reserve(&samples->locations, walk.first + nr + 1);
	must_reserve(&samples->runs, walk.first + nr + 1);
	for (size_t i = 0; i < nr; i++)
		must_push(&samples->locations, pprof_frames_location(samples->tables, ids[i]));
	return walk;
}

/* Parse label @text about the frames of @walk. False: no label, or of another number of frames. */
static bool parse_runs(struct pprof_samples *samples, const struct walk *walk, const char *text)
{
	struct pprof_run run;
	size_t at = 0;
	uint32_t nr;

	while (text && *text) {
		if (!pprof_run_parse(&text, &run, &nr) || nr > walk->nr - at)
			return false;
		while (nr--)
			samples->runs.list[walk->first + at++] = run;
	}
	return text && at == walk->nr;
}

/* Find the run of each frame of @walk: kernel frames come first, but for those that a run says are
 * among the user's, below a waker's stack. */
static void find_runs(struct pprof_samples *samples, struct walk *walk, const char *text,
		      uint8_t origin)
{
	struct pprof_run *runs = samples->runs.list + walk->first;
	struct pprof_location **locations = samples->locations.list + walk->first;

	walk->nr_kernel = 0;
	if (parse_runs(samples, walk, text)) {
		while (walk->nr_kernel < walk->nr && runs[walk->nr_kernel].kernel)
			walk->nr_kernel++;
		return;
	}
	while (walk->nr_kernel < walk->nr && locations[walk->nr_kernel] &&
	       locations[walk->nr_kernel]->kernel)
		walk->nr_kernel++;
	for (size_t i = 0; i < walk->nr; i++)
		runs[i] = pprof_run_usual(i, walk->nr_kernel, origin);
}

/* Frames [from, to) of @walk behind those before. */
static void make_frames(struct pprof_samples *samples, const struct walk *walk, size_t from,
			size_t to)
{
	for (size_t i = walk->first + from; i < walk->first + to; i++)
		must_push(&samples->frames,
			  pprof_frames_frame(samples->tables, samples->locations.list[i],
					     &samples->runs.list[i]));
}

static void add_event(struct pprof_samples *samples, const struct said *said, uint32_t stack,
		      uint64_t count, uint64_t weight)
{
	struct recording *recording = samples->tables->recording;
	uint64_t start = recording->start_unix_ns;
	const struct recording_event event = {
		/* a clock of its own where it is not that of the start */
		.time_ns = said->time >= start ? said->time - start : said->time,
		.weight = weight,
		.stack = stack,
		.tid = said->tid,
		.cpu = said->cpu,
	};

	/* a time is that of one sample */
	if (samples->events && said->has_time && count && sample_type_is_samples(recording))
		must_add_event(recording, &event);
}

/* Add the sample whose labels are in @stack and @said, and whose walks are @walk and @fp. */
static uint32_t add_stack(struct pprof_samples *samples, struct recording_stack *stack,
			  const struct said *said, struct walk *walk, struct walk *fp)
{
	uint32_t index;

	find_runs(samples, walk, said->origin,
		  samples->tables->own ? FPL_ORIGIN_CFI : RECORDING_NO_ORIGIN);
	find_runs(samples, fp, said->fp_origin, FPL_ORIGIN_FP);
	stack->nr_kernel = (uint16_t)walk->nr_kernel;
	stack->nr_user = (uint16_t)(walk->nr - walk->nr_kernel);
	stack->nr_fp = (uint16_t)fp->nr;
	samples->frames.nr = 0;
	make_frames(samples, walk, walk->nr_kernel, walk->nr);
	make_frames(samples, walk, 0, walk->nr_kernel);
	make_frames(samples, fp, 0, fp->nr);
	index = must_add_stack(samples->tables->recording, stack, samples->frames.list);
	add_event(samples, said, index, stack->count, stack->weight);
	return index;
}

static size_t at_most(size_t nr, size_t most)
{
	return nr < most ? nr : most;
}

int pprof_samples_add(struct pprof_samples *samples, const Pprof__Sample *sample,
		      struct fpl_err *err)
{
	struct recording_stack stack = { .stop = RECORDING_NO_STOP };
	struct said said = { .origin = NULL };
	struct walk walk, fp;
	struct recording_heap heap;
	uint64_t count, weight;
	uint32_t idx;

	samples->locations.nr = 0;
	walk = find_locations(samples, sample->location_id,
			      at_most(sample->n_location_id, FRAMES_MAX));
	fp = find_locations(samples, sample->fp_location_id,
			    at_most(sample->n_fp_location_id, FRAMES_MAX));
	apply_labels(samples, sample, &stack, &said);
	if (!pprof_values_of(samples->values, sample, stack.source, &count, &weight)) {
		samples->negative++;
		return 0;
	}
	/* a sample of nothing of a heap whose objects are gone, say */
	if (!count && !weight && !samples->tables->own)
		return 0;
	samples->shown += count;
	samples->weight += weight;
	/* each of them does, so that one too many is seen */
	if (samples->shown > INT64_MAX || samples->weight > INT64_MAX)
		return fpl_fail(err, -EBADMSG, "the values of all samples do not fit 63 bits");
	samples->cut += sample->n_location_id > FRAMES_MAX;
	stack.count = count;
	stack.weight = weight;
	idx = add_stack(samples, &stack, &said, &walk, &fp);
	if (pprof_values_heap(samples->values, sample, &heap))
		must_add_heap(samples->tables->recording, idx, &heap);
	return 0;
}
