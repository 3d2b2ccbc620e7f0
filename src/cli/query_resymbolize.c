/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/query_resymbolize.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/memory_limit.h"
#include "base/vector.h"
#include "cli/reading_options.h"
#include "cli/report_names.h"
#include "proc/rights.h"
#include "recording/must_add.h"
#include "store/store.h"

static void cleanup_store(struct store **store)
{
	store_close(*store);
}

/* The functions as a recording of one stack each: its files are found, and its frames named, as
 * those of any recording. The key of a stack is the function's id. */
static void add_function(void *ctx, const struct store_unnamed *function)
{
	struct recording *recording = ctx;
	const struct recording_object object = {
		.path = must_add_text(recording, function->path),
		.build_id = must_add_text(recording, function->build_id),
	};
	const struct recording_frame frame = {
		.object = must_add_object(recording, &object),
		.address = function->start,
		.start = RECORDING_NO_ADDRESS,
		.exact = true,
		.kind = RECORDING_USER,
		.origin = RECORDING_NO_ORIGIN,
	};
	uint32_t frames[] = { must_add_frame(recording, &frame, NULL) };
	struct recording_stack stack = {
		.count = 1, .nr_user = 1, .stop = RECORDING_NO_STOP, .has = RECORDING_HAS_KEY
	};
	char key[16];

	snprintf(key, sizeof(key), "%u", function->id);
	stack.key = must_add_text(recording, key);
	must_add_stack(recording, &stack, frames);
}

/* The functions of @recording that have names now. */
struct found_list {
	VECTOR(struct store_name) names;
};

static void found_fini(struct found_list *found)
{
	vector_fini(&found->names);
}

static void take_names(const struct recording *recording, struct found_list *ret)
{
	for (size_t i = 0; i < recording->nr_stacks; i++) {
		const struct recording_stack *stack = &recording->stacks[i];
		const struct recording_function *function =
			recording_function_of(recording, recording_frame_at(recording, stack, 0));

		if (function)
			must_push(
				&ret->names,
				(struct store_name){
					.id = (uint32_t)strtoul(
						recording_string(recording, stack->key), NULL, 10),
					.name = recording_string(recording, function->name),
					.file = recording_string(recording, function->file),
					.line = function->start_line,
				});
	}
}

static void say(FILE *to, size_t nr_named, size_t nr, const struct object_files *files)
{
	fprintf(to, "%zu of %zu functions without a name have one now, by the files of %zu objects",
		nr_named, nr, files->found);
	if (files->absent)
		fprintf(to, "; no file of %zu", files->absent);
	if (files->refused)
		fprintf(to, "; files of other build-ids of %zu", files->refused);
	putc('\n', to);
}

int query_resymbolize(const struct query_options *options, struct fpl_err *err)
{
	CLEANUP(report_names_fini) struct report_names names = { 0 };
	CLEANUP(cleanup_store) struct store *store = NULL;
	CLEANUP(reading_options_fini) struct reading_options reading;
	CLEANUP(recording_fini) struct recording recording = { 0 };
	CLEANUP(found_fini) struct found_list found = { 0 };
	const struct store_limits unlimited = { 0 };
	struct fpl_err ignored = { 0 };
	size_t nr;
	int code;

	reading_options_init(&reading);
	code = report_names_init(&names, &options->output, &reading.cache, false, err);
	if (!code)
		code = store_open_to_write(options->input.folder, &unlimited, &store, err);
	if (code)
		return code;
	memory_limit_set(reading.memory);
	if (rights_drop_all(&ignored))
		fpl_log(FPL_LOG_WARN, "%s: all rights are kept", ignored.msg);
	must_recording_init(&recording);
	code = store_unnamed(store, &options->input.range, add_function, &recording, err);
	nr = recording.nr_stacks;
	if (!code && nr)
		code = report_names_apply(&names, "/", &recording, err);
	if (code)
		return code;
	take_names(&recording, &found);
	code = store_name(store, found.names.list, found.names.nr, err);
	if (!code)
		say(stdout, found.names.nr, nr, &names.files);
	return code;
}
