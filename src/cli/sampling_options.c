/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sampling_options.h"

#include <inttypes.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "bpf/shared.h"
#include "cli/cli.h"
#include "cli/page_code.h"
#include "cli/parse.h"
#include "profile/source.h"

/* With -F max: where it begins, and the overhead in per cent. */
#define FIRST_HZ	     4999u
#define MAX_OVERHEAD_PERCENT 10

/* One sample in at most so many events. */
#define EVENTS_MAX 1000000000u

/* Keys of options without a letter. */
enum {
	KEY_UNWIND = 0x100,
	KEY_MAX_DEPTH,
	KEY_NO_SYNTH,
	KEY_TABLE_MEMORY,
	KEY_STACK_MEMORY,
	KEY_JIT_MEMORY,
	KEY_RING_MEMORY,
	KEY_MAX_PROCESSES,
	KEY_MAX_MAPPINGS,
	KEY_SNAPSHOT,
	KEY_STRICT,
	KEY_CALL_GRAPH,
	KEY_RECORD_WALKS,
	KEY_RECORD_EVERY,
	KEY_MAX_OVERHEAD,
	KEY_KEEP_RUNNING,
	KEY_FILTER,
	KEY_WEIGHT,
	KEY_UNIT,
};

static const struct argp_option options_list[] = {
	{ .doc = "What to sample:", .group = 1 },
	{ "event", 'e', "EVENT[,EVENT...]", 0,
	  "What to sample, as perf names it (fpless events): cpu-cycles, cpu-clock, cycles (default: the clock where there is no PMU), page-faults, context-switches, a tracepoint as sched:sched_switch, a probe as uprobe:FILE:FUNC, uretprobe:FILE:FUNC, usdt:FILE:PROVIDER:NAME, kprobe:FUNC, kretprobe:FUNC; with :u or :k only in user mode or in the kernel. Several: -e again, or with commas; -c, --filter, --weight and --unit are of the -e before them",
	  1 },
	{ "frequency", 'F', "HZ|max", 0,
	  "Of a clock: samples per second and CPU (default 99); max: what the kernel allows, and --max-overhead (10)",
	  1 },
	{ "period", 'c', "N", 0,
	  "Sample one in N events (default: each); of the CPU clock every N nanoseconds", 1 },
	{ "filter", KEY_FILTER, "EXPR", 0,
	  "Of a tracepoint or probe: only events for whose fields EXPR holds: 'dfd == -100 && filename ~ \"/etc/*\"', 'arg0 > 4096'; == != < <= > >= & ~ !~, !, &&, ||, ()",
	  1 },
	{ "weight", KEY_WEIGHT, "FIELD", 0, "Of a tracepoint or probe: an event weighs this field",
	  1 },
	{ "unit", KEY_UNIT, "UNIT", 0, "Unit of --weight: bytes, ns or count (default)", 1 },
	{ "max-overhead", KEY_MAX_OVERHEAD, "PCT", 0,
	  "Sample less often if fpless costs more than PCT per cent of the targets' CPU time (of one CPU at least)",
	  1 },
	{ "duration", 'd', "SECONDS", 0,
	  "Stop after this long: 10, 10s, 500ms, 1m (default: until Ctrl-C or until COMMAND ends)",
	  1 },
	{ "delay", 'D', "MS", 0, "Wait this long before the first sample", 1 },
	{ "keep-running", KEY_KEEP_RUNNING, NULL, 0,
	  "Let COMMAND go on when the time is up (default: it gets SIGTERM)", 1 },
	{ "user-only", 'U', NULL, 0, "User stacks only (with -K: both)", 1 },
	{ "kernel-only", 'K', NULL, 0, "Kernel stacks only (with -U: both)", 1 },
	{ "idle", 'I', NULL, 0, "Include the idle task", 1 },

	{ "strict", KEY_STRICT, "PCT", OPTION_ARG_OPTIONAL,
	  "Exit with 4 if more than PCT per cent (default 0) of the samples are lost", 2 },

	{ .doc = "How to walk:", .group = 3 },
	{ "unwind", KEY_UNWIND, "auto|cfi|fp", 0,
	  "auto: CFI, rows made from code without CFI, and frame pointers without either (default); cfi: CFI only; fp: frame pointers only",
	  3 },
	{ "no-synth", KEY_NO_SYNTH, NULL, 0,
	  "Make no unwind rows from the instructions of code without CFI", 3 },
	{ "max-depth", KEY_MAX_DEPTH, "N[,M]", 0,
	  "Keep the N innermost and the M outermost user frames of a deeper stack (default 768,256; at most 2048 in all); N alone: N in all, a quarter of them "
	  "outermost; N,0: end the walk after N",
	  3 },
	{ "table-memory", KEY_TABLE_MEMORY, "BYTES", 0,
	  "Room for unwind tables (default 128M; suffixes K, M, G)", 3 },
	{ "stack-memory", KEY_STACK_MEMORY, "BYTES", 0, "Room for distinct stacks (default 4M)",
	  3 },
	{ "jit-memory", KEY_JIT_MEMORY, "BYTES", 0,
	  "Room for the names of code made at run time, from perf maps and jitdumps (default 64M)",
	  3 },
	{ "ring-memory", KEY_RING_MEMORY, "BYTES", 0,
	  "Size of the ring buffer from the kernel (default 4M)", 3 },
	{ "max-processes", KEY_MAX_PROCESSES, "N", 0,
	  "Room for this many processes at one time (default 16384)", 3 },
	{ "max-mappings", KEY_MAX_MAPPINGS, "N", 0,
	  "Room for their executable mappings, in all (default 65536, or 32 per task if more)", 3 },
	{ "snapshot", KEY_SNAPSHOT, "BYTES", 0,
	  "Stack bytes copied for a sample without a table yet: the whole stack, or both ends of a larger one (below 48K one end); at most 96K, 0 for none (default 96K)",
	  3 },

	{ .doc = "Accepted for habit:", .group = 4 },
	{ "call-graph", KEY_CALL_GRAPH, "fp|dwarf", 0, "As --unwind fp, or --unwind auto", 4 },
	{ NULL, 'g', NULL, 0, "Ignored (stacks are always recorded)", 4 },
	{ .doc = "To judge the walker:", .group = 5 },
	{ "record-walks", KEY_RECORD_WALKS, "FILE", 0,
	  "Record walks with their registers and stack bytes", 5 },
	{ "record-every", KEY_RECORD_EVERY, "N", 0, "Record every Nth walk of a CPU (default 1)",
	  5 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, -1 },
	{ 0 },
};

