/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects of a run, by their numbers: each is made by the finder, admitted, and kept until it
 * is retired (retirement.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "bpf/shared.h"
#include "parse/parser.h"
#include "profile/finder.h"
#include "profile/object.h"
#include "profile/profile.h"

struct catalog;

/* @nr_slots: entries of the map `objects`, at most 65,536; one object fewer fits, as none gets
 * slot 0. @parser: borrowed, reads the files. */
FPL_MUST_CHECK int catalog_create(uint32_t nr_slots, struct parser *parser, struct catalog **ret,
				  struct fpl_err *err);
void catalog_destroy(struct catalog *catalog);
/* The finder of the catalog makes objects, which are admitted then. It ends with the catalog. */
struct finder *catalog_finder(const struct catalog *catalog);

/*
 * Give @object, which the finder has made or found, its numbers, unless it has them. Returns
 * @object, or NULL if none is free: said once. NULL is allowed.
 */
struct object *catalog_admit(struct catalog *catalog, struct object *object);

/* finder_object() and finder_vdso(), admitted: while no other uses the finder. */
struct object *catalog_object(struct catalog *catalog, const struct file_hint *hint);
/*
 * The object of a mapping if that can be told at once: finder_known(), or what it told of the same
 * path and build-id a moment before @now_ns (recent_paths.h; CLOCK_MONOTONIC). NULL in any other
 * case.
 */
struct object *catalog_known(struct catalog *catalog, const struct file_hint *hint,
			     uint64_t now_ns);
struct object *catalog_vdso(struct catalog *catalog);

/* The object with this id, or NULL. */
struct object *catalog_at(const struct catalog *catalog, uint32_t id);
/* The highest id that an object has had. */
size_t catalog_nr(const struct catalog *catalog);
/* The id that was given last; behind catalog_nr_ids() comes 1. 0: none was. */
uint32_t catalog_last_id(const struct catalog *catalog);

/*
 * Give no id above @nr_ids, which is above the number of slots; else FPL_FRAME_OBJECT_MAX. What is
 * kept by id is smaller then, over weeks, and an id is given again sooner: after so many others.
 * Before the first object.
 */
#define CATALOG_IDS_FEW 131071u /* as many are free as can be in use */
void catalog_limit_ids(struct catalog *catalog, uint32_t nr_ids);
uint32_t catalog_nr_ids(const struct catalog *catalog);

/* The objects that there are: @i < catalog_nr_live(); in no order. */
struct object *catalog_live(const struct catalog *catalog, size_t i);
size_t catalog_nr_live(const struct catalog *catalog);
/* The most that are charged to one owner who may not have all (share.h). Cost: O(owners). */
size_t catalog_nr_of_limited(const struct catalog *catalog);
/* Limit of objects at one time, from slots and descriptors. */
size_t catalog_nr_max(const struct catalog *catalog);

/*
 * Frames name @object, by an id that is never given again: what the profile says of it is kept when
 * it is retired. Errors: -ENOMEM.
 */
FPL_MUST_CHECK int catalog_keep_id(struct catalog *catalog, struct object *object);
/*
 * Take @objects [@nr] out: no mapping, table or job names them any more, and no stack but those of
 * catalog_keep_id(). The finder is to forget them, and may find them until then: is_retired.
 */
void catalog_retire(struct catalog *catalog, struct object *const *objects, size_t nr);
/* Close the files of @objects [@nr], which were retired and forgotten, and free them. */
void catalog_free(const struct catalog *catalog, struct object *const *objects, size_t nr);

/* A copy of what the profile says of @object, but its file. Errors: -ENOMEM. */
FPL_MUST_CHECK int catalog_describe(const struct object *object, struct profile_object *ret);

/* The same of all objects that frames may name, with the files of those that are not retired:
 * [catalog_nr], to be asked for once. Descriptors go over to the list, and stay those of objects
 * as long as the catalog is there. Errors: -ENOMEM. */
FPL_MUST_CHECK int catalog_export(struct catalog *catalog, struct profile_object **ret);
