/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The word after -e: what a sample is taken of. Names and aliases are perf's. Pure: whether this
 * machine has the source is asked by whoever opens it (profile/source.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "source/breakpoint_word.h"

enum source_class {
	SOURCE_CLOCK,	   /* time on a CPU, at a frequency; samples weigh nanoseconds */
	SOURCE_SOFTWARE,   /* events that the kernel counts; one sample in so many of them */
	SOURCE_HARDWARE,   /* events that a counter of the CPU counts; else the same */
	SOURCE_TRACEPOINT, /* places in the kernel, CATEGORY:NAME; their records have fields */
	SOURCE_PROBE,	   /* places in programs or the kernel; arguments and results are fields */
	SOURCE_BLOCKED,	   /* threads that run again; samples weigh the nanoseconds they slept */
	SOURCE_WAKER,	   /* threads that wake others up; samples weigh what those had slept */
	SOURCE_HEAP,	   /* allocations of programs, sampled by their bytes: no word of -e */
	SOURCE_RSS,	   /* growth of their resident memory; the same */
};

#define SOURCE_NAME_MAX 128

struct source_spec {
	char name[SOURCE_NAME_MAX]; /* as perf prints it, without modifiers; a probe's word */
	enum source_class class;
	uint32_t perf_type; /* as in perf_event_attr */
	uint64_t perf_config;
	bool or_clock;			   /* sample cpu-clock where there is no such counter */
	bool exclude_user, exclude_kernel; /* the modifiers k and u */
	bool exclude_hv;		   /* any modifier: perf means no hypervisor then */
	struct breakpoint_word breakpoint; /* of PERF_TYPE_BREAKPOINT */
	const char *probe;		   /* of a probe the word (source/probe_word.h), borrowed */
	/* One event in so many is sampled; of a clock nanoseconds; 0: each, of a clock by hz. */
	uint64_t period;
	/* Questions about the event's record, borrowed; NULL: not asked. */
	const char *filter;    /* source/event_filter.h */
	const char *weight;    /* the field that samples weigh */
	const char *unit;      /* of that: "bytes", "nanoseconds", "count" */
	const char *allocator; /* of allocations: profile/heap_places.h, borrowed; NULL: found */
};

/* Are its samples of waits of threads: of who waits, or of who ends that? */
static inline bool source_spec_is_waits(const struct source_spec *spec)
{
	return spec->class == SOURCE_BLOCKED || spec->class == SOURCE_WAKER;
}

/* Are @specs [@nr] a clock and the waits of threads, which together are the time of threads? */
static inline bool source_specs_are_wall(const struct source_spec *specs, size_t nr)
{
	return nr == 2 && specs[0].class == SOURCE_CLOCK && specs[1].class == SOURCE_BLOCKED;
}

/* A name that -e takes. */
struct source_word {
	const char *name, *alias; /* alias NULL: it has none */
	const char *what;	  /* a line for people */
	enum source_class class;
	uint32_t perf_type;
	uint64_t perf_config;
	bool is_kernel; /* happens in the kernel only, so that the modifier u leaves nothing */
};

/* All names, in the order in which they are listed. "cycles" and rNNN are understood beside them.
 */
extern const struct source_word source_words[];
extern const size_t source_words_nr;

/*
 * Parse @word: NAME, NAME:u, NAME:k, rNNN, mem:ADDR, CATEGORY:NAME or a probe's, which is borrowed.
 * Writes *ret on success only. -EINVAL, with a line without the "-e": it is no such word, and which
 * one may be meant.
 */
FPL_MUST_CHECK int source_spec_parse(const char *word, struct source_spec *ret,
				     struct fpl_err *err);

/* cpu-cycles where there is a PMU, else cpu-clock. */
struct source_spec source_spec_default(void);
struct source_spec source_spec_cpu_clock(void);
/* Its name where it is no clock, borrowed; NULL: it is a clock, which views need not name. */
static inline const char *source_event(const struct source_spec *spec)
{
	return spec->class == SOURCE_CLOCK ? NULL : spec->name;
}

/* Blocked time; no word of -e names it. */
struct source_spec source_spec_blocked(void);
/* The same time, by who ended it. */
struct source_spec source_spec_waker(void);

struct source_spec source_spec_of(const struct source_word *word);

/* Resident memory: samples weigh what of their stacks' is resident at the end. */
struct source_spec source_spec_rss(void);

/* Page faults, which stand for it where the kernel does not tell how it changes. */
struct source_spec source_spec_page_faults(void);

/* Allocations; one byte in @stride is sampled, 1..UINT32_MAX. */
struct source_spec source_spec_heap(uint64_t stride);
