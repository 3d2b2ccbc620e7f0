/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The event's own data: fields of the record that the kernel hands the program (at a probe the
 * registers), filters over them, a sample's weight and its key. All of it is described by the map
 * `sources`, so one program serves every tracepoint, and another one every probe.
 */
#pragma once

#include "bpf/vmlinux_min.h"

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "bpf/event_test.h"
#include "bpf/lookup.h"
#include "bpf/maps.h"
#include "bpf/moment.h"
#include "bpf/shared.h"
#include "bpf/walk_read.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FPL_SOURCES_MAX);
	__type(key, __u32);
	__type(value, struct fpl_source);
} sources SEC(".maps");

/* The @size bytes of a number at @at, in the process or in the kernel; else 0. */
static __always_inline __u64 number_at(__u64 at, __u32 size, int is_user)
{
	__u64 value = 0;

	if (size > sizeof(value))
		return 0;
	if (is_user)
		bpf_probe_read_user(&value, size, (const void *)at);
	else
		bpf_probe_read_kernel(&value, size, (const void *)at);
	return value;
}

/* The number in the field, extended to 64 bits by its sign. */
static __always_inline __u64 field_number(const void *record, const struct fpl_field *field)
{
	__u64 at = (__u64)record + field->off, value;
	__u32 size = field->size, rest;

	if (field->place == FPL_PLACE_CONSTANT)
		return (__u64)(__s64)field->disp;
	if (field->place == FPL_PLACE_MEMORY)
		value = number_at(number_at(at, sizeof(at), 0) + (__u64)(__s64)field->disp, size,
				  1);
	else
		value = number_at(at, size, 0);
	rest = (64 - 8 * size) & 63;
	return field->kind == FPL_FIELD_SIGNED ? (__u64)((__s64)(value << rest) >> rest) : value;
}

/* Read the text of the field to @to, which holds @max bytes. Returns 0 where it could not be read.
 */
static __always_inline int field_text(const void *record, const struct fpl_field *field, char *to,
				      __u32 max)
{
	__u64 at = (__u64)record + field->off;
	__u32 size = field->size;
	__u64 value;

	if (field->kind == FPL_FIELD_TEXT) {
		if (size > max - 1)
			size = max - 1;
		to[size] = 0; /* a text that fills its room has no end */
		return !bpf_probe_read_kernel(to, size, (const void *)at);
	}
	value = field_number(record, field);
	if (field->kind == FPL_FIELD_TEXT_USER)
		return bpf_probe_read_user_str(to, max, (const void *)value) > 0;
	if (field->kind == FPL_FIELD_TEXT_LOC)
		value = (__u64)record + (value & 0xffff);
	else if (field->kind == FPL_FIELD_TEXT_REL)
		value = at + field->size + (value & 0xffff);
	return bpf_probe_read_kernel_str(to, max, (const void *)value) > 0;
}

/* -1: the text could not be read. */
static __always_inline int text_test(const void *record, const struct fpl_test *test,
				     const struct fpl_source *source, char *buffer,
				     struct fpl_counters *count)
{
	struct text_match match = {
		.text = buffer,
		.pattern = source->texts[test->value & (FPL_TESTS_MAX - 1)],
		.is_plain = test->op != FPL_TEST_MATCH,
	};

	if (!field_text(record, &test->field, buffer, FPL_FIELD_TEXT_MAX)) {
		count->texts_unread++;
		return -1;
	}
	bpf_loop(MATCH_STEPS_MAX, text_match_step, &match, 0);
	return match.is_match == (test->op != FPL_TEST_NE);
}

static __always_inline int number_test(const void *record, const struct fpl_test *test)
{
	return event_compare(test, field_number(record, &test->field));
}

struct event_filter {
	const void *record;
	const struct fpl_source *source;
	struct fpl_counters *count;
	char *buffer;
	__u32 next; /* test, or how the filter ended */
};

