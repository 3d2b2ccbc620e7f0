/* SPDX-License-Identifier: Apache-2.0 */
#include "output/text_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "output/labels.h"

/* What fits two screens; everything is in the folded and .jsonl formats. */
enum { NR_FUNCTIONS = 30, NR_STACKS = 10, NR_FRAMES = 48 };

/* One function: a name in an object. */
struct function {
	uint32_t text;	    /* id of the name */
	uint32_t object;    /* id; 0: none or the kernel */
	const char *module; /* of a kernel function */
	bool kernel;
	uint64_t self, total;
	size_t last_stack; /* index + 1 of the stack that counted it last: recursion counts once */
};

struct function_table {
	struct function *list; /* owned [nr] */
	size_t *slots;	       /* owned [nr_slots]: index + 1, 0 is free */
	size_t nr, room, nr_slots;
};

static void function_table_fini(struct function_table *functions)
{
	free(functions->list);
	free(functions->slots);
}

static size_t *find_slot(const struct function_table *functions, const struct function *key)
{
	uint64_t hash =
		((uint64_t)key->text << 32 | key->object << 1 | key->kernel) * 0x9e3779b97f4a7c15u;
	size_t idx = (hash >> 20) & (functions->nr_slots - 1);

	for (;; idx = (idx + 1) & (functions->nr_slots - 1)) {
		size_t *slot = &functions->slots[idx];
		const struct function *function = &functions->list[*slot - 1];

		if (!*slot || (function->text == key->text && function->object == key->object &&
			       function->kernel == key->kernel))
			return slot;
	}
}

