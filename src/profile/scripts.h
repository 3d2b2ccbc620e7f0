/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Script frames of a run: rules for the interpreters met, and the script words of samples woven
 * into their native frames. What those frames are is in struct script_codes: of the run, or of a
 * window.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/shared_script.h"
#include "profile/script_codes.h"
#include "unwind/script_facts.h"

enum script_mode {
	SCRIPT_OFF,
	/* script frames in place of the interpreter's native ones: of its loop, and what leads from
	 * one script frame to the next */
	SCRIPT_MIX,
	SCRIPT_ONLY, /* without any native frames between script frames */
	SCRIPT_ALL,  /* with all native frames */
};

struct script_options {
	enum script_mode mode;
	bool no_lines; /* frames of one function are the same, wherever they are in it */
	/* code objects are not sent at first sight, but for those of V8: userspace reads them from
	 * their processes' memory (script_codes_read()) */
	bool is_lazy;
};

struct scripts;

/* @rules: the map `script_rules`, mapped [FPL_SCRIPT_RULES_MAX]; borrowed. */
FPL_MUST_CHECK int scripts_create(struct fpl_script_rule *rules,
				  const struct script_options *options, struct scripts **ret);
/* NULL is allowed. */
void scripts_destroy(struct scripts *scripts);

/* The rule of object @object, made at first sight; 0: it needs none, or has an unknown version,
 * which is said, by @path. */
uint32_t scripts_rule(struct scripts *scripts, uint32_t object, const char *path,
		      const struct script_facts *facts);

/* The first rule behind rule @idx (0: of all) with is_native, whose native frames are script
 * frames, and its object; 0: there is no other. Cost: O(rules). */
uint32_t scripts_next_native(const struct scripts *scripts, uint32_t idx, uint32_t *ret_object);

/*
 * Rules for one look at a stack, which takes no votes: replay_input.script_rules. The place of a
 * rule is the one that samples have settled, else the one that the code of the loop tells; native
 * frames that are script frames need none. An interpreter whose place is not known has no rule,
 * which is said once. Borrowed until the next call. Cost: O(rules).
 */
struct fpl_script_rule *scripts_settled(struct scripts *scripts);

/* The object is retired: another one may get its id, and its rule's place. */
void scripts_forget(struct scripts *scripts, uint32_t object);

/* script_codes_add() of what rule @record->rule has led to. */
void scripts_add_code(const struct scripts *scripts, struct script_codes *codes,
		      const struct fpl_script_code *record, size_t size);

/* Call @add for each code object of @words [@nr], script words of a stack of image @gen, that
 * @codes does not know yet. */
void scripts_each_new_code(struct script_codes *codes, uint64_t gen, const uint64_t *words,
			   size_t nr,
			   void (*add)(void *ctx, uint32_t rule, uint64_t code, uint64_t place),
			   void *ctx);

/*
 * The user frames of @sample [*ret_nr, at most FPL_USER_FRAMES_MAX + FPL_SCRIPT_FRAMES_MAX] with
 * its script frames, @words [sample->nr_script], which @codes gets to know. Borrowed until the next
 * call.
 */
const uint64_t *scripts_weave(struct scripts *scripts, struct script_codes *codes,
			      const struct fpl_sample *sample, const uint64_t *user,
			      const uint64_t *words, uint16_t *ret_nr);

/* Count the native frames among @frames [@nr] that would have script frames, and have none: @end
 * says why. Cost: O(nr), but without a rule nothing. */
void scripts_note_none(const struct scripts *scripts, struct script_codes *codes,
		       const uint64_t *frames, size_t nr, enum fpl_script_end end);

/* Say of each interpreter where its frames were found. */
void scripts_say(const struct scripts *scripts);
