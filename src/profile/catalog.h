/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects of a run: ELF files met behind mappings. Copies of a file are one object with it if
 * they have the same identity, trust and names, however many processes and paths there are. Each is
 * opened at its first sighting and stays open, so that its table and its names do not depend on the
 * process or the path, until it is retired (retirement.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "bpf/shared.h"
#include "obj/debug_file.h"
#include "obj/elf_file.h"
#include "obj/identity.h"
#include "parse/parser.h"
#include "profile/profile.h"
#include "profile/table_state.h"

struct object {
	uint32_t id;   /* object_list.h */
	uint16_t slot; /* in the map `objects` */
	size_t place;  /* in the list of live objects */
	char *path;    /* owned: as the first process saw it */
	/* owned; without sections; its fd stays open, for other threads too */
	struct elf_file *elf;
	struct identity identity;
	struct file_stamp stamp; /* of the file, before its identity was read */
	struct trust trust;	 /* objects are one only where this is equal too */
	struct debug_link link;	 /* where its debug file may be */
	uint64_t max_vaddr;	 /* end of the last PT_LOAD */
	/* identity_read_names() of the file, asked for when another file has its identity */
	uint8_t names_digest[IDENTITY_DIGEST_SIZE];
	bool names_asked;
	int names_code; /* what the question returned: with 0 names_digest is valid */

	bool is_remote; /* of its file only a place is held (obj/opener.h) */

	struct table_state table;

	/* for retirement.h */
	uint64_t round;	  /* of the last look that found it mapped */
	uint64_t idle_ns; /* CLOCK_MONOTONIC, since when nothing needs it; 0: something does */
	bool is_told;	  /* the listener of the run was told of it */
	bool is_retired;  /* about to be freed */
	bool is_kept;	  /* but not its id: catalog_keep_id() */
};

/* Its file as it was met: the descriptor stays the object's. */
static inline struct met_file object_file(const struct object *object)
{
	return (struct met_file){ object->elf->fd, object->stamp, object->trust };
}

/* What is known of a mapping's file before it is opened. */
struct file_hint {
	pid_t pid;
	uint64_t start, end;
	const char *path;
	const uint8_t *build_id; /* of the file that is mapped; NULL: not known */
	size_t build_id_size;
	uint32_t dev_major, dev_minor;
	uint64_t inode; /* 0: not known, and neither is the device */
};

struct catalog;

/* Called while and after a file is read: the reader of the ring must not fall behind. */
typedef void (*catalog_pause_fn)(void *ctx);

/* @nr_slots: entries of the map `objects`, of which slot 0 is nobody's: so many objects, less one,
 * there may be; at most 65,536. @parser: borrowed, reads the files. */
FPL_MUST_CHECK int catalog_create(uint32_t nr_slots, struct parser *parser, struct catalog **ret,
				  struct fpl_err *err);
void catalog_destroy(struct catalog *catalog);
void catalog_on_pause(struct catalog *catalog, catalog_pause_fn pause, void *ctx);
/* The same for whoever waits for something else. */
struct opener_wait catalog_wait(const struct catalog *catalog);

/* So many more descriptors of each object will be open than its own. Where few may be open, there
 * are fewer objects, so that there are some for everything else. */
void catalog_expect_copies(struct catalog *catalog, unsigned int nr);

/*
 * The object behind a mapping, made if this is its first sighting. NULL where there is none (not
 * an ELF file, cannot be opened, replaced by another file): said once per path, counted.
 * Cost: looks at the path, or opens the file; reads its headers and CFI when it is new.
 */
struct object *catalog_object(struct catalog *catalog, const struct file_hint *hint);

/* The vDSO, read from this process: the kernel maps the same bytes into each. NULL: there is none.
 */
struct object *catalog_vdso(struct catalog *catalog);

/* The object with this id, or NULL. */
struct object *catalog_at(const struct catalog *catalog, uint32_t id);
/* The highest id that an object has had. */
size_t catalog_nr(const struct catalog *catalog);
/* The id that was given last; behind FPL_FRAME_OBJECT_MAX comes 1. 0: none was. */
uint32_t catalog_last_id(const struct catalog *catalog);

/* The objects that there are: @i < catalog_nr_live(); in no order. */
struct object *catalog_live(const struct catalog *catalog, size_t i);
size_t catalog_nr_live(const struct catalog *catalog);
/* The most that are files of one user who may not have all (share.h). Cost: O(users). */
size_t catalog_nr_of_limited(const struct catalog *catalog);
/* So many there may be at once, for want of slots or of descriptors. */
size_t catalog_nr_max(const struct catalog *catalog);

/*
 * Frames name @object, by an id that is never given again: what the profile says of it is kept when
 * it is retired. Errors: -ENOMEM.
 */
FPL_MUST_CHECK int catalog_keep_id(struct catalog *catalog, struct object *object);
/*
 * Forget @objects [@nr]: no mapping, table or job names them any more, and no stack but those of
 * catalog_keep_id(). Their descriptors are closed; a file that is met again is a new object.
 */
void catalog_retire(struct catalog *catalog, struct object *const *objects, size_t nr);
/* Files behind executable mappings that could not be used. */
size_t catalog_nr_refused(const struct catalog *catalog);
/* Files for which there was no object left, said once. */
size_t catalog_nr_beyond(const struct catalog *catalog);

/* A copy of what the profile says of @object, but its file. Errors: -ENOMEM. */
FPL_MUST_CHECK int catalog_describe(const struct object *object, struct profile_object *ret);

/* The same of all objects that frames may name, with the files of those that are not retired:
 * [catalog_nr], to be asked for once. Descriptors go over to the list, and stay those of objects
 * as long as the catalog is there. Errors: -ENOMEM. */
FPL_MUST_CHECK int catalog_export(struct catalog *catalog, struct profile_object **ret);
