/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/recorded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vector.h"
#include "naming/call_names.h"
#include "naming/lock_names.h"
#include "profile/script_codes.h"
#include "recording/sources.h"

/* User frames added lately: most frames of a profile are the same few. */
#define ADDED_LOG2 15

struct added {
	uint64_t pc; /* as a stack has it; 0: none, and no frame of an object is that */
	uint32_t frame;
};

/* A conversion under way. */
struct recorder {
	struct added *added; /* owned [1 << ADDED_LOG2], by hash */
	struct names *names;
	struct recording *recording;
	uint32_t *objects; /* owned [nr_objects + 1]: of the recording, by id in the profile; 0:
			      no frame yet */
	VECTOR(uint32_t) frames; /* room for those of the stack at hand */
	struct lock_names locks;
};

static void recorder_fini(struct recorder *recorder)
{
	free(recorder->added);
	free(recorder->objects);
	vector_fini(&recorder->frames);
	lock_names_fini(&recorder->locks);
}

/* PROFILE_BY_* as RECORDING_HAS_*. */
static unsigned shown_by(unsigned by)
{
	return (by & PROFILE_BY_COMM ? RECORDING_HAS_COMM : 0u) |
	       (by & PROFILE_BY_PID ? RECORDING_HAS_PID : 0u) |
	       (by & PROFILE_BY_TID ? RECORDING_HAS_TID : 0u) |
	       (by & PROFILE_BY_CPU ? RECORDING_HAS_CPU : 0u) |
	       (by & PROFILE_BY_CGROUP ? RECORDING_HAS_CGROUP : 0u) |
	       (by & PROFILE_BY_STATE ? RECORDING_HAS_STATE : 0u) |
	       (by & PROFILE_BY_EVENT ? RECORDING_HAS_EVENT : 0u) |
	       (by & PROFILE_BY_KEY ? RECORDING_HAS_KEY : 0u);
}

static int add_source(struct recording *to, const struct profile_source *source,
		      struct recording_source *ret)
{
	int err = recording_add_text(to, source->name, &ret->event);

	if (!err)
		err = recording_add_text(to, source->type, &ret->weight_type);
	if (!err)
		err = recording_add_text(to, source->unit, &ret->weight_unit);
	ret->hz = source->hz;
	ret->period = source->period;
	return err;
}

static int add_sources(struct recording *to, const struct profile *profile)
{
	struct recording_source list[FPL_SOURCES_MAX];
	size_t nr = profile->nr_sources ? profile->nr_sources : 1;
	int err = 0;

	for (size_t i = 0; !err && i < nr; i++)
		err = add_source(to, nr > 1 ? &profile->sources[i] : &profile->source, &list[i]);
	return err ? err : sources_set(to, list, nr);
}

static int add_run(struct recorder *recorder)
{
	const struct profile *profile = recorder->names->profile;
	struct recording *ret = recorder->recording;
	int err = add_sources(ret, profile);

	if (!err)
		err = recording_add_text(ret, profile->key, &ret->key);
	if (!err)
		err = recording_add_text(ret, profile->kernel_release, &ret->kernel);
	for (char **arg = profile->argv; !err && arg && *arg; arg++)
		err = recording_add_arg(ret, *arg);
	ret->start_unix_ns = profile->start_unix_ns;
	ret->duration_ns = profile->duration_ns;
	ret->nr_cpus = profile->nr_cpus;
	ret->by = shown_by(profile->by);
	ret->has_heap = profile->heap.is_on;
	return err;
}

/*
 * The object @id of the profile (0: none), added where its first frame is: a recording that is read
 * from a file numbers objects so, and what is written of both has one order.
 */
static int add_object(struct recorder *recorder, uint32_t id, uint32_t *ret)
{
	struct recording *recording = recorder->recording;
	struct recording_object object = { 0 };
	const struct profile_object *from = id ? &recorder->names->profile->objects[id - 1] : NULL;
	int err = 0;

	if (from && from->path && !recorder->objects[id]) {
		object.file_bias = from->file_bias;
		err = recording_add_text(recording, from->path, &object.path);
		if (!err)
			err = recording_add_text(recording, from->build_id, &object.build_id);
		if (!err)
			err = recording_add_object(recording, &object, &recorder->objects[id]);
	}
	*ret = recorder->objects[id];
	return err;
}