/* Words behind an event; NULL: not given. */
struct asked {
	const char *period; /* -c */
	const char *filter, *weight, *unit;
};

/* State of parsing, for checks that need all options. */
struct parsing {
	struct sampling_options *options;
	bool user, kernel;
	bool has_hz, is_hz_max; /* -F; it is max */
	bool has_event;		/* -e */
	/* By source. What stands behind an -e is of its events; what stands before the first
	 * is of that, too. */
	struct asked asked[FPL_SOURCES_MAX];
	size_t first, behind;	   /* sources of the last -e: [first, behind) */
	const char *duration_word; /* a number of its own; NULL: none yet */
};

/* End the process with one line and CLI_EXIT_USAGE. */
#define refuse(state, ...) argp_failure(state, CLI_EXIT_USAGE, 0, __VA_ARGS__)

/* The place of an event called @name: that of one that was given before, or the next one. */
static size_t place_event(const char *name, const struct sampling_options *options,
			  struct argp_state *state)
{
	size_t i = 0;

	while (i < options->nr_sources && strcmp(options->sources[i].name, name) != 0)
		i++;
	if (i == FPL_SOURCES_MAX)
		refuse(state, "-e %s: at most %u events a run", name, FPL_SOURCES_MAX);
	return i;
}

static void add_event(const char *word, struct parsing *parsing, struct argp_state *state)
{
	struct sampling_options *options = parsing->options;
	struct source_spec spec;
	struct fpl_err err = { 0 };
	size_t place;

	if (source_spec_parse(word, &spec, &err))
		refuse(state, "-e %s", err.msg);
	if (!parsing->has_event)
		options->nr_sources = 0;
	parsing->has_event = true;
	place = place_event(spec.name, options, state);
	options->sources[place] = spec;
	parsing->behind = place + 1;
	if (place < options->nr_sources) { /* given before: what follows is of it alone */
		parsing->first = place;
		return;
	}
	options->nr_sources++;
	if (place > parsing->first) /* what was said before the first event */
		parsing->asked[place] = parsing->asked[parsing->first];
}

