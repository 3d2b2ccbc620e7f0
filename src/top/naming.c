/* SPDX-License-Identifier: Apache-2.0 */
#include "top/naming.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "naming/recorded.h"

/* Addresses whose names are kept: 100 MB at most. A view may be open for weeks. */
#define NAMES_MAX (1u << 20)
/* Objects that have gone, likewise: long before their ids are given again. */
#define RETIRED_MAX (1u << 14)

int naming_init(struct naming *ret, const struct naming_options *options, struct fpl_err *err)
{
	*ret = (struct naming){
		.live = { .event = "", .user = options->user, .kernel = true },
		.options = { .source = options->source,
			     .live = true,
			     .no_demangle = options->no_demangle,
			     .inlined = options->inlined },
	};
	ret->options.kernel = kernel_text_source(&ret->kernel_text);
	if (recording_init(&ret->recording))
		return fpl_fail(err, -ENOMEM, "out of memory");

	int code = symbolizer_create(&ret->options, &ret->symbolizer, err);

	if (!code && names_init(&ret->names, &ret->live, ret->symbolizer,
				&(struct names_options){ .by_function = true }))
		code = fpl_fail(err, -ENOMEM, "out of memory");
	return code;
}

void naming_fini(struct naming *naming)
{
	names_fini(&naming->names);
	symbolizer_destroy(naming->symbolizer);
	kernel_text_fini(&naming->kernel_text);
	recording_fini(&naming->recording);
	profile_fini(&naming->live);
	free(naming->retired);
	free(naming->places);
	free(naming->counts);
}

/* The object gets its place by its id. */
static int adopt(struct naming *naming, const struct feed_object *object, struct fpl_err *err)
{
	struct profile *live = &naming->live;
	uint32_t id = object->object.id;
	struct fpl_err unnamed = { 0 };

	if (id > live->nr_objects) {
		struct profile_object *bigger =
			reallocarray(live->objects, id, sizeof(*live->objects));

		if (!bigger)
			return fpl_fail(err, -ENOMEM, "out of memory");
		memset(bigger + live->nr_objects, 0, (id - live->nr_objects) * sizeof(*bigger));
		live->objects = bigger;
		live->nr_objects = id;
	}
	live->objects[id - 1] = (struct profile_object){
		.id = id,
		.path = strdup(object->object.path),
		.build_id = strdup(object->object.build_id),
		.file_bias = object->object.file_bias,
	};
	if (!live->objects[id - 1].path || !live->objects[id - 1].build_id)
		return fpl_fail(err, -ENOMEM, "out of memory");
	if (symbolizer_add_object(naming->symbolizer, id, object->fd, NULL, 0, object->object.path,
				  &unnamed))
		fpl_log(FPL_LOG_DEBUG, "top: %s", unnamed.msg);
	return 0;
}

/* Nothing says their names any more. */
static void forget_retired(struct naming *naming)
{
	for (size_t i = 0; i < naming->nr_retired; i++) {
		struct profile_object *object = &naming->live.objects[naming->retired[i] - 1];

		free(object->path);
		free(object->build_id);
		*object = (struct profile_object){ 0 };
	}
	naming->nr_retired = 0;
}

/* What has been named keeps its names until all go. */
static void retire(struct naming *naming, const struct feed_batch *batch)
{
	for (size_t i = 0; i < batch->nr_retired; i++) {
		uint32_t id = batch->retired[i];

		if (id > naming->live.nr_objects)
			continue;
		symbolizer_close_file(naming->symbolizer, id);
		/* without memory what is said of it stays */
		if (!array_reserve(&naming->retired, sizeof(*naming->retired),
				   &naming->retired_room, naming->nr_retired + 1))
			naming->retired[naming->nr_retired++] = id;
	}
}

/* Names that were asked for long ago go, with all others. */
static int forget_names(struct naming *naming, struct fpl_err *err)
{
	struct symbolizer *fresh;
	struct fpl_err unnamed = { 0 };

	if (symbolizer_nr_named(naming->symbolizer) < NAMES_MAX && naming->nr_retired < RETIRED_MAX)
		return 0;

	int code = symbolizer_create(&naming->options, &fresh, err);

	if (code)
		return code;
	for (uint32_t id = 1; id <= naming->live.nr_objects; id++) {
		if (symbolizer_adopt(fresh, naming->symbolizer, id, &unnamed))
			fpl_log(FPL_LOG_DEBUG, "top: %s", unnamed.msg);
	}
	names_fini(&naming->names);
	symbolizer_destroy(naming->symbolizer);
	naming->symbolizer = fresh;
	forget_retired(naming);
	if (names_init(&naming->names, &naming->live, fresh,
		       &(struct names_options){ .by_function = true }))
		return fpl_fail(err, -ENOMEM, "out of memory");
	return 0;
}

static int make_room(struct naming *naming, size_t more)
{
	size_t room = naming->room ? naming->room : 1024;
	uint32_t *bigger;

	if (naming->nr + more <= naming->room)
		return 0;
	while (room < naming->nr + more)
		room *= 2;
	bigger = reallocarray(naming->places, room, sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	naming->places = bigger;
	naming->room = room;
	return 0;
}

/* As many counts as the recording has stacks. */
static int make_counts(struct naming *naming)
{
	size_t room = naming->room_counts ? naming->room_counts : 1024;
	uint64_t *bigger;

	if (naming->recording.nr_stacks <= naming->room_counts)
		return 0;
	while (room < naming->recording.nr_stacks)
		room *= 2;
	bigger = reallocarray(naming->counts, room, sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	naming->counts = bigger;
	naming->room_counts = room;
	return 0;
}

/* Name the stacks @stacks [@nr] and add them to the recording. */
static int record(struct naming *naming, struct profile_stack *stacks, size_t nr,
		  struct fpl_err *err)
{
	AUTO_FREE uint32_t *places = NULL;
	int code = make_room(naming, nr);

	naming->live.stacks = stacks;
	naming->live.nr_stacks = nr;
	if (!code)
		code = names_go_on(&naming->names);
	if (!code)
		code = recorded_make(&naming->names, NULL, &naming->recording, &places, err);
	naming->live.stacks = NULL;
	naming->live.nr_stacks = 0;
	if (!code)
		code = make_counts(naming);
	if (code)
		return fpl_fail(err, -ENOMEM, "out of memory for names");
	memcpy(naming->places + naming->nr, places, nr * sizeof(*places));
	naming->nr += nr;
	return 0;
}

int naming_add(struct naming *naming, const struct feed_batch *batch, struct fpl_err *err)
{
	AUTO_FREE struct profile_stack *stacks = calloc(batch->nr_stacks + 1, sizeof(*stacks));
	size_t nr = 0;
	int code = 0;

	if (!stacks)
		return fpl_fail(err, -ENOMEM, "out of memory");
	for (const struct feed_object *o = batch->objects; !code && o; o = o->next)
		code = adopt(naming, o, err);
	for (const struct feed_stack *s = batch->stacks; s; s = s->next)
		stacks[nr++] = s->stack;
	if (!code && nr)
		code = forget_names(naming, err);
	if (!code && nr)
		code = record(naming, stacks, nr, err);
	if (!code)
		retire(naming, batch);
	return code;
}
