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

/* Kinds of a cached frame: the same address is looked up differently as leaf and as caller. */
enum { KIND_FREE, KIND_USER, KIND_KERNEL_LEAF, KIND_KERNEL_CALLER };

struct names_slot {
	uint64_t frame;
	uint32_t kind;
	struct frame_name name;
};

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

static void expect(struct names *names, const uint64_t *frames, size_t nr, struct said *said)
{
	for (size_t i = 0; i < nr; i++) {
		if (!frame_is_raw(frames[i]) && !is_said(said, frames[i]))
			symbolizer_expect(
				names->symbolizer, frame_object(frames[i]),
				frame_lookup_pc(frame_addr(frames[i]), frame_is_exact(frames[i])));
	}
}

/* Say what will be asked, so that each file is read once. */
static void expect_all(struct names *names)
{
	struct said said = { 0 };

	for (size_t i = 0; i < names->profile->nr_stacks; i++) {
		const struct profile_stack *stack = &names->profile->stacks[i];

		expect(names, stack->frames, stack->nr_user, &said);
		expect(names, stack->frames + stack->nr_user + stack->nr_kernel, stack->nr_fp,
		       &said);
	}
}

int names_init(struct names *names, const struct profile *profile, struct symbolizer *symbolizer,
	       const struct names_options *options)
{
	*names = (struct names){
		.profile = profile,
		.symbolizer = symbolizer,
		.options = *options,
	};
	strings_init(&names->strings);
	expect_all(names);
	return options->by_function
		       ? functions_init(&names->functions, symbolizer, profile->nr_objects)
		       : 0;
}

int names_go_on(struct names *names)
{
	expect_all(names);
	return names->options.by_function
		       ? functions_grow(&names->functions, names->profile->nr_objects)
		       : 0;
}

void names_fini(struct names *names)
{
	functions_fini(&names->functions);
	strings_fini(&names->strings);
	free(names->slots);
}

static struct names_slot *find_slot(const struct names *names, uint64_t frame, uint32_t kind)
{
	/* Fibonacci hashing: vaddrs of one object differ in their low bits only. */
	uint64_t hash = (frame + kind) * 0x9e3779b97f4a7c15u;
	size_t idx = (hash >> 20) & (names->nr_slots - 1);

	while (names->slots[idx].kind != KIND_FREE &&
	       (names->slots[idx].frame != frame || names->slots[idx].kind != kind))
		idx = (idx + 1) & (names->nr_slots - 1);
	return &names->slots[idx];
}

static int grow_slots(struct names *names)
{
	struct names_slot *old = names->slots;
	size_t nr_old = names->nr_slots;
	size_t nr_slots = nr_old ? 2 * nr_old : 1024;
	struct names_slot *slots = calloc(nr_slots, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	names->slots = slots;
	names->nr_slots = nr_slots;
	for (size_t i = 0; i < nr_old; i++)
		if (old[i].kind != KIND_FREE)
			*find_slot(names, old[i].frame, old[i].kind) = old[i];
	free(old);
	return 0;
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

static void name_user(struct names *names, uint64_t frame, struct frame_name *ret)
{
	uint32_t object = frame_is_raw(frame) ? 0 : frame_object(frame);
	struct symbol symbol = { 0 };
	bool exact = frame_is_exact(frame);
	uint64_t addr = frame_addr(frame), start;
	uint64_t lookup_pc = frame_lookup_pc(addr, exact);

	/* one that was retired is known no more: a frame that came late may name it */
	if (object > 0 && object <= names->profile->nr_objects &&
	    names->profile->objects[object - 1].path) {
		symbolizer_user(names->symbolizer, object, lookup_pc, &symbol);
	} else {
		object = 0;
	}
	*ret = (struct frame_name){
		.object = object,
		.symbol = symbol.name && *symbol.name ? symbol.name : NULL,
		.offset = symbol.offset + !exact,
		.place = addr,
		.start = NAMES_NO_START,
	};
	if (ret->symbol)
		ret->start = lookup_pc - symbol.offset;
	else if (object && names->options.by_function &&
		 functions_find_start(&names->functions, object, lookup_pc, &start))
		ret->start = ret->place = start;
}

static void name_kernel(struct names *names, uint64_t addr, bool exact, struct frame_name *ret)
{
	struct symbol symbol = { 0 };

	symbolizer_kernel(names->symbolizer, frame_lookup_pc(addr, exact), &symbol);
	*ret = (struct frame_name){
		.symbol = symbol.name && *symbol.name ? symbol.name : NULL,
		.offset = symbol.offset + !exact,
		.place = addr,
		.start = NAMES_NO_START,
		.module = symbol.module,
	};
	if (ret->symbol)
		ret->start = frame_lookup_pc(addr, exact) - symbol.offset;
}

static int name_cached(struct names *names, uint64_t frame, uint32_t kind, struct frame_name *ret)
{
	if (2 * (names->nr + 1) > names->nr_slots && grow_slots(names))
		return -ENOMEM;

	struct names_slot *slot = find_slot(names, frame, kind);
	if (slot->kind == KIND_FREE) {
		struct frame_name name;

		if (kind == KIND_USER)
			name_user(names, frame, &name);
		else
			name_kernel(names, frame, kind == KIND_KERNEL_LEAF, &name);
		*slot = (struct names_slot){ .frame = frame, .kind = kind, .name = name };
		names->nr++;
	}
	*ret = slot->name;
	return 0;
}

int names_comm(struct names *names, const char *comm, uint32_t *ret)
{
	char bounded[FPL_COMM_SIZE + 1] = "";

	memcpy(bounded, comm, FPL_COMM_SIZE);
	return frame_texts_intern(&names->strings, bounded, "", false, ret);
}

/* Code made at run time, if the program said what it is. Returns whether it did. */
static bool name_generated(struct names *names, const struct profile_stack *stack, uint64_t frame,
			   struct frame_name *ret)
{
	const struct code_names *code_names = names->profile->code_names;
	bool exact = frame_is_exact(frame);
	uint64_t lookup_pc = frame_lookup_pc(frame_addr(frame), exact);
	struct code_name name;

	if (!code_names ||
	    !code_names_find(code_names, stack->gen, lookup_pc, stack->first_ns, &name))
		return false;
	*ret = (struct frame_name){
		.symbol = name.symbol,
		.offset = name.offset + !exact,
		.start = lookup_pc - name.offset,
	};
	return true;
}

int names_user(struct names *names, const struct profile_stack *stack, uint64_t frame,
	       struct frame_name *ret)
{
	if (frame_is_gap(frame)) {
		*ret = (struct frame_name){ .symbol = RECORDING_GAP, .start = NAMES_NO_START };
		return 0;
	}
	if (frame_is_raw(frame) && name_generated(names, stack, frame, ret))
		return 0;
	return name_cached(names, frame, KIND_USER, ret);
}

int names_kernel(struct names *names, uint64_t addr, size_t idx, struct frame_name *ret)
{
	return name_cached(names, addr, idx ? KIND_KERNEL_CALLER : KIND_KERNEL_LEAF, ret);
}