/* Events with commas between them, but for commas in quotation marks. */
static void parse_events(const char *arg, struct parsing *parsing, struct argp_state *state)
{
	char *words = must_strdup(arg);
	char *word = words;
	bool is_quoted = false;

	must_push(&parsing->options->words, words);
	parsing->first = parsing->has_event ? parsing->options->nr_sources : 0;
	for (char *at = words;; at++) {
		char end = *at;

		is_quoted ^= end == '"';
		if (end && (end != ',' || is_quoted))
			continue;
		*at = '\0';
		add_event(word, parsing, state);
		word = at + 1;
		if (!end)
			break;
	}
}

/* Keep the word @arg of option @key for each source that the last -e names. */
static void parse_asked(int key, const char *arg, struct parsing *parsing)
{
	size_t end = parsing->has_event ? parsing->behind : 1;

	for (size_t i = parsing->first; i < end; i++) {
		struct asked *asked = &parsing->asked[i];

		*(key == 'c'	      ? &asked->period
		  : key == KEY_FILTER ? &asked->filter
		  : key == KEY_WEIGHT ? &asked->weight
				      : &asked->unit) = arg;
	}
}

static void parse_frequency(const char *arg, struct parsing *parsing, struct argp_state *state)
{
	struct sampling_options *options = parsing->options;

	parsing->has_hz = true;
	parsing->is_hz_max = !strcmp(arg, "max");
	/* The kernel's own ceiling is perf_event_max_sample_rate; this is its default. */
	if (!parsing->is_hz_max && !parse_number(arg, 1, ENGINE_HZ_MAX, &options->hz))
		refuse(state, "-F %s: expected a frequency from 1 to %u Hz, or max", arg,
		       ENGINE_HZ_MAX);
}

static void parse_unwind(const char *arg, struct sampling_options *options,
			 struct argp_state *state)
{
	if (!strcmp(arg, "auto"))
		options->unwind = ENGINE_UNWIND_AUTO;
	else if (!strcmp(arg, "cfi"))
		options->unwind = ENGINE_UNWIND_CFI;
	else if (!strcmp(arg, "fp"))
		options->unwind = ENGINE_UNWIND_FP;
	else
		refuse(state, "--unwind %s: expected auto, cfi or fp", arg);
}

/* perf's dwarf takes a dump size behind a comma; there is no dump here to size. */
static void parse_call_graph(const char *arg, struct sampling_options *options,
			     struct argp_state *state)
{
	if (!strcmp(arg, "fp"))
		options->unwind = ENGINE_UNWIND_FP;
	else if (!strncmp(arg, "dwarf", 5) && (arg[5] == '\0' || arg[5] == ','))
		options->unwind = ENGINE_UNWIND_AUTO;
	else
		refuse(state, "--call-graph %s: expected fp or dwarf", arg);
}

static bool parse_number_option(int key, const char *arg, struct sampling_options *options,
				struct argp_state *state)
{
	uint64_t value = 0;

	switch (key) {
	case 'd':
		if (!parse_seconds(arg, &options->duration_ms))
			refuse(state, "-d %s: expected seconds above 0, or 500ms, 1m", arg);
		break;
	case 'D':
		if (!parse_number(arg, 0, 86400000, &options->delay_ms))
			refuse(state, "-D %s: expected milliseconds, at most a day", arg);
		break;
	case KEY_MAX_DEPTH:
		if (!parse_depth(arg, &options->max_depth, &options->root_depth))
			refuse(state,
			       "--max-depth %s: expected N or N,M, from 1 to %u frames in all", arg,
			       FPL_DEPTH_MAX);
		break;
	case KEY_MAX_PROCESSES:
		if (!parse_number(arg, 16, 1 << 22, &options->max_processes))
			refuse(state, "--max-processes %s: expected 16 to 4194304", arg);
		break;
	case KEY_MAX_MAPPINGS:
		if (!parse_number(arg, 256, 1 << 24, &options->max_mappings))
			refuse(state, "--max-mappings %s: expected 256 to 16777216", arg);
		break;
	case KEY_RECORD_EVERY:
		if (!parse_number(arg, 1, 1000000, &value))
			refuse(state, "--record-every %s: expected 1 to 1000000", arg);
		options->record_every = (uint32_t)value;
		break;
	case KEY_MAX_OVERHEAD:
		if (!parse_percent(arg, &options->max_overhead) || options->max_overhead == 0)
			refuse(state, "--max-overhead %s: expected a percentage above 0, up to 100",
			       arg);
		break;
	case KEY_STRICT:
		options->strict = true;
		if (arg && !parse_percent(arg, &options->strict_percent))
			refuse(state, "--strict=%s: expected a percentage from 0 to 100", arg);
		break;
	default:
		return false;
	}
	return true;
}

