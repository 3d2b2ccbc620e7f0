/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the mappings, functions and locations of a pprof, each once. Every object has addresses of
 * its own: what many processes had mapped somewhere else is one mapping, and no two overlap.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/id_table.h"
#include "base/vector.h"
#include "format/pprof_fields.h"
#include "recording/recording.h"

/* The code of an object in one of the halves: of a program, or of the kernel. */
struct pprof_mapping {
	uint64_t first, last; /* addresses looked up in it, as in the recording */
	uint64_t base;	      /* an address in the file less this is one in the recording */
	uint64_t id;	      /* 0: not written */
	bool used, named, files, numbers, inlined;
	bool known; /* first and last are there */
};

struct pprof_places {
	const struct recording *recording; /* borrowed */
	struct pprof_mapping *mappings;	   /* owned [2 * recording.nr_objects] */
	uint64_t *functions;	  /* owned [recording.nr_functions]: id of each; 0: not yet */
	VECTOR(uint64_t) unnamed; /* id of the function that word i of string_table is; 0: none */
	uint64_t *of_frame;	  /* owned [recording.nr_frames]: id of its location; 0: not yet */
	struct id_table table;	  /* of locations: index of the first frame like it */
	/* Ids are numbers from 1 on, without a gap: google/pprof gives those behind the last to
	 * what it adds. */
	uint64_t nr_mappings, nr_functions, nr_locations;
	bool all_named; /* also code of which nothing is known: "[unknown]" */
};

/* Cost: O(frames). */
void pprof_places_init(struct pprof_places *places, const struct recording *recording);
void pprof_places_fini(struct pprof_places *places);

/* Write the mappings. */
void pprof_places_start(struct pprof_places *places, struct pprof_fields *fields);

/* The id of the location of @frame, written where it is not there yet. */
uint64_t pprof_places_location(struct pprof_places *places, struct pprof_fields *fields,
			       const struct recording_frame *frame);

/* Does the location of @frame look like kernel code to who reads the file? */
bool pprof_places_is_kernel(const struct pprof_places *places, const struct recording_frame *frame);
