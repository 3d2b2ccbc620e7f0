/* SPDX-License-Identifier: Apache-2.0 */
#include "report/hints.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "recording/keys.h"
#include "recording/must_add.h"
#include "report/tally.h"
#include "view/share.h"

#define ANY_STOP    FPL_STOP_COUNT
#define ANY_RUNTIME RUNTIME_COUNT

/* The first entry that fits counts. */
static const struct advice {
	int stop, runtime;
	int generated; /* 1 yes, 0 no, -1 either */
	const char *text;
} advices[] = {
	/* reasons that do not depend on the code */
	{ FPL_STOP_DEPTH, ANY_RUNTIME, -1,
	  "the stack is deeper than a walk may go: a lower -F leaves more time for each; with "
	  "--max-depth N,0 or --unwind fp it ends after so many frames" },
	{ FPL_STOP_COMPAT32, ANY_RUNTIME, -1, "32-bit programs are not walked" },
	{ FPL_STOP_NO_TABLE, ANY_RUNTIME, -1,
	  "the unwind table was not there in time: where the warnings above name a table that had "
	  "no room, raise --table-memory; with --snapshot 0 no sample waits for one" },
	{ FPL_STOP_BURST, ANY_RUNTIME, -1,
	  "samples came faster than snapshots could be kept: raise --ring-memory (64M), or lower "
	  "-F" },
	{ FPL_STOP_NOT_WALKED, ANY_RUNTIME, -1,
	  "the thread slept before the run began, and this kernel tells nothing when one runs "
	  "again: Linux 6.16, or one with kprobes, does" },
	{ FPL_STOP_READ_FAULT, ANY_RUNTIME, -1,
	  "stack memory was not there, or between the two ends that the snapshot of a sample has "
	  "that came before its tables: run longer, or again: tables are kept" },
	{ FPL_STOP_EXPR, RUNTIME_GO, 0,
	  "Go: the run time is on another stack than the code it serves, or about to be, and its "
	  "way back is not one that is known: please report the version of Go" },
	{ FPL_STOP_EXPR, ANY_RUNTIME, -1,
	  "its CFI holds an expression that tables do not express: `fpless tables --stats` counts "
	  "them; please report the file" },

	/* code made at run time */
	{ ANY_STOP, RUNTIME_JAVA, 1,
	  "start java with -XX:+PreserveFramePointer: compiled code is then walked" },
	{ ANY_STOP, RUNTIME_ERLANG, 1,
	  "OTP 25 and later is walked by what it says of its code; start an older one with "
	  "+JPperf true, for frame pointers and names" },
	{ ANY_STOP, RUNTIME_LUAJIT, 1,
	  "LuaJIT's compiled code keeps no frame pointer: -joff runs the interpreter, which has "
	  "CFI" },
	{ ANY_STOP, RUNTIME_PHP, 1,
	  "the JIT's code keeps no frame pointer: -d opcache.jit=off runs the interpreter" },
	{ ANY_STOP, RUNTIME_PYPY, 1,
	  "PyPy's compiled code keeps no frame pointer: --jit off runs the interpreter" },
	{ ANY_STOP, RUNTIME_SBCL, 1,
	  "at the first and last instructions of a function its caller cannot be found" },
	{ ANY_STOP, ANY_RUNTIME, 1,
	  "this code has no CFI and keeps no frame pointer: does its run time have an option for "
	  "frame pointers" },

	/* code of files */
	{ FPL_STOP_BAD_RA, RUNTIME_GO, 0,
	  "Go: its stacks end like this where it was built by Go 1.17 or older" },
	{ ANY_STOP, RUNTIME_GO, 0, "Go: nothing: assembly without a frame, or a switch of stacks" },
	{ FPL_STOP_READ_FAULT, RUNTIME_GHC, 0,
	  "Haskell: the copy of a stack that a sample has before the tables are made is not that "
	  "of Haskell: nothing" },
	{ ANY_STOP, RUNTIME_GHC, 0,
	  "Haskell: its stack is walked where GHC's native code generator and its run time are in "
	  "the same file, without profiling: link it statically" },
	{ FPL_STOP_NO_CFI, RUNTIME_NODE, 0,
	  "V8's own code keeps a frame pointer, but not at its first and last instructions: "
	  "nothing; "
	  "other code needs CFI: -fasynchronous-unwind-tables" },
	/* no advice on frame pointers: a function that ends a walk may well keep one, as its
	   callers do */
	{ FPL_STOP_NO_CFI, ANY_RUNTIME, 0,
	  "no CFI, and no row could be made from its instructions: build with "
	  "-fasynchronous-unwind-tables; assembly needs CFI directives" },
	{ FPL_STOP_REG_UNKNOWN, ANY_RUNTIME, 0,
	  "its CFI needs a register that a frame below, walked by frame pointer, did not give: "
	  "that "
	  "code needs CFI" },
	{ FPL_STOP_NO_MAPPING, ANY_RUNTIME, 0, "the code was unmapped, or mapped unseen" },
	{ FPL_STOP_BAD_RA, ANY_RUNTIME, 0,
	  "no return address was where one should be: its CFI is wrong there, or there is none" },
	{ FPL_STOP_NO_PROGRESS, ANY_RUNTIME, 0, "its CFI does not lead up the stack there" },
	{ FPL_STOP_FP_END, ANY_RUNTIME, 0,
	  "the chain of frame pointers ended: code that keeps none was on the stack" },
};