static bool parse_size_option(int key, const char *arg, struct sampling_options *options,
			      struct argp_state *state)
{
	uint64_t value = 0;

	switch (key) {
	case KEY_TABLE_MEMORY:
		/* pool addresses are 32 bits wide, and a row lies beyond its page */
		if (!parse_size(arg, FPL_CHUNK_SIZE, 3ull << 30, &options->table_memory))
			refuse(state, "--table-memory %s: expected bytes from 1M to 3G", arg);
		break;
	case KEY_STACK_MEMORY:
		if (!parse_size(arg, 1 << 16, 1ull << 32, &options->stack_memory))
			refuse(state, "--stack-memory %s: expected bytes from 64K to 4G", arg);
		break;
	case KEY_JIT_MEMORY:
		if (!parse_size(arg, 1 << 16, 1ull << 32, &options->jit_memory))
			refuse(state, "--jit-memory %s: expected bytes from 64K to 4G", arg);
		break;
	case KEY_RING_MEMORY:
		if (!parse_size(arg, 256 << 10, 1ull << 30, &options->ring_memory))
			refuse(state, "--ring-memory %s: expected bytes from 256K to 1G", arg);
		break;
	case KEY_SNAPSHOT:
		if (!parse_size(arg, 0, FPL_SNAPSHOT_MAX, &value))
			refuse(state, "--snapshot %s: expected bytes from 0 to %u", arg,
			       FPL_SNAPSHOT_MAX);
		options->snapshot = (uint32_t)value;
		break;
	default:
		return false;
	}
	return true;
}

/* Parse an option that is set or not set. Returns false if @key is another one. */
static bool parse_flag(int key, struct parsing *parsing)
{
	struct sampling_options *options = parsing->options;

	switch (key) {
	case 'U':
		return parsing->user = true;
	case 'K':
		return parsing->kernel = true;
	case 'I':
		return options->idle = true;
	case KEY_KEEP_RUNNING:
		return options->keep_command = true;
	case KEY_NO_SYNTH:
		options->synth = false;
		return true;
	case 'g':
		return true;
	default:
		return false;
	}
}

/*
 * Refuse more than one number: behind -p these are most likely pids, as of pgrep: print the list
 * with commas. @arg is the word that @state has just handed out.
 */
static void refuse_numbers(const char *arg, const struct parsing *parsing, struct argp_state *state)
{
	const struct target_options *target = &parsing->options->target;
	const pid_t *list = target->nr_pids ? target->pids : target->tids;
	size_t nr = target->nr_pids ? target->nr_pids : target->nr_tids;
	char text[256] = "";
	uint64_t number = 0;
	int len = 0;

	if (!nr)
		refuse(state,
		       "'%s': unexpected: the duration is given twice (a command goes behind --)",
		       arg);
	for (size_t i = 0; i < nr && len < (int)sizeof(text); i++)
		len += snprintf(text + len, sizeof(text) - (size_t)len, "%d,", list[i]);
	if (parsing->duration_word && len < (int)sizeof(text))
		len += snprintf(text + len, sizeof(text) - (size_t)len, "%s,",
				parsing->duration_word);
	for (int i = state->next - 1; i < state->argc && len < (int)sizeof(text); i++) {
		if (!parse_number(state->argv[i], 1, INT_MAX, &number))
			break;
		len += snprintf(text + len, sizeof(text) - (size_t)len, "%s,", state->argv[i]);
	}
	text[strlen(text) - 1] = '\0';
	refuse(state, "'%s': unexpected: ids are separated by commas: -%c %s", arg,
	       target->nr_pids ? 'p' : 't', text);
}

/* A word that is no option: a number is a duration as in bcc, with anything else, and behind "--",
 * the command begins. */
