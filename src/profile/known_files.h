/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of known files, by their stamps: saves reading them again. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/id_table.h"
#include "base/vector.h"
#include "obj/identity.h"

struct object;

struct known_file {
	struct file_stamp stamp;
	struct object *object; /* borrowed; NULL: of no use */
};

/* Zeroed: none. */
struct known_files {
	VECTOR(struct known_file) files;
	struct id_table ids; /* by stamp */
};

void known_files_fini(struct known_files *files);

/* The file with @stamp, until the next call that adds or forgets; NULL: it was not met. */
const struct known_file *known_files_find(const struct known_files *files,
					  const struct file_stamp *stamp);

/* Remember what the file with @stamp is. Without memory it is read again next time. */
void known_files_add(struct known_files *files, const struct file_stamp *stamp,
		     struct object *object);

/* Forget the files of no use, and those of objects of which @keeps is false. Without memory further
 * ones. */
void known_files_forget(struct known_files *files, bool (*keeps)(const struct object *object));
