/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the file behind a mapping and makes an object of it. Copies of a file are one object with
 * it if they have the same identity, trust and names, however many processes and paths there are.
 * Each is opened at its first sighting and stays open until it is forgotten, so that its table and
 * its names do not depend on the process or the path.
 *
 * It opens and reads files, so it may take seconds: it belongs to one thread (lookups.h), and one
 * function is for others.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "base/err.h"
#include "obj/elf_file.h"
#include "parse/parser.h"
#include "profile/profile.h"

struct object;
struct parse_client;
struct share_book;
struct table;

/* Facts known of a mapping's file before it is opened. */
struct file_hint {
	pid_t pid;
	uint64_t start, end;
	const char *path;
	const uint8_t *build_id; /* of the file that is mapped; NULL: not known */
	size_t build_id_size;
	uint32_t dev_major, dev_minor;
	uint64_t inode;	  /* 0: not known, and neither is the device */
	uint64_t owner;	  /* of the process (proc/owner.h); OWNER_UNKNOWN: it may be asked */
	const int *place; /* what mapped_file_place() has said, borrowed; NULL: it may be asked */
	/* Receives the table of a new object if it was made with the headers: the caller's to
	 * destroy. NULL: it is not wanted. */
	struct table **table;
};

/* The most places that hints hold at once. */
#define FINDER_PLACES_MAX 32u

struct finder;

/* Has @elf the build-id of the file that is mapped? False where that is not known. */
static inline bool file_hint_has_build_id(const struct file_hint *hint, const struct elf_file *elf)
{
	return hint->build_id && hint->build_id_size && elf->build_id_size >= hint->build_id_size &&
	       memcmp(elf->build_id, hint->build_id, hint->build_id_size) == 0;
}

/* @nr_slots: as catalog_create() has it. @parser: borrowed, reads the files. */
FPL_MUST_CHECK int finder_create(uint32_t nr_slots, struct parser *parser, struct finder **ret,
				 struct fpl_err *err);
/* Objects stay: they are the catalog's. NULL is allowed. */
void finder_destroy(struct finder *finder);

/* Expect @nr more open descriptors of each object than its own. If few may be open, there are
 * fewer objects, so that everything else has descriptors, too. */
void finder_expect_copies(struct finder *finder, unsigned int nr);

/*
 * Make the table of a small file together with its headers, in one question, if the file was
 * changed after this call and the hint wants the table. No cache has the table of such a file.
 * @synth: of struct client_file.
 */
void finder_make_tables(struct finder *finder, bool synth);

/*
 * The object behind a mapping, made if this is its first sighting: without numbers then. NULL: no
 * object (not an ELF file, cannot be opened, replaced by another file): said once per path,
 * counted. Cost: looks at the path, or opens the file; reads its headers and CFI when it is new.
 */
struct object *finder_object(struct finder *finder, const struct file_hint *hint);

/* The vDSO, read from this process: the kernel maps the same bytes into each. NULL: no vDSO. */
struct object *finder_vdso(struct finder *finder);

/*
 * The object behind a mapping where that can be told at once, by a path that leads to a known file
 * of ours: NULL in any other case. For the owner of the catalog, while the finder's own thread is
 * at work. Cost: a walk of the path.
 */
struct object *finder_known(struct finder *finder, const struct file_hint *hint);

/* Forget @objects [@nr], which are not freed: a file that is met again is a new object. */
void finder_forget(struct finder *finder, struct object *const *objects, size_t nr);

/* The client that reads its files, for the owner of the finder. */
struct parse_client *finder_client(struct finder *finder);

/* The most objects at once: slots and descriptors limit them. */
size_t finder_nr_max(const struct finder *finder);
/* Files for which there was no object left, said once. */
size_t finder_nr_beyond(const struct finder *finder);

/* Mappings that have no object for want of room, by owner: of PROFILE_LIMIT_FILES,
 * _READING and _OBJECTS. Borrowed. */
const struct share_book *finder_refused(const struct finder *finder, enum profile_limit limit);
