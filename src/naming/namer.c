/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/namer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "naming/kernel_names.h"
#include "naming/kernel_text.h"
#include "naming/place_list.h"
#include "naming/settler.h"

/* Ids are dense: one far beyond is a bug of the caller and must not cost memory. */
#define OBJECTS_MAX (1u << 20)

struct named_object {
	char *path;	      /* owned; NULL: frames name it, and it is not registered yet */
	struct met_file file; /* its descriptor is borrowed; -1: none any more */
	struct place_list places;
	bool is_lost;	   /* a worker failed over this file */
	bool has_no_lines; /* there is no debugging information, or it cannot be read */
	bool is_asked;	   /* by the settler: it has the addresses */
};

struct namer {
	struct namer_options options;
	struct asker asker;
	struct settler *settler; /* owned; NULL: not needed yet */
	struct engine_namer hooks;
	struct named_object **objects; /* owned [nr_objects], by id - 1; NULL: none */
	size_t nr_objects;
	struct kernel_text kernel_text;
	struct kernel_names kernel;
};

static void object_destroy(struct named_object *object)
{
	if (!object)
		return;
	place_list_fini(&object->places);
	free(object->path);
	free(object);
}

/* What is known of object @id, or NULL. */
static struct named_object *object_at(const struct namer *namer, uint32_t id)
{
	return id >= 1 && id <= namer->nr_objects ? namer->objects[id - 1] : NULL;
}

/* The same, made where it is new; NULL without memory. */
static struct named_object *need_object(struct namer *namer, uint32_t id)
{
	size_t nr = namer->nr_objects ? namer->nr_objects : 64;

	if (id > namer->nr_objects) {
		struct named_object **grown;

		while (nr < id)
			nr *= 2;
		grown = reallocarray(namer->objects, nr, sizeof(struct named_object *));
		if (!grown)
			return NULL;
		memset(grown + namer->nr_objects, 0,
		       (nr - namer->nr_objects) * sizeof(struct named_object *));
		namer->objects = grown;
		namer->nr_objects = nr;
	}
	if (!namer->objects[id - 1]) {
		namer->objects[id - 1] = calloc(1, sizeof(struct named_object));
		if (namer->objects[id - 1])
			namer->objects[id - 1]->file.fd = -1;
	}
	return namer->objects[id - 1];
}

int namer_add_object(struct namer *namer, uint32_t id, const char *path,
		     const struct met_file *file, struct fpl_err *err)
{
	struct named_object *object;

	if (id == 0 || id > OBJECTS_MAX)
		return fpl_fail(err, -EINVAL, "%s: object id %u is out of range", path, id);
	object = need_object(namer, id);
	if (object && !object->path)
		object->path = strdup(path);
	if (!object || !object->path)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", path);
	object->file = *file;
	return 0;
}

int namer_add_profile(struct namer *namer, const struct profile *profile, struct fpl_err *err)
{
	int code = 0;

	for (size_t i = 0; !code && i < profile->nr_objects; i++) {
		const struct profile_object *object = &profile->objects[i];

		if (object->file)
			code = namer_add_object(namer, object->id, object->path, object->file, err);
	}
	return code;
}

void namer_remove_object(struct namer *namer, uint32_t id)
{
	if (!object_at(namer, id))
		return;
	object_destroy(namer->objects[id - 1]);
	namer->objects[id - 1] = NULL;
}

bool namer_has_file(const struct namer *namer, uint32_t id)
{
	const struct named_object *object = object_at(namer, id);

	return object && object->file.fd >= 0;
}

size_t namer_nr_named(const struct namer *namer)
{
	size_t nr = 0;

	for (size_t i = 0; i < namer->nr_objects; i++)
		nr += namer->objects[i] ? namer->objects[i]->places.nr_known : 0;
	return nr;
}

void namer_forget_names(struct namer *namer)
{
	for (size_t i = 0; i < namer->nr_objects; i++) {
		if (namer->objects[i])
			place_list_fini(&namer->objects[i]->places);
	}
}

void namer_keep(struct namer *namer, struct namer_stats *ret)
{
	asker_keep(&namer->asker);
	*ret = (struct namer_stats){ .nr_known = namer->asker.names.nr_known,
				     .nr_asked = namer->asker.names.nr_asked };
}