/* The frame at @frame, whose name is @name. */
static int add_named(struct recorder *recorder, struct recording_frame *frame,
		     const struct frame_name *name, uint32_t *ret)
{
	struct recording_function function = { 0 };
	struct recording_line line = { 0 };
	int err = 0;

	frame->start = name->start;
	if (name->symbol) {
		err = recording_add_text(recorder->recording, name->symbol, &function.name);
		if (!err)
			err = recording_add_function(recorder->recording, &function,
						     &line.function);
		frame->nr_lines = 1;
	}
	return err ? err : recording_add_frame(recorder->recording, frame, &line, ret);
}

static int add_line(struct recorder *recorder, const struct symbol_line *line,
		    struct recording_line *ret)
{
	struct recording_function function = { .start_line = line->start_line };
	int err = recording_add_text(recorder->recording, line->name, &function.name);

	if (!err)
		err = recording_add_text(recorder->recording, line->file, &function.file);
	*ret = (struct recording_line){ .line = line->line, .column = line->column };
	return err ? err : recording_add_function(recorder->recording, &function, &ret->function);
}

/* The frame with what is inlined there, where debugging information or its run time tells. */
static int add_with_lines(struct recorder *recorder, uint64_t pc, struct recording_frame *frame,
			  const struct frame_name *name, uint32_t *ret)
{
	struct symbol_line found[SYMBOL_LINES_MAX];
	struct recording_line lines[SYMBOL_LINES_MAX];
	size_t nr = names_lines(recorder->names, pc, name, found);
	int err = 0;

	if (!nr)
		return add_named(recorder, frame, name, ret);
	for (size_t i = 0; !err && i < nr; i++) {
		/* what is inlined and has no name is a part of what it is inlined in */
		if (found[i].name)
			err = add_line(recorder, &found[i], &lines[frame->nr_lines++]);
	}
	frame->start = name->start;
	return err ? err : recording_add_frame(recorder->recording, frame, lines, ret);
}

/* Add the object "[@name]", which is no file. */
static int add_no_file(struct recorder *recorder, const char *name, uint32_t *ret)
{
	struct recording_object object = { 0 };
	char path[128];
	int err;

	snprintf(path, sizeof(path), "[%s]", name);
	err = recording_add_text(recorder->recording, path, &object.path);
	return err ? err : recording_add_object(recorder->recording, &object, ret);
}

/* A script frame has no address: its function, its file and its line are all there is. Its object
 * is the language, in brackets, as the kernel's is. */
static int add_script(struct recorder *recorder, uint64_t pc, uint32_t *ret)
{
	struct recording_frame frame = {
		.address = RECORDING_NO_ADDRESS,
		.start = RECORDING_NO_ADDRESS,
		.kind = RECORDING_USER,
		.origin = FPL_ORIGIN_SCRIPT,
		.nr_lines = 1,
	};
	struct symbol_line line = { .name = "[script]" };
	struct recording_line added;
	struct script_frame script;
	int err;

	if (script_codes_find(recorder->names->profile->script_codes, pc, &script))
		line = (struct symbol_line){ .name = script.function,
					     .file = script.file,
					     .line = script.line,
					     .start_line = script.first_line };
	err = add_no_file(recorder, script.language, &frame.object);
	if (!err)
		err = add_line(recorder, &line, &added);
	return err ? err : recording_add_frame(recorder->recording, &frame, &added, ret);
}