/* The advice if the walk ended for want of something that was turned off; else NULL. */
static const char *turn_on(enum fpl_stop stop, enum runtime runtime, bool generated,
			   enum hint_without without)
{
	if (without == WITHOUT_SYNTH && stop == FPL_STOP_NO_CFI && !generated)
		return "no CFI: without --no-synth rows are made from its instructions";
	if (without == WITHOUT_ALL_BUT_CFI && stop == FPL_STOP_NO_CFI)
		return "no CFI: without --unwind cfi rows are made from its instructions, or a "
		       "frame pointer that holds up is followed";
	if (without == WITHOUT_FILES && runtime == RUNTIME_NATIVE && generated)
		return "files were not opened for want of room (\"no room\" above says whose): "
		       "their code stays addresses, and is not walked by CFI";
	if (without == WITHOUT_CFI && stop == FPL_STOP_FP_END && runtime == RUNTIME_NATIVE)
		return "frame pointers lead no further: without --unwind fp stacks are walked by "
		       "CFI";
	return NULL;
}

const char *hint_advice(enum fpl_stop stop, enum runtime runtime, bool generated,
			enum hint_without without)
{
	const char *text = turn_on(stop, runtime, generated, without);

	for (size_t i = 0; i < ARRAY_SIZE(advices) && !text; i++) {
		const struct advice *advice = &advices[i];

		if ((advice->stop == ANY_STOP || advice->stop == (int)stop) &&
		    (advice->runtime == ANY_RUNTIME || advice->runtime == (int)runtime) &&
		    (advice->generated < 0 || advice->generated == (int)generated))
			text = advice->text;
	}
	return text;
}

static void cleanup_runtimes(struct runtimes *runtimes)
{
	runtimes_fini(runtimes);
}

/* Could the stack have been complete, and is it not? */
static bool is_cut_short(const struct profile_stack *stack)
{
	return !(stack->flags & FPL_SAMPLE_KTHREAD) && stack->stop != FPL_STOP_OUTERMOST &&
	       stop_is_judged(stack->stop);
}

static void find_one(struct names *names, const struct runtimes *runtimes,
		     const struct profile_stack *stack, struct hint *ret)
{
	struct frame_name name;

	*ret = (struct hint){
		.samples = stack->count,
		.stop = (enum fpl_stop)stack->stop,
		.runtime = runtimes_of(runtimes, stack),
		.no_frame = stack->nr_user == 0,
	};
	if (ret->no_frame)
		return;

	uint64_t frame = stack->frames[stack->nr_user - 1];
	int error;

	names_user(names, stack, frame, &name);

	ret->object = name.object;
	ret->generated = frame_is_raw(frame);
	/* addresses without a name are one place; the word at rbp may be any number */
	if (ret->generated && !name.symbol)
		error = strings_intern(&names->strings,
				       names->profile->fp_only ? "an address in no file"
							       : "code without a name",
				       &ret->text);
	else
		error = names_text(names, &name, &ret->text);
	alloc_check(error);
	if (!ret->generated && !ret->runtime && name.symbol)
		ret->runtime = runtime_of_symbol(name.symbol);
}