static long event_test(__u32 idx, void *arg)
{
	struct event_filter *filter = arg;
	const struct fpl_test *test;
	int is_true;

	if (filter->next >= FPL_TESTS_MAX)
		return 1;
	test = &filter->source->tests[filter->next & (FPL_TESTS_MAX - 1)];
	is_true = test->field.kind >= FPL_FIELD_TEXT
			  ? text_test(filter->record, test, filter->source, filter->buffer,
				      filter->count)
			  : number_test(filter->record, test);
	/* what could not be read passes no filter, not even one with a ! */
	filter->next = is_true < 0 ? FPL_TEST_FAIL : is_true ? test->yes : test->no;
	return 0;
}

/* Does the record pass the source's filter? A function: its stack is not in use while the walk
 * runs. */
static __noinline int event_passes(const void *record, const struct fpl_source *source,
				   struct fpl_scratch *s, struct fpl_counters *count)
{
	struct event_filter filter = {
		.record = record,
		.source = source,
		.count = count,
		.buffer = (char *)s->frames, /* no frame is there yet */
	};

	bpf_loop(FPL_TESTS_MAX, event_test, &filter, 0);
	return filter.next == FPL_TEST_PASS;
}

/* Does the event pass its filter, and is it its turn under -c? Counts the event that does not. */
static __always_inline int event_is_sampled(const struct moment *moment, struct fpl_scratch *s,
					    struct fpl_counters *count)
{
	__u32 every = moment->event->every;

	if (moment->event->nr_tests && !event_passes(moment->ctx, moment->event, s, count)) {
		count->filtered++;
		return 0;
	}
	if (every < 2 || ++count->passed[moment->source & (FPL_SOURCES_MAX - 1)] % every == 0)
		return 1;
	count->fired--; /* a perf event does not fire for what it only counts, either */
	return 0;
}

/* Weight of a sample of the event. */
static __always_inline __u64 event_weight(const struct moment *moment)
{
	const struct fpl_field *field = &moment->event->weight;
	__u64 value;

	if (field->kind == FPL_FIELD_NONE)
		return source_weight(moment->source);
	value = field_number(moment->ctx, field);
	if (field->kind == FPL_FIELD_SIGNED && (__s64)value < 0)
		return 0;
	return value * source_weight(moment->source);
}

/* Words for a sample's key, FPL_KEY_MAX of them, behind its others; NULL: there is no room. */
static __always_inline __u64 *key_words(struct fpl_scratch *s)
{
	__u64 at = (__u32)s->sample.nr_user + s->sample.nr_kernel + s->sample.nr_fp;

	LOOKUP_OPAQUE(at);
	return at > FPL_FRAMES_MAX - FPL_KEY_MAX ? NULL : s->frames + at;
}

/*
 * Append the key that the source asks for to the sample's words. Returns the number of its words. A
 * function, as event_passes().
 */
static __noinline __u32 event_key(const void *record, const struct fpl_source *source,
				  struct fpl_scratch *s, struct fpl_counters *count)
{
	const struct fpl_field *field = &source->key;
	__u64 *key = key_words(s);

	if (!key)
		return 0;
	if (field->kind < FPL_FIELD_TEXT) {
		key[0] = field_number(record, field);
		return 1;
	}
	if (field->kind == FPL_FIELD_NAMED) {
		const __u64 *text =
			(const __u64 *)source
				->texts[number_at((__u64)record + field->off, field->size, 0) &
					(FPL_TESTS_MAX - 1)];

		for (__u32 i = 0; i < FPL_KEY_MAX; i++)
			key[i] = text[i];
		return FPL_KEY_MAX;
	}
	for (__u32 i = 0; i < FPL_KEY_MAX; i++)
		key[i] = 0;
	if (!field_text(record, field, (char *)key, 8 * FPL_KEY_MAX)) {
		key[FPL_KEY_MAX - 1] = FPL_KEY_UNREAD;
		count->texts_unread++;
	}
	return FPL_KEY_MAX;
}