static int add_user(struct recorder *recorder, const struct profile_stack *stack, uint64_t pc,
		    uint32_t *ret)
{
	struct added *added = &recorder->added[pc * 0x9e3779b97f4a7c15u >> (64 - ADDED_LOG2)];
	struct frame_name name;

	if (fpl_frame_is_script(pc))
		return add_script(recorder, pc, ret);
	/* what a raw frame is depends on the stack */
	if (!frame_is_raw(pc) && added->pc == pc) {
		*ret = added->frame;
		return 0;
	}

	int err;
	struct recording_frame frame = {
		.address = frame_addr(pc),
		.kind = RECORDING_USER,
		.origin = (uint8_t)frame_origin(pc),
		.exact = frame_is_exact(pc),
	};

	names_user(recorder->names, stack, pc, &name);
	if (frame_is_gap(pc)) {
		frame.address = RECORDING_NO_ADDRESS;
		frame.origin = RECORDING_NO_ORIGIN;
	}
	err = add_object(recorder, name.object, &frame.object);
	if (!err)
		err = add_with_lines(recorder, pc, &frame, &name, ret);
	if (!err && !frame_is_raw(pc))
		*added = (struct added){ .pc = pc, .frame = *ret };
	return err;
}

/* The order of a stack's frames: leaf first, but for those of a waker, outermost first. */
enum order { ORDER_ALONE, ORDER_BELOW_WAKERS, ORDER_OF_WAKER };

static int add_kernel(struct recorder *recorder, uint64_t addr, size_t idx, enum order order,
		      uint32_t *ret)
{
	struct frame_name name;
	int err;
	struct recording_frame frame = {
		.address = addr,
		.kind = RECORDING_KERNEL,
		/* readers take the first of a list of kernel frames for one */
		.exact = !idx && order == ORDER_ALONE,
	};

	names_kernel(recorder->names, addr, idx, &name);
	err = add_no_file(recorder, name.module ? name.module : "kernel.kallsyms", &frame.object);
	return err ? err : add_named(recorder, &frame, &name, ret);
}

static uint8_t state_of(const struct profile *profile, const struct profile_stack *stack)
{
	switch (stack->flags & FPL_SAMPLE_STATE) {
	case FPL_SAMPLE_BLOCKED:
		return RECORDING_STATE_BLOCKED;
	case FPL_SAMPLE_RUNNABLE:
	case FPL_SAMPLE_RUNNABLE | FPL_SAMPLE_WOKEN:
		return RECORDING_STATE_RUNNABLE;
	case FPL_SAMPLE_THROTTLED:
		return RECORDING_STATE_THROTTLED;
	case FPL_SAMPLE_FROZEN:
		return RECORDING_STATE_FROZEN;
	default:
		break;
	}
	return profile->has_states ? RECORDING_STATE_ON_CPU : RECORDING_STATE_NONE;
}

static bool has_runnable(const struct profile_stack *stack)
{
	return (stack->flags & FPL_SAMPLE_STATE) == (FPL_SAMPLE_RUNNABLE | FPL_SAMPLE_WOKEN);
}

/* Add a frame that has a name and nothing else. */
static int add_word(struct recorder *recorder, enum recording_kind kind, const char *word,
		    uint32_t *ret)
{
	struct recording_frame frame = {
		.address = RECORDING_NO_ADDRESS,
		.kind = (uint8_t)kind,
		.origin = RECORDING_NO_ORIGIN,
	};
	const struct frame_name name = { .symbol = word, .start = NAMES_NO_START };

	return add_named(recorder, &frame, &name, ret);
}

/* The word for a link that leads to no stack; NULL: it adds no frame. @i: which link of @stack. */
static const char *link_word(const struct profile_stack *stack, uint32_t link, size_t i)
{
	switch (link) {
	case FPL_LINK_END:
		return NULL;
	case FPL_LINK_STRANGER:
		return RECORDING_LINK_STRANGER;
	case FPL_LINK_UNSAMPLED:
		return RECORDING_LINK_UNSAMPLED;
	case FPL_LINK_LOST:
		return RECORDING_LINK_LOST;
	default:
		break;
	}
	/* the wait of the stack itself has not ended; else a waker has not waited before */
	return !i && stack->flags & FPL_SAMPLE_BLOCKED ? NULL : RECORDING_LINK_NONE;
}

/* How many links of @stack add frames to it: those up to the first that leads to no stack. */
static size_t nr_links_shown(const struct profile *profile, const struct profile_stack *stack)
{
	for (size_t i = 0; i < profile->nr_links; i++) {
		uint32_t link = profile_link(profile, stack, i);

		if (!fpl_link_is_stack(link))
			return i + (link_word(stack, link, i) != NULL);
	}
	return stack->nr_key == FPL_KEY_MAX ? profile->nr_links : 0;
}

