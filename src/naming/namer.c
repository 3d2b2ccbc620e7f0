/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/namer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/vector.h"
#include "naming/kernel_names.h"
#include "naming/kernel_text.h"
#include "naming/place_book.h"
#include "naming/settler.h"

/* Ids are dense: one far beyond is a bug of the caller and must not cost memory. */
#define OBJECTS_MAX (1u << 20)
/* From this many addresses on, they are sorted byte by byte. */
#define SORT_BY_BYTES 1024u

/* An address that is to be asked about. */
struct wanted {
	uint64_t vaddr;
	uint32_t place; /* index in the book */
};

struct named_object {
	char *path;	       /* owned; NULL: frames name it, and it is not registered yet */
	struct met_file file;  /* its descriptor is borrowed; -1: none any more */
	uint32_t number;       /* in the book: another may get its id */
	struct wanted *wanted; /* owned [nr]: to be asked, each once */
	size_t nr, room;
	bool is_lost;	   /* a worker failed over this file */
	bool has_no_lines; /* there is no debugging information, or it cannot be read */
	bool is_asked;	   /* by the settler: it has the addresses */
};

struct namer {
	struct namer_options options;
	struct asker asker;
	struct settler *settler; /* owned; NULL: not needed yet */
	struct engine_namer hooks;
	VECTOR(struct named_object *) objects; /* by id - 1, owned; NULL: no object has that id */
	uint32_t last_number;
	struct place_book book;
	struct kernel_text kernel_text;
	struct kernel_names kernel;
};

static void object_destroy(struct named_object *object)
{
	if (!object)
		return;
	free(object->wanted);
	free(object->path);
	free(object);
}

/* The object registered with @id, or NULL. */
static struct named_object *object_at(const struct namer *namer, uint32_t id)
{
	return id >= 1 && id <= namer->objects.nr ? namer->objects.list[id - 1] : NULL;
}

/* The same, made where it is new; NULL without memory. */
static struct named_object *need_object(struct namer *namer, uint32_t id)
{
	struct named_object **object;

	if (vector_reserve(&namer->objects, id))
		return NULL;
	while (namer->objects.nr < id)
		namer->objects.list[namer->objects.nr++] = NULL;
	object = &namer->objects.list[id - 1];
	if (!*object) {
		*object = calloc(1, sizeof(struct named_object));
		if (!*object)
			return NULL;
		(*object)->file.fd = -1;
		(*object)->number = ++namer->last_number;
	}
	return *object;
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
	object_destroy(namer->objects.list[id - 1]);
	namer->objects.list[id - 1] = NULL;
}

bool namer_has_file(const struct namer *namer, uint32_t id)
{
	const struct named_object *object = object_at(namer, id);

	return object && object->file.fd >= 0;
}

size_t namer_nr_named(const struct namer *namer)
{
	return namer->book.nr;
}

void namer_forget_names(struct namer *namer)
{
	place_book_fini(&namer->book);
	for (size_t i = 0; i < namer->objects.nr; i++) {
		if (namer->objects.list[i])
			namer->objects.list[i]->nr = 0;
	}
}

void namer_keep(struct namer *namer, struct namer_stats *ret)
{
	asker_keep(&namer->asker);
	*ret = (struct namer_stats){ .nr_known = namer->asker.names.nr_known,
				     .nr_asked = namer->asker.names.nr_asked };
}

/* Have @place asked in the next round. */
static int ask_for(struct named_object *object, uint64_t vaddr, uint32_t place)
{
	int code = array_reserve(&object->wanted, sizeof(*object->wanted), &object->room,
				 object->nr + 1);

	if (!code)
		object->wanted[object->nr++] = (struct wanted){ vaddr, place };
	return code;
}

void namer_expect(struct namer *namer, uint32_t id, uint64_t lookup_vaddr)
{
	struct named_object *object = object_at(namer, id);
	size_t nr_before = namer->book.nr;
	uint32_t place;

	/* without memory it is a question of its own later */
	if (object && !object->is_lost &&
	    !place_book_need(&namer->book, object->number, lookup_vaddr, &place) &&
	    namer->book.nr > nr_before)
		(void)!ask_for(object, lookup_vaddr, place);
}

