/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of `perf script`: a line per sample (recording/perf_header.h), a line per frame below
 * it, leaf first, an empty line.
 *
 *   ADDRESS SYMBOL[+0xOFFSET] (OBJECT)     SYMBOL may be [unknown], OBJECT may be "inlined"
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "format/perf_header.h"
#include "format/perf_script_write.h"
#include "format/reading.h"
#include "format/unnamed.h"
#include "recording/keys.h"
#include "recording/origin_mark.h"

/* Addresses of the kernel are above, on all architectures here. */
#define KERNEL_BEGIN (1ull << 63)

/* No processor here has addresses of more than 57 bits: a program's are below, the kernel's above.
 */
#define USER_END     (1ull << 56)
#define KERNEL_FIRST (-USER_END)

struct perf_script {
	struct reading *reading;
	bool in_sample;
	bool weighs;	   /* periods are weights: the file says of what */
	bool other_events; /* samples of more than one event: weights are not of one kind */
	struct recording_stack key;
	uint64_t time_ns; /* of the sample at hand */
	bool has_time;
	uint64_t first_ns, last_ns; /* of all samples */
	bool has_first;
	uint64_t nr_samples;
	/* left out: frames where no code is, frames of the kernel behind a user's, cut samples */
	uint64_t nr_garbage, nr_behind, nr_cut;
	/* functions inlined in the frame that comes next, the innermost first */
	struct recording_line inlined[RECORDING_LINES_MAX];
	uint8_t nr_inlined;
	bool is_linked; /* the sample at hand begins with the name of a waker */
};

/* Bytes that our writer escapes beside those of all texts: perf's readers would misunderstand them.
 */
#define ESCAPED " ()#"

/* A line of a frame, cut in pieces. */
struct frame_line {
	uint64_t address, offset;
	char *symbol, *object; /* into the line; object NULL: none was printed */
	bool has_offset;
};

/* Cut " (OBJECT)" off the end of @text: the last one, symbols hold parentheses too. */
static char *take_object(char *text)
{
	size_t length = strlen(text);
	char *open;

	if (!length || text[length - 1] != ')')
		return NULL;
	/* what -F +srcline or a deleted file adds is a part of it: "(/tmp/x (deleted))" */
	open = text + length - 1;
	for (unsigned depth = 0; open >= text; open--) {
		depth += *open == ')';
		depth -= *open == '(';
		if (!depth)
			break;
	}
	if (open <= text || open[-1] != ' ')
		return NULL;
	text[length - 1] = '\0';
	open[-1] = '\0';
	return open + 1;
}

static void take_offset(struct frame_line *line)
{
	char *plus = strrchr(line->symbol, '+'), *end;

	if (!plus || strncmp(plus, "+0x", 3) != 0 || !plus[3] ||
	    plus[3 + strspn(plus + 3, "0123456789abcdef")] || strlen(plus) > 19)
		return;
	line->offset = strtoull(plus + 1, &end, 16);
	line->has_offset = true;
	*plus = '\0';
}

static bool parse_frame(char *text, struct frame_line *ret)
{
	size_t digits;
	char *end;

	*ret = (struct frame_line){ .address = RECORDING_NO_ADDRESS };
	text += strspn(text, " \t");
	digits = strspn(text, "0123456789abcdef");
	if (!digits || digits > 16 || (text[digits] && text[digits] != ' '))
		return false;
	ret->address = strtoull(text, &end, 16);
	ret->symbol = end + strspn(end, " ");
	if (*ret->symbol == '(' && ret->symbol > text) {
		ret->symbol[-1] = ' '; /* no symbol was printed */
		ret->symbol--;
	}
	ret->object = take_object(ret->symbol);
	take_offset(ret);
	reading_unescape(ret->symbol, ESCAPED);
	if (ret->object)
		reading_unescape(ret->object, ESCAPED);
	return true;
}

static bool is_unknown(const char *symbol)
{
	return !*symbol || !strcmp(symbol, " ") || !strcmp(symbol, "[unknown]");
}

/* Is @object, with code at @address, a part of the kernel? Its image, or a module: "[nf_tables]",
 * but not "[vdso]", nor "[python]", whose functions have no addresses. */
