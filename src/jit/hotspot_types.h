/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HotSpot describes its own types, for its debugger: libjvm exports the tables gHotSpotVMStructs
 * and gHotSpotVMTypes, and numbers that say how their entries are laid out. Read from the memory of
 * the process, by the dynamic symbols of the loaded libjvm.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "jit/memory.h"

/* A field that is looked for, and what was found. */
struct hotspot_field {
	const char *type, *name;
	bool is_found, is_static;
	uint64_t off;	  /* in the type; of a static one its address */
	char content[64]; /* the type of the field, cut off */
};

struct hotspot_type {
	const char *name;
	bool is_found;
	uint64_t size; /* bytes */
};

/*
 * Find the @fields [@nr_fields] and @types [@nr_types] of the libjvm whose first byte is at @base.
 * An entry that is not there stays as it was. Errors: -ENOENT it exports no such tables; -EFAULT
 * they cannot be read, or make no sense.
 */
FPL_MUST_CHECK int hotspot_types_read(struct jit_memory *memory, uint64_t base,
				      struct hotspot_field *fields, size_t nr_fields,
				      struct hotspot_type *types, size_t nr_types);
