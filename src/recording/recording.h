/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile whose frames have names: what every format is written from and what every reader of
 * files makes. Knows no process, no kernel and no file.
 *
 * It is built by adding, in any order but this: what something refers to is added before. Equal
 * texts, objects, functions, frames and stacks become one. Index 0 of texts, objects and functions
 * is "none": the empty text, no object, no function.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/id_table.h"
#include "base/strings.h"
#include "bpf/shared.h"

/* A file that code comes from. Of the kernel: "[kernel.kallsyms]", of a module "[NAME]". */
struct recording_object {
	uint32_t path, build_id; /* texts; the build-id lower-case hex, 0: not known */
	/* 1: addresses of its user frames are offsets in the file, in place of vaddrs: pprofs of
	 * other tools do not say where segments go. Else 0. */
	uint32_t offsets;
	/* Offset of its code in the file less vaddr, modulo 2^64; 0: not known. Tells no objects
	 * apart: the first one's counts. */
	uint64_t file_bias;
};

struct recording_function {
	uint32_t name;	     /* text: as readers see it */
	uint32_t file;	     /* text: of its source; 0: not known */
	uint32_t start_line; /* of its source; 0: not known */
};

/* A function, and the line of its source that a frame is at. */
struct recording_line {
	uint32_t function;     /* index */
	uint32_t line, column; /* of the frame in that function's file; 0: not known */
};

enum recording_kind {
	RECORDING_USER,
	RECORDING_KERNEL,
};

#define RECORDING_NO_ADDRESS UINT64_MAX
#define RECORDING_NO_ORIGIN  UINT8_MAX
#define RECORDING_LINES_MAX  255u

struct recording_frame {
	/*
	 * With an object of a user frame as the object's program headers have it (vaddr), else at
	 * run time: the pc where the frame is exact, else the return address as read.
	 * RECORDING_NO_ADDRESS: not known.
	 */
	uint64_t address;
	/* The beginning of its function, like address; RECORDING_NO_ADDRESS: not known. Code
	 * without a name has one, too, if its CFI told. */
	uint64_t start;
	uint32_t object;     /* index */
	uint32_t first_line; /* lines[first_line .. + nr_lines), the innermost inlined first; */
	uint8_t nr_lines;    /* 0: it has no name. The last is the function itself */
	uint8_t kind;	     /* enum recording_kind */
	uint8_t origin; /* enum fpl_origin; RECORDING_NO_ORIGIN: not known, as of other tools */
	bool exact;
};

/*
 * The address to look a frame up by: the pc itself where the frame is exact, else one before the
 * return address, since the call may be the last instruction of its function (DWARF 5, section
 * 6.4.4). The only place that subtracts.
 */
static inline uint64_t frame_lookup_pc(uint64_t addr, bool exact)
{
	return addr - !exact;
}

/*
 * The name of the frame that stands for those left out between the innermost and the outermost ones
 * of a deep stack; it has no address, no object and no origin. How many they were is the stack's
 * elided.
 */
#define RECORDING_GAP "[frames left out]"

/*
 * The name of the frame between a stack that waited and, leaf first, the stack of who ended the
 * wait; behind that the name of its thread, RECORDING_WAKER around it, and its number where threads
 * are told apart. Behind that may be another delimiter and the stack of who ended that thread's own
 * last wait, and so on, or one of the words for what is not known of it. These frames have no
 * address, no object and no origin. All frames of such a stack are among its user frames, those of
 * the kernel, too.
 */
#define RECORDING_DELIMITER	 "--"
#define RECORDING_WAKER		 "[thread %s]"
#define RECORDING_WAKER_TID	 "[thread %s %u]"
#define RECORDING_LINK_NONE	 "[no wait before]" /* it has run since before the run began */
#define RECORDING_LINK_STRANGER	 "[not a target]"
#define RECORDING_LINK_UNSAMPLED "[not sampled]"
#define RECORDING_LINK_LOST	 "[lost]"

#define RECORDING_TASK_READ (UINT64_C(1) << 63)