/* The name of the thread, or of the interrupt, that has the stack @waker. */
static int add_waker_name(struct recorder *recorder, const struct profile_stack *waker,
			  uint32_t *ret)
{
	char comm[FPL_COMM_SIZE + 1] = "", text[sizeof(RECORDING_WAKER_TID) + FPL_COMM_SIZE + 16];

	memcpy(comm, waker->comm, FPL_COMM_SIZE);
	if (*comm == '[')
		memcpy(text, comm, sizeof(comm));
	else if (recorder->names->profile->by & PROFILE_BY_TID)
		snprintf(text, sizeof(text), RECORDING_WAKER_TID, comm, waker->tid);
	else
		snprintf(text, sizeof(text), RECORDING_WAKER, comm);
	return add_word(recorder, RECORDING_USER, text, ret);
}

static int add_user_frames(struct recorder *recorder, const struct profile_stack *stack,
			   enum order order, uint32_t **to)
{
	size_t nr = stack->nr_user;
	int err = 0;

	for (size_t i = 0; !err && i < nr; i++) {
		size_t idx = order == ORDER_OF_WAKER ? nr - 1 - i : i;

		err = add_user(recorder, stack, stack->frames[idx], (*to)++);
	}
	return err;
}

/* The kernel's frames, but for those of the program that took them. */
static int add_kernel_frames(struct recorder *recorder, const struct profile_stack *stack,
			     enum order order, uint32_t **to)
{
	size_t nr_own = names_nr_own(recorder->names, stack), nr = stack->nr_kernel - nr_own;
	int err = 0;

	for (size_t i = 0; !err && i < nr; i++) {
		size_t idx = nr_own + (order == ORDER_OF_WAKER ? nr - 1 - i : i);

		err = add_kernel(recorder, stack->frames[stack->nr_user + idx], idx, order,
				 (*to)++);
	}
	return err;
}

/*
 * The frames that the links of @stack add above its leaf, the last link first: of each waker its
 * name and its stack, the outermost frame first, so that where the wait was ended is next to where
 * it was.
 */
static int add_wakers(struct recorder *recorder, const struct profile_stack *stack, size_t nr,
		      uint32_t **to)
{
	const struct profile *profile = recorder->names->profile;
	int err = 0;

	for (size_t i = nr; !err && i-- > 0;) {
		uint32_t link = profile_link(profile, stack, i);
		const struct profile_stack *waker = profile_waker(profile, link);

		err = waker ? add_waker_name(recorder, waker, (*to)++)
			    : add_word(recorder, RECORDING_USER, link_word(stack, link, i),
				       (*to)++);
		if (!err && waker)
			err = add_user_frames(recorder, waker, ORDER_OF_WAKER, to);
		if (!err && waker)
			err = add_kernel_frames(recorder, waker, ORDER_OF_WAKER, to);
		if (!err)
			err = add_word(recorder, RECORDING_USER, RECORDING_DELIMITER, (*to)++);
	}
	return err;
}

/* Room for all frames of @stack and its @nr_links wakers. */
static int reserve_frames(struct recorder *recorder, const struct profile_stack *stack,
			  size_t nr_links)
{
	const struct profile *profile = recorder->names->profile;
	/* one more: of waiting to run */
	size_t nr = (size_t)stack->nr_user + stack->nr_kernel + stack->nr_fp + 1;

	for (size_t i = 0; i < nr_links; i++) {
		const struct profile_stack *waker =
			profile_waker(profile, profile_link(profile, stack, i));

		nr += 2 + (waker ? (size_t)waker->nr_user + waker->nr_kernel : 0);
	}
	return vector_reserve(&recorder->frames, nr) ? -ENOMEM : 0;
}

/* A stack and its wakers are one list: what lies above the kernel's frames cannot come before. */
static int add_linked_frames(struct recorder *recorder, const struct profile_stack *stack,
			     size_t nr_links, struct recording_stack *key)
{
	uint32_t *to = recorder->frames.list;
	int err = add_wakers(recorder, stack, nr_links, &to);

	if (!err)
		err = add_kernel_frames(recorder, stack, ORDER_BELOW_WAKERS, &to);
	if (!err)
		err = add_user_frames(recorder, stack, ORDER_BELOW_WAKERS, &to);
	key->nr_user = (uint16_t)(to - recorder->frames.list);
	return err;
}

