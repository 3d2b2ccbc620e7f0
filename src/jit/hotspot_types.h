/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HotSpot describes its own types, for its debugger: libjvm exports the tables gHotSpotVMStructs,
 * gHotSpotVMTypes and gHotSpotVMIntConstants, and numbers that say how their entries are laid out.
 * Read from the memory of the process, by the dynamic symbols of the loaded libjvm.
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

/* The size of a type in bytes, or a constant. */
struct hotspot_number {
	const char *name;
	bool is_found;
	uint64_t value;
};

/* All that is looked for. */
struct hotspot_wanted {
	struct hotspot_field *fields;	  /* [nr_fields] */
	struct hotspot_number *types;	  /* [nr_types] */
	struct hotspot_number *constants; /* [nr_constants] */
	size_t nr_fields, nr_types, nr_constants;
};

/*
 * Find what is @wanted in the libjvm whose first byte is at @base. An entry that is not there stays
 * as it was, and constants may be missing altogether. Errors: -ENOENT it exports no tables
 * of fields and types; -EFAULT they cannot be read, or make no sense.
 */
FPL_MUST_CHECK int hotspot_types_read(struct jit_memory *memory, uint64_t base,
				      const struct hotspot_wanted *wanted);
