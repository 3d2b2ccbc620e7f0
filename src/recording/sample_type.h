/* SPDX-License-Identifier: Apache-2.0 */
/* The thing that a recording counts: samples, or whatever another tool's pprof counts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recording/recording.h"

/* Are counts numbers of samples? A thing without a name and with a unit is something else. */
bool sample_type_is_samples(const struct recording *recording);

/*
 * Does a stack weigh something else than the time of a clock: "page-faults", "alloc" in bytes, the
 * time of "off-cpu"? Such weights are what readers are shown (view/measure.h).
 */
bool sample_type_weighs_else(const struct recording *recording);

/*
 * Do both count the same, in the same unit, and weigh in the same one, which is of the same where
 * readers are shown it?
 */
bool sample_types_equal(const struct recording *a, const struct recording *b);

/* Is @name the one thing that is counted, as pprofs call it? */
bool sample_type_is(const struct recording *recording, const char *name);

/* The name of what a stack weighs: "cpu", "page-faults". Owned by the recording. */
const char *sample_type_weight(const struct recording *recording);

/* Returns the word that makes a noun of @type in a sentence: " time" after blocked; "" after most.
 */
const char *sample_type_after(const char *type);

/* Nanoseconds of one of @unit; 0: it is no time. */
uint64_t sample_unit_ns(const char *unit);

/*
 * Write what a number of counts is followed by: "samples", "alloc_objects", "bytes of alloc_space",
 * "bytes" of a thing without a name; escaped for terminals. Returns @buf.
 */
const char *sample_type_text(const struct recording *recording, char *buf, size_t size);

/* The same behind @nr: "sample" behind 1. Returns @buf. */
const char *sample_type_counted(const struct recording *recording, uint64_t nr, char *buf,
				size_t size);

/*
 * Do weights say anything that counts do not? Of samples they always do. Cost: O(stacks), where
 * counts are of something else.
 */
bool sample_type_is_weighed(const struct recording *recording);
