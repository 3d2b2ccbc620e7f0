/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded lines, `task;root;...;leaf COUNT`: ours, and those that stackcollapse-perf, inferno and
 * bcc's profile write.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "format/reading.h"
#include "format/unnamed.h"
#include "recording/keys.h"
#include "recording/origin_mark.h"

/* The fields of a line, between semicolons. */
struct fields {
	char **list; /* into the line; a vector itself */
	size_t nr, room;
};

static void fields_fini(struct fields *fields)
{
	vector_fini(fields);
}

#define KERNEL_MARK "_[k]"

/* Others' marks (_[j] of code made at run time) stay a part of the name. */
static bool is_marked_kernel(const char *field)
{
	size_t length = strlen(field), size = strlen(KERNEL_MARK);

	return length > size && !strcmp(field + length - size, KERNEL_MARK);
}

/*
 * Place the frame that @field names as code without a name. Of an object it is the start of a
 * function; behind a whole path, as it was written before, an address. False: it is a name.
 */
static bool place_unnamed(struct reading *reading, char *field, bool leaf,
			  struct recording_frame *frame)
{
	size_t object_length;
	uint64_t number;
	char *object = field + 1;

	if (!unnamed_parse(field, &object_length, &number))
		return false;
	object[object_length] = '\0';
	if (object_length && !strchr(object, '/'))
		frame->start = number;
	else
		frame->address = number;
	frame->exact = leaf;
	if (object_length) {
		reading_unescape(object, ";");
		frame->object = reading_object(reading, object, "");
	}
	return true;
}

/* Functions inlined in the frame that comes next, the innermost first. */
struct inlined {
	struct recording_line lines[RECORDING_LINES_MAX];
	uint8_t nr;
};

/* One of the kernel may be among the user's, below a waker's stack. */
static void cut_mark(char *field, struct recording_frame *frame)
{
	if (is_marked_kernel(field)) {
		field[strlen(field) - strlen(KERNEL_MARK)] = '\0';
		frame->kind = RECORDING_KERNEL;
		frame->origin = 0;
	} else if (frame->kind == RECORDING_USER) {
		origin_mark_cut(field, &frame->origin);
	}
}

/* Cuts "_[i]" off. */
static bool take_inlined_mark(char *field)
{
	size_t length = strlen(field);

	if (length <= 4 || strcmp(field + length - 4, "_[i]") != 0)
		return false;
	field[length - 4] = '\0';
	return true;
}

/* Add the frame that @field names. @leaf: of its part of the stack; @root: likewise. */
static void push_field(struct reading *reading, char *field, enum recording_kind kind, bool leaf,
		       bool root, struct inlined *inlined)
{
	struct recording_line *line = &inlined->lines[inlined->nr];
	struct recording_frame frame = {
		.address = RECORDING_NO_ADDRESS,
		.start = RECORDING_NO_ADDRESS,
		.kind = (uint8_t)kind,
		.origin = kind == RECORDING_USER ? RECORDING_NO_ORIGIN : 0,
	};

	cut_mark(field, &frame);
	*line = (struct recording_line){ 0 };
	if (!root && inlined->nr < RECORDING_LINES_MAX - 1 && take_inlined_mark(field)) {
		reading_unescape(field, ";");
		inlined->nr++;
		line->function = reading_function(reading, field, "", 0);
		return;
	}
	if (inlined->nr || !place_unnamed(reading, field, leaf, &frame)) {
		reading_unescape(field, ";");
		frame.nr_lines = (uint8_t)(inlined->nr + 1);
		line->function = reading_function(reading, field, "", 0);
	}
	inlined->nr = 0;
	reading_push(reading, &frame, inlined->lines);
}

/*
 * Find the kernel's frames among fields [first, nr): behind a "-" between frames, or the marked
 * ones at the end. Returns the first of them; *ret_user_end is the end of the user's.
 */
static size_t find_kernel(const struct fields *fields, size_t first, size_t *ret_user_end)
{
	size_t kernel = fields->nr;

	*ret_user_end = kernel;
	for (size_t i = first; i < fields->nr; i++)
		if (!strcmp(fields->list[i], RECORDING_DELIMITER))
			return kernel; /* the stack of a waker is behind it */
	while (kernel > first && is_marked_kernel(fields->list[kernel - 1]))
		kernel--;
	*ret_user_end = kernel;
	if (kernel < fields->nr) {
		if (kernel > first + 1 && !strcmp(fields->list[kernel - 1], "-"))
			*ret_user_end = kernel - 1;
		return kernel;
	}
	for (size_t i = fields->nr; i-- > first + 1;) {
		if (strcmp(fields->list[i], "-") != 0 || i + 1 == fields->nr)
			continue;
		*ret_user_end = i;
		return i + 1;
	}
	return kernel;
}

static bool parse_u32(const char *text, uint32_t *ret)
{
	uint64_t value;

	if (!text_to_number(text, UINT32_MAX, &value))
		return false;
	*ret = (uint32_t)value;
	return true;
}