static bool is_kernel_object(const char *object, uint64_t address)
{
	static const char *const user[] = { "[vdso]", "[vsyscall]", "[unknown]", "[heap]",
					    "[stack]" };
	size_t length = strlen(object);

	for (size_t i = 0; i < ARRAY_SIZE(user); i++)
		if (!strcmp(object, user[i]))
			return false;
	if (object[0] == '[')
		return address || !strcmp(object, "[kernel.kallsyms]");
	return (length > 3 && !strcmp(object + length - 3, ".ko")) || strstr(object, "/vmlinux");
}

/* Hold the function for the frame that it is inlined in. */
static void add_inlined(struct perf_script *script, const char *symbol)
{
	struct reading *reading = script->reading;

	if (script->nr_inlined == RECORDING_LINES_MAX - 1)
		reading_fail(reading, "more than %u inlined functions", RECORDING_LINES_MAX - 1);
	else
		script->inlined[script->nr_inlined++] = (struct recording_line){
			.function = reading_function(reading, symbol, "", 0),
		};
}

/*
 * Set the place of a frame. perf prints addresses at run time. A recording wants others for a user
 * frame with an object, so that one is left out.
 */
static void place_frame(struct perf_script *script, const struct frame_line *line,
			struct recording_frame *frame)
{
	const char *object = line->object ? line->object : "";
	bool kernel = frame->kind == RECORDING_KERNEL;

	if (!strcmp(object, "[unknown]") || (!*object && kernel))
		object = kernel ? "[kernel.kallsyms]" : "";
	if (kernel || !*object)
		frame->address = line->address;
	if (frame->address != RECORDING_NO_ADDRESS && line->has_offset &&
	    line->offset <= line->address)
		frame->start = line->address - line->offset;
	if (*object)
		frame->object = reading_object(script->reading, object, "");
}

/* Is @symbol what we write of code without a name at @frame's place? */
static bool read_unnamed(const struct perf_script *script, const char *symbol,
			 struct recording_frame *frame)
{
	const struct recording *recording = script->reading->recording;
	const char *path = recording_string(recording, recording->objects[frame->object].path);
	const char *file = text_path_name(path);
	size_t object_length;
	uint64_t number;

	if (script->nr_inlined || !unnamed_parse(symbol, &object_length, &number))
		return false;
	if (!object_length)
		return frame->address == number && (frame->kind == RECORDING_KERNEL || !*path);
	if (frame->kind == RECORDING_KERNEL || strlen(file) != object_length ||
	    strncmp(symbol + 1, file, object_length) != 0)
		return false;
	frame->start = number;
	return true;
}

/* Take " (file.py:12)" off the end of @line's symbol, if @frame is a script's function. *ret_file,
 * into the line, and *ret_number stay as they are otherwise. */
static void take_script_place(struct frame_line *line, struct recording_frame *frame,
			      const char **ret_file, uint32_t *ret_number)
{
	char *open = strrchr(line->symbol, '('), *colon = strrchr(line->symbol, ':');

	if (line->address || !line->object || line->object[0] != '[' ||
	    frame->kind == RECORDING_KERNEL || !open || open == line->symbol || open[-1] != ' ' ||
	    !colon || colon < open || !isdigit((unsigned char)colon[1]))
		return;
	if (strcmp(colon + 1 + strspn(colon + 1, "0123456789"), ")") != 0)
		return;
	*ret_number = (uint32_t)strtoul(colon + 1, NULL, 10);
	open[-1] = '\0';
	*colon = '\0';
	*ret_file = open + 1;
	frame->origin = FPL_ORIGIN_SCRIPT;
}

/* perf prints what was on the stack, and sometimes that is no frame, or in no order. */
static bool leave_out(struct perf_script *script, const struct frame_line *line, uint8_t kind)
{
	bool garbage = line->address >= USER_END && line->address < KERNEL_FIRST;
	bool behind =
		!garbage && kind == RECORDING_KERNEL && script->key.nr_user && !script->is_linked;

	script->nr_garbage += garbage;
	script->nr_behind += behind;
	if (garbage || behind)
		script->nr_inlined = 0;
	return garbage || behind;
}

/* Does @frame, the innermost of a sample, name a waker, so that all kernel frames are below it and
 * the user's, too? */
