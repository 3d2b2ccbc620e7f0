/* SPDX-License-Identifier: Apache-2.0 */
/* What changed between two sides: every function and stack with what to think of its change. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "diff/pairing.h"
#include "diff/significance.h"

struct diff_function {
	uint32_t item; /* index in the pairing */
	struct diff_change self, total;
};

struct diff_stack {
	uint32_t stack; /* index in the pairing */
	struct diff_change change;
};

struct difference {
	const struct pairing *pairing; /* borrowed */
	struct significance significance;
	size_t nr_function_tests, nr_stack_tests;
	/*
	 * Changes are in what was measured, per run, or, of shares, in parts of 1. Times @unit they
	 * are in parts of the time before (of what is after, where there is nothing before).
	 */
	double unit;
	struct diff_change whole; /* of what was measured, of shares too */
	bool whole_judged;	  /* there was something to judge it by: not of shares */
	/* owned [nr_functions], [nr_stacks], in no order; no labels */
	struct diff_function *functions;
	struct diff_stack *stacks;
	size_t nr_functions, nr_stacks;
};

/*
 * @pairing outlives @ret, and is not added to any more. CPU time is compared where all samples of
 * both sides have a weight, else numbers of samples. Errors: -ENOMEM; difference_fini is safe then.
 */
FPL_MUST_CHECK int difference_make(const struct pairing *pairing, struct difference *ret);
void difference_fini(struct difference *difference);

/* Orders: largest change first, real ones before noise; ties by text. */
enum difference_order { DIFFERENCE_BY_SELF, DIFFERENCE_BY_TOTAL };

void difference_sort_functions(struct difference *difference, enum difference_order order);
void difference_sort_stacks(struct difference *difference);
