/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame-pointer walk of a sample, classified by its CFI walk. C are the pcs of the CFI walk, F
 * the pcs of the frame-pointer walk.
 */
#pragma once

/*
 * The classes, exclusive: WRONG comes before SKIP, SKIP before CUT. "In-order part": F can be made
 * from C by leaving frames out, so a pc that F has more often than C, or in another order, is
 * WRONG. Frames of C behind the last that a full F (profile.fp_max frames) can reach count as
 * AGREE. X(name, JSON key, what F is)
 */
/* clang-format off */
#define VERDICT_CLASS_LIST(X) \
	X(AGREE, agree, "it has the frames of the CFI walk, all of them and no other") \
	X(WRONG, wrong, "it has a frame that is not on the stack") \
	X(SKIP,  skip,  "it misses a frame, usually the caller of the leaf, and goes on behind it") \
	X(CUT,   cut,   "it ends before the stack does")
/* clang-format on */

#define X(name, key, text) VERDICT_##name,
enum verdict_class {
	VERDICT_CLASS_LIST(X)
	/* C is not complete, or not by CFI alone: it cannot judge F. */
	VERDICT_UNJUDGED,
	VERDICT_CLASS_COUNT
};
#undef X

/* The key in JSON and text, and what F is. Static storage. */
const char *verdict_class_key(enum verdict_class class);
const char *verdict_class_text(enum verdict_class class);

/* The class with the key @key; VERDICT_CLASS_COUNT: no class has it. */
enum verdict_class verdict_class_of_key(const char *key);
