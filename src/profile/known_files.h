/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of known files, by their stamps: saves reading them again. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "obj/identity.h"

struct object;

struct known_file {
	struct file_stamp stamp; /* zeroed: an empty place */
	struct object *object;	 /* borrowed; NULL: of no use */
};

struct known_files {
	struct known_file *places; /* owned [size]: open addressing, at most half full */
	size_t nr, size;
};

/* Errors: -ENOMEM. */
FPL_MUST_CHECK int known_files_init(struct known_files *files);
void known_files_fini(struct known_files *files);

/* The file with @stamp, until the next call that adds or forgets; NULL: it was not met. */
const struct known_file *known_files_find(const struct known_files *files,
					  const struct file_stamp *stamp);

/* Remember what the file with @stamp is. Without memory it is read again next time. */
void known_files_add(struct known_files *files, const struct file_stamp *stamp,
		     struct object *object);

/* Forget the files of no use, and those of objects of which @keeps is false. Without memory all. */
void known_files_forget(struct known_files *files, bool (*keeps)(const struct object *object));