void namer_expect(struct namer *namer, uint32_t id, uint64_t lookup_vaddr)
{
	struct named_object *object = object_at(namer, id);

	/* without memory it is a question of its own later */
	if (object && !object->is_lost && !place_list_find(&object->places, lookup_vaddr))
		(void)!place_list_add(&object->places, lookup_vaddr);
}

/* What is to be asked of the file of @object: all addresses that were said. */
static void make_question(const struct namer *namer, struct named_object *object,
			  struct name_question *ret)
{
	*ret = (struct name_question){
		.path = object->path,
		.file = object->file,
		.lines = (namer->options.lines || namer->options.inlined) && !object->has_no_lines,
	};
	place_list_take(&object->places, &ret->vaddrs, &ret->nr);
}

/* Takes both over. After a failure the file is not read again: it may have been the end of who did.
 */
static int keep_answer(struct named_object *object, struct name_question *question,
		       struct name_answer *answer)
{
	int code = answer->code;

	object->has_no_lines = object->has_no_lines || answer->has_no_lines;
	if (code) {
		object->is_lost = true;
		fpl_log(FPL_LOG_WARN, "%s: its functions have no names", answer->err.msg);
	} else {
		code = place_list_keep(&object->places, question->vaddrs, question->nr,
				       &answer->places);
	}
	name_question_fini(question);
	return code;
}

/* One reading of the file for all addresses that are to be asked. */
static int ask_names(struct namer *namer, struct named_object *object)
{
	struct name_question question;
	struct name_answer answer;

	make_question(namer, object, &question);
	name_question_ask(&question, &namer->asker, &answer);
	return keep_answer(object, &question, &answer);
}

/* The place of @vaddr, which is not known yet, by reading the file. */
static const struct symbol_place *find_by_asking(struct namer *namer, struct named_object *object,
						 uint64_t vaddr)
{
	const struct symbol_place *place = NULL;

	if (object->places.nr) {
		if (ask_names(namer, object))
			return NULL;
		place = place_list_find(&object->places, vaddr);
	}
	/* it was not said that this one would be asked about: one more reading of the file */
	if (!place && !place_list_add(&object->places, vaddr) && !ask_names(namer, object))
		place = place_list_find(&object->places, vaddr);
	return place;
}

void namer_user(struct namer *namer, uint32_t id, uint64_t lookup_vaddr, struct symbol *ret)
{
	struct named_object *object = object_at(namer, id);
	const struct symbol_place *place;

	*ret = (struct symbol){ .start = SYMBOL_NO_START };
	if (!object || object->is_lost)
		return;
	place = place_list_find(&object->places, lookup_vaddr);
	if (!place && object->file.fd >= 0)
		place = find_by_asking(namer, object, lookup_vaddr);
	if (place)
		*ret = (struct symbol){ .name = place->name && *place->name ? place->name : NULL,
					.start = place->start };
}

size_t namer_lines(struct namer *namer, uint32_t id, uint64_t lookup_vaddr, struct symbol_line *ret)
{
	const struct named_object *object = object_at(namer, id);
	const struct symbol_line *lines;
	struct symbol symbol;
	size_t nr;

	if (!object || (!namer->options.lines && !namer->options.inlined))
		return 0;
	namer_user(namer, id, lookup_vaddr, &symbol);
	nr = place_list_lines(&object->places, lookup_vaddr, &lines);
	if (!nr)
		return 0;
	memcpy(ret, lines, nr * sizeof(*ret));
	if (symbol.name)
		ret[nr - 1].name = symbol.name;
	if (!namer->options.inlined && nr > 1) {
		ret[nr - 1].file = ret[0].file;
		ret[nr - 1].line = ret[0].line;
		ret[nr - 1].column = ret[0].column;
		ret[0] = ret[nr - 1];
		nr = 1;
	}
	for (size_t i = 0; i < nr && !namer->options.lines; i++)
		ret[i] = (struct symbol_line){ .name = ret[i].name };
	return nr;
}

int namer_frames(struct namer *namer, uint32_t id, const uint64_t *vaddrs, size_t nr, uint8_t *ret,
		 struct fpl_err *err)
{
	const struct named_object *object = object_at(namer, id);

