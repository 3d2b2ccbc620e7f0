/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of source files. Debugging information says where they are, and it is hostile: a path of it
 * is read only where its name is that of a source, and the file is that of the object's owner or
 * one that everybody may read. Texts are made safe to show.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "obj/debuginfod.h"
#include "obj/identity.h"
#include "obj/opener.h"

#define SOURCES_FILE_MAX (16u << 20) /* bytes of one file */
#define SOURCES_MAX	 4096u	     /* files */

struct sources;

struct sources_options {
	struct opener *opener; /* borrowed; may be NULL */
	/* Folder in which files are looked for first: by their path, then without its first parts,
	 * one by one. NULL: none. It is trusted, the user has named it. */
	const char *folder;
	struct debuginfod *fetcher; /* borrowed: asked for what is not here; NULL: no one is */
};

/* The object whose debugging information names a file. */
struct sources_object {
	struct trust trust; /* of the file that has it */
	const uint8_t *build_id;
	size_t build_id_size;
};

/* A lack of memory ends the process. */
struct sources *sources_create(const struct sources_options *options);
/* NULL is allowed. */
void sources_destroy(struct sources *sources);

/*
 * Line @number, from 1 on, of the file @path, which @object names: safe to show, tabs as blanks,
 * owned by @sources. NULL: it is not there; *ret_why says why the file was not read, NULL: it was.
 * Cost: reads the file once.
 */
const char *sources_line(struct sources *sources, const struct sources_object *object,
			 const char *path, uint32_t number, const char **ret_why);
