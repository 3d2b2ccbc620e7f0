/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts that readers see for a frame: the name of its function, escaped, with the suffixes that
 * were asked for. A frame that others are inlined in has a text for each of them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/strings.h"
#include "recording/recording.h"

struct frame_text_options {
	bool annotate;	/* _[k] behind kernel frames, _[i] behind what is inlined */
	bool origin;	/* _[cfi_user], _[fp], _[synth] behind user frames found that way */
	bool addresses; /* code without a name is [file+0xpc], not [file+0xstart of its function] */
	bool symbols_only; /* no texts for what is inlined */
	bool lines;	   /* "name (file.c:12)" */
	bool by_function; /* a script frame has the line of its function, not its own, unless @lines
			   */
	bool verbatim;	  /* not escaped: for formats that escape themselves */
	bool fold_recursion; /* of stacks: frames that call themselves stand once (stack_slots) */
};

struct frame_texts {
	const struct recording *recording; /* borrowed */
	struct frame_text_options options;
	struct strings
		strings; /* over those of the recording: most names are written as they are */
	uint32_t *ids;	 /* owned: the text of each slot */
	size_t room, nr_frames; /* frames that have texts */
};

/*
 * Each line of a frame has a slot, and each frame without a name has one. Slots keep their numbers
 * while the recording grows. What is made of texts (functions, steps) is kept by slot, too.
 */
static inline size_t frame_slots_nr(const struct frame_texts *texts)
{
	return texts->recording->nr_lines + texts->recording->nr_frames;
}

/* The first slot of frame @idx that is shown; *ret_nr slots follow each other, the innermost line
 * first. */
static inline uint32_t frame_slots(const struct frame_texts *texts, uint32_t idx, uint32_t *ret_nr)
{
	const struct recording_frame *frame = &texts->recording->frames[idx];
	uint32_t first = frame->first_line + idx;

	*ret_nr = texts->options.symbols_only || !frame->nr_lines ? 1 : frame->nr_lines;
	return frame->nr_lines ? first + frame->nr_lines - *ret_nr : first;
}

/* @text, escaped for a folded line unless @verbatim, with @suffix behind it. Errors: -ENOMEM:
 * top needs it while samples are taken. */
FPL_MUST_CHECK int frame_texts_intern(struct strings *strings, const char *text, const char *suffix,
				      bool verbatim, uint32_t *ret);

/* The same where a lack of memory ends the process. */
static inline uint32_t must_frame_texts_intern(struct strings *strings, const char *text,
					       const char *suffix, bool verbatim)
{
	uint32_t id;

	alloc_check(frame_texts_intern(strings, text, suffix, verbatim, &id));
	return id;
}

/* Text @text of the recording of @texts, as it is shown: an id of texts->strings. Errors: -ENOMEM.
 */
FPL_MUST_CHECK int frame_texts_show(struct frame_texts *texts, uint32_t text, uint32_t *ret);

/*
 * The text of code without a name: "[@path+0x@address]", "[0x@address]" or, RECORDING_NO_ADDRESS,
 * "[@path]"; @path NULL: in no object. As frame_texts_intern.
 */
FPL_MUST_CHECK int frame_texts_intern_place(struct strings *strings, const char *path,
					    uint64_t address, const char *suffix, bool verbatim,
					    uint32_t *ret);

/*
 * The name that every format gives @frame, which has none: "[file+0xstart of its function]", the
 * address where its start is not known or where @addresses are asked for, "[0xaddress]" without an
 * object. Not escaped; to be freed. NULL: no memory.
 */
char *frame_unnamed_text(const struct recording *recording, const struct recording_frame *frame,
			 bool addresses);

/*
 * The place behind the name of a script's function, " (file.py:12)"; "": @frame is no script's, or
 * its place is not known. Not escaped; to be freed. NULL: no memory.
 */
char *frame_script_place(const struct recording *recording, const struct recording_frame *frame);

/* Texts of all frames; a lack of memory ends the process. @recording outlives @ret. Cost:
 * O(frames).
 */
void frame_texts_init(const struct recording *recording, const struct frame_text_options *options,
		      struct frame_texts *ret);

/*
 * The same of a recording that grows: frame_texts_start() has no texts yet, frame_texts_extend()
 * makes those of the frames that are new. Errors: -ENOMEM; the next call goes on from there.
 */
void frame_texts_start(const struct recording *recording, const struct frame_text_options *options,
		       struct frame_texts *ret);
FPL_MUST_CHECK int frame_texts_extend(struct frame_texts *texts);
void frame_texts_fini(struct frame_texts *texts);

/*
 * The name of the kernel module that @frame is in, to @buf [size]; "": the kernel itself, or a user
 * frame.
 */
void frame_module(const struct recording *recording, const struct recording_frame *frame, char *buf,
		  size_t size);

/*
 * The place of the code of @frame: the last part of its object's path, its module, "kernel"; "-":
 * not known. Not escaped; in @buf [size] or borrowed from @recording.
 */
const char *frame_place(const struct recording *recording, const struct recording_frame *frame,
			char *buf, size_t size);

/* The id of @place, escaped. */
uint32_t frame_place_intern(struct strings *strings, const char *place);