	if (!object || object->file.fd < 0 || object->is_lost)
		return -ENOENT;
	return asker_frames(&namer->asker, object->path, &object->file, vaddrs, nr, ret, err);
}

void namer_kernel(struct namer *namer, uint64_t addr, struct symbol *ret)
{
	struct kallsyms_match match;

	*ret = (struct symbol){ .start = SYMBOL_NO_START };
	if (kernel_names_find(&namer->kernel, addr, &match))
		*ret = (struct symbol){ .name = match.name,
					.start = match.start,
					.module = match.module };
}

/* engine_namer.expect */
static void hook_expect(void *ctx, const uint64_t *frames, size_t nr)
{
	struct namer *namer = ctx;

	for (size_t i = 0; i < nr; i++) {
		uint32_t id = frames[i] >> FPL_FRAME_OBJECT_SHIFT & FPL_FRAME_OBJECT_MAX;

		if (frames[i] & FPL_FRAME_RAW || !id || !need_object(namer, id))
			continue;
		namer_expect(namer, id,
			     (frames[i] & FPL_FRAME_VADDR_MASK) - !(frames[i] & FPL_FRAME_EXACT));
	}
}

/* What the settler has found out by now. */
static void take_answers(struct namer *namer)
{
	struct name_question question;
	struct name_answer answer;
	uint32_t id;

	while (namer->settler && settler_take(namer->settler, &id, &question, &answer)) {
		struct named_object *object = object_at(namer, id);

		object->is_asked = false;
		(void)!keep_answer(object, &question, &answer);
	}
}

static int need_settler(struct namer *namer)
{
	return namer->settler ? 0 : settler_create(&namer->asker.options, &namer->settler);
}

/* engine_namer.settle */
static bool hook_settle(void *ctx, const struct profile_object *described)
{
	struct namer *namer = ctx;
	struct named_object *object;
	struct name_question question;

	take_answers(namer);
	/* without memory it goes without names */
	if (namer_add_object(namer, described->id, described->path, described->file, NULL))
		return true;
	object = object_at(namer, described->id);
	if (object->is_asked || (namer->settler && !settler_has_room(namer->settler)))
		return false;
	if (object->is_lost || !object->places.nr || need_settler(namer)) {
		object->file.fd = -1;
		return true;
	}
	make_question(namer, object, &question);
	object->is_asked = !settler_ask(namer->settler, described->id, &question);
	return false;
}

/* engine_namer.end */
static void hook_end(void *ctx)
{
	struct namer *namer = ctx;

	if (!namer->settler)
		return;
	settler_stop(namer->settler);
	take_answers(namer);
	settler_destroy(TAKE_PTR(namer->settler));
	for (size_t i = 0; i < namer->nr_objects; i++) {
		/* what was not answered any more is asked for with all that is left */
		if (namer->objects[i])
			namer->objects[i]->is_asked = false;
	}
}

const struct engine_namer *namer_hooks(struct namer *namer)
{
	return &namer->hooks;
}

int namer_create(const struct namer_options *options, struct namer **ret, struct fpl_err *err)
{
	const struct asker_options asker = { .parser = options->parser,
					     .cache = options->cache,
					     .mangled = options->no_demangle,
					     .is_live = options->is_live };
	struct namer *namer = calloc(1, sizeof(*namer));
	int code;

	if (!namer)
		return fpl_fail(err, -ENOMEM, "names: out of memory");
	namer->options = *options;
	namer->kernel = (struct kernel_names){
		.text = options->asks_kernel ? &namer->kernel_text : NULL,
		.no_demangle = options->no_demangle,
	};
	namer->hooks = (struct engine_namer){
		.expect = hook_expect, .settle = hook_settle, .end = hook_end, .ctx = namer
	};
	code = asker_init(&namer->asker, &asker, err);
	if (code)
		namer_destroy(namer);
	else
		*ret = namer;
	return code;
}

void namer_destroy(struct namer *namer)
{
	if (!namer)
		return;
	settler_destroy(namer->settler);
	asker_fini(&namer->asker);
	for (size_t i = 0; i < namer->nr_objects; i++)
		object_destroy(namer->objects[i]);
	free(namer->objects);
	kernel_names_fini(&namer->kernel);
	kernel_text_fini(&namer->kernel_text);
	free(namer);
}
