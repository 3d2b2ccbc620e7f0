/* SPDX-License-Identifier: Apache-2.0 */
/* The difference of two sides: every function and stack with a verdict on its change. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "diff/pairing.h"
#include "diff/significance.h"

struct diff_function {
	uint32_t item; /* index in the pairing */
	struct diff_change self, total;
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
	struct error_shares function_shares;
	double stack_quantile;
	/* Items, without labels, and stacks of the pairing that have samples; owned [nr_functions],
	 * [nr_stacks], in no order. */
	uint32_t *functions, *stacks;
	size_t nr_functions, nr_stacks;
};

/*
 * @pairing outlives @ret, and is not added to any more. What readers are shown is compared
 * (view/measure.h); of samples of a clock their CPU time, where all of both sides have a weight.
 */
void difference_make(const struct pairing *pairing, struct difference *ret);
void difference_fini(struct difference *difference);

/* The noun of what changes are parts of: "CPU time", "off-cpu", or @counted. */
const char *difference_unit(const struct difference *difference, const char *counted);

/* The verdict on item @item, and on stack @stack. Cost: O(1), some 100 ns. */
struct diff_function difference_function(const struct difference *difference, uint32_t item);
struct diff_change difference_stack(const struct difference *difference, uint32_t stack);

/* How many functions changed by more than noise. Cost: that of those that are tested. */
void difference_count_real(const struct difference *difference, size_t *ret_self,
			   size_t *ret_total);

/*
 * The change, in per cent of itself, of a function of a tenth of the whole that @runs runs a side,
 * as long and as unlike as these are, would find 9 times in 10. 0: as many as there are, of the
 * side that has fewer. INFINITY: not known.
 */
double difference_shows(const struct difference *difference, size_t runs);

/* A test of one thing. */
struct diff_test {
	enum significance_kind kind;
	double chance;	 /* of one tail */
	double interval; /* of the change, as in diff_change */
};

/*
 * The widest test of a growth of the whole: that of the whole, where it is judged, or of a function
 * by itself. Cost: that of difference_count_real().
 */
struct diff_test difference_widest(const struct difference *difference);

/* Orders: largest change first, real ones before noise; ties by text. */
enum difference_order { DIFFERENCE_BY_SELF, DIFFERENCE_BY_TOTAL, DIFFERENCE_BY_SAMPLES };

/* The first of an order. */
struct difference_list {
	uint32_t *list; /* owned [nr]: items or, by samples, stacks */
	size_t nr;
	size_t nr_left; /* those that did not fit */
};

/*
 * The first @nr_max in @order. @changed: without those of which there is nothing on either side:
 * functions that never ran, but in what they called. Cost: O(n) for a few, else O(n log n).
 */
void difference_list_make(const struct difference *difference, enum difference_order order,
			  size_t nr_max, bool changed, struct difference_list *ret);
void difference_list_fini(struct difference_list *list);