static bool is_waker_name(const struct perf_script *script, const struct recording_frame *frame)
{
	const struct recording *recording = script->reading->recording;
	uint32_t function = frame->nr_lines == 1 ? script->inlined[0].function : 0;
	const char *name = recording_string(recording, recording->functions[function].name);

	return !frame->address && !frame->object && *name == '[' && strcmp(name, "[unknown]") != 0;
}

static void add_frame(struct perf_script *script, char *text)
{
	struct reading *reading = script->reading;
	struct recording_frame frame = {
		.address = RECORDING_NO_ADDRESS,
		.start = RECORDING_NO_ADDRESS,
	};
	struct frame_line line;
	const char *file = "";
	uint32_t number = 0;

	if (!parse_frame(text, &line)) {
		reading_fail(reading, "no frame as \"7f00 symbol+0x1f (object)\"");
		return;
	}
	if (line.object && !strcmp(line.object, "inlined")) {
		add_inlined(script, line.symbol);
		return;
	}
	if (line.address >= KERNEL_BEGIN ||
	    (line.object && is_kernel_object(line.object, line.address)))
		frame.kind = RECORDING_KERNEL;
	if (leave_out(script, &line, frame.kind))
		return;
	frame.origin = frame.kind == RECORDING_USER ? RECORDING_NO_ORIGIN : 0;
	if (frame.kind == RECORDING_USER)
		origin_mark_cut(line.symbol, &frame.origin);
	place_frame(script, &line, &frame);
	take_script_place(&line, &frame, &file, &number);
	frame.nr_lines = script->nr_inlined;
	if (!read_unnamed(script, line.symbol, &frame) &&
	    (!is_unknown(line.symbol) || frame.nr_lines))
		script->inlined[frame.nr_lines++] = (struct recording_line){
			.function = reading_function(
				reading, is_unknown(line.symbol) ? "[unknown]" : line.symbol, file,
				0),
			.line = number,
		};
	script->nr_inlined = 0;

	if (!script->key.nr_user && !script->key.nr_kernel)
		script->is_linked = is_waker_name(script, &frame);

	uint16_t *nr = frame.kind == RECORDING_KERNEL && !script->is_linked ? &script->key.nr_kernel
									    : &script->key.nr_user;

	frame.exact = !*nr;
	reading_push(reading, &frame, script->inlined);
	++*nr;
}

static void swap_frames(uint32_t *a, uint32_t *b)
{
	uint32_t kept = *a;

	*a = *b;
	*b = kept;
}

static void reverse(uint32_t *frames, size_t nr)
{
	for (size_t i = 0; i < nr / 2; i++)
		swap_frames(&frames[i], &frames[nr - 1 - i]);
}

/* The kernel's frames come first in the text, and last in a recording. */
static void kernel_last(struct reading *reading, size_t nr_kernel)
{
	uint32_t *frames = reading->frames.list;
	size_t nr = reading->frames.nr;

	if (!nr_kernel || nr_kernel == nr)
		return;
	reverse(frames, nr_kernel);
	reverse(frames + nr_kernel, nr - nr_kernel);
	reverse(frames, nr);
}

/* A task without frames has one frame in the text, of which nothing is known. */
static void drop_only_unknown(struct perf_script *script)
{
	struct reading *reading = script->reading;
	const struct recording_frame *frame;

	if (script->key.nr_kernel || script->key.nr_user != 1)
		return;
	frame = &reading->recording->frames[reading->frames.list[0]];
	if (frame->address || frame->object || frame->nr_lines)
		return;
	reading->frames.nr = 0;
	script->key.nr_user = 0;
}

/* The sample at hand is whole. */
static void end_sample(struct perf_script *script)
{
	struct reading *reading = script->reading;
	struct recording_event event = {
		.time_ns = script->time_ns,
		.weight = script->key.weight,
		.tid = script->key.tid,
		.cpu = script->key.cpu,
	};

	if (!script->in_sample)
		return;
	script->in_sample = false;
	if (script->nr_inlined)
		reading_fail(reading, "inlined in no frame");
	if (reading->error)
		return;
	drop_only_unknown(script);
	kernel_last(reading, script->key.nr_kernel);
	/* one stack of all threads and CPUs, as without --by */
	script->key.tid = script->key.cpu = 0;
	event.stack = reading_stack(reading, &script->key);
	script->nr_samples++;
	if (!reading->error && script->has_time && reading->options->events)
		must_add_event(reading->recording, &event);
}

