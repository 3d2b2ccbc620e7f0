/* SPDX-License-Identifier: Apache-2.0 */
#include "output/jsonl.h"

#include <errno.h>
#include <string.h>

#include "output/frame_texts.h"
#include "output/json.h"
#include "output/labels.h"
#include "output/tally.h"
#include "output/verdict.h"

/* Kinds of frames that are written alike wherever they are met. */
enum { KIND_USER = 1, KIND_KERNEL_LEAF, KIND_KERNEL_CALLER };

struct writer {
	struct names *names;
	struct frame_texts texts;
};

static void write_meta(FILE *to, const struct profile *profile)
{
	struct json json = { .to = to };

	json_open(&json, NULL, '{');
	json_string(&json, "type", "meta");
	json_number(&json, "format", 1);
	json_string(&json, "event", profile->event);
	json_number(&json, "period_ns", profile->period_ns);
	json_number(&json, "hz", profile->hz);
	json_number(&json, "start_unix_ns", profile->start_unix_ns);
	json_number(&json, "duration_ns", profile->duration_ns);
	json_number(&json, "cpus", profile->nr_cpus);
	json_string(&json, "kernel", profile->kernel_release);
	json_open(&json, "argv", '[');
	for (char **arg = profile->argv; arg && *arg; arg++)
		json_string(&json, NULL, *arg);
	json_close(&json, ']');
	json_close(&json, '}');
	putc('\n', to);
}

static void write_symbol(struct json *json, const struct frame_name *name)
{
	if (name->symbol) {
		json_string(json, "symbol", name->symbol);
		json_number(json, "offset", name->offset);
	} else {
		json_null(json, "symbol");
		json_null(json, "offset");
	}
}

static int describe_user_frame(struct json *json, struct names *names,
			       const struct profile_stack *stack, uint64_t frame)
{
	struct frame_name name;
	int err = names_user(names, stack, frame, &name);

	if (err)
		return err;
	json_open(json, NULL, '{');
	if (name.object) {
		const struct profile_object *object = &names->profile->objects[name.object - 1];

		json_string(json, "object", object->path);
		json_string(json, "build_id", object->build_id);
		json_address(json, "vaddr", frame_addr(frame));
	} else {
		json_address(json, "addr", frame_addr(frame));
	}
	write_symbol(json, &name);
	json_string(json, "origin", tally_origin_key(frame_origin(frame)));
	if (frame_is_exact(frame))
		json_true(json, "exact");
	json_close(json, '}');
	return 0;
}

static int describe_kernel_frame(struct json *json, struct names *names, uint64_t addr, size_t idx)
{
	struct frame_name name;
	int err = names_kernel(names, addr, idx, &name);

	if (err)
		return err;
	json_open(json, NULL, '{');
	json_address(json, "addr", addr);
	write_symbol(json, &name);
	if (name.module)
		json_string(json, "module", name.module);
	else
		json_null(json, "module");
	json_close(json, '}');
	return 0;
}

/*
 * A frame, described where it is met for the first time, and then repeated. What a raw frame is
 * depends on the stack.
 */
static int write_frame(struct json *json, struct writer *writer, const struct profile_stack *stack,
		       uint64_t frame, uint32_t kind)
{
	struct json kept = { 0 };
	int err;

	if (kind == KIND_USER && frame_is_raw(frame))
		return describe_user_frame(json, writer->names, stack, frame);
	json_next(json);
	if (frame_texts_repeat(&writer->texts, frame, kind, json->to))
		return 0;
	err = frame_texts_begin(&writer->texts, &kept.to);
	if (!err)
		err = kind == KIND_USER ? describe_user_frame(&kept, writer->names, stack, frame)
					: describe_kernel_frame(&kept, writer->names, frame,
								kind == KIND_KERNEL_CALLER);
	if (!err)
		err = frame_texts_keep(&writer->texts, frame, kind);
	if (!err)
		frame_texts_repeat(&writer->texts, frame, kind, json->to);
	return err;
}

