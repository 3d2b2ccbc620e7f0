/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that allocate and free memory in the targets, and where they are in their files. */
#pragma once

#include "base/err.h"
#include "profile/engine.h"
#include "profile/heap_place.h"

void heap_places_fini(struct heap_places *places);

/*
 * Find the allocators that the targets of @options may use: the program itself where it has
 * malloc, and the libraries of the processes; of a command libc and all other allocators that are
 * installed, as it is not known yet what it will load.
 *
 * @wanted, of --allocator (NULL: as above), are words with commas between them: a path or a name
 * with ".so" in it is a library, in which the usual names are looked for; any other is a function
 * of the program (or of the libraries, where some are named), whose kind is that of the usual name
 * it ends in, or of the one behind "=": "my_malloc,my_free", "take=malloc,give=free".
 *
 * Opens files and asks a worker (decision 0009). Errors: -EINVAL with a line that says what was
 * looked for and what to give: no allocator, no such file or function, a word without a kind;
 * those of the client (parse/client.h); -ENOMEM. *ret: ended by heap_places_fini() in any case.
 */
FPL_MUST_CHECK int heap_places_find(const struct engine_options *options, const char *wanted,
				    struct heap_places *ret, struct fpl_err *err);
