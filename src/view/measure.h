/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which number of a stack readers are shown, and how it is written. Samples of a clock are counted.
 * A stack that weighs something else than the time of a clock (page-faults, bytes of an
 * allocation, time off the CPU) is shown by its weight, unless --sample-type asks for the counts.
 * A pprof of another tool is shown in what that tool counts. Every writer takes its numbers from
 * here; only .jsonl and pprof keep both.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recording/recording.h"

enum measure_kind {
	MEASURE_SAMPLES, /* of a clock, or of what is not known */
	MEASURE_COUNT,	 /* of anything else */
	MEASURE_BYTES,
	MEASURE_TIME,
};

struct measure {
	enum measure_kind kind;
	bool weight;		 /* the weights are shown, else the counts */
	bool clock;		 /* weights are the time of a clock, or not known */
	bool weighs_ns;		 /* weights are nanoseconds before a sample, whatever is shown */
	uint64_t unit_ns;	 /* of a time: nanoseconds of one */
	const char *type, *unit; /* borrowed from the recording: "alloc_space", "bytes"; of samples
				  * both "" */
	char noun[128];		 /* "samples", "alloc_objects"; escaped for terminals */
};

/* @recording outlives *ret. */
void measure_init(const struct recording *recording, struct measure *ret);

/* @measure without the recording, which may go: type and unit are "". */
struct measure measure_alone(const struct measure *measure);

/* Samples, or whatever @noun says, counted: where there is no recording to ask. */
void measure_init_counts(const char *noun, struct measure *ret);

/* Nanoseconds of @noun, where there is no recording to ask. */
void measure_init_time(const char *noun, struct measure *ret);

/* The number of @count samples of together @weight that is shown. */
static inline uint64_t measure_of(const struct measure *measure, uint64_t count, uint64_t weight)
{
	return measure->weight ? weight : count;
}

static inline uint64_t measure_stack(const struct measure *measure,
				     const struct recording_stack *stack)
{
	return measure_of(measure, stack->count, stack->weight);
}

/* The sum over all stacks. */
uint64_t measure_sum(const struct recording *recording);

/*
 * How long a sample of @weight took that ended when it was taken, in nanoseconds; 0: its weight
 * is no time.
 */
static inline uint64_t measure_took_ns(const struct measure *measure, uint64_t weight)
{
	return measure->weighs_ns ? weight : 0;
}

/* "1,234,567" to @buf. Returns @buf. */
#define NUMBER_GROUPED_SIZE 27u
const char *number_grouped(uint64_t value, char buf[static NUMBER_GROUPED_SIZE]);

/* "1,234", "12.3 ms", "4.1 MiB" to @buf. Returns @buf. */
#define MEASURE_NUMBER_SIZE 32u
const char *measure_number(const struct measure *measure, uint64_t value,
			   char buf[static MEASURE_NUMBER_SIZE]);

/* The same as text reports have it: samples without commas, which scripts read. */
const char *measure_plain(const struct measure *measure, uint64_t value,
			  char buf[static MEASURE_NUMBER_SIZE]);

/*
 * The number and what it is of: "1,234 samples", "1 sample", "12.3 ms of off-cpu", "4.1 MiB of
 * alloc_space". Returns @buf.
 */
const char *measure_said(const struct measure *measure, uint64_t value, char *buf, size_t size);

/* The same, but "samples" also of one. */
const char *measure_many(const struct measure *measure, uint64_t value, char *buf, size_t size);

/* The same as text reports have it: "1234 samples", also of one. */
const char *measure_reported(const struct measure *measure, uint64_t value, char *buf, size_t size);
