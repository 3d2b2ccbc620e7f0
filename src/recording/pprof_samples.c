/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/pprof_samples.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bpf/shared.h"
#include "recording/pprof_rules.h"

#define FRAMES_MAX UINT16_MAX

void pprof_samples_init(struct pprof_samples *samples, struct pprof_tables *tables,
			const struct pprof_values *values, bool events)
{
	*samples = (struct pprof_samples){ .tables = tables, .values = values, .events = events };
}

void pprof_samples_fini(struct pprof_samples *samples)
{
	free(samples->locations);
	free(samples->runs);
	free(samples->frames);
	free(samples->labels);
	*samples = (struct pprof_samples){ 0 };
}

size_t pprof_samples_bytes(const struct pprof_samples *samples)
{
	return samples->nr_labels +
	       samples->room * (sizeof(*samples->locations) + sizeof(*samples->runs) +
				sizeof(*samples->frames));
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
static int label_of(struct pprof_samples *samples, uint32_t text, unsigned *ret)
{
	unsigned label = PPROF_LABEL_COUNT;

	if (text >= samples->nr_labels) {
		size_t nr = 2 * (size_t)text + 64;
		uint8_t *bigger = realloc(samples->labels, nr);

		if (!bigger)
			return -ENOMEM;
		memset(bigger + samples->nr_labels, 0, nr - samples->nr_labels);
		samples->labels = bigger;
		samples->nr_labels = nr;
	}
	if (!samples->labels[text]) {
		const char *key = recording_string(samples->tables->recording, text);

		for (size_t i = 0; label == PPROF_LABEL_COUNT && i < ARRAY_SIZE(label_keys); i++)
			if (!strcmp(key, label_keys[i].key))
				label = label_keys[i].label;
		samples->labels[text] = (uint8_t)(label + 1);
	}
	*ret = samples->labels[text] - 1u;
	return 0;
}

/* What the labels of a sample say beyond what is in the stack. */
struct said {
	const char *origin, *fp_origin; /* NULL: nothing */
	bool has_time;
	uint64_t time;
	uint32_t tid, cpu;
};

static bool labels_are_there(const struct pprof_samples *samples, const Pprof__Sample *sample)
{
	for (size_t i = 0; i < sample->n_label; i++)
		if (!pprof_tables_has_text(samples->tables, sample->label[i]->key) ||
		    !pprof_tables_has_text(samples->tables, sample->label[i]->str))
			return false;
	return true;
}

static uint8_t stop_of(const char *key)
{
	static const char *const keys[FPL_STOP_COUNT] = {
#define X(name, json_key, text) [FPL_STOP_##name] = #json_key,
		FPL_STOP_LIST(X)
#undef X
	};

	for (size_t i = 0; i < FPL_STOP_COUNT; i++)
		if (!strcmp(key, keys[i]))
			return (uint8_t)i;
	return RECORDING_NO_STOP;
}

/* A number some write as one, and some as text. False: it is none of 32 bits. */
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
		stack->stop = stop_of(string);
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
	case PPROF_LABEL_CLASS:
		stack->class = (uint8_t)label->num;
		stack->has |= RECORDING_HAS_FP;
		break;
	case PPROF_LABEL_COUNT:
		break;
	}
}

static int apply_labels(struct pprof_samples *samples, const Pprof__Sample *sample,
			struct recording_stack *stack, struct said *said)
{
	const struct pprof_tables *tables = samples->tables;