static int function_table_grow(struct function_table *functions)
{
	size_t nr_slots = functions->nr_slots ? 2 * functions->nr_slots : 1024;
	struct function *list =
		reallocarray(functions->list, nr_slots / 2, sizeof(*functions->list));

	if (!list)
		return -ENOMEM;
	functions->list = list;
	functions->room = nr_slots / 2;

	size_t *slots = calloc(nr_slots, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(functions->slots);
	functions->slots = slots;
	functions->nr_slots = nr_slots;
	for (size_t i = 0; i < functions->nr; i++)
		*find_slot(functions, &functions->list[i]) = i + 1;
	return 0;
}

static int count_function(struct function_table *functions, const struct function *key,
			  size_t stack_idx, uint64_t count, bool leaf)
{
	if (functions->nr == functions->room && function_table_grow(functions))
		return -ENOMEM;

	size_t *slot = find_slot(functions, key);
	if (!*slot) {
		functions->list[functions->nr] = *key;
		*slot = ++functions->nr;
	}
	struct function *function = &functions->list[*slot - 1];
	if (leaf)
		function->self += count;
	if (function->last_stack != stack_idx + 1)
		function->total += count;
	function->last_stack = stack_idx + 1;
	return 0;
}

/* The leaf of a stack is its innermost kernel frame where it has any, else the user leaf. */
static int count_stack(struct function_table *functions, struct names *names, size_t stack_idx)
{
	const struct profile_stack *stack = &names->profile->stacks[stack_idx];
	size_t nr_frames = (size_t)stack->nr_user + stack->nr_kernel;
	size_t leaf = stack->nr_kernel ? stack->nr_user : 0;
	struct frame_name name;

	for (size_t i = 0; i < nr_frames; i++) {
		bool kernel = i >= stack->nr_user;
		int err = kernel ? names_kernel(names, stack->frames[i], i - stack->nr_user, &name)
				 : names_user(names, stack, stack->frames[i], &name);
		struct function key = { .text = name.text,
					.object = name.object,
					.module = name.module,
					.kernel = kernel };

		if (err || count_function(functions, &key, stack_idx, stack->count, i == leaf))
			return -ENOMEM;
	}
	return 0;
}

static int compare_functions(const void *left, const void *right, void *strings)
{
	const struct function *a = left, *b = right;

	if (a->self != b->self)
		return a->self > b->self ? -1 : 1;
	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	int order = strcmp(strings_text(strings, a->text), strings_text(strings, b->text));
	return order ? order : (a->object > b->object) - (a->object < b->object);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* Where a function lives: the last part of the object's path, escaped. */
static void function_place(const struct names *names, const struct function *function, char *buf,
			   size_t size)
{
	const char *place = "-";

	if (function->kernel)
		place = function->module ? function->module : "kernel";
	else if (function->object)
		place = names->profile->objects[function->object - 1].path;
	const char *slash = strrchr(place, '/');
	text_escape(buf, size, slash && slash[1] ? slash + 1 : place, "");
}

static int write_functions(FILE *to, struct names *names, uint64_t samples)
{
	CLEANUP(function_table_fini) struct function_table functions = { 0 };

	for (size_t i = 0; i < names->profile->nr_stacks; i++)
		if (count_stack(&functions, names, i))
			return -ENOMEM;
	if (functions.nr)
		qsort_r(functions.list, functions.nr, sizeof(*functions.list), compare_functions,
			&names->strings);

	fputs("\nHottest functions (self: it was running; total: it or what it called)\n\n"
	      "    self   total  function\n",
	      to);
	for (size_t i = 0; i < functions.nr && i < NR_FUNCTIONS; i++) {
		const struct function *function = &functions.list[i];
		char place[128];

		function_place(names, function, place, sizeof(place));
		fprintf(to, " %6.1f%% %6.1f%%  %s  (%s)\n", percent(function->self, samples),
			percent(function->total, samples),
			strings_text(&names->strings, function->text), place);
	}
	if (functions.nr > NR_FUNCTIONS)
		fprintf(to, "                  ... and %zu more\n", functions.nr - NR_FUNCTIONS);
	return 0;
}

static void write_stack(FILE *to, const struct names *names, const struct merged_stack *stack,
			uint64_t samples)
{
	uint32_t nr_labels = (uint32_t)labels_nr(names->profile);
	uint32_t nr_frames = stack->nr - nr_labels;

	fprintf(to, "\n %6.1f%%  %" PRIu64 " of %" PRIu64, percent(stack->count, samples),
		stack->count, samples);
	for (uint32_t i = 0; i < nr_labels; i++)
		fprintf(to, "  %s", strings_text(&names->strings, stack->ids[i]));
	putc('\n', to);
	for (uint32_t i = 0; i < nr_frames && i < NR_FRAMES; i++)
		fprintf(to, "          %s\n",
			strings_text(&names->strings, stack->ids[stack->nr - 1 - i]));
	if (nr_frames > NR_FRAMES)
		fprintf(to, "          ... %u more callers\n", nr_frames - NR_FRAMES);
}

int text_report_write(FILE *to, struct names *names, const struct merged *merged,
		      uint64_t *ret_shown, struct fpl_err *err)
{
	const struct profile *profile = names->profile;
	uint64_t samples = 0, shown = 0;

	for (size_t i = 0; i < merged->nr; i++)
		samples += merged->stacks[i].count;
	fprintf(to, "%" PRIu64 " samples: %s at %" PRIu64 " Hz, %.1f s, %u CPUs\n", samples,
		profile->event, profile->hz, (double)profile->duration_ns / 1e9, profile->nr_cpus);
	if (write_functions(to, names, samples))
		return fpl_fail(err, -ENOMEM, "out of memory for names");

	fputs("\nHottest stacks (leaf first)\n", to);
	size_t left = merged->nr;
	for (; left > 0 && merged->nr - left < NR_STACKS; left--) {
		write_stack(to, names, &merged->stacks[left - 1], samples);
		shown += merged->stacks[left - 1].count;
	}
	if (left) {
		uint64_t rest = 0;

		for (size_t i = 0; i < left; i++)
			rest += merged->stacks[i].count;
		fprintf(to, "\n %6.1f%%  %" PRIu64 " of %" PRIu64 "  in %zu other stacks\n",
			percent(rest, samples), rest, samples, left);
		shown += rest;
	}
	*ret_shown = shown;
	return 0;
}