static void parse_word(char *arg, struct parsing *parsing, struct argp_state *state)
{
	struct sampling_options *options = parsing->options;
	uint64_t duration_ms = 0;
	bool is_time = parse_seconds(arg, &duration_ms);

	if (state->quoted || (!is_time && arg[strspn(arg, "0123456789.")])) {
		options->command = &state->argv[state->next - 1];
		state->next = state->argc;
		return;
	}
	if (options->duration_ms)
		refuse_numbers(arg, parsing, state);
	if (!is_time)
		refuse(state, "'%s': expected seconds above 0 (a command goes behind --)", arg);
	options->duration_ms = duration_ms;
	parsing->duration_word = arg;
}

/* -c of a clock: nanoseconds. */
static void check_clock_period(const struct parsing *parsing, size_t idx, struct argp_state *state)
{
	struct sampling_options *options = parsing->options;
	struct source_spec *clock = &options->sources[idx];
	const char *word = parsing->asked[idx].period;
	uint64_t period = 0;

	if (parsing->has_hz)
		refuse(state, "-F and -c exclude each other");
	if (parsing->has_event && clock->perf_type == PERF_TYPE_HARDWARE)
		refuse(state, "-c: nanoseconds of cpu-clock: cycles take -F");
	if (!parse_number(word, NS_PER_S / ENGINE_HZ_MAX, NS_PER_S, &period))
		refuse(state,
		       "-c %s: expected nanoseconds from 10000 (100000 Hz) to 1000000000 (1 Hz)",
		       word);
	if (!parsing->has_event)
		*clock = source_spec_cpu_clock();
	clock->period = period;
	options->hz = NS_PER_S / period;
}

/* Events have no frequency. */
static void check_no_clock(const struct parsing *parsing, struct argp_state *state)
{
	const struct sampling_options *options = parsing->options;
	const char *name = options->sources[0].name;

	if (parsing->has_hz)
		refuse(state, "-F: is for clocks: of %s, -c N samples one in N", name);
	if (options->max_overhead > 0)
		refuse(state,
		       "--max-overhead: lowers the frequency of a clock: of %s, -c N samples one in N",
		       name);
}

/* Take what -c says of each source. Returns which one is the clock; SIZE_MAX: none is. */
static size_t check_periods(const struct parsing *parsing, struct argp_state *state)
{
	struct sampling_options *options = parsing->options;
	size_t clock = SIZE_MAX;

	for (size_t i = 0; i < options->nr_sources; i++) {
		struct source_spec *spec = &options->sources[i];
		const char *word = parsing->asked[i].period;

		if (spec->class == SOURCE_CLOCK && clock != SIZE_MAX)
			refuse(state, "-e %s: one clock a run: -e %s is given, too", spec->name,
			       options->sources[clock].name);
		if (spec->class == SOURCE_CLOCK)
			clock = i;
		if (spec->class == SOURCE_CLOCK && word)
			check_clock_period(parsing, i, state);
		else if (word && !parse_number(word, 1, EVENTS_MAX, &spec->period))
			refuse(state, "-c %s: expected 1 to %u: one in so many %s is sampled", word,
			       EVENTS_MAX, spec->name);
	}
	return clock;
}

/* One of -F and -c, and what -F max is here. */
static void check_rate(struct parsing *parsing, struct argp_state *state)
{
	struct sampling_options *options = parsing->options;

	if (check_periods(parsing, state) == SIZE_MAX) {
		check_no_clock(parsing, state);
		return;
	}
	if (!parsing->is_hz_max)
		return;
	options->max_hz = source_max_hz();
	if (!options->max_hz || options->max_hz > ENGINE_HZ_MAX)
		options->max_hz = ENGINE_HZ_MAX;
	options->hz = options->max_hz < FIRST_HZ ? options->max_hz : FIRST_HZ;
	if (options->max_overhead == 0)
		options->max_overhead = MAX_OVERHEAD_PERCENT;
}

const char *sampling_options_events(const struct sampling_options *options, char *buf, size_t size)
{
	size_t used = 0;

	if (options->nr_sources == 1 && !source_event(&options->sources[0]))
		return NULL;
	*buf = '\0';
	for (size_t i = 0; i < options->nr_sources && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s%s", i ? ", " : "",
					 options->sources[i].name);
	return buf;
}

void sampling_options_say_max(const struct sampling_options *options)
{
	if (options->max_hz)
		fpl_log(FPL_LOG_INFO,
			"-F max: %" PRIu64 " Hz at first, up to the %" PRIu64
			" Hz that the kernel allows if they cost less than %g %% (--max-overhead)",
			options->hz, options->max_hz, options->max_overhead);
}