	for (size_t i = 0; i < sample->n_label; i++) {
		const Pprof__Label *label = sample->label[i];
		unsigned which;

		if (label_of(samples, pprof_tables_text(tables, label->key), &which))
			return -ENOMEM;
		/* what others mean by a word of ours is not known */
		if (tables->own || (which != PPROF_LABEL_ORIGIN && which != PPROF_LABEL_FP_ORIGIN &&
				    which != PPROF_LABEL_STOP && which != PPROF_LABEL_CLASS &&
				    which != PPROF_LABEL_NO_USER))
			apply_label(samples, which, label, stack, said);
	}
	said->tid = stack->tid;
	said->cpu = stack->cpu;
	if (sample->own_labels & RECORDING_HAS_TID)
		stack->tid = 0;
	if (sample->own_labels & RECORDING_HAS_CPU)
		stack->cpu = 0;
	stack->has &= (uint8_t) ~(sample->own_labels & (RECORDING_HAS_TID | RECORDING_HAS_CPU));
	return 0;
}

static int reserve(struct pprof_samples *samples, size_t nr)
{
	if (nr <= samples->room)
		return 0;

	struct pprof_location **locations =
		reallocarray(samples->locations, 2 * nr, sizeof(*locations));

	if (locations)
		samples->locations = locations;

	struct pprof_run *runs = reallocarray(samples->runs, 2 * nr, sizeof(*runs));

	if (runs)
		samples->runs = runs;

	uint32_t *frames = reallocarray(samples->frames, 2 * nr, sizeof(*frames));

	if (frames)
		samples->frames = frames;
	if (!locations || !runs || !frames)
		return -ENOMEM;
	samples->room = 2 * nr;
	return 0;
}

/* A walk of the sample at hand: locations[first .. + nr), leaf first. */
struct walk {
	size_t first, nr, nr_kernel;
};

static int find_locations(struct pprof_samples *samples, const struct walk *walk,
			  const uint64_t *ids, bool last, bool *ret_ready)
{
	for (size_t i = 0; i < walk->nr; i++) {
		struct pprof_location **location = &samples->locations[walk->first + i];

		if (pprof_frames_location(samples->tables, ids[i], last, location))
			return -ENOMEM;
		*ret_ready = *location || last;
		if (!*ret_ready)
			return 0;
	}
	return 0;
}

/* What label @text says of the frames of @walk. False: nothing, or not of as many. */
static bool parse_runs(struct pprof_samples *samples, const struct walk *walk, const char *text)
{
	struct pprof_run run;
	size_t at = 0;
	uint32_t nr;

	while (text && *text) {
		if (!pprof_run_parse(&text, &run, &nr) || nr > walk->nr - at)
			return false;
		while (nr--)
			samples->runs[walk->first + at++] = run;
	}
	return text && at == walk->nr;
}

/* What each frame of @walk is: kernel frames come first. */
static void find_runs(struct pprof_samples *samples, struct walk *walk, const char *text,
		      uint8_t origin)
{
	struct pprof_run *runs = samples->runs + walk->first;
	struct pprof_location **locations = samples->locations + walk->first;

	walk->nr_kernel = 0;
	if (parse_runs(samples, walk, text)) {
		while (walk->nr_kernel < walk->nr && runs[walk->nr_kernel].kernel)
			walk->nr_kernel++;
		for (size_t i = walk->nr_kernel; i < walk->nr; i++)
			runs[i].kernel = false;
		return;
	}
	while (walk->nr_kernel < walk->nr && locations[walk->nr_kernel] &&
	       locations[walk->nr_kernel]->kernel)
		walk->nr_kernel++;
	for (size_t i = 0; i < walk->nr; i++)
		runs[i] = pprof_run_usual(i, walk->nr_kernel, origin);
}

/* Frames [from, to) of @walk to @ret. */
static int make_frames(struct pprof_samples *samples, const struct walk *walk, size_t from,
		       size_t to, uint32_t *ret)
{
	int error = 0;

	for (size_t i = from; !error && i < to; i++)
		error = pprof_frames_frame(samples->tables, samples->locations[walk->first + i],
					   &samples->runs[walk->first + i], ret++);
	return error;
}