/* Is a period of the event a time? */
static bool is_clock(const char *event)
{
	return !strncmp(event, "cpu-clock", 9) || !strncmp(event, "task-clock", 10);
}

static void note_event(struct perf_script *script, const struct perf_header *header)
{
	struct recording *recording = script->reading->recording;
	char name[64];
	size_t length = strcspn(header->event, ":");
	uint32_t text;

	/* "cycles:ppp" is cycles, "sched:sched_switch" is whole */
	if (header->event[length] && strspn(header->event + length + 1, "ukhGHpPSDIWe") !=
					     strlen(header->event + length + 1))
		length = strlen(header->event);
	if (length >= sizeof(name))
		length = sizeof(name) - 1;
	memcpy(name, header->event, length);
	name[length] = '\0';
	reading_unescape(name, " :");
	text = must_add_text(recording, name);
	if (!recording->event)
		recording->event = text;
	else if (text && text != recording->event)
		script->other_events = true;
	if (header->has_period && (is_clock(name) || script->weighs))
		script->key.weight = header->period;
}

static void note_time(struct perf_script *script, const struct perf_header *header)
{
	script->has_time = header->has_time;
	script->time_ns = header->time_ns;
	if (!header->has_time)
		return;
	if (!script->has_first || header->time_ns < script->first_ns)
		script->first_ns = header->time_ns;
	if (!script->has_first || header->time_ns > script->last_ns)
		script->last_ns = header->time_ns;
	script->has_first = true;
}

/* Records that are no samples: --show-mmap-events and its like. */
static bool is_record(const struct perf_header *header)
{
	return !strncmp(header->event, "PERF_RECORD_", 12);
}

static void begin_sample(struct perf_script *script, char *line)
{
	struct reading *reading = script->reading;
	struct perf_header header;

	if (!perf_header_parse(line, &header)) {
		reading_fail(reading, "no sample as \"comm pid/tid [cpu] time: period event:\"");
		return;
	}
	if (is_record(&header))
		return;
	reading->frames.nr = 0;
	script->in_sample = true;
	script->nr_inlined = 0;
	script->is_linked = false;
	script->key = (struct recording_stack){
		.count = 1,
		.stop = RECORDING_NO_STOP,
		.has = (uint8_t)(RECORDING_HAS_COMM | (header.has_pid ? RECORDING_HAS_PID : 0)),
		.pid = header.pid,
		.tid = header.tid,
		.cpu = header.cpu,
	};
	note_time(script, &header);
	reading_unescape(header.comm, ESCAPED);
	script->key.comm = must_add_text(reading->recording, header.comm);
	note_event(script, &header);
	if (header.rest[strspn(header.rest, " \t")]) {
		struct frame_line line_of_frame;
		AUTO_FREE char *copy = must_strdup(header.rest);

		/* a sample without a chain, of which nothing follows; else it is what a
		 * tracepoint says of itself */
		if (parse_frame(copy, &line_of_frame) && line_of_frame.object) {
			add_frame(script, line + (header.rest - line));
			end_sample(script);
		}
	}
}

/* The labels that stacks are shown by, beside their tasks. */
static void read_by(struct recording *recording, const char *words)
{
	if (strstr(words, " state"))
		recording->by |= RECORDING_HAS_STATE | RECORDING_HAS_COMM;
	if (strstr(words, " key"))
		recording->by |= RECORDING_HAS_KEY | RECORDING_HAS_COMM;
}

/* A word "NAME=VALUE" of the sample's labels. All samples of a file have one field as their key. */
static void read_label(struct perf_script *script, char *word)
{
	struct recording *recording = script->reading->recording;
	char *value = strchr(word, '=');
	uint32_t name;

	if (!value)
		return;
	*value++ = '\0';
	reading_unescape(word, PERF_SCRIPT_LABELS_ESCAPED);
	reading_unescape(value, PERF_SCRIPT_LABELS_ESCAPED);
	if (!strcmp(word, "state")) {
		script->key.state = state_of_key(value);
		return;
	}
	name = must_add_text(recording, word);
	if (!recording->key)
		recording->key = name;
	if (recording->key != name)
		return;
	script->key.key = must_add_text(recording, value);
	script->key.has |= RECORDING_HAS_KEY;
}