static int compare(const void *left, const void *right)
{
	const struct wanted *a = left, *b = right;

	return (a->vaddr > b->vaddr) - (a->vaddr < b->vaddr);
}

/* Sort @list [@nr] by the byte at @shift of its addresses, into @to. */
static void sort_by_byte(const struct wanted *list, size_t nr, unsigned int shift,
			 struct wanted *to)
{
	size_t starts[257] = { 0 };

	for (size_t i = 0; i < nr; i++)
		starts[(list[i].vaddr >> shift & 0xff) + 1]++;
	for (size_t i = 1; i < 256; i++)
		starts[i] += starts[i - 1];
	for (size_t i = 0; i < nr; i++)
		to[starts[list[i].vaddr >> shift & 0xff]++] = list[i];
}

/* A sixth of the CPU time of naming was qsort(3), of 100,000 addresses. */
static void sort_wanted(struct named_object *object)
{
	struct wanted *list = object->wanted, *other = NULL;
	uint64_t differ = 0;

	if (object->nr >= SORT_BY_BYTES)
		other = calloc(object->nr, sizeof(*other));
	if (!other) {
		qsort(list, object->nr, sizeof(*list), compare);
		return;
	}
	for (size_t i = 1; i < object->nr; i++)
		differ |= list[i].vaddr ^ list[0].vaddr;
	for (unsigned int shift = 0; shift < 64; shift += 8) {
		struct wanted *sorted = other;

		if (!(differ >> shift & 0xff))
			continue;
		sort_by_byte(list, object->nr, shift, sorted);
		other = list;
		list = sorted;
	}
	free(other);
	object->wanted = list;
	object->room = object->nr;
}

/* Make one question of all addresses that were said of @object. Errors: -ENOMEM. */
static int make_question(const struct namer *namer, struct named_object *object,
			 struct name_question *ret)
{
	*ret = (struct name_question){
		.path = object->path,
		.file = object->file,
		.vaddrs = calloc(object->nr, sizeof(*ret->vaddrs)),
		.places = calloc(object->nr, sizeof(*ret->places)),
		.nr = object->nr,
		.lines = (namer->options.lines || namer->options.inlined) && !object->has_no_lines,
	};
	if (!ret->vaddrs || !ret->places) {
		name_question_fini(ret);
		return -ENOMEM;
	}
	sort_wanted(object);
	for (size_t i = 0; i < object->nr; i++) {
		ret->vaddrs[i] = object->wanted[i].vaddr;
		ret->places[i] = object->wanted[i].place;
	}
	free(object->wanted);
	object->wanted = NULL;
	object->nr = object->room = 0;
	return 0;
}

/* Takes both over. After a failure the file is not read again: it may have been the end of who did.
 */
static void keep_answer(struct namer *namer, struct named_object *object,
			struct name_question *question, struct name_answer *answer)
{
	object->has_no_lines = object->has_no_lines || answer->has_no_lines;
	if (answer->code == -ECANCELED) {
		/* never asked: without memory they are questions of their own */
		for (size_t i = 0; i < question->nr; i++)
			(void)!ask_for(object, question->vaddrs[i], question->places[i]);
	} else if (answer->code) {
		object->is_lost = true;
		fpl_log(FPL_LOG_WARN, "%s: its functions have no names", answer->err.msg);
	} else {
		/* without memory they are questions of their own */
		(void)!place_book_keep(&namer->book, question->places, question->nr,
				       &answer->places);
	}
	name_question_fini(question);
}

/* One reading of the file for all addresses that are to be asked. Errors: -ENOMEM. */
static int ask(struct namer *namer, struct named_object *object)
{
	struct name_question question;
	struct name_answer answer;
	int code = make_question(namer, object, &question);

	if (code)
		return code;
	asker_ask(&namer->asker, &question, &answer);
	keep_answer(namer, object, &question, &answer);
	return 0;
}

