/* SPDX-License-Identifier: Apache-2.0 */
/* fpless heap: allocations by stack, sampled by their bytes, and those that are not freed. */
#include <argp.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/parse.h"
#include "cli/sampling_options.h"
#include "cli/sampling_run.h"
#include "cli/stack_options.h"
#include "cli/verbs.h"
#include "profile/heap_preload.h"
#include "profile/probe_event.h"
#include "view/measure.h"

/* Bytes to a sampled one, as Go and tcmalloc have it. */
#define SAMPLE_BYTES (512u << 10)
#define STRIDE_MAX   (1u << 30)

/* Samples a second of a thread with the library: at 10 us each, a hundredth of its time. */
#define SAMPLE_RATE 1000u
#define RATE_MAX    1000000u
#define NO_RATE	    UINT32_MAX /* not asked for */
#define LIVE_LEAST  1024u
#define LIVE_MOST   (1u << 24)

/*
 * The least that breakpoints cost a program, of a call that allocates (one at its entry, one at its
 * return) and of one that frees; and what both were seen to cost on a busy virtual machine
 * (decision 0029).
 */
#define CALL_NS (PROBE_RETURN_HIT_NS)
#define FREE_NS (PROBE_HIT_NS)
#define MOST_NS 3000u

/* A call of malloc and its free cost this with the library of --preload (decision 0029). */
#define PRELOAD_NS 2u

enum {
	KEY_LIVE = 0x500,
	KEY_ALLOCS,
	KEY_LEAKS,
	KEY_OBJECTS,
	KEY_BYTES,
	KEY_ALLOCATOR,
	KEY_PRELOAD,
	KEY_RATE,
	KEY_MAX
};

static const struct argp_option options_list[] = {
	FIRST_HEADING("What to show of allocations:"),
	{ "live", KEY_LIVE, NULL, 0, "Those that are not freed when the run ends (default)", 0 },
	{ "allocs", KEY_ALLOCS, NULL, 0, "All that were made during the run", 0 },
	{ "leaks-older", KEY_LEAKS, "SECONDS", 0,
	  "Those not freed that are older than this when the run ends", 0 },
	{ "objects", KEY_OBJECTS, NULL, 0, "Their number, in place of their bytes", 0 },
	{ "sample-bytes", KEY_BYTES, "BYTES", 0,
	  "One allocated byte in so many is sampled, with its allocation (default 512K; 1: each allocation)",
	  0 },
	{ "allocator", KEY_ALLOCATOR, "LIB|FUNC,...", 0,
	  "What allocates, where it is not found: a library by path or name (libmine.so), or functions of the program whose names end as malloc's and free's do, or FUNC=malloc, FUNC=free",
	  0 },
	{ "preload", KEY_PRELOAD, NULL, 0,
	  "Have COMMAND load a small library that samples in the process: without a breakpoint in malloc and free",
	  0 },
	{ "max-rate", KEY_RATE, "N", 0,
	  "With --preload: about so many samples a second of each thread at most, beyond that one stands for more bytes (default 1000, or no bound with --sample-bytes; 0: no bound)",
	  0 },
	{ "max-live", KEY_MAX, "N", 0,
	  "Room for sampled allocations that are not freed (default 262144; 100 bytes each)", 0 },
	{ 0 },
};

static const struct argp_child children[] = { { .argp = &sampling_own_argp },
					      { .argp = &stack_filter_argp },
					      { 0 } };

struct heap {
	struct sampling_options sampling;
	const char *shown; /* the option that chose it; NULL: none did */
	uint64_t stride;   /* 0: not asked for */
	uint32_t rate;	   /* NO_RATE: not asked for */
	const char *allocator;
	bool is_preloaded;
	struct heap_preload preload;   /* owned, then */
	const struct profile *profile; /* borrowed, once written */
};

/* End the process with one line and CLI_EXIT_USAGE. */
#define refuse(state, ...) argp_failure(state, CLI_EXIT_USAGE, 0, __VA_ARGS__)

static void choose(struct heap *heap, const char *option, struct argp_state *state)
{
	if (heap->shown)
		refuse(state, "%s and %s exclude each other", heap->shown, option);
	heap->shown = option;
}