/* "comm-pid/tid" and parts of it; false where @field does not have what was promised. */
static bool parse_task(char *field, unsigned by, struct recording_stack *key)
{
	char *slash = NULL, *pid = field;

	if (by & RECORDING_HAS_TID) {
		slash = strrchr(field, '/');
		if (!slash || !parse_u32(slash + 1, &key->tid))
			return false;
		*slash = '\0';
	}
	if (by & (RECORDING_HAS_PID | RECORDING_HAS_TID)) {
		char *dash = by & RECORDING_HAS_COMM ? strrchr(field, '-') : NULL;

		pid = dash ? dash + 1 : field;
		if ((by & RECORDING_HAS_COMM && !dash) || !parse_u32(pid, &key->pid)) {
			if (slash)
				*slash = '/';
			return false;
		}
		if (dash)
			*dash = '\0';
		key->has |= RECORDING_HAS_PID;
	}
	key->has |= by & (RECORDING_HAS_TID | RECORDING_HAS_COMM);
	return true;
}

/*
 * The labels that --by says are there. A first field that is not what was promised is the name of
 * the task, whole. Returns how many fields they are.
 */
static size_t read_labels(struct reading *reading, const struct fields *fields,
			  struct recording_stack *key)
{
	unsigned by = reading->options->by ? reading->options->by : RECORDING_HAS_COMM;
	unsigned by_task = RECORDING_HAS_COMM | RECORDING_HAS_PID | RECORDING_HAS_TID;
	size_t nr = 0;

	if (by & RECORDING_HAS_STATE && nr < fields->nr) {
		key->state = state_of_key(fields->list[nr]);
		nr += key->state != RECORDING_STATE_NONE;
	}
	if (by & RECORDING_HAS_CGROUP && nr < fields->nr &&
	    (fields->list[nr][0] == '/' || !strncmp(fields->list[nr], "[cgroup ", 8))) {
		reading_unescape(fields->list[nr], ";");
		key->cgroup = must_add_text(reading->recording, fields->list[nr++]);
		key->has |= RECORDING_HAS_CGROUP;
	}
	if (by & RECORDING_HAS_CPU && nr < fields->nr && !strncmp(fields->list[nr], "cpu ", 4) &&
	    parse_u32(fields->list[nr] + 4, &key->cpu)) {
		key->has |= RECORDING_HAS_CPU;
		nr++;
	}
	if (nr < fields->nr && (by & by_task || !nr)) {
		char *task = fields->list[nr++];

		if (!parse_task(task, by, key))
			key->has |= RECORDING_HAS_COMM;
		reading_unescape(task, ";");
		if (key->has & RECORDING_HAS_COMM)
			key->comm = must_add_text(reading->recording, task);
	}
	return nr;
}

/* Add the frames of fields [first, end), the last first. Returns how many they are. */
static uint16_t push_fields(struct reading *reading, const struct fields *fields, size_t first,
			    size_t end, enum recording_kind kind)
{
	size_t nr_before = reading->frames.nr;
	struct inlined inlined;

	inlined.nr = 0;
	for (size_t i = end; i-- > first;)
		push_field(reading, fields->list[i], kind, reading->frames.nr == nr_before,
			   i == first, &inlined);
	return (uint16_t)(reading->frames.nr - nr_before);
}

static void read_stack(struct reading *reading, const struct fields *fields, uint64_t count)
{
	struct recording_stack key = { .count = count, .stop = RECORDING_NO_STOP };
	size_t first = read_labels(reading, fields, &key), user_end;
	size_t kernel = find_kernel(fields, first, &user_end);

	key.nr_user = push_fields(reading, fields, first, user_end, RECORDING_USER);
	key.nr_kernel = push_fields(reading, fields, kernel, fields->nr, RECORDING_KERNEL);
	reading_stack(reading, &key);
}

/* Cut the count off @line. */
static uint64_t take_count(struct reading *reading, char *line)
{
	char *space = strrchr(line, ' ');
	uint64_t count = 0;

	if (!space) {
		reading_fail(reading, "no count behind a stack");
		return 0;
	}
	if (!text_to_number(space + 1, UINT64_MAX, &count))
		reading_fail(reading, "the count '%.40s' is no whole number below 2^64", space + 1);
	*space = '\0';
	if (space == line)
		reading_fail(reading, "a count without a stack");
	return count;
}

static void read_line(struct reading *reading, struct fields *fields, char *line)
{
	uint64_t count = take_count(reading, line);

	if (reading->error)
		return;
	fields->nr = 0;
	for (char *field = line; field;) {
		char *end = strchr(field, ';');

		if (end)
			*end = '\0';
		must_push(fields, field);
		field = end ? end + 1 : NULL;
	}
	if (fields->nr > READING_FRAMES_MAX)
		reading_fail(reading, "a stack of more than %u frames", READING_FRAMES_MAX);
	else
		read_stack(reading, fields, count);
}

/* Hand on what was read, where that is much, and begin anew. */
static void hand_on(struct reading *reading)
{
	const struct read_options *options = reading->options;

	if (reading->error || !options->part ||
	    recording_bytes(reading->recording) < READ_PART_BYTES)
		return;
	reading->error = options->part(options->part_ctx, reading->recording, reading->err);
	recording_fini(reading->recording);
	must_recording_init(reading->recording);
	reading->recording->by = options->by;
}

void folded_read(struct reading *reading)
{
	CLEANUP(fields_fini) struct fields fields = { 0 };
	size_t length;
	char *line;

	reading->recording->by = reading->options->by;
	while (reading_next(reading, &line, &length)) {
		if (length)
			read_line(reading, &fields, line);
		hand_on(reading);
	}
}