/* A comment in a sample: its labels, or nothing of ours. */
static void read_labels(struct perf_script *script, char *line)
{
	char *left = line + strlen(PERF_SCRIPT_LABELS), *word;

	if (strncmp(line, PERF_SCRIPT_LABELS, strlen(PERF_SCRIPT_LABELS)) != 0)
		return;
	while ((word = strsep(&left, " ")))
		read_label(script, word);
}

/* A comment. Ours, before the samples, says what their periods are: "TYPE UNIT". */
static void read_comment(struct perf_script *script, char *line)
{
	static const char *const units[] = { "count", "bytes", "nanoseconds" };
	struct reading *reading = script->reading;
	struct recording *recording = reading->recording;
	char *type = line + strlen(PERF_SCRIPT_WEIGHT), *unit;

	if (!strncmp(line, PERF_SCRIPT_BY, strlen(PERF_SCRIPT_BY)) && !script->nr_samples)
		read_by(recording, line + strlen(PERF_SCRIPT_BY));
	if (strncmp(line, PERF_SCRIPT_WEIGHT, strlen(PERF_SCRIPT_WEIGHT)) != 0 ||
	    script->nr_samples || script->weighs)
		return;
	unit = type + strcspn(type, " ");
	for (size_t i = 0; *unit && i < ARRAY_SIZE(units); i++)
		script->weighs = script->weighs || !strcmp(unit + 1, units[i]);
	if (!script->weighs) {
		reading_fail(reading, "no weight as \"TYPE UNIT\" in count, bytes or nanoseconds");
		return;
	}
	*unit = '\0';
	recording->weight_unit = must_add_text(recording, unit + 1);
	reading_unescape(type, ESCAPED);
	recording->weight_type = must_add_text(recording, type);
}

/* "file.c:123", which -F +srcline puts below a frame: not taken. */
static bool is_source_line(const char *line)
{
	const char *colon = strrchr(line, ':');

	return *line == ' ' && colon && colon[1] && !colon[1 + strspn(colon + 1, "0123456789")];
}

/* Is the line the rest of a file that was cut? The last one of perf's is whole with its object. */
static bool is_cut(const struct perf_script *script, const char *line, size_t length)
{
	return script->reading->input->is_open && script->nr_samples && length &&
	       line[length - 1] != ')';
}

static void read_line(struct perf_script *script, char *line, size_t length)
{
	if (is_cut(script, line, length)) {
		script->nr_cut = 1;
		if (*line == '\t')
			script->in_sample = false;
		end_sample(script);
		return;
	}
	if (!length || line[strspn(line, " \t")] == '\0') {
		end_sample(script);
	} else if (script->in_sample && *line == '#') {
		read_labels(script, line);
	} else if (script->in_sample && (*line == '\t' || line[length - 1] == ')')) {
		/* perf pads the names of tasks with blanks on the left: these lines are no frames
		 */
		add_frame(script, line);
	} else if (!script->in_sample && *line == '#') {
		read_comment(script, line);
	} else if (!script->in_sample || !is_source_line(line)) {
		end_sample(script);
		begin_sample(script, line);
	}
}

static void tell(const struct perf_script *script)
{
	if (script->reading->error || !(script->nr_garbage || script->nr_behind || script->nr_cut))
		return;
	fpl_log(FPL_LOG_WARN,
		"%s: left out: frames at addresses of no code: %" PRIu64
		"; kernel frames behind user frames: %" PRIu64 "%s",
		script->reading->input->name, script->nr_garbage, script->nr_behind,
		script->nr_cut ? "; a last sample that is cut off" : "");
}

void perf_script_read(struct reading *reading)
{
	AUTO_FREE struct perf_script *script = must_calloc(1, sizeof(*script));
	struct recording *recording = reading->recording;
	size_t length;
	char *line;

	script->reading = reading;
	while (reading_next(reading, &line, &length))
		read_line(script, line, length);
	end_sample(script);
	tell(script);
	if (!script->nr_samples)
		reading_fail(reading, "no sample");
	if (script->has_first)
		recording->duration_ns = script->last_ns - script->first_ns;
	for (size_t i = 0; i < recording->nr_events; i++)
		recording->events[i].time_ns -= script->first_ns;
	recording_sort_events(recording);
}
