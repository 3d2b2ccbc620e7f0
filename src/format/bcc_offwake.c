/* SPDX-License-Identifier: Apache-2.0 */
#include "format/bcc_offwake.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "format/bcc_entries.h"

/* In place of the name of who ended a wait that had not ended. */
#define NO_WAKER "[none]"

static const char *word_of(const struct recording *recording, const struct recording_frame *frame)
{
	const struct recording_function *function = recording_function_of(recording, frame);

	return frame->address == RECORDING_NO_ADDRESS && !frame->object && function
		       ? recording_string(recording, function->name)
		       : "";
}

/* Frame @i, leaf first, the kernel's before the user's. */
static const struct recording_frame *frame_of(const struct recording *recording,
					      const struct recording_stack *stack, size_t i)
{
	return recording_frame_at(recording, stack,
				  i < stack->nr_kernel ? stack->nr_user + i : i - stack->nr_kernel);
}

/* The first frame is the name of a waker, or the word for one that is not known. */
static bool has_waker(const struct recording *recording, const struct recording_stack *stack)
{
	return !stack->nr_kernel && recording_waker_frames(recording, stack);
}

/* Cut @word, "[thread NAME TID]" (RECORDING_WAKER_TID), down to the name. Returns the thread's
 * number; 0: it is another word. */
static uint32_t cut_name(char *word)
{
	static const char begin[] = "[thread ";
	size_t length = strlen(word);
	char *space = strrchr(word, ' ');
	uint32_t tid;

	if (strncmp(word, begin, sizeof(begin) - 1) != 0 || word[length - 1] != ']' ||
	    space < word + sizeof(begin) - 1)
		return 0;
	tid = (uint32_t)strtoul(space + 1, NULL, 10);
	*space = '\0';
	memmove(word, word + sizeof(begin) - 1, strlen(word + sizeof(begin) - 1) + 1);
	return tid;
}

/* A frame of the list, with @before and @after around it; @last: the one that was put before. */
static void put_frame(FILE *to, bool delimited, const struct recording *recording,
		      const struct recording_frame *frame, const struct recording_frame *last,
		      const char *before, const char *after)
{
	if (delimited && last && last->kind != frame->kind && last->object && frame->object)
		fprintf(to, "%s-%s", before, after);
	fputs(before, to);
	bcc_put_function(to, recording, frame);
	fputs(after, to);
}

/* target;root;...;leaf;--;leaf;...;root;waker */
static void put_folded(FILE *to, bool delimited, const struct recording *recording,
		       const struct recording_stack *stack, const char *waker, size_t first)
{
	const struct recording_frame *last = NULL, *frame;

	bcc_put_safe(to, recording_string(recording, stack->comm));
	for (size_t i = (size_t)stack->nr_user + stack->nr_kernel; i-- > first; last = frame) {
		frame = frame_of(recording, stack, i);
		put_frame(to, delimited, recording, frame, last, ";", "");
	}
	fputs(first ? ";" : ";" RECORDING_DELIMITER ";", to);
	bcc_put_safe(to, waker);
}

static void put_thread(FILE *to, const char *what, const char *name, uint32_t tid)
{
	fprintf(to, "    %-16s ", what);
	bcc_put_safe(to, name);
	fprintf(to, " %u\n", tid);
}

/* A line per frame: the waker from the root on, the target from the leaf on. */
static void put_lines(FILE *to, bool delimited, const struct recording *recording,
		      const struct recording_stack *stack, size_t first)
{
	const struct recording_frame *last = NULL, *frame;

	if (!first)
		fprintf(to, "    %-16s %s\n", RECORDING_DELIMITER, RECORDING_DELIMITER);
	for (size_t i = first; i < (size_t)stack->nr_user + stack->nr_kernel; i++, last = frame) {
		frame = frame_of(recording, stack, i);
		if (recording_is_delimiter(recording, frame))
			fprintf(to, "    %-16s %s\n", RECORDING_DELIMITER, RECORDING_DELIMITER);
		else
			put_frame(to, delimited, recording, frame, last, "    ", "\n");
	}
}

void bcc_put_offwake(FILE *to, bool folded, bool delimited, const struct recording *recording,
		     const struct recording_stack *stack)
{
	size_t first = has_waker(recording, stack);
	AUTO_FREE char *waker =
		must_strdup(first ? word_of(recording, frame_of(recording, stack, 0)) : NO_WAKER);
	uint32_t waker_tid = cut_name(waker);

	if (folded) {
		put_folded(to, delimited, recording, stack, waker, first);
		return;
	}
	put_thread(to, "waker:", waker, waker_tid);
	put_lines(to, delimited, recording, stack, first);
	put_thread(to, "target:", recording_string(recording, stack->comm), stack->tid);
}
