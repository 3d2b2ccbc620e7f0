/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/source_parsing.h"

#include <linux/perf_event.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/parse.h"
#include "cli/sampling_options.h"
#include "profile/source.h"

/* With -F max: where it begins, and the overhead in per cent. */
#define FIRST_HZ	     4999u
#define MAX_OVERHEAD_PERCENT 10

/* One sample in at most so many events. */
#define EVENTS_MAX 1000000000u

/* Keys of options without a letter, none of those of sampling_options.c, its children and verbs. */
enum { KEY_MAX_OVERHEAD = 0xd00, KEY_FILTER, KEY_WEIGHT, KEY_UNIT };

/* @hidden: 0, or OPTION_HIDDEN for those that are refused. */
#define EVENT_OPTIONS(hidden)                                                                                                                                                                                                                                                                                                                                                                                                                                                                           \
	{ "event",                                                                                                                                                                                                                                                                                                                                                                                                                                                                                      \
	  'e',                                                                                                                                                                                                                                                                                                                                                                                                                                                                                          \
	  "EVENT[,EVENT...]",                                                                                                                                                                                                                                                                                                                                                                                                                                                                           \
	  hidden,                                                                                                                                                                                                                                                                                                                                                                                                                                                                                       \
	  "What to sample, as perf names it (fpless events): cpu-cycles, cpu-clock, cycles (default: the clock where there is no PMU), page-faults, context-switches, a tracepoint as sched:sched_switch, a probe as uprobe:FILE:FUNC, uretprobe:FILE:FUNC, usdt:FILE:PROVIDER:NAME, kprobe:FUNC, kretprobe:FUNC, an access to memory as mem:ADDR:w; with :u or :k only in user mode or in the kernel. Several: -e again, or with commas; -c, --filter, --weight and --unit are of the -e before them", \
	  1 },                                                                                                                                                                                                                                                                                                                                                                                                                                                                                          \
		{ "period",                                                                                                                                                                                                                                                                                                                                                                                                                                                                             \
		  'c',                                                                                                                                                                                                                                                                                                                                                                                                                                                                                  \
		  "N",                                                                                                                                                                                                                                                                                                                                                                                                                                                                                  \
		  hidden,                                                                                                                                                                                                                                                                                                                                                                                                                                                                               \
		  "Sample one in N events (default: each); of the CPU clock every N nanoseconds",                                                                                                                                                                                                                                                                                                                                                                                                       \
		  1 },                                                                                                                                                                                                                                                                                                                                                                                                                                                                                  \
		{ "filter",                                                                                                                                                                                                                                                                                                                                                                                                                                                                             \
		  KEY_FILTER,                                                                                                                                                                                                                                                                                                                                                                                                                                                                           \
		  "EXPR",                                                                                                                                                                                                                                                                                                                                                                                                                                                                               \
		  hidden,                                                                                                                                                                                                                                                                                                                                                                                                                                                                               \
		  "Of a tracepoint or probe: only events for whose fields EXPR holds: 'dfd == -100 && filename ~ \"/etc/*\"', 'arg0 > 4096'; == != < <= > >= & ~ !~, !, &&, ||, ()",                                                                                                                                                                                                                                                                                                                    \
		  1 },                                                                                                                                                                                                                                                                                                                                                                                                                                                                                  \
		{ "weight",                                                                                                                                                                                                                                                                                                                                                                                                                                                                             \
		  KEY_WEIGHT,                                                                                                                                                                                                                                                                                                                                                                                                                                                                           \
		  "FIELD",                                                                                                                                                                                                                                                                                                                                                                                                                                                                              \
		  hidden,                                                                                                                                                                                                                                                                                                                                                                                                                                                                               \
		  "Of a tracepoint or probe: an event weighs this field",                                                                                                                                                                                                                                                                                                                                                                                                                               \
		  1 },                                                                                                                                                                                                                                                                                                                                                                                                                                                                                  \
		{ "unit",                                                                                                                                                                                                                                                                                                                                                                                                                                                                               \
		  KEY_UNIT,                                                                                                                                                                                                                                                                                                                                                                                                                                                                             \
		  "UNIT",                                                                                                                                                                                                                                                                                                                                                                                                                                                                               \
		  hidden,                                                                                                                                                                                                                                                                                                                                                                                                                                                                               \
		  "Unit of --weight: bytes, ns or count (default)",                                                                                                                                                                                                                                                                                                                                                                                                                                     \
		  1 },
#define FREQUENCY_OPTION(hidden)                                                                                       \
	{ "frequency",                                                                                                 \
	  'F',                                                                                                         \
	  "HZ|max",                                                                                                    \
	  hidden,                                                                                                      \
	  "Of a clock: samples per second and CPU (default 99); max: what the kernel allows, and --max-overhead (10)", \
	  1 },
#define OVERHEAD_OPTION(hidden, text) { "max-overhead", KEY_MAX_OVERHEAD, "PCT", hidden, text, 1 },
#define CLOCK_OPTIONS(hidden)    \
	FREQUENCY_OPTION(hidden) \
	OVERHEAD_OPTION(         \
		hidden,          \
		"Sample less often if fpless costs more than PCT per cent of the targets' CPU time (of one CPU at least)")

static const struct argp_option options_list[] = { EVENT_OPTIONS(0) CLOCK_OPTIONS(0){ 0 } };
static const struct argp_option own_clock_list[] = { EVENT_OPTIONS(OPTION_HIDDEN)
							     CLOCK_OPTIONS(0){ 0 } };
static const struct argp_option own_source_list[] = { EVENT_OPTIONS(OPTION_HIDDEN)
							      CLOCK_OPTIONS(OPTION_HIDDEN){ 0 } };
