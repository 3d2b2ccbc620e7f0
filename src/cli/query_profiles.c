/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/query_profiles.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/id_table.h"
#include "base/text.h"
#include "base/vector.h"
#include "cli/unit_name.h"
#include "format/otlp_write.h"
#include "format/pprof_write.h"
#include "recording/keys.h"
#include "recording/merge.h"
#include "recording/must_add.h"
#include "recording/sample_type.h"
#include "recording/sources.h"

enum {
	GROUPS_MAX = 256, /* of a window; what is beyond is one, "other" */
	/* Limits of a profile, as Pyroscope has them by default. */
	SAMPLES_MAX = 16000,
	BYTES_MAX = 4 << 20,
	ANSWER_BYTES = 16 << 20,
	ATTRIBUTES_MAX = 32,
	WORD_SIZE = 4 * UNIT_NAME_SIZE, /* every byte may be escaped */
};

/* Stacks that become one profile. */
struct group {
	uint8_t source, state;
	char name[UNIT_NAME_SIZE];
	size_t nr; /* its number, in the order in which they were met */
};

/* A window under way. */
struct cutting {
	FILE *to;
	const char *labels; /* of OTLP, "k=v,k=v"; NULL: pprof */
	struct recording whole;
	VECTOR(struct group) groups;
	VECTOR(uint32_t) of_stack; /* the number of each stack's group */
};

static void cutting_fini(struct cutting *cutting)
{
	recording_fini(&cutting->whole);
	vector_fini(&cutting->groups);
	vector_fini(&cutting->of_stack);
}

static void name_of(const struct recording *recording, const struct recording_stack *stack,
		    char ret[static UNIT_NAME_SIZE])
{
	unit_name(stack->has & RECORDING_HAS_CGROUP ? recording_string(recording, stack->cgroup)
						    : "",
		  ret);
}

/* The group of @stack, made at first sight. */
static uint32_t group_of(struct cutting *cutting, const struct recording_stack *stack)
{
	struct group group = { .source = stack->source, .state = stack->state };

	name_of(&cutting->whole, stack, group.name);
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < cutting->groups.nr; i++) {
			const struct group *other = &cutting->groups.list[i];

			if (other->source == group.source && other->state == group.state &&
			    !strcmp(other->name, group.name))
				return (uint32_t)i;
		}
		if (cutting->groups.nr < GROUPS_MAX)
			break;
		snprintf(group.name, sizeof(group.name), "other");
	}
	group.nr = cutting->groups.nr;
	must_push(&cutting->groups, group);
	return (uint32_t)group.nr;
}

/* Leave out of @stack what its profile does not tell: stacks that are the same without it become
 * one. */
static void make_plain(struct recording_stack *stack)
{
	stack->has = stack->state = 0;
	stack->comm = stack->cgroup = stack->key = 0;
	stack->task = stack->pid = stack->tid = stack->cpu = 0;
	stack->stop = RECORDING_NO_STOP;
	stack->no_user = false;
}

static int compare_groups(const void *left, const void *right)
{
	const struct group *a = left, *b = right;
	int order = strcmp(a->name, b->name);

	if (order)
		return order;
	return a->source != b->source ? a->source - b->source : a->state - b->state;
}

/* Which stacks a merge takes: those of a group, or some in a row. */
struct choice {
	const struct cutting *cutting;
	size_t group;
	size_t first, nr;
};

static bool is_of_group(void *ctx, const struct recording *from, size_t idx)
{
	const struct choice *choice = ctx;

	(void)from;
	return choice->cutting->of_stack.list[idx] == choice->group;
}

static bool is_of_row(void *ctx, const struct recording *from, size_t idx)
{
	const struct choice *choice = ctx;

	(void)from;
	return idx >= choice->first && idx - choice->first < choice->nr;
}

static uint64_t weight_of(const struct recording *recording)
{
	uint64_t weight = 0;

	for (size_t i = 0; i < recording->nr_stacks; i++)
		weight += recording->stacks[i].weight;
	return weight;
}

/* " TEXT" without blanks. */
static void write_word(FILE *to, const char *text)
{
	char word[WORD_SIZE];

	text_escape(word, sizeof(word), text, " ");
	fprintf(to, " %s", *word ? word : "-");
}

/* The name and the unit of the one source of @part. */
static void write_type(FILE *to, const struct recording *part)
{
	const char *unit = recording_string(part, part->weight_unit);

	if (sample_type_is_weighed(part)) {
		write_word(to, sample_type_weight(part));
		write_word(to, *unit ? unit : "nanoseconds");
	} else {
		write_word(to, recording_string(part, part->sample_type));
		write_word(to, recording_string(part, part->sample_unit));
	}
}