/* Add the frames of @stack, and fill in how many @key has: those of its wakers, the user frames,
 * the kernel's, and those of the other walk. */
static int add_frames(struct recorder *recorder, const struct profile_stack *stack,
		      struct recording_stack *key)
{
	const uint64_t *fp = stack->frames + stack->nr_user + stack->nr_kernel;
	size_t nr_links = nr_links_shown(recorder->names->profile, stack);
	uint32_t *to;
	int err = reserve_frames(recorder, stack, nr_links);

	if (err)
		return err;
	if (nr_links)
		return add_linked_frames(recorder, stack, nr_links, key);
	to = recorder->frames.list;
	err = add_user_frames(recorder, stack, ORDER_ALONE, &to);
	key->nr_user = stack->nr_user;
	if (!err && has_runnable(stack))
		err = add_word(recorder, RECORDING_KERNEL, RECORDING_RUNNABLE, to++);
	if (!err)
		err = add_kernel_frames(recorder, stack, ORDER_ALONE, &to);
	key->nr_kernel = (uint16_t)(to - recorder->frames.list - key->nr_user);
	key->nr_fp = stack->nr_fp;
	for (size_t i = 0; !err && i < stack->nr_fp; i++)
		err = add_user(recorder, stack, fp[i], to++);
	return err;
}

/* The path of the cgroup of @stack as it is, or "[cgroup ID]" in @buf. */
static const char *cgroup_text(const struct profile *profile, const struct profile_stack *stack,
			       char *buf, size_t size)
{
	const char *path = profile_cgroup(profile, stack->cgroup);

	if (path)
		return path;
	snprintf(buf, size, "[cgroup %" PRIu64 "]", stack->cgroup);
	return buf;
}

/* The value of the field that tells stacks apart: a number, or a text. */
static int add_key(struct recorder *recorder, const struct profile_stack *stack, uint32_t *ret)
{
	const struct profile *profile = recorder->names->profile;
	const struct profile_source *source =
		profile->nr_sources ? &profile->sources[stack->source] : &profile->source;
	const uint64_t *key = stack->frames + stack->nr_user + stack->nr_kernel + stack->nr_fp;
	const struct profile_stack *waker = profile_waker(profile, profile_link(profile, stack, 0));
	char text[8 * FPL_KEY_MAX + 1] = "";

	if (profile->is_locks)
		return recording_add_text(
			recorder->recording,
			lock_names_find(&recorder->locks, stack->pid, key[FPL_WAIT_ADDR]), ret);
	if (stack->flags & FPL_SAMPLE_BLOCKED && profile->nr_links)
		memcpy(text, waker ? waker->comm : "[none]", waker ? FPL_COMM_SIZE : 7);
	else if (stack->flags & FPL_SAMPLE_BLOCKED && stack->nr_key == 1)
		call_names_find(key[0], text, sizeof(text));
	else if (stack->nr_key == 1)
		snprintf(text, sizeof(text), source->is_key_signed ? "%" PRId64 : "%" PRIu64,
			 key[0]);
	else
		memcpy(text, key, 8 * FPL_KEY_MAX);
	if (!*text)
		snprintf(text, sizeof(text), "%s",
			 key[FPL_KEY_MAX - 1] == FPL_KEY_UNREAD ? "[unread]" : "[empty]");
	return recording_add_text(recorder->recording, text, ret);
}

/* The sums of allocations of @stack, which is stack @idx of the recording. */
static int add_heap(struct recorder *recorder, const struct profile_stack *stack, uint32_t idx)
{
	const struct recording_heap heap = {
		.alloc_objects = stack->heap.alloc_objects,
		.alloc_space = stack->heap.alloc_space,
		.inuse_objects = stack->heap.inuse_objects,
		.inuse_space = stack->heap.inuse_space,
	};

	return recording_add_heap(recorder->recording, idx, &heap);
}

