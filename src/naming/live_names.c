/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/live_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "naming/recorded.h"
#include "profile/jvm_codes.h"
#include "profile/script_codes.h"
#include "profile/source_record.h"

/* One source needs no name, but what its samples weigh. */
static void set_sources(struct profile *live, const struct live_names_options *options)
{
	struct profile_source list[FPL_SOURCES_MAX] = { 0 };

	for (size_t i = 0; i < options->nr_sources; i++) {
		const struct source_spec *spec = &options->sources[i];

		if (options->nr_sources > 1)
			memcpy(list[i].name, spec->name, sizeof(list[i].name));
		if (source_spec_is_waits(spec))
			source_record_weigh_waits(&list[i]);
		else if (spec->class != SOURCE_CLOCK)
			source_record_weigh(&list[i], spec);
		live->has_states |= spec->class == SOURCE_BLOCKED;
	}
	if (source_specs_are_wall(options->sources, options->nr_sources)) {
		source_record_weigh_wall(&list[0]);
		list[0].name[0] = '\0';
		profile_set_sources(live, list, 1);
	} else if (options->nr_sources) {
		profile_set_sources(live, list, options->nr_sources);
	}
}

int live_names_init(struct live_names *ret, const struct live_names_options *options,
		    struct fpl_err *err)
{
	struct namer_options namer = options->namer;
	int code;

	*ret = (struct live_names){
		.parser = namer.parser,
		.live = { .user = options->user, .kernel = true, .by = options->by },
	};
	set_sources(&ret->live, options);
	if (options->key)
		snprintf(ret->live.key, sizeof(ret->live.key), "%s", options->key);
	namer.is_live = true;
	code = namer_create(&namer, &ret->namer, err);
	if (!code)
		names_init(&ret->names, &ret->live, ret->namer, &options->names);
	return code;
}

void live_names_fini(struct live_names *names)
{
	names_fini(&names->names);
	namer_destroy(names->namer);
	names->live.script_codes = NULL; /* borrowed */
	names->live.jvm_codes = NULL;
	profile_fini(&names->live);
}

/* The object gets its place by its id; its file, if it has one, is the profile's. */
static int adopt(struct live_names *names, struct profile_object *object, struct fpl_err *err)
{
	struct profile *live = &names->live;
	uint32_t id = object->id;

	if (id > live->nr_objects) {
		struct profile_object *bigger =
			reallocarray(live->objects, id, sizeof(*live->objects));

		if (!bigger)
			return fpl_fail(err, -ENOMEM, "out of memory");
		memset(bigger + live->nr_objects, 0, (id - live->nr_objects) * sizeof(*bigger));
		live->objects = bigger;
		live->nr_objects = id;
	}
	live->objects[id - 1] = *object;
	*object = (struct profile_object){ 0 };
	object = &live->objects[id - 1];
	return namer_add_object(names->namer, id, object->path, object->file, err);
}

int live_names_adopt(struct live_names *names, struct feed_batch *batch, struct fpl_err *err)
{
	int code = 0;

	names->live.script_codes = batch->script_codes;
	names->live.jvm_codes = batch->jvm_codes;
	for (struct feed_object *o = batch->objects; !code && o; o = o->next)
		code = adopt(names, &o->object, err);
	return code;
}

int live_names_record(struct live_names *names, struct profile_stack *stacks, size_t nr,
		      struct recording *to, uint32_t **ret_places, struct fpl_err *err)
{
	int code;

	/* those that were asked for long ago go, with all others */
	if (namer_nr_named(names->namer) >= LIVE_NAMES_MAX)
		namer_forget_names(names->namer);
	names->live.stacks = stacks;
	names->live.nr_stacks = nr;
	names_expect(&names->names);
	script_codes_name(names->live.script_codes, names->parser);
	jvm_codes_hold(names->live.jvm_codes, names->parser);
	code = recorded_make(&names->names, NULL, to, ret_places, err);
	jvm_codes_release(names->live.jvm_codes);
	names->live.stacks = NULL;
	names->live.nr_stacks = 0;
	return code;
}

void live_names_window(struct live_names *names, struct profile *profile, struct names *ret)
{
	if (namer_nr_named(names->namer) >= LIVE_NAMES_MAX)
		namer_forget_names(names->namer);
	profile->objects = names->live.objects;
	profile->nr_objects = names->live.nr_objects;
	names_init(ret, profile, names->namer, &names->names.options);
}

void live_names_window_end(struct profile *profile, struct names *lent)
{
	names_fini(lent);
	profile->objects = NULL;
	profile->nr_objects = 0;
}

static void retire(struct live_names *names, uint32_t id)
{
	if (id > names->live.nr_objects)
		return;
	namer_remove_object(names->namer, id);
	profile_object_fini(&names->live.objects[id - 1]);
}

void live_names_follow(struct live_names *names, struct feed_batch *batch, size_t before)
{
	for (;;) {
		const struct feed_retired *gone =
			batch->nr_gone < batch->nr_retired ? &batch->retired[batch->nr_gone] : NULL;
		const struct feed_object *met = batch->objects;
		struct profile_object object;

		if (met && met->order < before && (!gone || met->order < gone->order)) {
			feed_pop_object(batch, &object);
			(void)!adopt(names, &object, NULL);
			profile_object_fini(&object);
		} else if (gone && gone->order < before) {
			retire(names, gone->id);
			batch->nr_gone++;
		} else {
			return;
		}
	}
}

void live_names_retire(struct live_names *names, const struct feed_batch *batch)
{
	for (size_t i = 0; i < batch->nr_retired; i++)
		retire(names, batch->retired[i].id);
}
