/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the values of a sample are its count and its weight, by the types a pprof gives them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "pprof.pb-c.h"
#include "format/pprof_tables.h"

#define PPROF_TYPES_MAX 64u /* profiles of heaps have 4 */

struct pprof_type {
	int64_t type, unit; /* texts */
};

struct pprof_values {
	struct pprof_type types[PPROF_TYPES_MAX];
	size_t nr;
	struct pprof_type period_type;
	int64_t default_type; /* text; 0: none */
	int64_t period;

	/* once chosen */
	size_t count, weight;	/* indexes; PPROF_TYPES_MAX: none, it follows from the other */
	uint64_t weight_scale;	/* nanoseconds of one, 1 where it is no time */
	uint64_t weight_period; /* the period in the unit of weights; 0: not known */
	bool of_sources;	/* those of source i weigh by type i + 1 */
	bool is_heap;		/* the types are those of PPROF_HEAP_LIST */
	bool periodic;		/* the count weighs periods, where there is no weight */
};

/*
 * Choose what counts and what weighs, and tell the recording. Without @wanted it is what the file
 * prefers (else the last type): a time weighs, and samples/count, else any count, counts; samples
 * are weighed by cpu, else any time; anything else counts alone. The type called @wanted counts,
 * and weighs, too, where it is a time. In a file of fpless the first type counts and the second
 * weighs, whatever its unit; of several sources each has a type behind the first.
 *
 * Errors: -ENOENT no type is called @wanted, which lists what there is; -EBADMSG there are no
 * types.
 */
FPL_MUST_CHECK int pprof_values_choose(struct pprof_values *values, struct pprof_tables *tables,
				       const char *wanted, struct fpl_err *err);

/* Count and weight of a sample, of several sources of @source. False: one of them is below 0. */
bool pprof_values_of(const struct pprof_values *values, const Pprof__Sample *sample, size_t source,
		     uint64_t *ret_count, uint64_t *ret_weight);

/* The sums of a sample of a heap that fpless wrote; false: it is no such file. Hostile values may
 * be any. */
bool pprof_values_heap(const struct pprof_values *values, const Pprof__Sample *sample,
		       struct recording_heap *ret);