static int write_frames(struct json *json, struct writer *writer, const struct profile_stack *stack,
			const uint64_t *frames, size_t nr)
{
	int err = 0;

	for (size_t i = 0; !err && i < nr; i++)
		err = write_frame(json, writer, stack, frames[i], KIND_USER);
	return err;
}

/* The stop of a stack without a walk has no meaning: null. */
static bool has_stop(const struct profile *profile, const struct profile_stack *stack)
{
	return profile->user && !(stack->flags & FPL_SAMPLE_KTHREAD);
}

static int write_comparison(struct json *json, struct writer *writer,
			    const struct profile_stack *stack)
{
	const uint64_t *fp = stack->frames + stack->nr_user + stack->nr_kernel;
	struct verdict verdict = verdict_of(stack, writer->names->profile->fp_max);
	int err;

	json_open(json, "fp", '[');
	err = write_frames(json, writer, stack, fp, stack->nr_fp);
	json_close(json, ']');
	json_string(json, "class", verdict_class_key(verdict.class));
	return err;
}

/* What is no part of every stack's identity. */
static void write_labels(struct json *json, const struct profile *profile,
			 const struct profile_stack *stack)
{
	char unknown[64];

	if (profile->by & PROFILE_BY_TID)
		json_number(json, "tid", stack->tid);
	if (profile->by & PROFILE_BY_CPU)
		json_number(json, "cpu", stack->cpu);
	if (profile->by & PROFILE_BY_CGROUP)
		json_string(json, "cgroup",
			    labels_cgroup(profile, stack, unknown, sizeof(unknown)));
}

static int write_stack(FILE *to, struct writer *writer, const struct profile_stack *stack)
{
	const struct profile *profile = writer->names->profile;
	struct json json = { .to = to };
	char comm[FPL_COMM_SIZE + 1] = "";
	int err;

	memcpy(comm, stack->comm, FPL_COMM_SIZE);
	json_open(&json, NULL, '{');
	json_string(&json, "type", "stack");
	json_number(&json, "count", stack->count);
	json_number(&json, "weight_ns", stack->weight_ns);
	json_string(&json, "comm", comm);
	json_number(&json, "pid", stack->pid);
	write_labels(&json, profile, stack);
	if (has_stop(profile, stack))
		json_string(&json, "stop", tally_stop_key((enum fpl_stop)stack->stop));
	else
		json_null(&json, "stop");
	json_open(&json, "user", '[');
	err = write_frames(&json, writer, stack, stack->frames, stack->nr_user);
	json_close(&json, ']');
	json_open(&json, "kernel", '[');
	for (size_t i = 0; !err && i < stack->nr_kernel; i++)
		err = write_frame(&json, writer, stack, stack->frames[stack->nr_user + i],
				  i ? KIND_KERNEL_CALLER : KIND_KERNEL_LEAF);
	json_close(&json, ']');
	if (!err && profile->fp_max)
		err = write_comparison(&json, writer, stack);
	json_close(&json, '}');
	putc('\n', to);
	return err;
}

int jsonl_write(FILE *to, struct names *names, const struct culprits *culprits, uint64_t *ret_shown,
		struct fpl_err *err)
{
	const struct profile *profile = names->profile;
	struct writer writer = { .names = names };
	uint64_t shown = 0;
	int code = 0;

	write_meta(to, profile);
	for (size_t i = 0; !code && i < profile->nr_stacks; i++) {
		code = write_stack(to, &writer, &profile->stacks[i]);
		shown += profile->stacks[i].count;
	}
	frame_texts_fini(&writer.texts);
	if (code)
		return fpl_fail(err, -ENOMEM, "out of memory for names");

	struct json json = { .to = to };
	json_open(&json, NULL, '{');
	json_string(&json, "type", "books");
	tally_write_json(&json, profile, shown);
	if (culprits)
		culprits_write_json(&json, culprits);
	json_close(&json, '}');
	putc('\n', to);
	*ret_shown = shown;
	return 0;
}
