/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What readers see for a frame: the name of its function, escaped, with the suffixes that were
 * asked for. A frame that others are inlined in has a text for each of them.
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
	bool annotate; /* _[k] behind kernel frames, _[i] behind what is inlined */
	bool origin;   /* _[cfi_user], _[fp], _[synth] behind user frames found that way */
	/* Code without a name is [file+0xstart of its function], not its address. */
	bool by_function;
	bool symbols_only; /* no texts for what is inlined */
	bool lines;	   /* "name (file.c:12)" */
	bool verbatim;	   /* not escaped: for formats that escape themselves */
};

struct frame_texts {
	const struct recording *recording; /* borrowed */
	struct frame_text_options options;
	struct strings
		strings; /* over those of the recording: most names are written as they are */
	uint32_t *ids; /* owned: of the lines, then of the frames, which serve those without any */
};

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

/* Text @text of the recording of @texts, as it is shown: an id of texts->strings. */
uint32_t frame_texts_show(struct frame_texts *texts, uint32_t text);

/*
 * Where code without a name is: "[@path+0x@address]", "[0x@address]" or, RECORDING_NO_ADDRESS,
 * "[@path]"; @path NULL: in no object. As frame_texts_intern.
 */
FPL_MUST_CHECK int frame_texts_intern_place(struct strings *strings, const char *path,
					    uint64_t address, const char *suffix, bool verbatim,
					    uint32_t *ret);

/* @recording outlives @ret. Cost: O(frames). */
void frame_texts_init(const struct recording *recording, const struct frame_text_options *options,
		      struct frame_texts *ret);
void frame_texts_fini(struct frame_texts *texts);

/*
 * The texts of frame @idx of the recording, ids of texts->strings, the innermost first: one, and
 * one more for each inlined. Owned by @texts.
 */
const uint32_t *frame_texts_of(const struct frame_texts *texts, uint32_t idx, size_t *ret_nr);

/*
 * The name of the kernel module that @frame is in, to @buf [size]; "": the kernel itself, or a user
 * frame.
 */
void frame_module(const struct recording *recording, const struct recording_frame *frame, char *buf,
		  size_t size);

/*
 * Where the code of @frame lives: the last part of its object's path, its module, "kernel"; "-":
 * not known. Not escaped; in @buf [size] or borrowed from @recording.
 */
const char *frame_place(const struct recording *recording, const struct recording_frame *frame,
			char *buf, size_t size);

/* The id of @place, escaped. */
uint32_t frame_place_intern(struct strings *strings, const char *place);