static const struct argp_option own_wait_list[] = {
	EVENT_OPTIONS(OPTION_HIDDEN) FREQUENCY_OPTION(OPTION_HIDDEN) OVERHEAD_OPTION(
		0,
		"Sample fewer of the short waits if fpless costs more than PCT per cent of a CPU"){
		0 }
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

static void add_event(const char *word, struct source_parsing *parsing, struct argp_state *state)
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
static void parse_events(const char *arg, struct source_parsing *parsing, struct argp_state *state)
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
static void parse_asked(int key, const char *arg, struct source_parsing *parsing)
{
	size_t end = parsing->has_event ? parsing->behind : 1;

	for (size_t i = parsing->first; i < end; i++) {
		struct source_asked *asked = &parsing->asked[i];

		*(key == 'c'	      ? &asked->period
		  : key == KEY_FILTER ? &asked->filter
		  : key == KEY_WEIGHT ? &asked->weight
				      : &asked->unit) = arg;
	}
}

static void parse_frequency(const char *arg, struct source_parsing *parsing,
			    struct argp_state *state)
{
	struct sampling_options *options = parsing->options;

	parsing->has_hz = true;
	parsing->is_hz_max = !strcmp(arg, "max");
	/* The kernel's own ceiling is perf_event_max_sample_rate; this is its default. */
	if (!parsing->is_hz_max && !parse_number(arg, 1, ENGINE_HZ_MAX, &options->hz))
		refuse(state, "-F %s: expected a frequency from 1 to %u Hz, or max", arg,
		       ENGINE_HZ_MAX);
}

/* -c of a clock: nanoseconds. */
static void check_clock_period(const struct source_parsing *parsing, size_t idx,
			       struct argp_state *state)
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
static void check_no_clock(const struct source_parsing *parsing, struct argp_state *state)
{
	const struct sampling_options *options = parsing->options;
	const char *name = options->sources[0].name;

	if (parsing->has_hz)
		refuse(state, "-F: is for clocks: of %s, -c N samples one in N", name);
	if (options->max_overhead > 0 && !source_spec_is_waits(&options->sources[0]))
		refuse(state,
		       "--max-overhead: lowers the frequency of a clock: of %s, -c N samples one in N",
		       name);
}

/* Take what -c says of each source. Returns which one is the clock; SIZE_MAX: none is. */
static size_t check_periods(const struct source_parsing *parsing, struct argp_state *state)
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
static void check_rate(struct source_parsing *parsing, struct argp_state *state)
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
static void check_record(const struct source_asked *asked, struct source_spec *spec,
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

/* Only events with a record have fields. Verbs that sample waits have labels of their own, which
 * they check themselves. */
static void check_key(const struct sampling_options *options, struct argp_state *state)
{
	if (options->own_source && source_spec_is_waits(&options->sources[0]))
		return;
	for (size_t i = 0; i < options->nr_sources; i++)
		if (has_record(&options->sources[i]))
			return;
	output_options_refuse_fields(&options->output, state);
}

void source_options_check(struct source_parsing *parsing, struct argp_state *state)
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
}

void source_options_check_probes(const struct sampling_options *options, struct argp_state *state)
{
	for (size_t i = 0; i < options->nr_sources; i++)
		check_probe(options, &options->sources[i], state);
}

static void parse_overhead(const char *arg, struct sampling_options *options,
			   struct argp_state *state)
{
	if (!parse_percent(arg, &options->max_overhead) || options->max_overhead == 0)
		refuse(state, "--max-overhead %s: expected a percentage above 0, up to 100", arg);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct source_parsing *parsing = state->input;

	switch (key) {
	case 'e':
		parse_events(arg, parsing, state);
		return 0;
	case 'F':
		parse_frequency(arg, parsing, state);
		return 0;
	case KEY_MAX_OVERHEAD:
		parse_overhead(arg, parsing->options, state);
		return 0;
	case 'c':
	case KEY_FILTER:
	case KEY_WEIGHT:
	case KEY_UNIT:
		parse_asked(key, arg, parsing);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Refuse the option of @key, which is one of @list. */
static error_t refuse_option(int key, const struct argp_option *list, struct argp_state *state)
{
	const struct source_parsing *parsing = state->input;

	for (; list->name; list++) {
		if (list->key != key)
			continue;
		if (key < KEY_MAX_OVERHEAD)
			refuse(state, "-%c: this verb samples %s: fpless profile takes it", key,
			       parsing->options->own_source);
		refuse(state, "--%s: this verb samples %s: fpless profile takes it", list->name,
		       parsing->options->own_source);
	}
	return ARGP_ERR_UNKNOWN;
}

static error_t parse_own_source(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	return refuse_option(key, own_source_list, state);
}

static error_t parse_own_waits(int key, char *arg, struct argp_state *state)
{
	if (key == KEY_MAX_OVERHEAD)
		return parse_option(key, arg, state);
	return refuse_option(key, own_wait_list, state);
}

static error_t parse_own_clock(int key, char *arg, struct argp_state *state)
{
	if (key == 'F' || key == KEY_MAX_OVERHEAD)
		return parse_option(key, arg, state);
	return refuse_option(key, own_clock_list, state);
}

const struct argp source_argp = { .options = options_list, .parser = parse_option };
const struct argp own_source_argp = { .options = own_source_list, .parser = parse_own_source };
const struct argp own_waits_argp = { .options = own_wait_list, .parser = parse_own_waits };
const struct argp own_clock_argp = { .options = own_clock_list, .parser = parse_own_clock };
