/* SPDX-License-Identifier: Apache-2.0 */
/* An object of a run: an ELF file behind mappings, and the state of its table. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "bpf/shared.h"
#include "obj/debug_file.h"
#include "obj/elf_file.h"
#include "obj/identity.h"
#include "profile/code_maker.h"
#include "profile/profile.h"
#include "profile/table_state.h"

/*
 * The finder makes it and changes the fields of the file, which are read by all. All others are the
 * thread's that owns the catalog.
 */
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
	uint64_t owner;		 /* whom it is charged to (proc/owner.h): of who met it first */
	struct debug_link link;	 /* where its debug file may be */
	bool is_plain;		 /* struct plain_headers says all that names need of it */
	uint64_t max_vaddr;	 /* end of the last PT_LOAD */
	/* identity_read_names() of the file, asked for when another file has its identity */
	uint8_t names_digest[IDENTITY_DIGEST_SIZE];
	bool names_asked;
	int names_code; /* what the question returned: with 0 names_digest is valid */

	bool is_forgotten;	   /* the finder will not find it any more */
	bool is_remote;		   /* of its file only a place is held (obj/opener.h) */
	enum code_maker maker;	   /* it makes code at run time */
	struct fpl_rule made_rule; /* of that code: LuaJIT's, once its table says so */
	uint8_t made_reg;	   /* CPython: struct script_facts has it */

	struct table_state table;

	/* for retirement.h */
	uint64_t round;	  /* of the last look that found it mapped */
	uint64_t idle_ns; /* CLOCK_MONOTONIC, since when nothing needs it; 0: something does */
	bool is_told;	  /* the listener of the run was told of it */
	bool is_retired;  /* is freed once the finder has forgotten it */
	bool is_kept;	  /* but not its id: catalog_keep_id() */
};

/* Its file as it was met: the descriptor stays the object's. */
static inline struct met_file object_file(const struct object *object)
{
	const struct elf_file *elf = object->elf;
	struct met_file file = { .fd = elf->fd, .stamp = object->stamp, .trust = object->trust };

	if (object->is_plain) {
		file.plain.machine = elf->machine;
		file.plain.build_id_size = (uint16_t)elf->build_id_size;
		memcpy(file.plain.build_id, elf->build_id, elf->build_id_size);
	}
	return file;
}

/* Close its file and free it; NULL is allowed. */
void object_free(struct object *object);