static int add_event(struct pprof_samples *samples, const struct said *said, uint32_t stack,
		     uint64_t weight_ns)
{
	struct recording *recording = samples->tables->recording;
	uint64_t start = recording->start_unix_ns;

	/* a time is that of one sample */
	if (!samples->events || !said->has_time || recording->sample_type)
		return 0;
	/* a clock of its own where it is not that of the start */
	return recording_add_event(
		recording, &(struct recording_event){
				   .time_ns = said->time >= start ? said->time - start : said->time,
				   .weight_ns = weight_ns,
				   .stack = stack,
				   .tid = said->tid,
				   .cpu = said->cpu,
			   });
}

/* The sample whose locations are found, whose walks are @walk and @fp. */
static int add_stack(struct pprof_samples *samples, const Pprof__Sample *sample, struct walk *walk,
		     struct walk *fp, uint64_t count, uint64_t weight_ns)
{
	const bool own = samples->tables->own;
	struct recording_stack stack = {
		.count = count,
		.weight_ns = weight_ns,
		.stop = RECORDING_NO_STOP,
	};
	struct said said = { .origin = NULL };
	uint32_t index;
	int error = apply_labels(samples, sample, &stack, &said);

	if (error)
		return error;
	find_runs(samples, walk, said.origin, own ? FPL_ORIGIN_CFI : RECORDING_NO_ORIGIN);
	find_runs(samples, fp, said.fp_origin, FPL_ORIGIN_FP);
	stack.nr_kernel = (uint16_t)walk->nr_kernel;
	stack.nr_user = (uint16_t)(walk->nr - walk->nr_kernel);
	stack.nr_fp = (uint16_t)fp->nr;
	error = make_frames(samples, walk, walk->nr_kernel, walk->nr, samples->frames);
	if (!error)
		error = make_frames(samples, walk, 0, walk->nr_kernel,
				    samples->frames + stack.nr_user);
	if (!error)
		error = make_frames(samples, fp, 0, fp->nr, samples->frames + walk->nr);
	if (!error)
		error = recording_add_stack(samples->tables->recording, &stack, samples->frames,
					    &index);
	return error ? error : add_event(samples, &said, index, weight_ns);
}

static size_t at_most(size_t nr, size_t most)
{
	return nr < most ? nr : most;
}

int pprof_samples_add(struct pprof_samples *samples, const Pprof__Sample *sample, bool last,
		      bool *ret_ready, struct fpl_err *err)
{
	struct walk walk = { .nr = at_most(sample->n_location_id, FRAMES_MAX) };
	struct walk fp = { .first = walk.nr, .nr = at_most(sample->n_fp_location_id, FRAMES_MAX) };
	uint64_t count, weight_ns;

	*ret_ready = last || labels_are_there(samples, sample);
	if (!*ret_ready)
		return 0;
	if (reserve(samples, walk.nr + fp.nr + 1) ||
	    find_locations(samples, &walk, sample->location_id, last, ret_ready))
		return fpl_fail(err, -ENOMEM, "out of memory");
	if (*ret_ready && find_locations(samples, &fp, sample->fp_location_id, last, ret_ready))
		return fpl_fail(err, -ENOMEM, "out of memory");
	if (!*ret_ready)
		return 0;
	if (!pprof_values_of(samples->values, sample, &count, &weight_ns)) {
		samples->negative++;
		return 0;
	}
	/* a sample of nothing of a heap whose objects are gone, say */
	if (!count && !weight_ns && !samples->tables->own)
		return 0;
	samples->shown += count;
	samples->weight_ns += weight_ns;
	/* each of them does, so that one too many is seen */
	if (samples->shown > INT64_MAX || samples->weight_ns > INT64_MAX)
		return fpl_fail(err, -EBADMSG, "the values of all samples do not fit 63 bits");
	samples->cut += sample->n_location_id > FRAMES_MAX;
	if (add_stack(samples, sample, &walk, &fp, count, weight_ns))
		return fpl_fail(err, -ENOMEM, "out of memory");
	return 0;
}