/* The place of @vaddr, by reading the file where it is not known yet; NULL: it cannot be. */
static const struct place *find_place(struct namer *namer, struct named_object *object,
				      uint64_t vaddr)
{
	const struct place *place = place_book_find(&namer->book, object->number, vaddr);
	uint32_t index;

	/* the second round is for one that was not said, or whose question got lost */
	for (int i = 0; i < 2 && object->file.fd >= 0 && !object->is_lost; i++) {
		if (place && place->is_answered)
			break;
		if (!place || !object->nr) {
			if (place_book_need(&namer->book, object->number, vaddr, &index) ||
			    ask_for(object, vaddr, index))
				break;
		}
		if (ask(namer, object))
			break;
		place = place_book_find(&namer->book, object->number, vaddr);
	}
	return place && place->is_answered && !object->is_lost ? place : NULL;
}

void namer_user(struct namer *namer, uint32_t id, uint64_t lookup_vaddr, struct symbol *ret)
{
	struct named_object *object = object_at(namer, id);
	const struct place *place = object ? find_place(namer, object, lookup_vaddr) : NULL;

	*ret = (struct symbol){ .start = SYMBOL_NO_START };
	if (place)
		*ret = (struct symbol){ .name = place->name, .start = place->start };
}

size_t namer_wanted_lines(const struct namer *namer, struct symbol_line *lines, size_t nr)
{
	if (!namer->options.inlined && nr > 1) {
		lines[nr - 1].file = lines[0].file;
		lines[nr - 1].line = lines[0].line;
		lines[nr - 1].column = lines[0].column;
		lines[0] = lines[nr - 1];
		nr = 1;
	}
	for (size_t i = 0; i < nr && !namer->options.lines; i++)
		lines[i] = (struct symbol_line){ .name = lines[i].name };
	return nr;
}

size_t namer_lines(struct namer *namer, uint32_t id, uint64_t lookup_vaddr, struct symbol_line *ret)
{
	struct named_object *object = object_at(namer, id);
	const struct place *place = object ? find_place(namer, object, lookup_vaddr) : NULL;
	size_t nr = place ? place->nr_lines : 0;

	if (!nr)
		return 0;
	memcpy(ret, place->lines, nr * sizeof(*ret));
	if (place->name)
		ret[nr - 1].name = place->name;
	return namer_wanted_lines(namer, ret, nr);
}

int namer_frames(struct namer *namer, uint32_t id, const uint64_t *vaddrs, size_t nr, uint8_t *ret,
		 struct fpl_err *err)
{
	const struct named_object *object = object_at(namer, id);

	if (!object || object->file.fd < 0 || object->is_lost)
		return -ENOENT;
	return asker_frames(&namer->asker, object->path, &object->file, vaddrs, nr, ret, err);
}

int namer_data(struct namer *namer, uint32_t id, const uint64_t *vaddrs, size_t nr,
	       struct symbol_places *ret, struct fpl_err *err)
{
	const struct named_object *object = object_at(namer, id);

	if (!object || object->file.fd < 0 || object->is_lost)
		return -ENOENT;
	return asker_data(&namer->asker, object->path, &object->file, vaddrs, nr, ret, err);
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

bool namer_is_scheduler(struct namer *namer, uint64_t addr)
{
	return kernel_names_is_scheduler(&namer->kernel, addr);
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

/* Take the answers that the settler has by now. */
static void take_answers(struct namer *namer)
{
	struct name_question question;
	struct name_answer answer;
	uint32_t id;

	while (namer->settler && settler_take(namer->settler, &id, &question, &answer)) {
		struct named_object *object = object_at(namer, id);

		object->is_asked = false;
		keep_answer(namer, object, &question, &answer);
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
	if (object->is_lost || !object->nr || need_settler(namer)) {
		object->file.fd = -1;
		return true;
	}
	if (make_question(namer, object, &question))
		return false;
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
	for (size_t i = 0; i < namer->objects.nr; i++)
		object_destroy(namer->objects.list[i]);
	vector_fini(&namer->objects);
	place_book_fini(&namer->book);
	kernel_names_fini(&namer->kernel);
	kernel_text_fini(&namer->kernel_text);
	free(namer);
}
