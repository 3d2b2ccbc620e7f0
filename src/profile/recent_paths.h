/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects that paths led to a moment ago. A build maps the same libraries hundreds of times a
 * second: this spares a walk of the path each time. Fixed memory: the paths in use.
 */
#pragma once

#include <stdint.h>

#include "profile/finder.h"

/*
 * So long a path leads where it did. The build-id must be the one that is mapped in any case, so
 * what else may stand at the path by now is the same file with other bytes that the build-id is
 * not made of. A walk tells no more exactly what was mapped: a mapping's record is read 0.1 s after
 * the mapping at most, and then the file may be another one, too.
 */
#define RECENT_PATHS_NS 1000000000ull

/* Places, so many in a set: of the paths that fall on one set, the oldest are displaced. With one
 * place in a set, two libraries that a linker maps took each other's, and each was walked to. */
#define RECENT_PATHS	 512u
#define RECENT_PATHS_SET 4u

struct recent_path {
	uint64_t hash;
	char *path;	       /* owned; NULL: empty */
	struct object *object; /* borrowed */
	uint64_t time_ns;      /* CLOCK_MONOTONIC: of the walk */
};

/* Zeroed: empty. To be cleared at the end. */
struct recent_paths {
	struct recent_path places[RECENT_PATHS];
};

/* The object that the path of @hint led to less than RECENT_PATHS_NS before @now_ns, if it has the
 * build-id of @hint; NULL in any other case. Cost: a hash of the path. */
struct object *recent_paths_find(const struct recent_paths *recent, const struct file_hint *hint,
				 uint64_t now_ns);

/* At @now_ns the path of @hint leads to @object. Without memory it is not remembered. */
void recent_paths_note(struct recent_paths *recent, const struct file_hint *hint,
		       struct object *object, uint64_t now_ns);

/* Forget all: before objects are retired. */
void recent_paths_clear(struct recent_paths *recent);