#define RECORDING_NO_STOP UINT8_MAX /* of a stack: no walk, or not known */

/* The facts that are known of a stack's task. */
#define RECORDING_HAS_COMM   1u
#define RECORDING_HAS_PID    2u
#define RECORDING_HAS_TID    4u
#define RECORDING_HAS_CPU    8u
#define RECORDING_HAS_CGROUP 16u
#define RECORDING_HAS_FP     32u /* both walks were asked for: class is meant */
/* Used in recording.by alone: the event of a stack is always known (recording/sources.h). */
#define RECORDING_HAS_EVENT 64u
#define RECORDING_HAS_KEY   128u /* the value of the field that recording.key names */
#define RECORDING_HAS_STATE 256u /* likewise: it is known where stack.state is not 0 */

/* A thread did this for as long as its stack weighs. */
enum recording_state {
	RECORDING_STATE_NONE, /* not known */
	RECORDING_STATE_ON_CPU,
	RECORDING_STATE_RUNNABLE, /* it waited for a CPU */
	RECORDING_STATE_BLOCKED,
	RECORDING_STATE_THROTTLED, /* runnable, but its cgroup had used up its CPU time */
	RECORDING_STATE_FROZEN,	   /* runnable, but its cgroup was frozen */
	RECORDING_STATE_COUNT
};

/* Had the thread no CPU? */
static inline bool recording_state_is_off_cpu(uint8_t state)
{
	return state > RECORDING_STATE_ON_CPU;
}

/*
 * The innermost frame of a thread that is runnable since it was woken up: the others are where it
 * slept. A frame of the kernel, without address and object.
 */
#define RECORDING_RUNNABLE "[runnable]"

/* Sums of allocations, as pprofs of heaps call them. */
struct recording_heap {
	uint64_t alloc_objects, alloc_space, inuse_objects, inuse_space;
};

struct recording_stack {
	uint64_t count, weight;
	/* Sum of the squares of the samples' weights: at least what it is where all weigh the same,
	 * which stands for one that is not known. recording_add_stack() sees to that. */
	double squares;
	/* Tells apart tasks that had the same pid one after the other: when the process began, in
	 * nanoseconds; from RECORDING_TASK_READ on a number of the reader's. */
	uint64_t task;
	uint32_t first_frame; /* frame_ids[first_frame ..): nr_user leaf first, then nr_kernel leaf
			       */
	uint16_t nr_user, nr_kernel; /* first, then nr_fp: the other walk of the user stack */
	uint16_t nr_fp;
	uint8_t stop;		    /* enum fpl_stop or RECORDING_NO_STOP */
	uint8_t has;		    /* RECORDING_HAS_* */
	uint8_t class;		    /* enum verdict_class; 0 without RECORDING_HAS_FP */
	bool no_user;		    /* a task without a user part */
	uint8_t source;		    /* sources[source], where the recording has several; else 0 */
	uint8_t state;		    /* enum recording_state */
	uint32_t comm, cgroup, key; /* texts */
	uint32_t pid, tid, cpu;
	uint32_t elided; /* the most frames that were left out; tells no stacks apart */
};

/* One sample, where the recording keeps each. */
struct recording_event {
	uint64_t time_ns; /* since recording.start_unix_ns */
	uint64_t weight;
	uint32_t stack; /* index */
	uint32_t tid, cpu;
};

/*
 * A number of the run as --stats has it, or a note: a text among them. The key's parts are joined
 * by dots: "lost.ring_full". A part that ends in "[]" is a list, whose elements are numbered:
 * "incomplete.most[].0.samples"; "incomplete.most[]" alone opens it.
 */
#define RECORDING_NO_NOTE UINT32_MAX

struct recording_number {
	uint32_t key;  /* text */
	uint32_t note; /* text; 0: it is a number; RECORDING_NO_NOTE: nothing, null in JSON */
	uint64_t value;
};

/* One of several sources of samples; each field as that of the recording. */
#define RECORDING_SOURCES_MAX FPL_SOURCES_MAX
struct recording_source {
	uint32_t event, weight_type, weight_unit;
	uint64_t hz, period;
};

