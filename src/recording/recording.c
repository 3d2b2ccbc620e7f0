/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/recording.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/vector.h"

/* Room for @wanted entries more, of which an index has to fit 32 bits. */
static int reserve(void *list_ptr, size_t size, size_t *room, size_t wanted)
{
	return wanted >= ID_TABLE_NONE ? -ENOMEM : array_reserve(list_ptr, size, room, wanted);
}

#define RESERVE(recording, list, wanted)                                                   \
	reserve(&(recording)->list, sizeof(*(recording)->list), &(recording)->room_##list, \
		(recording)->nr_##list + (wanted))

int recording_init(struct recording *ret)
{
	uint32_t none;

	*ret = (struct recording){ 0 };
	strings_init(&ret->strings);

	int err = recording_add_text(ret, "", &none);

	if (!err)
		err = recording_add_object(ret, &(struct recording_object){ 0 }, &none);
	if (!err)
		err = recording_add_function(ret, &(struct recording_function){ 0 }, &none);
	return err;
}

void recording_settle(struct recording *recording)
{
	strings_drop_table(&recording->strings);
	id_table_fini(&recording->object_ids);
	id_table_fini(&recording->function_ids);
	id_table_fini(&recording->frame_table);
	id_table_fini(&recording->stack_ids);
	vector_fini(&recording->bare_functions);
	vector_fini(&recording->bare_frames);
}

/* The entry of @ids for @of, made at first sight; NULL: no memory. */
static uint32_t *bare_entry(struct bare_ids *ids, uint32_t of)
{
	while (of >= ids->nr)
		if (vector_push(ids, 0))
			return NULL;
	return &ids->list[of];
}

void recording_fini(struct recording *recording)
{
	recording_settle(recording);
	strings_fini(&recording->strings);
	free(recording->args);
	free(recording->objects);
	free(recording->functions);
	free(recording->lines);
	free(recording->frames);
	free(recording->frame_ids);
	free(recording->stacks);
	free(recording->heaps);
	free(recording->events);
	free(recording->numbers);
	*recording = (struct recording){ 0 };
}

int recording_add_text(struct recording *recording, const char *text, uint32_t *ret)
{
	return strings_intern(&recording->strings, text ? text : "", ret);
}

int recording_add_object(struct recording *recording, const struct recording_object *key,
			 uint32_t *ret)
{
	const uint32_t fields[] = { key->path, key->build_id, key->offsets };
	const struct recording_object *list = recording->objects;
	uint64_t hash = id_table_hash(0, fields, sizeof(fields));

	*ret = ID_TABLE_FIND(&recording->object_ids, hash, i,
			     list[i].path == key->path && list[i].build_id == key->build_id &&
				     list[i].offsets == key->offsets);
	if (*ret != ID_TABLE_NONE)
		return 0;
	if (RESERVE(recording, objects, 1))
		return -ENOMEM;
	*ret = (uint32_t)recording->nr_objects;
	if (id_table_add(&recording->object_ids, hash, *ret))
		return -ENOMEM;
	recording->objects[recording->nr_objects++] = *key;
	return 0;
}

static int append_function(struct recording *recording, const struct recording_function *key,
			   uint32_t *ret)
{
	if (RESERVE(recording, functions, 1))
		return -ENOMEM;
	*ret = (uint32_t)recording->nr_functions;
	recording->functions[recording->nr_functions++] = *key;
	return 0;
}

static int add_bare_function(struct recording *recording, const struct recording_function *key,
			     uint32_t *ret)
{
	uint32_t *entry = bare_entry(&recording->bare_functions, key->name);

	if (!entry || (!*entry && append_function(recording, key, ret)))
		return -ENOMEM;
	if (*entry)
		*ret = *entry - 1;
	*entry = *ret + 1;
	return 0;
}

int recording_add_function(struct recording *recording, const struct recording_function *key,
			   uint32_t *ret)
{
	if (!key->file && !key->start_line)
		return add_bare_function(recording, key, ret);

	const struct recording_function *list = recording->functions;
	uint64_t hash = id_table_hash(1, key, sizeof(*key));

	*ret = ID_TABLE_FIND(&recording->function_ids, hash, i,
			     list[i].name == key->name && list[i].file == key->file &&
				     list[i].start_line == key->start_line);
	if (*ret != ID_TABLE_NONE)
		return 0;
	return append_function(recording, key, ret) ||
			       id_table_add(&recording->function_ids, hash, *ret)
		       ? -ENOMEM
		       : 0;
}

static bool frame_equals(const struct recording *recording, uint32_t index,
			 const struct recording_frame *b, const struct recording_line *lines)
{
	const struct recording_frame *a = &recording->frames[index];

	return a->address == b->address && a->start == b->start && a->object == b->object &&
	       a->nr_lines == b->nr_lines && a->kind == b->kind && a->origin == b->origin &&
	       a->exact == b->exact &&
	       (!a->nr_lines ||
		!memcmp(&recording->lines[a->first_line], lines, a->nr_lines * sizeof(*lines)));
}

static int append_frame(struct recording *recording, const struct recording_frame *key,
			const struct recording_line *lines, uint32_t *ret)
{
	if (RESERVE(recording, frames, 1) || RESERVE(recording, lines, key->nr_lines))
		return -ENOMEM;
	*ret = (uint32_t)recording->nr_frames;

	struct recording_frame *frame = &recording->frames[recording->nr_frames++];

	*frame = *key;
	frame->first_line = (uint32_t)recording->nr_lines;
	if (key->nr_lines)
		memcpy(&recording->lines[recording->nr_lines], lines,
		       key->nr_lines * sizeof(*lines));
	recording->nr_lines += key->nr_lines;
	return 0;
}

/* Is it the user frame of a function, and nothing more is known? */
static bool is_bare_frame(const struct recording_frame *key, const struct recording_line *lines)
{
	return key->nr_lines == 1 && !lines->line && !lines->column && !key->object &&
	       key->address == RECORDING_NO_ADDRESS && key->start == RECORDING_NO_ADDRESS &&
	       key->kind == RECORDING_USER && key->origin == RECORDING_NO_ORIGIN && !key->exact;
}

static int add_bare_frame(struct recording *recording, const struct recording_frame *key,
			  const struct recording_line *line, uint32_t *ret)
{
	uint32_t *entry = bare_entry(&recording->bare_frames, line->function);

	if (!entry || (!*entry && append_frame(recording, key, line, ret)))
		return -ENOMEM;
	if (*entry)
		*ret = *entry - 1;
	*entry = *ret + 1;
	return 0;
}

int recording_add_frame(struct recording *recording, const struct recording_frame *key,
			const struct recording_line *lines, uint32_t *ret)
{
	if (is_bare_frame(key, lines))
		return add_bare_frame(recording, key, lines, ret);

	const uint64_t fields[] = {
		key->address,
		key->start,
		key->object,
		(uint64_t)key->nr_lines << 24 | (uint64_t)key->kind << 16 |
			(uint64_t)key->origin << 8 | key->exact,
	};
	uint64_t hash = id_table_hash(id_table_hash(2, fields, sizeof(fields)), lines,
				      key->nr_lines * sizeof(*lines));

	*ret = ID_TABLE_FIND(&recording->frame_table, hash, i,
			     frame_equals(recording, i, key, lines));
	if (*ret != ID_TABLE_NONE)
		return 0;
	return append_frame(recording, key, lines, ret) ||
			       id_table_add(&recording->frame_table, hash, *ret)
		       ? -ENOMEM
		       : 0;
}

static size_t nr_frames_of(const struct recording_stack *stack)
{
	return (size_t)stack->nr_user + stack->nr_kernel + stack->nr_fp;
}

/* All that tells a stack apart but its frames. */
struct stack_identity {
	uint64_t task;
	uint32_t nr_user, nr_kernel, nr_fp;
	uint32_t stop, has, class;
	uint16_t no_user, state;
	uint32_t comm, cgroup, pid, tid, cpu;
	uint32_t source, key;
};

static struct stack_identity identity_of(const struct recording_stack *stack)
{
	return (struct stack_identity){
		.task = stack->task,
		.nr_user = stack->nr_user,
		.nr_kernel = stack->nr_kernel,
		.nr_fp = stack->nr_fp,
		.stop = stack->stop,
		.has = stack->has,
		.class = stack->class,
		.no_user = stack->no_user,
		.state = stack->state,
		.comm = stack->comm,
		.cgroup = stack->cgroup,
		.pid = stack->pid,
		.tid = stack->tid,
		.cpu = stack->cpu,
		.source = stack->source,
		.key = stack->key,
	};
}

static bool stack_equals(const struct recording *recording, uint32_t index,
			 const struct stack_identity *identity, const uint32_t *frames, size_t nr)
{
	const struct recording_stack *stack = &recording->stacks[index];
	struct stack_identity a = identity_of(stack);

	_Static_assert(sizeof(a) == 8 + 14 * 4, "no padding: compared as bytes");
	return !memcmp(&a, identity, sizeof(a)) &&
	       (!nr ||
		!memcmp(&recording->frame_ids[stack->first_frame], frames, nr * sizeof(*frames)));
}

double recording_equal_squares(uint64_t count, uint64_t weight)
{
	return count ? (double)weight * ((double)weight / (double)count) : 0;
}

/* No sum of squares is outside these bounds, whatever a file says. */
static double squares_of(const struct recording_stack *stack)
{
	double least = recording_equal_squares(stack->count, stack->weight);
	double most = (double)stack->weight * (double)stack->weight;

	return !(stack->squares > least) ? least : stack->squares < most ? stack->squares : most;
}

int recording_add_stack(struct recording *recording, const struct recording_stack *key,
			const uint32_t *frames, uint32_t *ret)
{
	size_t nr = nr_frames_of(key);
	struct stack_identity identity = identity_of(key);
	uint64_t hash = id_table_hash(id_table_hash(3, &identity, sizeof(identity)), frames,
				      nr * sizeof(*frames));
	uint32_t idx = ID_TABLE_FIND(&recording->stack_ids, hash, i,
				     stack_equals(recording, i, &identity, frames, nr));

	if (idx == ID_TABLE_NONE) {
		idx = (uint32_t)recording->nr_stacks;
		/* also for a stack without frames: who adds to a pointer must have one */
		if (RESERVE(recording, stacks, 1) || RESERVE(recording, frame_ids, nr ? nr : 1) ||
		    id_table_add(&recording->stack_ids, hash, idx))
			return -ENOMEM;

		struct recording_stack *stack = &recording->stacks[recording->nr_stacks++];

		*stack = *key;
		stack->count = stack->weight = 0;
		stack->squares = 0;
		stack->elided = 0;
		stack->first_frame = (uint32_t)recording->nr_frame_ids;
		if (nr)
			memcpy(&recording->frame_ids[recording->nr_frame_ids], frames,
			       nr * sizeof(*frames));
		recording->nr_frame_ids += nr;
	}
	recording->stacks[idx].count += key->count;
	recording->stacks[idx].weight += key->weight;
	recording->stacks[idx].squares += squares_of(key);
	if (key->elided > recording->stacks[idx].elided)
		recording->stacks[idx].elided = key->elided;
	if (ret)
		*ret = idx;
	return 0;
}

int recording_add_heap(struct recording *recording, uint32_t idx, const struct recording_heap *heap)
{
	size_t before = recording->room_heaps;
	struct recording_heap *to;

	if (idx >= before) {
		if (array_reserve(&recording->heaps, sizeof(*recording->heaps),
				  &recording->room_heaps, (size_t)idx + 1))
			return -ENOMEM;
		memset(recording->heaps + before, 0,
		       (recording->room_heaps - before) * sizeof(*recording->heaps));
	}
	to = &recording->heaps[idx];
	to->alloc_objects += heap->alloc_objects;
	to->alloc_space += heap->alloc_space;
	to->inuse_objects += heap->inuse_objects;
	to->inuse_space += heap->inuse_space;
	recording->has_heap = true;
	return 0;
}

struct recording_heap recording_heap_of(const struct recording *recording, size_t idx)
{
	return idx < recording->room_heaps ? recording->heaps[idx] : (struct recording_heap){ 0 };
}

int recording_add_event(struct recording *recording, const struct recording_event *event)
{
	if (RESERVE(recording, events, 1))
		return -ENOMEM;
	recording->events[recording->nr_events++] = *event;
	return 0;
}

/* By time; at one time by CPU, thread and stack, so that one recording has one order. */
static int compare_events(const void *left, const void *right)
{
	const struct recording_event *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return (a->stack > b->stack) - (a->stack < b->stack);
}

void recording_sort_events(struct recording *recording)
{
	if (recording->nr_events)
		qsort(recording->events, recording->nr_events, sizeof(*recording->events),
		      compare_events);
}

static struct recording_number *find_number(const struct recording *recording, const char *key)
{
	for (size_t i = 0; i < recording->nr_numbers; i++)
		if (!strcmp(recording_string(recording, recording->numbers[i].key), key))
			return &recording->numbers[i];
	return NULL;
}

/* How long are the parts, each with its dot, that both keys begin with? */
static size_t common_parts(const char *a, const char *b)
{
	size_t parts = 0;

	for (size_t i = 0; a[i] && a[i] == b[i]; i++)
		if (a[i] == '.')
			parts = i + 1;
	return parts;
}

/* The place of a new number: behind the last of those it shares most parts with, so that they stand
 * together; else at the end. */
static size_t place_of_number(const struct recording *recording, const char *key)
{
	size_t place = recording->nr_numbers, most = 0;

	for (size_t i = 0; i < recording->nr_numbers; i++) {
		size_t parts =
			common_parts(recording_string(recording, recording->numbers[i].key), key);

		if (parts && parts >= most) {
			most = parts;
			place = i + 1;
		}
	}
	return place;
}

static int provide_number(struct recording *recording, const char *key,
			  struct recording_number **ret)
{
	uint32_t text;

	*ret = find_number(recording, key);
	if (*ret)
		return 0;
	if (RESERVE(recording, numbers, 1) || recording_add_text(recording, key, &text))
		return -ENOMEM;
	*ret = &recording->numbers[place_of_number(recording, key)];
	memmove(*ret + 1, *ret,
		(size_t)(&recording->numbers[recording->nr_numbers++] - *ret) * sizeof(**ret));
	**ret = (struct recording_number){ .key = text };
	return 0;
}

int recording_add_number(struct recording *recording, const char *key, uint64_t value)
{
	struct recording_number *number;

	if (provide_number(recording, key, &number))
		return -ENOMEM;
	number->value += value;
	return 0;
}

int recording_set_note(struct recording *recording, const char *key, const char *note)
{
	struct recording_number *number;
	uint32_t text;

	if (recording_add_text(recording, note, &text) || provide_number(recording, key, &number))
		return -ENOMEM;
	number->note = note ? text : RECORDING_NO_NOTE;
	return 0;
}

void recording_drop_numbers(struct recording *recording, bool (*drops)(const char *key))
{
	size_t kept = 0;

	for (size_t i = 0; i < recording->nr_numbers; i++)
		if (!drops(recording_string(recording, recording->numbers[i].key)))
			recording->numbers[kept++] = recording->numbers[i];
	recording->nr_numbers = kept;
}

uint64_t recording_number(const struct recording *recording, const char *key)
{
	const struct recording_number *number = find_number(recording, key);

	return number ? number->value : 0;
}

const char *recording_note(const struct recording *recording, const char *key)
{
	const struct recording_number *number = find_number(recording, key);

	return number && number->note && number->note != RECORDING_NO_NOTE
		       ? recording_string(recording, number->note)
		       : NULL;
}

int recording_add_arg(struct recording *recording, const char *arg)
{
	uint32_t text;

	if (recording_add_text(recording, arg, &text) || RESERVE(recording, args, 1))
		return -ENOMEM;
	recording->args[recording->nr_args++] = text;
	return 0;
}

size_t recording_bytes(const struct recording *recording)
{
	return strings_memory(&recording->strings) +
	       recording->room_objects * sizeof(*recording->objects) +
	       recording->room_functions * sizeof(*recording->functions) +
	       recording->room_lines * sizeof(*recording->lines) +
	       recording->room_frames * sizeof(*recording->frames) +
	       recording->room_frame_ids * sizeof(*recording->frame_ids) +
	       recording->room_stacks * sizeof(*recording->stacks) +
	       recording->room_heaps * sizeof(*recording->heaps) +
	       recording->room_events * sizeof(*recording->events) +
	       recording->room_numbers * sizeof(*recording->numbers) +
	       recording->room_args * sizeof(*recording->args) +
	       id_table_bytes(&recording->object_ids) + id_table_bytes(&recording->function_ids) +
	       id_table_bytes(&recording->frame_table) + id_table_bytes(&recording->stack_ids) +
	       (recording->bare_functions.room + recording->bare_frames.room) * sizeof(uint32_t);
}

uint64_t recording_shown(const struct recording *recording)
{
	uint64_t shown = 0;

	for (size_t i = 0; i < recording->nr_stacks; i++)
		shown += recording->stacks[i].count;
	return shown;
}

const struct recording_function *recording_function_of(const struct recording *recording,
						       const struct recording_frame *frame)
{
	if (!frame->nr_lines)
		return NULL;

	const struct recording_line *line =
		&recording->lines[frame->first_line + frame->nr_lines - 1u];

	return &recording->functions[line->function];
}

bool recording_is_delimiter(const struct recording *recording, const struct recording_frame *frame)
{
	return frame->nr_lines == 1 && frame->address == RECORDING_NO_ADDRESS &&
	       !strcmp(recording_string(recording, recording_function_of(recording, frame)->name),
		       RECORDING_DELIMITER);
}

size_t recording_waker_frames(const struct recording *recording,
			      const struct recording_stack *stack)
{
	size_t nr = stack->nr_user;

	while (nr &&
	       !recording_is_delimiter(recording, recording_frame_at(recording, stack, nr - 1)))
		nr--;
	return nr;
}

const struct recording_frame *recording_own_leaf(const struct recording *recording,
						 const struct recording_stack *stack)
{
	size_t nr_wakers;

	if (stack->nr_kernel)
		return recording_frame_at(recording, stack, stack->nr_user);
	nr_wakers = recording_waker_frames(recording, stack);
	return nr_wakers < stack->nr_user ? recording_frame_at(recording, stack, nr_wakers) : NULL;
}
