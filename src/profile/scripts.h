/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Script frames of a run: rules for the interpreters met, names of code objects as they come from
 * the kernel, and the script words of samples woven into their native frames.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/shared_script.h"
#include "unwind/script_facts.h"

enum script_mode {
	SCRIPT_OFF,
	/* script frames in place of the interpreter's native ones: of its loop, and what leads from
	 * one script frame to the next */
	SCRIPT_MIX,
	SCRIPT_ONLY, /* without any native frames between script frames */
	SCRIPT_ALL,  /* with all native frames */
};

struct parser;
struct scripts;

/* A word FPL_FRAME_SCRIPT stands for this. Texts are owned by the scripts. */
struct script_frame {
	const char *function, *file; /* "": not known */
	const char *language;	     /* "python"; "script": not known */
	uint32_t line, first_line;   /* 0: not known */
};

/* Stacks are counted as often as they come from the kernel: once a distinct one. */
struct scripts_stats {
	uint64_t rules;			     /* interpreters */
	uint64_t codes;			     /* code objects, */
	uint64_t unnamed_codes;		     /* of them without a name, and */
	uint64_t refused_codes;		     /* beyond those, for a bound */
	uint64_t chains;		     /* native frames of interpreters' loops, */
	uint64_t ends[FPL_SCRIPT_END_COUNT]; /* and how their script frames ended: all of them */
	uint64_t differ;		     /* of them: two witnesses of the place differed */
	uint64_t no_room;		     /* frames left out for want of memory */
};

/* @rules: the map `script_rules`, mapped [FPL_SCRIPT_RULES_MAX]; borrowed. */
FPL_MUST_CHECK int scripts_create(struct fpl_script_rule *rules, enum script_mode mode,
				  struct scripts **ret);
/* NULL is allowed. */
void scripts_destroy(struct scripts *scripts);

/*
 * The run is over: have a worker of @parser name the code objects. The map is unmapped from here
 * on. What cannot be named stays so, and is said.
 */
void scripts_settle(struct scripts *scripts, struct parser *parser);

/* The rule of object @object, made at first sight; 0: it needs none, or has an unknown version,
 * which is said, by @path. */
uint32_t scripts_rule(struct scripts *scripts, uint32_t object, const char *path,
		      const struct script_facts *facts);

/* Take in what the kernel has sent of a code object, @size bytes, all but lines among them; it
 * comes before the stacks that have it. Its content is not looked at here. */
void scripts_add_code(struct scripts *scripts, const struct fpl_script_code *record, size_t size);

/*
 * The user frames of @sample [*ret_nr, at most FPL_USER_FRAMES_MAX + FPL_SCRIPT_FRAMES_MAX] with
 * its script frames, @words [sample->nr_script]. Borrowed until the next call.
 */
const uint64_t *scripts_weave(struct scripts *scripts, const struct fpl_sample *sample,
			      const uint64_t *user, const uint64_t *words, uint16_t *ret_nr);

/* Count the native frames among @frames [@nr] that would have script frames: their stack was walked
 * where the interpreter's memory was not at hand. Cost: O(nr), but without a rule nothing. */
void scripts_note_late(struct scripts *scripts, const uint64_t *frames, size_t nr);

/* Tell what @frame stands for; false: nothing. Not before scripts_settle(). */
bool scripts_frame(const struct scripts *scripts, uint64_t frame, struct script_frame *ret);

void scripts_stats(const struct scripts *scripts, struct scripts_stats *ret);
