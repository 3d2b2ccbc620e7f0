/* SPDX-License-Identifier: Apache-2.0 */
#include "format/missing.h"
#include "view/share.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"

/* The counts of an object while stacks are walked. */
struct counter {
	struct missing_object found;
	size_t unnamed_stack, unlined_stack; /* index + 1 of the stack that counted last */
};

static bool has_line(const struct recording *recording, const struct recording_frame *frame)
{
	const struct recording_function *function = recording_function_of(recording, frame);

	return function && function->file &&
	       recording->lines[frame->first_line + frame->nr_lines - 1u].line;
}

static void count_frame(const struct recording *recording, struct counter *counters, size_t idx,
			const struct recording_frame *frame, bool leaf)
{
	struct counter *counter = &counters[frame->object];
	uint64_t count = recording->stacks[idx].count;

	if (!frame->nr_lines) {
		if (counter->unnamed_stack != idx + 1)
			counter->found.unnamed += count;
		counter->unnamed_stack = idx + 1;
		counter->found.unnamed_leaf += leaf ? count : 0;
	}
	if (!has_line(recording, frame)) {
		if (counter->unlined_stack != idx + 1)
			counter->found.unlined += count;
		counter->unlined_stack = idx + 1;
		counter->found.unlined_leaf += leaf ? count : 0;
	}
}

static int compare(const void *left, const void *right)
{
	const struct missing_object *a = left, *b = right;

	if (a->unnamed != b->unnamed)
		return a->unnamed > b->unnamed ? -1 : 1;
	if (a->unlined != b->unlined)
		return a->unlined > b->unlined ? -1 : 1;
	return (a->object > b->object) - (a->object < b->object);
}

void missing_find(const struct recording *recording, struct missing *ret)
{
	AUTO_FREE struct counter *counters =
		must_calloc(recording->nr_objects + 1, sizeof(*counters));

	*ret = (struct missing){ .list = must_calloc(recording->nr_objects + 1,
						     sizeof(*ret->list)) };
	for (size_t i = 0; i < recording->nr_stacks; i++) {
		const struct recording_stack *stack = &recording->stacks[i];

		ret->samples += stack->count;
		for (size_t j = 0; j < stack->nr_user; j++)
			count_frame(recording, counters, i, recording_frame_at(recording, stack, j),
				    j == 0);
	}
	/* index 0 is code in no object: no file can name it */
	for (size_t i = 1; i < recording->nr_objects; i++) {
		if (!counters[i].found.unnamed && !counters[i].found.unlined)
			continue;
		counters[i].found.object = (uint32_t)i;
		ret->list[ret->nr++] = counters[i].found;
	}
	qsort(ret->list, ret->nr, sizeof(*ret->list), compare);
}

void missing_fini(struct missing *missing)
{
	free(missing->list);
	missing->list = NULL;
}

static void write_share(FILE *to, uint64_t part, uint64_t whole)
{
	fprintf(to, " %6.1f%%", share_whole_percent(part, whole));
}

void missing_write(FILE *to, const struct recording *recording, const struct missing *missing)
{
	char path[512];

	if (!missing->nr) {
		fputs("nothing is missing: every user frame has a name, a file and a line\n", to);
		return;
	}
	fprintf(to,
		"Samples with a frame, or a leaf, that lacks its name, or its line; of %" PRIu64
		"\n\n"
		"  no name    leaf  no line    leaf  object\n",
		missing->samples);
	for (size_t i = 0; i < missing->nr; i++) {
		const struct missing_object *object = &missing->list[i];
		uint32_t text = recording->objects[object->object].path;

		text_escape(path, sizeof(path), recording_string(recording, text), "");
		fputs(" ", to);
		write_share(to, object->unnamed, missing->samples);
		write_share(to, object->unnamed_leaf, missing->samples);
		fputs(" ", to);
		write_share(to, object->unlined, missing->samples);
		write_share(to, object->unlined_leaf, missing->samples);
		fprintf(to, "  %s\n", path);
		if (object->hint && *object->hint)
			fprintf(to, "                                     %s\n", object->hint);
	}
}