/* @class: of compare's verdict, where there is one. */
static int add_stack(struct recorder *recorder, const struct profile_stack *stack, uint8_t class,
		     uint32_t *ret)
{
	const struct profile *profile = recorder->names->profile;
	bool no_user = stack->flags & FPL_SAMPLE_KTHREAD;
	struct recording_stack key = {
		.count = stack->count,
		.weight = stack->weight,
		.squares = stack->squares,
		.task = stack->start_ns,
		.state = state_of(profile, stack),
		.stop = profile->user && !no_user ? stack->stop : RECORDING_NO_STOP,
		.has = RECORDING_HAS_COMM | RECORDING_HAS_PID,
		.no_user = no_user,
		.source = stack->source,
		.pid = stack->pid,
		.elided = stack->elided,
	};
	char comm[FPL_COMM_SIZE + 1] = "", unknown[64];
	int err;

	memcpy(comm, stack->comm, FPL_COMM_SIZE);
	err = recording_add_text(recorder->recording, comm, &key.comm);
	if (profile->by & PROFILE_BY_TID) {
		key.has |= RECORDING_HAS_TID;
		key.tid = stack->tid;
	}
	if (profile->by & PROFILE_BY_CPU) {
		key.has |= RECORDING_HAS_CPU;
		key.cpu = stack->cpu;
	}
	if (!err && profile->by & PROFILE_BY_CGROUP) {
		key.has |= RECORDING_HAS_CGROUP;
		err = recording_add_text(recorder->recording,
					 cgroup_text(profile, stack, unknown, sizeof(unknown)),
					 &key.cgroup);
	}
	/* a key of links alone is no label */
	if (!err && stack->nr_key && (*profile->key || !profile->nr_links)) {
		key.has |= RECORDING_HAS_KEY;
		err = add_key(recorder, stack, &key.key);
	}
	if (profile->fp_max) {
		key.has |= RECORDING_HAS_FP;
		key.class = class;
	}
	if (!err)
		err = add_frames(recorder, stack, &key);
	if (!err)
		err = recording_add_stack(recorder->recording, &key, recorder->frames.list, ret);
	return err || !profile->heap.is_on ? err : add_heap(recorder, stack, *ret);
}

static int add_events(struct recorder *recorder, const uint32_t *stacks)
{
	const struct profile *profile = recorder->names->profile;
	int err = 0;

	for (size_t i = 0; !err && i < profile->nr_events; i++) {
		const struct profile_event *event = &profile->events[i];

		err = recording_add_event(recorder->recording,
					  &(struct recording_event){
						  .time_ns = event->time_ns,
						  .weight = event->weight,
						  .stack = stacks[event->stack],
						  .tid = event->tid,
						  .cpu = event->cpu,
					  });
	}
	recording_sort_events(recorder->recording);
	return err;
}

int recorded_make(struct names *names, const uint8_t *classes, struct recording *ret,
		  uint32_t **ret_stacks, struct fpl_err *err)
{
	const struct profile *profile = names->profile;
	CLEANUP(recorder_fini) struct recorder recorder = { .names = names, .recording = ret };
	AUTO_FREE uint32_t *stacks = calloc(profile->nr_stacks + 1, sizeof(*stacks));
	int error = -ENOMEM;

	recorder.added = calloc(1u << ADDED_LOG2, sizeof(*recorder.added));
	recorder.objects = calloc(profile->nr_objects + 1, sizeof(*recorder.objects));
	if (stacks && recorder.added && recorder.objects)
		error = add_run(&recorder);
	if (!error && profile->is_locks)
		error = lock_names_make(names, &recorder.locks);
	for (size_t i = 0; !error && i < profile->nr_stacks; i++)
		error = add_stack(&recorder, &profile->stacks[i], classes ? classes[i] : 0,
				  &stacks[i]);
	if (!error)
		error = add_events(&recorder, stacks);
	if (!error && profile->is_locks)
		error = lock_names_add_numbers(&recorder.locks, profile, ret);
	if (error)
		return fpl_fail(err, error, "out of memory for %zu stacks with names",
				profile->nr_stacks);
	if (ret_stacks)
		*ret_stacks = TAKE_PTR(stacks);
	return 0;
}
