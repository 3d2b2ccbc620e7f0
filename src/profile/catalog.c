/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/catalog.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "base/vector.h"
#include "profile/object_list.h"
#include "profile/recent_paths.h"
#include "profile/share.h"

struct catalog {
	struct finder *finder;	 /* owned */
	struct object_list list; /* of objects that are owned */
	struct recent_paths recent;
	VECTOR(struct profile_object) former; /* retired, but stacks name them */
	size_t nr_refused;		      /* objects that got no numbers */
	bool is_exported;		      /* the files of objects are the profile's */
};

int catalog_create(uint32_t nr_slots, struct parser *parser, struct catalog **ret,
		   struct fpl_err *err)
{
	struct catalog *catalog = calloc(1, sizeof(*catalog));
	int code = catalog ? 0 : fpl_fail(err, -ENOMEM, "objects: out of memory");

	if (!code) {
		object_list_init(&catalog->list, nr_slots);
		code = finder_create(nr_slots, parser, &catalog->finder, err);
	}
	if (code)
		catalog_destroy(catalog);
	else
		*ret = catalog;
	return code;
}

struct finder *catalog_finder(const struct catalog *catalog)
{
	return catalog->finder;
}

void object_free(struct object *object)
{
	if (!object)
		return;
	elf_file_close(object->elf);
	free(object->path);
	free(object);
}

static void free_described(struct profile_object *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		profile_object_fini(&list[i]);
	free(list);
}

/* Frees @object; where the profile has its descriptor, that stays open. */
static void give_up(const struct catalog *catalog, struct object *object)
{
	if (catalog->is_exported)
		object->elf->fd = -1;
	object_free(object);
}

void catalog_destroy(struct catalog *catalog)
{
	if (!catalog)
		return;
	for (size_t i = 0; i < catalog->list.live.nr; i++)
		give_up(catalog, catalog->list.live.list[i]);
	object_list_fini(&catalog->list);
	free_described(catalog->former.list, catalog->former.nr);
	recent_paths_clear(&catalog->recent);
	finder_destroy(catalog->finder);
	free(catalog);
}

struct object *catalog_at(const struct catalog *catalog, uint32_t id)
{
	return object_list_at(&catalog->list, id);
}

size_t catalog_nr(const struct catalog *catalog)
{
	return catalog->list.by_id.nr;
}

uint32_t catalog_last_id(const struct catalog *catalog)
{
	return catalog->list.last_id;
}

void catalog_limit_ids(struct catalog *catalog, uint32_t nr_ids)
{
	catalog->list.nr_ids = nr_ids;
}

uint32_t catalog_nr_ids(const struct catalog *catalog)
{
	return catalog->list.nr_ids;
}

struct object *catalog_live(const struct catalog *catalog, size_t i)
{
	return catalog->list.live.list[i];
}

size_t catalog_nr_live(const struct catalog *catalog)
{
	return catalog->list.live.nr;
}

size_t catalog_nr_of_limited(const struct catalog *catalog)
{
	return share_most_of_limited(&catalog->list.owners);
}

size_t catalog_nr_max(const struct catalog *catalog)
{
	return finder_nr_max(catalog->finder);
}

struct object *catalog_admit(struct catalog *catalog, struct object *object)
{
	int code = object && !object->id ? object_list_add(&catalog->list, object) : 0;

	if (!code)
		return object;
	fpl_log(catalog->nr_refused++ ? FPL_LOG_DEBUG : FPL_LOG_WARN,
		"%s: %s: its frames stay addresses", object->path,
		code == -ENOSPC ? "all numbers of objects are in use" : "out of memory");
	return NULL;
}

struct object *catalog_object(struct catalog *catalog, const struct file_hint *hint)
{
	return catalog_admit(catalog, finder_object(catalog->finder, hint));
}

struct object *catalog_known(struct catalog *catalog, const struct file_hint *hint, uint64_t now_ns)
{
	struct object *object = recent_paths_find(&catalog->recent, hint, now_ns);

	if (object)
		return object;
	object = finder_known(catalog->finder, hint);
	if (object)
		recent_paths_note(&catalog->recent, hint, object, now_ns);
	return object;
}

struct object *catalog_vdso(struct catalog *catalog)
{
	return catalog_admit(catalog, finder_vdso(catalog->finder));
}

static char *hex_of(const uint8_t *bytes, size_t size)
{
	char *text = malloc(2 * size + 1);

	if (text)
		text_hex(bytes, size, text);
	return text;
}

/* Offset in the file less vaddr, of the first segment that holds code. */
static uint64_t file_bias_of(const struct elf_file *elf)
{
	for (size_t i = 0; i < elf->nr_segments; i++) {
		const struct elf_segment *s = &elf->segments[i];

		if (s->type == PT_LOAD && s->flags & PF_X)
			return s->off - s->vaddr;
	}
	return 0;
}

int catalog_describe(const struct object *object, struct profile_object *ret)
{
	*ret = (struct profile_object){
		.id = object->id,
		.path = strdup(object->path),
		.build_id = hex_of(object->elf->build_id, object->elf->build_id_size),
		.file_bias = file_bias_of(object->elf),
	};
	if (ret->path && ret->build_id)
		return 0;
	free(ret->path);
	free(ret->build_id);
	*ret = (struct profile_object){ 0 };
	return -ENOMEM;
}

int catalog_keep_id(struct catalog *catalog, struct object *object)
{
	if (vector_reserve(&catalog->former, catalog->former.nr + 1) ||
	    catalog_describe(object, &catalog->former.list[catalog->former.nr]))
		return -ENOMEM;
	catalog->former.nr++;
	object->is_kept = true;
	return 0;
}

void catalog_retire(struct catalog *catalog, struct object *const *objects, size_t nr)
{
	recent_paths_clear(&catalog->recent);
	for (size_t i = 0; i < nr; i++) {
		objects[i]->is_retired = true;
		object_list_remove(&catalog->list, objects[i], objects[i]->is_kept);
	}
}

void catalog_free(const struct catalog *catalog, struct object *const *objects, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		give_up(catalog, objects[i]);
}

/* Describe @object for the profile, its file included, which is still closed until then. */
static int export_object(const struct object *object, struct profile_object *ret)
{
	int code = catalog_describe(object, ret);

	ret->file = code ? NULL : malloc(sizeof(*ret->file));
	if (!ret->file)
		return -ENOMEM;
	*ret->file = object_file(object);
	return 0;
}

int catalog_export(struct catalog *catalog, struct profile_object **ret)
{
	size_t nr = catalog_nr(catalog);
	struct profile_object *list = calloc(nr ? nr : 1, sizeof(*list));
	int code = list ? 0 : -ENOMEM;

	for (; !code && catalog->former.nr; catalog->former.nr--) {
		const struct profile_object *former = &catalog->former.list[catalog->former.nr - 1];

		list[former->id - 1] = *former;
	}
	for (size_t i = 0; !code && i < catalog->list.live.nr; i++) {
		const struct object *object = catalog->list.live.list[i];

		code = export_object(object, &list[object->id - 1]);
	}
	catalog->is_exported = !code;
	if (code) {
		/* the descriptors are still ours */
		for (size_t i = 0; list && i < nr; i++) {
			if (list[i].file)
				list[i].file->fd = -1;
		}
		free_described(list, list ? nr : 0);
		return code;
	}
	*ret = list;
	return 0;
}
