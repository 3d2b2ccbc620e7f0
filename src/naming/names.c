/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "view/frame_texts.h"
#include "profile/code_names.h"
#include "profile/script_codes.h"

/* Frames said lately: of a hundred that a profile has, most are the same few. */
#define SAID_LOG2 12

struct said {
	uint64_t frames[1u << SAID_LOG2]; /* by hash; 0: none, and no frame of an object is that */
};

/* Was @frame said before? Now it is. */
static bool is_said(struct said *said, uint64_t frame)
{
	uint64_t *slot = &said->frames[frame * 0x9e3779b97f4a7c15u >> (64 - SAID_LOG2)];
	bool known = *slot == frame;

	*slot = frame;
	return known;
}

static void expect(const struct names *names, const uint64_t *frames, size_t nr, struct said *said)
{
	for (size_t i = 0; i < nr; i++) {
		if (!frame_is_raw(frames[i]) && !is_said(said, frames[i]))
			namer_expect(
				names->namer, frame_object(frames[i]),
				frame_lookup_pc(frame_addr(frames[i]), frame_is_exact(frames[i])));
	}
}

void names_expect(const struct names *names)
{
	struct said said = { 0 };

	for (size_t i = 0; i < names->profile->nr_stacks; i++) {
		const struct profile_stack *stack = &names->profile->stacks[i];

		expect(names, stack->frames, stack->nr_user, &said);
		expect(names, stack->frames + stack->nr_user + stack->nr_kernel, stack->nr_fp,
		       &said);
	}
	for (size_t i = 0; i < names->profile->nr_wakers; i++)
		expect(names, names->profile->wakers[i].frames, names->profile->wakers[i].nr_user,
		       &said);
}

void names_init(struct names *names, const struct profile *profile, struct namer *namer,
		const struct names_options *options)
{
	*names = (struct names){ .profile = profile, .namer = namer, .options = *options };
	strings_init(&names->strings);
	names_expect(names);
}

void names_fini(struct names *names)
{
	strings_fini(&names->strings);
}

int names_text(struct names *names, const struct frame_name *name, uint32_t *ret)
{
	const char *path = NULL;

	if (name->symbol)
		return frame_texts_intern(&names->strings, name->symbol, "", false, ret);
	if (name->object) {
		path = names->profile->objects[name->object - 1].path;
		if (names->options.by_function)
			path = text_path_name(path);
	}
	return frame_texts_intern_place(&names->strings, path, name->place, "", false, ret);
}

static void name_user(const struct names *names, uint64_t frame, struct frame_name *ret)
{
	uint32_t object = frame_is_raw(frame) ? 0 : frame_object(frame);
	uint64_t addr = frame_addr(frame);
	struct symbol symbol = { .start = NAMES_NO_START };

	/* one that was retired is known no more: a frame that came late may name it */
	if (object > 0 && object <= names->profile->nr_objects &&
	    names->profile->objects[object - 1].path)
		namer_user(names->namer, object, frame_lookup_pc(addr, frame_is_exact(frame)),
			   &symbol);
	else
		object = 0;
	*ret = (struct frame_name){
		.object = object,
		.symbol = symbol.name,
		.place = addr,
		.start = symbol.name || names->options.by_function ? symbol.start : NAMES_NO_START,
	};
	if (!ret->symbol && ret->start != NAMES_NO_START)
		ret->place = ret->start;
}

int names_comm(struct names *names, const char *comm, uint32_t *ret)
{
	char bounded[FPL_COMM_SIZE + 1] = "";

	memcpy(bounded, comm, FPL_COMM_SIZE);
	return frame_texts_intern(&names->strings, bounded, "", false, ret);
}

/* Code made at run time, if the program said what it is. Returns whether it did. */
static bool name_generated(const struct names *names, const struct profile_stack *stack,
			   uint64_t frame, struct frame_name *ret)
{
	uint64_t lookup_addr = frame_lookup_pc(frame_code_addr(frame), frame_is_exact(frame));
	struct code_name name;

	if (!profile_find_code(names->profile, stack, lookup_addr, &name))
		return false;
	*ret = (struct frame_name){
		.symbol = name.symbol,
		.start = frame_lookup_pc(frame_addr(frame), frame_is_exact(frame)) - name.offset,
		.code = name.lines,
	};
	return true;
}

size_t names_lines(const struct names *names, uint64_t frame, const struct frame_name *name,
		   struct symbol_line ret[SYMBOL_LINES_MAX])
{
	if (name->object && name->symbol)
		return namer_lines(names->namer, name->object,
				   frame_lookup_pc(frame_addr(frame), frame_is_exact(frame)), ret);
	for (size_t i = 0; i < name->code.nr; i++)
		ret[i] = code_lines_at(&name->code, i);
	return namer_wanted_lines(names->namer, ret, name->code.nr);
}

static void name_script(const struct names *names, uint64_t frame, struct frame_name *ret)
{
	struct script_frame script;

	*ret = (struct frame_name){ .symbol = "[script]", .start = NAMES_NO_START };
	if (script_codes_find(names->profile->script_codes, frame, &script))
		ret->symbol = script.function;
}

void names_user(const struct names *names, const struct profile_stack *stack, uint64_t frame,
		struct frame_name *ret)
{
	if (frame_is_gap(frame))
		*ret = (struct frame_name){ .symbol = RECORDING_GAP, .start = NAMES_NO_START };
	else if (fpl_frame_is_script(frame))
		name_script(names, frame, ret);
	else if (!frame_is_raw(frame) || !name_generated(names, stack, frame, ret))
		name_user(names, frame, ret);
	/* of one that cannot be told, no more is known than this */
	if (fpl_frame_is_method(frame) && !ret->symbol)
		*ret = (struct frame_name){ .symbol = "Interpreter", .start = NAMES_NO_START };
}

void names_kernel(const struct names *names, uint64_t addr, size_t idx, struct frame_name *ret)
{
	struct symbol symbol;

	namer_kernel(names->namer, frame_lookup_pc(addr, !idx), &symbol);
	*ret = (struct frame_name){
		.symbol = symbol.name,
		.place = addr,
		.start = symbol.start,
		.module = symbol.module,
	};
}

/* Frames that a tracepoint puts between its place and a program, at most. */
#define OWN_FRAMES_MAX 8u

static bool calls_programs(const char *name)
{
	/* the last one is where a probe stands in for the tracepoint (profile/source_blocked.c) */
	static const char *const prefixes[] = { "bpf_trace_run", "__bpf_trace_", "__traceiter_",
						"finish_task_switch" };

	for (size_t i = 0; name && i < ARRAY_SIZE(prefixes); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

size_t names_nr_own(const struct names *names, const struct profile_stack *stack)
{
	const struct profile *profile = names->profile;
	const struct profile_source *source =
		profile->nr_sources ? &profile->sources[stack->source] : &profile->source;
	const uint64_t *frames = stack->frames + stack->nr_user;
	size_t nr = 0;

	/* what the clock interrupted ran */
	if (!source->has_own_frames ||
	    (profile->has_states && !(stack->flags & (FPL_SAMPLE_STATE | FPL_SAMPLE_WAKER))))
		return 0;
	for (size_t i = 0; i < stack->nr_kernel && i < OWN_FRAMES_MAX; i++) {
		struct frame_name name;

		names_kernel(names, frames[i], i, &name);
		if (calls_programs(name.symbol))
			nr = i + 1;
	}
	while (nr < stack->nr_kernel &&
	       namer_is_scheduler(names->namer, frame_lookup_pc(frames[nr], !nr)))
		nr++;
	return nr;
}
