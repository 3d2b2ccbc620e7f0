/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/filter.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "recording/sources.h"

/* The answer of a pattern about a text or frame, which is asked once. */
enum { UNKNOWN, MATCHES, DIFFERS };

struct pattern {
	bool used;
	regex_t regex;
	uint8_t *texts; /* owned [nr]: by text of the recording at hand */
	size_t nr, room;
};

struct filter {
	const struct filter_options *options; /* borrowed */
	struct pattern comm, focus, ignore;
	struct merge_filter merge;
};

static int pattern_init(struct pattern *pattern, const char *option, const char *text,
			struct fpl_err *err)
{
	char why[128];
	int code;

	if (!text)
		return 0;
	code = regcomp(&pattern->regex, text, REG_EXTENDED | REG_NOSUB);
	if (code) {
		regerror(code, &pattern->regex, why, sizeof(why));
		return fpl_fail(err, -EINVAL, "%s %s: %s", option, text, why);
	}
	pattern->used = true;
	return 0;
}

static void pattern_fini(struct pattern *pattern)
{
	if (pattern->used)
		regfree(&pattern->regex);
	free(pattern->texts);
}

/* Texts that were not there before are unknown. */
static int pattern_extend(struct pattern *pattern, const struct recording *recording)
{
	size_t nr = recording->strings.nr;

	if (!pattern->used || nr <= pattern->nr)
		return 0;
	if (array_reserve(&pattern->texts, sizeof(*pattern->texts), &pattern->room, nr))
		return -ENOMEM;
	memset(pattern->texts + pattern->nr, UNKNOWN, nr - pattern->nr);
	pattern->nr = nr;
	return 0;
}

static bool pattern_matches(struct pattern *pattern, const struct recording *recording,
			    uint32_t text)
{
	uint8_t *known = &pattern->texts[text];

	if (*known == UNKNOWN)
		*known =
			regexec(&pattern->regex, recording_string(recording, text), 0, NULL, 0) == 0
				? MATCHES
				: DIFFERS;
	return *known == MATCHES;
}

static bool frame_matches(struct pattern *pattern, const struct recording *recording,
			  const struct recording_frame *frame)
{
	if (!frame->nr_lines)
		return pattern_matches(pattern, recording, recording->objects[frame->object].path);
	for (size_t i = 0; i < frame->nr_lines; i++) {
		const struct recording_line *line = &recording->lines[frame->first_line + i];

		if (pattern_matches(pattern, recording, recording->functions[line->function].name))
			return true;
	}
	return false;
}

static bool stack_matches(struct pattern *pattern, const struct recording *recording,
			  const struct recording_stack *stack)
{
	for (size_t i = 0; i < (size_t)stack->nr_user + stack->nr_kernel; i++)
		if (frame_matches(pattern, recording, recording_frame_at(recording, stack, i)))
			return true;
	return false;
}

static bool wants_pid(const struct filter_options *options, const struct recording_stack *stack)
{
	for (size_t i = 0; i < options->nr_pids; i++)
		if (stack->has & RECORDING_HAS_PID && (pid_t)stack->pid == options->pids[i])
			return true;
	return !options->nr_pids;
}

static bool wants_stack(void *ctx, const struct recording *recording, size_t idx)
{
	struct filter *filter = ctx;
	const struct recording_stack *stack = &recording->stacks[idx];

	return wants_pid(filter->options, stack) &&
	       (!filter->comm.used || pattern_matches(&filter->comm, recording, stack->comm)) &&
	       (!filter->focus.used || stack_matches(&filter->focus, recording, stack)) &&
	       (!filter->ignore.used || !stack_matches(&filter->ignore, recording, stack));
}

static bool wants_event(void *ctx, const struct recording *recording,
			const struct recording_event *event)
{
	const struct filter *filter = ctx;

	(void)recording;
	return event->time_ns >= filter->options->from_ns &&
	       event->time_ns < filter->options->to_ns;
}

static void cleanup_filter(struct filter **filter)
{
	filter_destroy(*filter);
}

int filter_create(const struct filter_options *options, struct filter **ret, struct fpl_err *err)
{
	CLEANUP(cleanup_filter) struct filter *filter = must_calloc(1, sizeof(*filter));
	int error;

	filter->options = options;
	filter->merge = (struct merge_filter){
		.ctx = filter,
		.stack = wants_stack,
		.event = options->has_time ? wants_event : NULL,
		.source = options->event,
	};
	error = pattern_init(&filter->comm, "--comm", options->comm, err);
	if (!error)
		error = pattern_init(&filter->focus, "--focus", options->focus, err);
	if (!error)
		error = pattern_init(&filter->ignore, "--ignore", options->ignore, err);
	if (!error)
		*ret = TAKE_PTR(filter);
	return error;
}

void filter_destroy(struct filter *filter)
{
	if (!filter)
		return;
	pattern_fini(&filter->comm);
	pattern_fini(&filter->focus);
	pattern_fini(&filter->ignore);
	free(filter);
}

static bool has_pids(const struct recording *recording)
{
	for (size_t i = 0; i < recording->nr_stacks; i++)
		if (recording->stacks[i].has & RECORDING_HAS_PID)
			return true;
	return !recording->nr_stacks;
}

/* The type that files are asked to show may be that of one of several sources. */
static void choose_source(struct filter *filter, const struct recording *recording)
{
	const char *wanted = filter->options->sample_type;
	size_t i = recording->nr_sources && wanted && !filter->options->event
			   ? sources_find_type(recording, wanted)
			   : SOURCES_NONE;

	filter->merge.source = i == SOURCES_NONE
				       ? filter->options->event
				       : recording_string(recording, recording->sources[i].event);
}

int filter_begin(struct filter *filter, const struct recording *recording, const char *name,
		 struct fpl_err *err)
{
	if (filter->options->has_time && !recording->nr_events && recording->nr_stacks)
		return fpl_fail(err, -ENODATA,
				"%s: --time: it holds no times: record with --timeline", name);
	if (filter->options->nr_pids && !has_pids(recording))
		return fpl_fail(err, -ENODATA, "%s: --pid: it holds no process ids", name);
	if (filter->options->event &&
	    sources_find(recording, filter->options->event) == SOURCES_NONE)
		return fpl_fail(err, -ENODATA, "%s: --event %s: its samples are of %s", name,
				filter->options->event,
				recording_string(recording, recording->event));
	choose_source(filter, recording);
	filter->comm.nr = filter->focus.nr = filter->ignore.nr = 0;
	return filter_extend(filter, recording) ? fpl_fail(err, -ENOMEM, "%s: out of memory", name)
						: 0;
}

int filter_extend(struct filter *filter, const struct recording *recording)
{
	return pattern_extend(&filter->comm, recording) ||
			       pattern_extend(&filter->focus, recording) ||
			       pattern_extend(&filter->ignore, recording)
		       ? -ENOMEM
		       : 0;
}

bool filter_is_empty(const struct filter *filter)
{
	return !filter->options->nr_pids && !filter->options->has_time && !filter->merge.source &&
	       !filter->comm.used && !filter->focus.used && !filter->ignore.used;
}

const struct merge_filter *filter_of(const struct filter *filter)
{
	return &filter->merge;
}