/* The weight_unit of a recording whose sources weigh in several. */
#define RECORDING_MIXED "mixed"

struct recording {
	uint32_t event;	 /* text: "cpu-clock"; 0: not known */
	uint32_t kernel; /* text: its release; 0: not known */
	/* 0: not known. hz: also 0 where the source is no clock; period in the weight's unit. */
	uint64_t hz, period;
	uint64_t start_unix_ns, duration_ns;
	uint32_t nr_cpus;
	unsigned by; /* RECORDING_HAS_* of labels that stacks are shown by; 0: the name of the task
		      */
	/* Texts. What counts count, of what unit: "alloc_space", "bytes"; both 0: samples. */
	uint32_t sample_type, sample_unit;
	/* Texts. What a stack's weight is the sum of over its samples: "page-faults", 0: cpu; and
	 * its unit: "count", "bytes", never a time; 0: nanoseconds. */
	uint32_t weight_type, weight_unit;
	bool has_heap; /* stacks have sums of a heap, one of which is their weight or count */
	bool by_count; /* readers asked for the counts (--sample-type), whatever weighs */
	/*
	 * The sources, where there are several; where there is one, the fields above describe it.
	 * Otherwise those say what is common to all: event is the names with commas between them,
	 * hz and period are 0, weight_unit is that of all or RECORDING_MIXED, whose sums mean
	 * nothing, so that counts are shown (by_count).
	 */
	struct recording_source sources[RECORDING_SOURCES_MAX];
	size_t nr_sources; /* 0, or 2.. */
	uint32_t key;	   /* text: a field of events that stacks are told apart by; 0: none */
	uint32_t *args;	   /* owned [nr_args]: texts */
	size_t nr_args;

	struct strings strings;
	struct recording_object *objects;     /* owned [nr_objects] */
	struct recording_function *functions; /* owned [nr_functions] */
	struct recording_line *lines;	      /* owned [nr_lines] */
	struct recording_frame *frames;	      /* owned [nr_frames] */
	uint32_t *frame_ids;		      /* owned [nr_frame_ids] */
	struct recording_stack *stacks;	      /* owned [nr_stacks] */
	/* Owned [room_heaps]: of stack i, unless it is beyond; NULL unless has_heap. */
	struct recording_heap *heaps;
	struct recording_event *events;	  /* owned [nr_events], ascending by time_ns */
	struct recording_number *numbers; /* owned [nr_numbers], in the order of --stats */
	size_t nr_objects, nr_functions, nr_lines, nr_frames, nr_frame_ids, nr_stacks, nr_events;
	size_t nr_numbers;

	/* private: rooms of the arrays, and what finds equals */
	size_t room_objects, room_functions, room_lines, room_frames, room_frame_ids, room_stacks;
	size_t room_events, room_numbers, room_args, room_heaps;
	struct id_table object_ids, function_ids, frame_table, stack_ids;
	/*
	 * Most of a large recording of other tools are names and nothing else; those are found
	 * without a table: 1 + the function with no more than text i, the frame with no more than
	 * function i. Owned; 0: none yet, as all beyond nr.
	 */
	struct bare_ids {
		uint32_t *list;
		size_t nr, room;
	} bare_functions, bare_frames;
};

/* Errors of all below: -ENOMEM; recording_fini is safe then, and after recording_init failed. */
FPL_MUST_CHECK int recording_init(struct recording *ret);
void recording_fini(struct recording *recording);

/* @text: NULL counts as "". Cost: O(length). */
FPL_MUST_CHECK int recording_add_text(struct recording *recording, const char *text, uint32_t *ret);

/* Owned by the recording until recording_fini. */
static inline const char *recording_string(const struct recording *recording, uint32_t text)
{
	return strings_text(&recording->strings, text);
}

FPL_MUST_CHECK int recording_add_object(struct recording *recording,
					const struct recording_object *key, uint32_t *ret);
FPL_MUST_CHECK int recording_add_function(struct recording *recording,
					  const struct recording_function *key, uint32_t *ret);