/* Units of --weight, and what recordings call them. */
static const char *unit_of(const char *word)
{
	static const char *const units[][2] = { { "bytes", "bytes" },
						{ "ns", "nanoseconds" },
						{ "count", "count" } };

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (!strcmp(word, units[i][0]))
			return units[i][1];
	return NULL;
}

static bool has_record(const struct source_spec *spec)
{
	return spec->class == SOURCE_TRACEPOINT || spec->class == SOURCE_PROBE;
}

/* Give the event what is asked of its record. */
static void check_record(const struct asked *asked, struct source_spec *spec,
			 struct argp_state *state)
{
	const char *option = asked->filter ? "--filter" : asked->weight ? "--weight" : NULL;

	if (option && !has_record(spec))
		refuse(state, "%s: is for tracepoints and probes: %s has no fields", option,
		       spec->name);
	if (asked->unit && !asked->weight)
		refuse(state, "--unit: is the unit of --weight");
	if (asked->unit && !unit_of(asked->unit))
		refuse(state, "--unit %s: expected bytes, ns or count", asked->unit);
	spec->filter = asked->filter;
	spec->weight = asked->weight;
	spec->unit = asked->unit ? unit_of(asked->unit) : NULL;
}

/* A probe stops every process that comes by, not the targets alone. */
static void check_probe(const struct sampling_options *options, const struct source_spec *spec,
			struct argp_state *state)
{
	const struct target_options *target = &options->target;

	if (!spec->probe || options->command || target->all || target->nr_pids || target->nr_tids ||
	    *spec->probe == 'k') /* the kernel's cost less */
		return;
	refuse(state,
	       "-e %s: without -p and COMMAND, every process that comes by pays some 0.6 us: say so by -a",
	       spec->name);
}

/* Only events with a record have fields. */
static void check_key(const struct sampling_options *options, struct argp_state *state)
{
	for (size_t i = 0; i < options->nr_sources; i++)
		if (has_record(&options->sources[i]))
			return;
	output_options_refuse_fields(&options->output, state);
}

/* Checks that need the whole command line. */
static void check_all(struct parsing *parsing, struct argp_state *state)
{
	struct sampling_options *options = parsing->options;

	check_rate(parsing, state);
	for (size_t i = 0; i < options->nr_sources; i++) {
		const struct source_spec *spec = &options->sources[i];

		check_record(&parsing->asked[i], &options->sources[i], state);
		if (spec->exclude_user != options->sources[0].exclude_user ||
		    spec->exclude_kernel != options->sources[0].exclude_kernel)
			refuse(state, "-e %s: :u and :k are for all events of a run", spec->name);
	}
	check_key(options, state);
	target_options_check(&options->target, state);
	for (size_t i = 0; i < options->nr_sources; i++)
		check_probe(options, &options->sources[i], state);
	if (state->quoted && !options->command)
		refuse(state, "no command behind --");
	options->user = parsing->user || !parsing->kernel;
	options->kernel = parsing->kernel || !parsing->user;
	output_options_check(&options->output, state);
	page_code_check(options->code, &options->output, state);
	if (options->output.picture.chart && !options->events.timeline)
		refuse(state, "--chart: needs --timeline, which keeps the time of each sample");
}

/* Refuse what is about events where the verb has a source of its own. */
static void check_own_source(int key, const struct sampling_options *options,
			     struct argp_state *state)
{
	static const struct {
		int key;
		const char *option;
		bool is_clocks;
	} refused[] = {
		{ 'e', "-e", false },
		{ 'F', "-F", true },
		{ 'c', "-c", false },
		{ KEY_FILTER, "--filter", false },
		{ KEY_WEIGHT, "--weight", false },
		{ KEY_UNIT, "--unit", false },
		{ KEY_MAX_OVERHEAD, "--max-overhead", true },
	};

	for (size_t i = 0; options->own_source && i < ARRAY_SIZE(refused); i++)
		if (refused[i].key == key && !(refused[i].is_clocks && options->own_clock))
			refuse(state, "%s: this verb samples %s: fpless profile takes it",
			       refused[i].option, options->own_source);
}

