/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of a pprof as stacks of a recording. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "pprof.pb-c.h"
#include "format/pprof_frames.h"
#include "format/pprof_values.h"

struct pprof_samples {
	struct pprof_tables *tables;	   /* borrowed */
	const struct pprof_values *values; /* borrowed */
	bool events;			   /* keep the time of each, where there is one */
	/* of the sample at hand */
	VECTOR(struct pprof_location *) locations;
	VECTOR(struct pprof_run) runs;
	VECTOR(uint32_t) frames;
	VECTOR(uint8_t) labels; /* by text of the recording: enum key + 1; 0: not looked at */
	uint64_t shown, weight; /* sums */
	uint64_t negative;	/* samples left out: counts below 0, as of a difference */
	uint64_t cut;		/* samples whose stack was longer than one may be */
};

void pprof_samples_init(struct pprof_samples *samples, struct pprof_tables *tables,
			const struct pprof_values *values, bool events);
void pprof_samples_fini(struct pprof_samples *samples);

/* Memory it takes. */
size_t pprof_samples_bytes(const struct pprof_samples *samples);

/*
 * Add @sample. All it refers to is there, or missing. Errors: -EBADMSG: the sum of all counts or
 * weights does not fit 63 bits.
 */
FPL_MUST_CHECK int pprof_samples_add(struct pprof_samples *samples, const Pprof__Sample *sample,
				     struct fpl_err *err);
