/* SPDX-License-Identifier: Apache-2.0 */
/* A recording as text, without its numbers of texts, objects, functions and frames: two are equal
 * where their dumps are. */
#pragma once

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "recording/recording.h"

static void dump_frame(FILE *to, const struct recording *recording,
		       const struct recording_frame *frame)
{
	const struct recording_object *object = &recording->objects[frame->object];

	fprintf(to,
		"    %s %#" PRIx64 " start %#" PRIx64 " origin %u%s in '%s' %s%s %#" PRIx64 "\n",
		frame->kind == RECORDING_KERNEL ? "kernel" : "user", frame->address, frame->start,
		frame->origin, frame->exact ? " exact" : "",
		recording_string(recording, object->path),
		recording_string(recording, object->build_id), object->offsets ? " offsets" : "",
		object->file_bias);
	for (size_t i = 0; i < frame->nr_lines; i++) {
		const struct recording_line *line = &recording->lines[frame->first_line + i];
		const struct recording_function *function = &recording->functions[line->function];

		fprintf(to, "      '%s' %s:%u:%u from %u\n",
			recording_string(recording, function->name),
			recording_string(recording, function->file), line->line, line->column,
			function->start_line);
	}
}

static void dump_stack(FILE *to, const struct recording *recording,
		       const struct recording_stack *stack)
{
	fprintf(to,
		"  stack %" PRIu64 " %" PRIu64 " ns task %" PRIu64
		" stop %u has %u class %u%s comm '%s' pid %u tid %u cpu %u cgroup '%s' %u %u %u\n",
		stack->count, stack->weight, stack->task, stack->stop, stack->has, stack->class,
		stack->no_user ? " no user part" : "", recording_string(recording, stack->comm),
		stack->pid, stack->tid, stack->cpu, recording_string(recording, stack->cgroup),
		stack->nr_user, stack->nr_kernel, stack->nr_fp);
	for (size_t i = 0; i < (size_t)stack->nr_user + stack->nr_kernel + stack->nr_fp; i++)
		dump_frame(to, recording, recording_frame_at(recording, stack, i));
}

/* Owned by the caller; NULL without memory. */
static inline char *recording_dump(const struct recording *recording)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	fprintf(to,
		"event %s kernel %s hz %" PRIu64 " period %" PRIu64 " start %" PRIu64
		" duration %" PRIu64 " cpus %u by %u\n",
		recording_string(recording, recording->event),
		recording_string(recording, recording->kernel), recording->hz, recording->period,
		recording->start_unix_ns, recording->duration_ns, recording->nr_cpus,
		recording->by);
	if (recording->sample_type || recording->sample_unit || recording->weight_type ||
	    recording->weight_unit)
		fprintf(to, "counts '%s' of '%s', weighs '%s' of '%s'\n",
			recording_string(recording, recording->sample_type),
			recording_string(recording, recording->sample_unit),
			recording_string(recording, recording->weight_type),
			recording_string(recording, recording->weight_unit));
	for (size_t i = 0; i < recording->nr_args; i++)
		fprintf(to, "  arg '%s'\n", recording_string(recording, recording->args[i]));
	for (size_t i = 0; i < recording->nr_stacks; i++)
		dump_stack(to, recording, &recording->stacks[i]);
	for (size_t i = 0; i < recording->nr_events; i++) {
		const struct recording_event *event = &recording->events[i];

		fprintf(to, "  event %" PRIu64 " ns %" PRIu64 " stack %u tid %u cpu %u\n",
			event->time_ns, event->weight, event->stack, event->tid, event->cpu);
	}
	for (size_t i = 0; i < recording->nr_numbers; i++) {
		const struct recording_number *number = &recording->numbers[i];

		fprintf(to, "  number '%s' %" PRIu64 " note '%s'\n",
			recording_string(recording, number->key), number->value,
			number->note == RECORDING_NO_NOTE
				? "(null)"
				: recording_string(recording, number->note));
	}
	if (fclose(to)) {
		free(text);
		return NULL;
	}
	return text;
}