static void write_profile(FILE *to, const struct recording *part, const struct group *group,
			  const char *bytes, size_t nr)
{
	fprintf(to, "profile %zu %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, nr,
		part->start_unix_ns, part->start_unix_ns + part->duration_ns, recording_shown(part),
		weight_of(part));
	write_type(to, part);
	write_word(to, group->state ? state_key(group->state) : "");
	write_word(to, group->name);
	fputc('\n', to);
	fwrite(bytes, 1, nr, to);
	fputc('\n', to);
}

/* An id that is the same each time this profile is made. */
static void make_id(const struct recording *part, const struct group *group, const char *labels,
		    uint8_t ret[static OTLP_ID_BYTES])
{
	const char *type = sample_type_weight(part);

	for (uint64_t half = 0; half < 2; half++) {
		uint64_t hash =
			id_table_hash(half + 1, &part->start_unix_ns, sizeof(part->start_unix_ns));

		hash = id_table_hash(hash, group->name, strlen(group->name));
		hash = id_table_hash(hash, &group->state, sizeof(group->state));
		hash = id_table_hash(hash, type, strlen(type));
		hash = id_table_hash(hash, labels, strlen(labels));
		memcpy(ret + half * sizeof(hash), &hash, sizeof(hash));
	}
}

/* The first attribute of a name counts. */
static void add_attribute(struct otlp_attribute *list, size_t *nr, const char *name,
			  const char *value)
{
	for (size_t i = 0; i < *nr; i++)
		if (!strcmp(list[i].name, name))
			return;
	if (*nr < ATTRIBUTES_MAX)
		list[(*nr)++] = (struct otlp_attribute){ name, value };
}

/* @labels: "k=v,k=v". */
static int write_otlp(FILE *to, const struct recording *part, const struct group *group,
		      const char *labels, uint64_t *ret_bytes, struct fpl_err *err)
{
	struct otlp_attribute attributes[ATTRIBUTES_MAX];
	struct otlp_options options = { .attributes = attributes };
	AUTO_FREE char *text = must_strdup(labels);
	char *rest = text, *label;

	while ((label = strsep(&rest, ","))) {
		char *equals = strchr(label, '=');

		if (!equals)
			continue;
		*equals = '\0';
		add_attribute(attributes, &options.nr_attributes, label, equals + 1);
	}
	add_attribute(attributes, &options.nr_attributes, "service.name", group->name);
	if (group->state)
		add_attribute(attributes, &options.nr_attributes, "state", state_key(group->state));
	make_id(part, group, labels, options.id);
	return otlp_write(to, part, &options, ret_bytes, err);
}

/*
 * Write stacks of @whole from @first on, at most @nr of them, with their time moved by @moved_ns.
 * Returns 1, and has written nothing, where they are too many bytes for one profile.
 */
static int write_part(const struct cutting *cutting, const struct recording *whole,
		      const struct group *group, size_t first, size_t nr, uint64_t moved_ns,
		      struct fpl_err *err)
{
	CLEANUP(recording_fini) struct recording part = { 0 };
	struct choice choice = { .first = first, .nr = nr };
	const struct merge_filter filter = { .ctx = &choice, .stack = is_of_row };
	struct merge_result result = { 0 };
	AUTO_FREE char *bytes = NULL;
	uint64_t unpacked;
	size_t packed;
	FILE *memory;
	int code;

	must_recording_init(&part);
	code = recording_merge(&part, whole, &filter, &result);
	if (code)
		return fpl_fail(err, code, "%s: cannot be a profile: %s", group->name,
				strerror(-code));
	part.start_unix_ns += moved_ns;
	memory = must_memstream(&bytes, &packed);
	if (cutting->labels)
		code = write_otlp(memory, &part, group, cutting->labels, &unpacked, err);
	else
		code = pprof_write_plain(memory, &part, &unpacked, err);
	must_memstream_close(memory);
	if (code || (unpacked > BYTES_MAX && nr > 1))
		return code ? code : 1;
	write_profile(cutting->to, &part, group, bytes, packed);
	return 0;
}

/*
 * Write a group as one profile or, where that is too large, as several, each a millisecond later:
 * a receiver takes another one of the same labels and time for the same.
 */