/* Have the command load the library. */
static void preload(struct heap *heap, struct argp_state *state)
{
	struct sampling_options *sampling = &heap->sampling;
	struct fpl_err err = { 0 };

	if (!sampling->command || sampling->target.nr_pids)
		refuse(state,
		       "--preload: wants -- COMMAND: a process that runs loads no library any more");
	if (heap->allocator)
		refuse(state, "--preload and --allocator exclude each other");
	if (heap_preload_find(heap->stride, heap->rate, &heap->preload, &err))
		argp_failure(state, CLI_EXIT_CANNOT_RUN, 0, "%s", err.msg);
	sampling->heap.preload = heap->preload.path;
	sampling->command_environment = heap->preload.environment;
}

static void check(struct heap *heap, struct argp_state *state)
{
	struct sampling_options *sampling = &heap->sampling;
	const struct target_options *target = &sampling->target;

	if (target->all || target->nr_tids)
		refuse(state, "%s: heap wants -p PID or -- COMMAND: memory is of a process",
		       target->all ? "-a" : "-t");
	if (target->cpus.nr)
		refuse(state, "-C: allocations are sampled on all CPUs: --by cpu tells them apart");
	if (!sampling->command && !target->nr_pids)
		refuse(state, "heap: -p PID or -- COMMAND: whose memory?");
	if (!sampling->user)
		refuse(state, "-K: programs allocate in user code");
	if (sampling->compare || sampling->record_path)
		refuse(state, "--record-walks: is for fpless profile");
	if (heap->rate != NO_RATE && !heap->is_preloaded)
		refuse(state,
		       "--max-rate: wants --preload: else the kernel side samples by bytes alone");
	if (heap->rate == NO_RATE)
		heap->rate = heap->stride ? 0 : SAMPLE_RATE;
	if (!heap->stride)
		heap->stride = SAMPLE_BYTES;
	sampling->sources[0] = source_spec_heap(heap->stride);
	sampling->sources[0].allocator = heap->allocator;
	if (heap->is_preloaded)
		preload(heap, state);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct heap *heap = state->input;
	struct engine_heap *asked = &heap->sampling.heap;
	uint64_t value = 0;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = state->child_inputs[1] = &heap->sampling;
		return 0;
	case KEY_LIVE:
		choose(heap, "--live", state);
		return 0;
	case KEY_ALLOCS:
		choose(heap, "--allocs", state);
		return asked->shows_all = true, 0;
	case KEY_LEAKS:
		choose(heap, "--leaks-older", state);
		if (!parse_seconds(arg, &value))
			refuse(state, "--leaks-older %s: expected seconds above 0, or 500ms, 1m",
			       arg);
		asked->older_ns = value * NS_PER_MS;
		return 0;
	case KEY_OBJECTS:
		return asked->shows_objects = true, 0;
	case KEY_BYTES:
		if (!parse_size(arg, 1, STRIDE_MAX, &heap->stride))
			refuse(state, "--sample-bytes %s: expected bytes from 1 to 1G", arg);
		return 0;
	case KEY_ALLOCATOR:
		heap->allocator = arg;
		return 0;
	case KEY_PRELOAD:
		return heap->is_preloaded = true, 0;
	case KEY_RATE:
		if (!parse_number(arg, 0, RATE_MAX, &value))
			refuse(state, "--max-rate %s: expected 0 to %u", arg, RATE_MAX);
		heap->rate = (uint32_t)value;
		return 0;
	case KEY_MAX:
		if (!parse_number(arg, LIVE_LEAST, LIVE_MOST, &value))
			refuse(state, "--max-live %s: expected %u to %u", arg, LIVE_LEAST,
			       LIVE_MOST);
		asked->max_live = (uint32_t)value;
		return 0;
	case ARGP_KEY_END: /* after that of sampling_argp: all options are known */
		check(heap, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp heap_argp = {
	.options = options_list,
	.parser = parse_option,
	.children = children,
	.args_doc = "[SECONDS] [[--] COMMAND [ARG...]]",
	.doc = "Sample the allocations of programs by their bytes: which stacks allocate, and whose memory is not freed.\v"
	       "Without -f and -o the functions and stacks are printed. A pprof (-o heap.pb.gz) has allocated and live bytes and objects, as heap profiles of Go and tcmalloc.\n\n"
	       "Exit status: 0 ok, 1 usage, 2 cannot run here, 3 target gone or no samples, 4 --strict, 6 output could not be written; otherwise COMMAND's.",
};

/* Say what the run will cost, before it does. */
static int say_cost(void *ctx, struct fpl_err *err)
{
	const struct heap *heap = ctx;

	(void)err;
	if (heap->sampling.output.quiet)
		return 0;
	if (heap->is_preloaded)
		fprintf(stderr,
			"fpless: heap: a call of malloc and its free cost %u ns more, and those that are sampled some us\n",
			PRELOAD_NS);
	else
		fprintf(stderr,
			"fpless: heap: a call of malloc and its free cost %.1f to %.1f us more while this runs%s\n",
			(CALL_NS + FREE_NS) / 1e3, MOST_NS / 1e3,
			heap->sampling.target.nr_pids ? ""
						      : ", in every process with the same library");
	return 0;
}

static int keep_profile(void *ctx, struct names *names, const struct recording *recording)
{
	struct heap *heap = ctx;

	(void)recording;
	heap->profile = names->profile;
	return CLI_EXIT_OK;
}

static void write_sum(FILE *to, const char *what, uint64_t space, uint64_t objects)
{
	const struct measure bytes = { .kind = MEASURE_BYTES };
	char size[MEASURE_NUMBER_SIZE], number[NUMBER_GROUPED_SIZE];

	fprintf(to, "%s in %s objects %s", measure_number(&bytes, space, size),
		number_grouped(objects, number), what);
}

/* Say which allocations are missing from what is live, and why. */
static void write_left_out(FILE *to, const struct profile_heap *heap)
{
	if (heap->full)
		fprintf(to,
			"  live         %" PRIu64
			" sampled allocations found no room among %" PRIu64
			" and are not in what is live: more --max-live or --sample-bytes\n",
			heap->full, heap->max);
	if (heap->lost)
		fprintf(to,
			"  live         %" PRIu64
			" sampled allocations are not in what is live: their stacks are lost\n",
			heap->lost);
	if (heap->gone)
		fprintf(to,
			"  gone         %" PRIu64
			" sampled allocations were not freed by programs that ended, or executed another, before the run did\n",
			heap->gone);
}

/* Say what programs told that sample themselves. */
static void write_told(FILE *to, const struct profile_heap *heap)
{
	char number[NUMBER_GROUPED_SIZE];

	fprintf(to, "  probes       otel_memory, by which programs tell of their own samples: %s",
		number_grouped(heap->returns, number));
	fprintf(to, " allocations, %s frees; with the breakpoints at least %.1f ms\n",
		number_grouped(heap->frees, number),
		((double)heap->bpf_ns + (double)(heap->returns + heap->frees) * PROBE_HIT_NS) /
			1e6);
}

static void report(void *ctx, FILE *to)
{
	const struct heap *verb = ctx;
	const struct profile_heap *heap = verb->profile ? &verb->profile->heap : NULL;
	uint64_t hits;
	char number[NUMBER_GROUPED_SIZE];

	if (!heap || !heap->is_on)
		return;
	fputs("  heap         ", to);
	write_sum(to, "allocated, ", heap->sums.alloc_space, heap->sums.alloc_objects);
	write_sum(to, verb->sampling.heap.older_ns ? "not freed and old enough\n" : "not freed\n",
		  heap->sums.inuse_space, heap->sums.inuse_objects);
	write_left_out(to, heap);
	hits = heap->calls + heap->returns + heap->frees;
	if (heap->nr_tellers && !heap->calls) {
		write_told(to, heap);
		return;
	}
	if (!hits)
		return;
	fprintf(to, "  probes       %s calls that allocate", number_grouped(heap->calls, number));
	fprintf(to,
		", %s that free: BPF %.1f ms, %.0f ns each; with the breakpoints at least %.1f ms\n",
		number_grouped(heap->frees, number), (double)heap->bpf_ns / 1e6,
		(double)heap->bpf_ns / (double)hits,
		((double)heap->bpf_ns + (double)heap->calls * CALL_NS +
		 (double)heap->frees * FREE_NS) /
			1e6);
}

int cmd_heap(int argc, char **argv)
{
	struct heap heap = { .rate = NO_RATE };
	const struct sampling_verb verb = {
		.ctx = &heap,
		.open = say_cost,
		.write = keep_profile,
		.report = report,
	};

	sampling_options_init(&heap.sampling);
	heap.sampling.own_source = "allocations";

	int status = sampling_main(argc, argv, &heap_argp, &heap, &heap.sampling, &verb);

	sampling_options_fini(&heap.sampling);
	heap_preload_fini(&heap.preload);
	return status;
}
