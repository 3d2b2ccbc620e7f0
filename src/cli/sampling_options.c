/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sampling_options.h"

#include <inttypes.h>
#include <limits.h>
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
#include "cli/source_parsing.h"
#include "cli/walk_options.h"

/* Keys of options without a letter. */
enum {
	KEY_UNWIND = 0x100,
	KEY_MAX_DEPTH,
	KEY_NO_SYNTH,
	KEY_SCRIPT,
	KEY_NO_SCRIPT,
	KEY_SCRIPT_LINES,
	KEY_NO_JIT,
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
	KEY_KEEP_RUNNING,
};

static const struct argp_option options_list[] = {
	{ .doc = "What to sample:", .group = 1 },
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
	{ "script", KEY_SCRIPT, "mix|only|all|lazy", 0,
	  "Show functions of CPython 3.9 to 3.14, PHP 7.4, 8.2 and 8.4, Ruby 3.1 and 3.3, Perl 5.36, 5.40 and 5.42, Lua 5.4 and node 18 to 24 with file and line. mix: in place of the interpreter's own frames (default); only: also without the native frames between them; all: beside all native frames; lazy, alone or behind one of these and a comma: read from the programs' memory while they run, which makes samples cheaper and misses what ends first",
	  3 },
	{ "no-script", KEY_NO_SCRIPT, NULL, 0, "Show native frames alone", 3 },
	{ "script-lines", KEY_SCRIPT_LINES, "yes|no", 0,
	  "no: a function of a script has the line that it begins at, wherever it is: fewer distinct stacks (default yes; of fpless agent no)",
	  3 },
	{ "no-jit", KEY_NO_JIT, NULL, 0,
	  "Do not walk code made at run time by what is known of its frames (Java, PCRE2, qemu, guile, PHP), and do not ask HotSpot for its names",
	  3 },
	{ "max-depth", KEY_MAX_DEPTH, "N[,M]", 0,
	  "Keep the N innermost and the M outermost user frames of a deeper stack (default 768,256; at most 2048 in all); N alone: N in all, a quarter of them "
	  "outermost; N,0: end the walk after N",
	  3 },
	{ "table-memory", KEY_TABLE_MEMORY, "BYTES", 0,
	  "Room for unwind tables (default 128M; suffixes K, M, G)", 3 },
	{ "stack-memory", KEY_STACK_MEMORY, "BYTES", 0,
	  "Room for distinct stacks (default 4M; with --window and a clock alone what a window may have)",
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
	  "Record walks, with registers and stack bytes", 5 },
	{ "record-every", KEY_RECORD_EVERY, "N", 0, "Record one walk in N of a CPU (default 1)",
	  5 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, -1 },
	{ 0 },
};

/* State of parsing, for checks that need all options. */
struct parsing {
	struct sampling_options *options;
	struct source_parsing source;
	bool user, kernel;
	const char *duration_word; /* a number of its own; NULL: none yet */
};

/* End the process with one line and CLI_EXIT_USAGE. */
#define refuse(state, ...) argp_failure(state, CLI_EXIT_USAGE, 0, __VA_ARGS__)

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
	case KEY_NO_SCRIPT:
		options->script.mode = SCRIPT_OFF;
		return true;
	case KEY_NO_JIT:
		options->jit = false;
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

const char *sampling_options_events(const struct sampling_options *options, char *buf, size_t size)
{
	size_t used = 0;

	if (options->nr_sources == 1 && !source_event(&options->sources[0]))
		return NULL;
	if (source_specs_are_wall(options->sources, options->nr_sources)) {
		snprintf(buf, size, "wall");
		return buf;
	}
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

/* Checks that need the whole command line. */
static void check_all(struct parsing *parsing, struct argp_state *state)
{
	struct sampling_options *options = parsing->options;

	source_options_check(&parsing->source, state);
	target_options_check(&options->target, state);
	source_options_check_probes(options, state);
	if (state->quoted && !options->command)
		refuse(state, "no command behind --");
	options->user = parsing->user || !parsing->kernel;
	options->kernel = parsing->kernel || !parsing->user;
	output_options_check(&options->output, state);
	page_code_check(options->code, &options->output, state);
	if (options->output.picture.chart && !options->events.timeline)
		refuse(state, "--chart: needs --timeline, which keeps the time of each sample");
	if (options->window.length_ms && (options->code || options->record_path))
		refuse(state, "--window: not with --code and --record-walks");
	window_options_check(&options->window, &options->output, state);
}

/* Parse an option whose argument is a word with a check of its own. False: @key is another one. */
static bool parse_word_option(int key, char *arg, struct parsing *parsing, struct argp_state *state)
{
	struct sampling_options *options = parsing->options;

	switch (key) {
	case KEY_UNWIND:
		walk_options_unwind(arg, &options->unwind, state);
		return true;
	case KEY_SCRIPT:
		walk_options_script(arg, &options->script, state);
		return true;
	case KEY_SCRIPT_LINES:
		options->script.no_lines = !walk_options_yes("--script-lines", arg, state);
		return true;
	case KEY_CALL_GRAPH:
		walk_options_call_graph(arg, &options->unwind, state);
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
	parsing->options = parsing->source.options = state->input;
	state->child_inputs[0] = &parsing->source;
	state->child_inputs[1] = &parsing->options->target;
	state->child_inputs[2] = &parsing->options->output;
	state->child_inputs[3] = &parsing->options->cache;
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
		return parse_flag(key, parsing) || parse_word_option(key, arg, parsing, state) ||
				       parse_number_option(key, arg, parsing->options, state) ||
				       parse_size_option(key, arg, parsing->options, state)
			       ? 0
			       : ARGP_ERR_UNKNOWN;
	}
}

#define CHILDREN(source)                                                                   \
	{                                                                                  \
		{ .argp = &(source) }, { .argp = &target_argp }, { .argp = &output_argp }, \
			{ .argp = &cache_argp },                                           \
		{                                                                          \
			0                                                                  \
		}                                                                          \
	}

static const struct argp_child children[] = CHILDREN(source_argp),
			       own_children[] = CHILDREN(own_source_argp),
			       waits_children[] = CHILDREN(own_waits_argp),
			       clock_children[] = CHILDREN(own_clock_argp);

const struct argp sampling_argp = {
	.options = options_list,
	.parser = parse_option,
	.children = children,
};

const struct argp sampling_own_argp = {
	.options = options_list,
	.parser = parse_option,
	.children = own_children,
};

const struct argp sampling_waits_argp = {
	.options = options_list,
	.parser = parse_option,
	.children = waits_children,
};

const struct argp sampling_clock_argp = {
	.options = options_list,
	.parser = parse_option,
	.children = clock_children,
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
		.jit = true,
		.script = { .mode = SCRIPT_MIX },
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
		.command_environment = options->command_environment,
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
		.window_ms = options->window.length_ms,
		.every_ms = options->window.every_ms,
		.user = options->user,
		.kernel = options->kernel,
		.idle = options->idle,
		.by = options->output.by,
		.key = options->output.by_field,
		.synth = options->synth,
		.jit = options->jit,
		.script = options->script,
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