static int compare_places(const void *left, const void *right)
{
	const struct hint *a = left, *b = right;

	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	if (a->text != b->text)
		return a->text < b->text ? -1 : 1;
	if (a->runtime != b->runtime)
		return a->runtime < b->runtime ? -1 : 1;
	return (a->stop > b->stop) - (a->stop < b->stop);
}

/* Most samples first; else in the order of places, which the profile's order does not change. */
static int compare_samples(const void *left, const void *right)
{
	const struct hint *a = left, *b = right;

	if (a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	return compare_places(a, b);
}

/* Make equal places one. Returns how many are left. */
static size_t merge_places(struct hint *list, size_t nr)
{
	size_t kept = 0;

	for (size_t i = 0; i < nr; i++) {
		if (kept && !compare_places(&list[kept - 1], &list[i]))
			list[kept - 1].samples += list[i].samples;
		else
			list[kept++] = list[i];
	}
	return kept;
}

void hints_find(struct names *names, struct hints *ret)
{
	CLEANUP(cleanup_runtimes) struct runtimes runtimes = { 0 };
	const struct profile *profile = names->profile;
	AUTO_FREE struct hint *list = must_calloc(profile->nr_stacks, sizeof(*list));
	struct tally tally;
	size_t nr = 0;

	tally_count(profile, &tally);
	*ret = (struct hints){ .names = names, .judged = tally_judged(&tally) };
	if (!profile->user || tally.complete == ret->judged)
		return;
	runtimes_init(&runtimes, profile);
	for (size_t i = 0; i < profile->nr_stacks; i++) {
		const struct profile_stack *stack = &profile->stacks[i];

		if (!is_cut_short(stack))
			continue;
		find_one(names, &runtimes, stack, &list[nr]);
		ret->samples += list[nr++].samples;
	}
	qsort(list, nr, sizeof(*list), compare_places);
	nr = merge_places(list, nr);
	qsort(list, nr, sizeof(*list), compare_samples);
	ret->nr_places = nr;
	ret->nr = nr < HINTS_SHOWN ? nr : HINTS_SHOWN;
	memcpy(ret->list, list, ret->nr * sizeof(*list));
}

static const char *runtime_text(enum runtime runtime)
{
	static const char *const texts[RUNTIME_COUNT] = {
#define X(name, text) [RUNTIME_##name] = (text),
		RUNTIME_LIST(X)
#undef X
	};

	return texts[runtime];
}

/* Does code of files look like code made at run time, because these files had no room? */
static bool has_files_without_room(const struct profile *profile)
{
	return profile->refused[PROFILE_LIMIT_FILES] || profile->refused[PROFILE_LIMIT_READING] ||
	       profile->refused[PROFILE_LIMIT_OBJECTS];
}

/* The advice about stops that depend on the rate of samples, where -F does not give it. */
static const char *advice_of_events(enum fpl_stop stop)
{
	switch (stop) {
	case FPL_STOP_DEPTH:
		return "the stack is deeper than a walk may go: a larger -c leaves more time for "
		       "each; with --max-depth N,0 or --unwind fp it ends after so many frames";
	case FPL_STOP_BURST:
		return "samples came faster than snapshots could be kept: raise --ring-memory "
		       "(64M), or -c";
	default:
		return NULL;
	}
}

static const char *advice_of(const struct hints *hints, const struct hint *hint)
{
	const struct profile *profile = hints->names->profile;

	if (!profile_source_is_clock(&profile->source) && advice_of_events(hint->stop))
		return advice_of_events(hint->stop);

	enum hint_without without = profile->fp_only		      ? WITHOUT_CFI
				    : profile->cfi_only		      ? WITHOUT_ALL_BUT_CFI
				    : profile->no_synth		      ? WITHOUT_SYNTH
				    : has_files_without_room(profile) ? WITHOUT_FILES
								      : WITHOUT_NOTHING;

	return hint->no_frame ? NULL
			      : hint_advice(hint->stop, hint->runtime, hint->generated, without);
}

/* The place of the function: the last part of its object's path, or the run time that made it. */
static void place_of(const struct hints *hints, const struct hint *hint, char *to, size_t size)
{
	const char *path;

	if (!hint->object) {
		snprintf(to, size, "made at run time%s%s",
			 hint->runtime			  ? " by "
			 : hints->names->profile->fp_only ? ", or no code"
			 : has_files_without_room(hints->names->profile)
				 ? ", or in a file not opened"
				 : "",
			 hint->runtime ? runtime_text(hint->runtime) : "");
		return;
	}
	path = hints->names->profile->objects[hint->object - 1].path;
	text_escape(to, size, text_path_name(path), "");
}

static void write_one(FILE *to, const struct hints *hints, const struct hint *hint,
		      const char *last_advice)
{
	const char *advice = advice_of(hints, hint);
	char place[128];

	fprintf(to, "  %12" PRIu64 " %-13s ", hint->samples, stop_key(hint->stop));
	if (hint->no_frame) {
		fputs("without a frame\n", to);
	} else {
		place_of(hints, hint, place, sizeof(place));
		fprintf(to, "%s  (%s)\n", strings_text(&hints->names->strings, hint->text), place);
	}
	if (advice && advice != last_advice)
		fprintf(to, "               %s\n", advice);
}

void hints_write(FILE *to, const struct hints *hints)
{
	const char *last_advice = NULL;
	uint64_t shown = 0;

	if (!hints->samples)
		return;
	fprintf(to,
		"  cut short    %" PRIu64 " of %" PRIu64
		" user stacks (%.2f %%), most of them in\n",
		hints->samples, hints->judged, share_whole_percent(hints->samples, hints->judged));
	for (size_t i = 0; i < hints->nr; i++) {
		write_one(to, hints, &hints->list[i], last_advice);
		last_advice = advice_of(hints, &hints->list[i]);
		shown += hints->list[i].samples;
	}
	if (hints->nr_places > hints->nr)
		fprintf(to, "  %12" PRIu64 " in %zu other places\n", hints->samples - shown,
			hints->nr_places - hints->nr);
}

void hints_write_most(FILE *to, const struct hints *hints)
{
	const struct hint *hint = &hints->list[0];
	const char *advice;
	char place[128];

	if (!hints->nr)
		return;
	fprintf(to, "  cut short    %.1f %% of the stacks, most of them in ",
		share_whole_percent(hints->samples, hints->judged));
	if (hint->no_frame) {
		fprintf(to, "code without a frame (%s)", stop_key(hint->stop));
	} else {
		place_of(hints, hint, place, sizeof(place));
		fprintf(to, "%s (%s, %s)", strings_text(&hints->names->strings, hint->text), place,
			stop_key(hint->stop));
	}
	advice = advice_of(hints, hint);
	fprintf(to, "%s%s\n", advice ? ": " : "", advice ? advice : "");
}

static void add_one(struct recording *recording, const struct hints *hints, size_t idx)
{
	const struct hint *hint = &hints->list[idx];
	const struct names *names = hints->names;
	const struct {
		const char *name, *note;
	} notes[] = {
		{ "stop", stop_key(hint->stop) },
		{ "function", hint->no_frame ? NULL : strings_text(&names->strings, hint->text) },
		{ "object", hint->object ? names->profile->objects[hint->object - 1].path : NULL },
		{ "advice", advice_of(hints, hint) },
	};
	char key[64];

	snprintf(key, sizeof(key), "incomplete.most[].%zu.samples", idx);
	must_add_number(recording, key, hint->samples);
	for (size_t i = 0; i < ARRAY_SIZE(notes); i++) {
		snprintf(key, sizeof(key), "incomplete.most[].%zu.%s", idx, notes[i].name);
		must_set_note(recording, key, notes[i].note);
	}
}

void hints_add_numbers(struct recording *recording, const struct hints *hints)
{
	must_add_number(recording, "incomplete.samples", hints->samples);
	must_add_number(recording, "incomplete.places", hints->nr_places);
	must_add_number(recording, "incomplete.most[]", 0);
	for (size_t i = 0; i < hints->nr; i++)
		add_one(recording, hints, i);
}
