/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of the objects of a recording, found by path or build-id below a folder: only one of
 * the very build-id is taken. Files are looked at by workers without rights (parse/client.h).
 */
#pragma once

#include <limits.h>
#include <stddef.h>

#include "base/err.h"
#include "obj/debuginfod.h"
#include "naming/renaming.h"
#include "parse/client.h"
#include "recording/recording.h"

struct object_files {
	struct renaming_object *objects; /* owned [nr_objects] */
	size_t nr_objects;
	size_t found;
	size_t refused;	  /* a file is there, of another build-id */
	size_t absent;	  /* objects without a file */
	size_t fetched;	  /* debug files that a server had */
	size_t unplaced;  /* found, but no file tells where the code of their offsets goes */
	size_t anonymous; /* the recording knows no build-id: any file could be meant */
};

/*
 * Register with @namer, by their index, the objects of @recording of which a file is below
 * @root ("/": this machine): @root/PATH, by its build-id in @root/.build-id, its debug file there
 * or in @root/usr/lib/debug/.build-id, @root/NAME, what debuginfod's client has fetched. Of objects
 * with offsets the code segments are read, too. Says of each file that is refused why. @fetcher:
 * asked before for debug files of objects with frames without a name or line; NULL: not asked.
 * @ret: zeroed at first; the next recording's objects take the place of one's before, and counts
 * add up. Errors: -ENOMEM; object_files_fini() in any case.
 */
FPL_MUST_CHECK int object_files_register(const struct recording *recording, const char *root,
					 struct parse_client *client, struct debuginfod *fetcher,
					 struct namer *namer, struct object_files *ret,
					 struct fpl_err *err);
/*
 * Open the file with the code of object @idx of @recording, which has its very build-id:
 * @root/PATH, by its build-id in @root/.build-id, what debuginfod's client has fetched or @fetcher
 * (NULL: not asked) fetches, @root/NAME. *ret_fd is the caller's; *ret_path is where it is. Errors:
 * -ENODATA the recording knows no build-id; -EINVAL there are only files of other build-ids,
 * which is said; -ENOENT there is no file.
 */
FPL_MUST_CHECK int object_files_open_code(const struct recording *recording, uint32_t idx,
					  const char *root, struct parse_client *client,
					  struct debuginfod *fetcher, int *ret_fd,
					  char ret_path[PATH_MAX]);
/* Only where nothing is asked of the namer any more. */
void object_files_fini(struct object_files *files);
