/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does code keep a frame pointer? Its CFI answers: while rbp points at the frame, the row has the
 * CFA at rbp + 16 (x86-64 psABI 1.0, section 3.2.2). The question is asked about the frames behind
 * which the two walks of a sample part, and the answer is the reason.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vector.h"
#include "naming/namer.h"

/* X(name, JSON key, text) */
/* clang-format off */
#define FP_RULE_LIST(X) \
	X(PROLOGUE_OR_EPILOGUE, prologue_or_epilogue, \
	  "its function sets rbp up as frame pointer, but not yet, or no more, at this pc") \
	X(NO_FRAME_POINTER, no_frame_pointer, \
	  "its function has no frame pointer anywhere: a leaf without a frame, or built without") \
	X(FRAME_POINTER, frame_pointer, \
	  "rbp is its frame pointer at this pc: the fault lies elsewhere") \
	X(UNKNOWN, unknown, \
	  "its CFI could not be read, or it has none")
/* clang-format on */

#define X(name, key, text) FP_RULE_##name,
enum fp_rule { FP_RULE_LIST(X) FP_RULE_COUNT };
#undef X

struct fp_question; /* one pc, and what is known of it */

struct fp_rules {
	struct namer *namer;		      /* borrowed */
	VECTOR(struct fp_question) questions; /* after fp_rules_resolve ascending, each once */
};

void fp_rules_init(struct fp_rules *rules, struct namer *namer);
void fp_rules_fini(struct fp_rules *rules);

/* Ask about the pc of a user frame (bits of bpf/shared.h). */
void fp_rules_ask(struct fp_rules *rules, uint64_t frame);

/* Answer all questions. Cost: the rows of every object in a question are read once. */
void fp_rules_resolve(struct fp_rules *rules);

/* The answer about a frame; FP_RULE_UNKNOWN if it was not asked. Cost: O(log n). */
enum fp_rule fp_rules_find(const struct fp_rules *rules, uint64_t frame);

/* Keys and texts of JSON and text. */
const char *fp_rule_key(enum fp_rule rule);
const char *fp_rule_text(enum fp_rule rule);