static int write_group(struct cutting *cutting, const struct group *group, struct fpl_err *err)
{
	CLEANUP(recording_fini) struct recording whole = { 0 };
	struct choice choice = { .cutting = cutting, .group = group->nr };
	struct merge_filter filter = { .ctx = &choice, .stack = is_of_group };
	struct merge_result result = { 0 };
	size_t at = 0, nr = SAMPLES_MAX;
	uint64_t moved_ns = 0;
	int code;

	if (cutting->whole.nr_sources)
		filter.source = recording_string(&cutting->whole,
						 cutting->whole.sources[group->source].event);
	must_recording_init(&whole);
	code = recording_merge(&whole, &cutting->whole, &filter, &result);
	if (code)
		return fpl_fail(err, code, "%s: cannot be a profile: %s", group->name,
				strerror(-code));
	while (at < whole.nr_stacks) {
		code = write_part(cutting, &whole, group, at, nr, moved_ns, err);
		if (code < 0)
			return code;
		if (code) {
			nr = (nr < whole.nr_stacks ? nr : whole.nr_stacks) / 2;
			nr += !nr;
			continue;
		}
		at += nr;
		moved_ns += NS_PER_MS;
	}
	return 0;
}

/* Write the windows that begin when @window does. */
static int write_window(FILE *to, struct store *store, const struct query_options *options,
			const struct store_window *window, struct fpl_err *err)
{
	bool is_otlp = options->nr_words && !strcmp(options->words[0], "otlp");
	CLEANUP(cutting_fini)
	struct cutting cutting = {
		.to = to,
		.labels = !is_otlp	    ? NULL
			  : options->labels ? options->labels
					    : "",
	};
	struct store_range only = options->input.range;
	size_t nr;
	int code;

	only.from_ns = window->t0;
	only.to_ns = window->t0 + 1;
	must_recording_init(&cutting.whole);
	code = store_read(store, &only, &cutting.whole, &nr, err);
	/* two of the same time that do not count the same: their samples are in no profile */
	if (code == -EDOM)
		fprintf(to, "window %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", window->t0, window->t1,
			window->samples);
	if (code)
		return code == -EDOM ? 0 : code;
	fprintf(to, "window %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", window->t0, window->t1,
		recording_shown(&cutting.whole));
	for (size_t i = 0; i < cutting.whole.nr_stacks; i++) {
		must_push(&cutting.of_stack, group_of(&cutting, &cutting.whole.stacks[i]));
		make_plain(&cutting.whole.stacks[i]);
	}
	if (cutting.groups.nr)
		qsort(cutting.groups.list, cutting.groups.nr, sizeof(*cutting.groups.list),
		      compare_groups);
	for (size_t i = 0; !code && i < cutting.groups.nr; i++)
		code = write_group(&cutting, &cutting.groups.list[i], err);
	return code;
}

struct windows_to_write {
	VECTOR(struct store_window) list;
	size_t max;
};

static void windows_fini(struct windows_to_write *windows)
{
	vector_fini(&windows->list);
}

/* store_list's: those of one time are written as one. */
static int take_window(void *ctx, const struct store_window *window)
{
	struct windows_to_write *windows = ctx;
	struct store_window *last =
		windows->list.nr ? &windows->list.list[windows->list.nr - 1] : NULL;

	if (last && last->t0 == window->t0) {
		last->samples += window->samples;
		last->t1 = window->t1 > last->t1 ? window->t1 : last->t1;
		return 0;
	}
	if (windows->list.nr == windows->max)
		return 1;
	must_push(&windows->list, *window);
	return 0;
}

int query_profiles(FILE *to, struct store *store, const struct query_options *options,
		   struct fpl_err *err)
{
	CLEANUP(windows_fini)
	struct windows_to_write windows = { .max = options->limit ? options->limit : SIZE_MAX };
	const struct store_range *range = &options->input.range;
	int code = store_list(store, range, take_window, &windows, err);
	uint64_t bytes = 0;

	if (code < 0 || !windows.list.nr)
		return code < 0 ? code : -ENODATA;
	code = 0;
	for (size_t i = 0; !code && bytes < ANSWER_BYTES && i < windows.list.nr; i++) {
		AUTO_FREE char *text = NULL;
		size_t size;
		FILE *memory = must_memstream(&text, &size);

		code = write_window(memory, store, options, &windows.list.list[i], err);
		must_memstream_close(memory);
		if (!code)
			fwrite(text, 1, size, to);
		bytes += size;
	}
	if (!code)
		fputs("end\n", to);
	return code;
}