/* Parse an option whose argument is a word with a check of its own. False: @key is another one. */
static bool parse_word_option(int key, char *arg, struct parsing *parsing, struct argp_state *state)
{
	struct sampling_options *options = parsing->options;

	switch (key) {
	case 'e':
		parse_events(arg, parsing, state);
		return true;
	case 'F':
		parse_frequency(arg, parsing, state);
		return true;
	case 'c':
	case KEY_FILTER:
	case KEY_WEIGHT:
	case KEY_UNIT:
		parse_asked(key, arg, parsing);
		return true;
	case KEY_UNWIND:
		parse_unwind(arg, options, state);
		return true;
	case KEY_CALL_GRAPH:
		parse_call_graph(arg, options, state);
		return true;
	case KEY_RECORD_WALKS:
		options->record_path = arg;
		return true;
	default:
		return false;
	}
}

static error_t start_parsing(struct argp_state *state)
{
	struct parsing *parsing = calloc(1, sizeof(*parsing));

	if (!parsing)
		return ENOMEM;
	parsing->options = state->input;
	state->child_inputs[0] = &parsing->options->target;
	state->child_inputs[1] = &parsing->options->output;
	state->child_inputs[2] = &parsing->options->cache;
	state->hook = parsing;
	return 0;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct parsing *parsing = state->hook;

	switch (key) {
	case ARGP_KEY_INIT:
		return start_parsing(state);
	case ARGP_KEY_FINI:
		free(parsing);
		return 0;
	case ARGP_KEY_ARG:
		parse_word(arg, parsing, state);
		return 0;
	case ARGP_KEY_END:
		check_all(parsing, state);
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	default:
		check_own_source(key, parsing->options, state);
		return parse_flag(key, parsing) || parse_word_option(key, arg, parsing, state) ||
				       parse_number_option(key, arg, parsing->options, state) ||
				       parse_size_option(key, arg, parsing->options, state)
			       ? 0
			       : ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {
	{ .argp = &target_argp }, { .argp = &output_argp }, { .argp = &cache_argp }, { 0 }
};

const struct argp sampling_argp = {
	.options = options_list,
	.parser = parse_option,
	.children = children,
};

struct engine_blocks sampling_options_waits(uint32_t states)
{
	return (struct engine_blocks){
		.period_ns = 10 * NS_PER_MS,
		.max_ns = UINT64_MAX,
		.states = states,
	};
}

void sampling_options_init(struct sampling_options *options)
{
	*options = (struct sampling_options){
		.sources = { source_spec_default() },
		.nr_sources = 1,
		.hz = 99,
		.max_depth = 1024,
		.root_depth = 256,
		.table_memory = 128ull << 20,
		.synth = true,
		.snapshot = 96 << 10,
		.record_every = 1,
	};
}

void sampling_options_fini(struct sampling_options *options)
{
	for (size_t i = 0; i < options->words.nr; i++)
		free(options->words.list[i]);
	vector_fini(&options->words);
	target_options_fini(&options->target);
	output_options_fini(&options->output);
}

void sampling_options_to_engine(const struct sampling_options *options, struct engine_options *ret)
{
	*ret = (struct engine_options){
		.command = options->command,
		.keep_command = options->keep_command,
		.command_off_terminal = options->command_off_terminal,
		.command_stdout_to_stderr = output_options_use_stdout(&options->output),
		.nr_sources = options->nr_sources,
		.blocks = options->blocks,
		.unwind = options->unwind,
		.hz = options->hz,
		.max_hz = options->max_hz,
		.exclude_user = options->sources[0].exclude_user,
		.exclude_kernel = options->sources[0].exclude_kernel,
		.max_overhead = options->max_overhead,
		.duration_ms = options->duration_ms,
		.delay_ms = options->delay_ms,
		.user = options->user,
		.kernel = options->kernel,
		.idle = options->idle,
		.by = options->output.by,
		.key = options->output.by_field,
		.synth = options->synth,
		.max_depth = options->max_depth,
		.root_depth = options->root_depth,
		.table_memory = options->table_memory,
		.stack_memory = options->stack_memory,
		.jit_memory = options->jit_memory,
		.ring_memory = options->ring_memory,
		.max_processes = (uint32_t)options->max_processes,
		.max_mappings = (uint32_t)options->max_mappings,
		.snapshot_bytes = options->snapshot,
		.record_path = options->record_path,
		.record_every = options->record_every,
		.compare = options->compare,
		.heap = options->heap,
	};
	memcpy(ret->sources, options->sources, sizeof(ret->sources));
	target_options_to_engine(&options->target, options->command, ret);
}