/*
 * The frame like @key with the lines @lines [key->nr_lines], whose first_line is filled in here. At
 * most RECORDING_LINES_MAX lines.
 */
FPL_MUST_CHECK int recording_add_frame(struct recording *recording,
				       const struct recording_frame *key,
				       const struct recording_line *lines, uint32_t *ret);

/* The sum of the squares of the weights of @count samples of @weight in all that weigh the same. */
double recording_equal_squares(uint64_t count, uint64_t weight);

/*
 * Add @key->count samples of @key->weight of the stack like @key, whose frames are @frames
 * [nr_user + nr_kernel + nr_fp] and whose first_frame is filled in here. *ret (may be NULL) is its
 * index. Cost: O(depth).
 */
FPL_MUST_CHECK int recording_add_stack(struct recording *recording,
				       const struct recording_stack *key, const uint32_t *frames,
				       uint32_t *ret);

/* Add @heap to what stack @idx has; the recording has_heap from here on. Cost: O(1) a stack, over
 * all calls. */
FPL_MUST_CHECK int recording_add_heap(struct recording *recording, uint32_t idx,
				      const struct recording_heap *heap);

/* The sums of stack @idx; all 0 where it has none. */
struct recording_heap recording_heap_of(const struct recording *recording, size_t idx);

/* In any order; recording_sort_events() when all are there. */
FPL_MUST_CHECK int recording_add_event(struct recording *recording,
				       const struct recording_event *event);
void recording_sort_events(struct recording *recording);

/* Add @value to the number @key, which is made at first sight, beside those of the same parts.
 * Cost: O(nr_numbers). */
FPL_MUST_CHECK int recording_add_number(struct recording *recording, const char *key,
					uint64_t value);

/* Set the note @key, which stands among the numbers. @note: NULL: null. Cost: O(nr_numbers). */
FPL_MUST_CHECK int recording_set_note(struct recording *recording, const char *key,
				      const char *note);

/* Drop the numbers and notes for whose keys @drops holds. */
void recording_drop_numbers(struct recording *recording, bool (*drops)(const char *key));

/* 0 where it is not known. Cost: O(nr_numbers). */
uint64_t recording_number(const struct recording *recording, const char *key);

/* A note, borrowed until the recording changes; NULL: not known, or null. Cost: as above. */
const char *recording_note(const struct recording *recording, const char *key);

FPL_MUST_CHECK int recording_add_arg(struct recording *recording, const char *arg);

/*
 * All is added: drop what finds equals, a third of the memory. What is added all the same stands
 * beside its equals, but texts, which are found again.
 */
void recording_settle(struct recording *recording);

/* Memory it takes: readers of untrusted files hold it against a limit. Cost: O(1). */
size_t recording_bytes(const struct recording *recording);

/* Sum of the counts of all stacks. */
uint64_t recording_shown(const struct recording *recording);

/* The period where it is a time; else 0, as where it is not known. */
static inline uint64_t recording_period_ns(const struct recording *recording)
{
	return recording->weight_unit ? 0 : recording->period;
}

static inline const struct recording_frame *
recording_frame_at(const struct recording *recording, const struct recording_stack *stack, size_t i)
{
	return &recording->frames[recording->frame_ids[stack->first_frame + i]];
}

/* The function of a frame, not what is inlined in it; NULL: it has no name. */
const struct recording_function *recording_function_of(const struct recording *recording,
						       const struct recording_frame *frame);

/* Is the frame RECORDING_DELIMITER? */
bool recording_is_delimiter(const struct recording *recording, const struct recording_frame *frame);

/* The number of user frames of @stack, from the first on, that belong to who ended the wait, and in
 * a chain those before that, with the delimiter behind them; 0: it has no delimiter. Cost: O(user
 * frames). */
size_t recording_waker_frames(const struct recording *recording,
			      const struct recording_stack *stack);

/* The innermost frame of the thread that @stack is of, whoever ended its wait; NULL: it has none.
 * Cost: as above. */
const struct recording_frame *recording_own_leaf(const struct recording *recording,
						 const struct recording_stack *stack);
