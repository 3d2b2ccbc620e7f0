/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The findings of a judge's run. Its books: steps = judged + sum(skipped), judged = agree + wrong
 * by origin; the same steps by object. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "judge/address_set.h"
#include "judge/judgement.h"
#include "judge/shadow.h"

/* Limit of instructions listed as wrong; further ones are only counted. */
#define FINDINGS_GROUPS_MAX 4096u

enum { FINDING_TEXT_MAX = 400 };

struct finding_counts {
	uint64_t judged, wrong;
	uint64_t lossy;	   /* judged steps whose row does not know some callee-saved register */
	uint64_t unneeded; /* judged steps with wrong registers that the caller does not need */
};

/* Counts of one object. Code without CFI either has a row made from it or has no row. */
struct finding_object {
	uint64_t steps;
	uint64_t bare_steps;	    /* in CFI-less code */
	uint64_t bare_rows;	    /* of them at a row */
	struct finding_counts bare; /* by such a row */
	uint64_t bare_places;	    /* different instructions judged by such a row */
};

/* Something wrong at one instruction. */
struct finding {
	uint32_t object;
	uint32_t wrong; /* of struct judgement */
	uint64_t vaddr;
	enum judge_origin origin;
	uint64_t count;
	/* of the first time */
	struct registers registers;
	uint64_t expected, said, cfa, ra;
	char row[FINDING_TEXT_MAX];
};

struct findings {
	uint64_t steps;
	uint64_t skipped[SKIP_COUNT];
	struct finding_counts by_origin[JUDGE_ORIGIN_COUNT];
	struct finding_object *objects; /* owned [nr_objects]: by id; 0 is code outside of files */
	size_t nr_objects, room_objects;
	struct finding *list; /* owned [nr]: in order of their first time */
	size_t nr, room;
	uint64_t left_out; /* wrong steps beyond FINDINGS_GROUPS_MAX */
	struct address_set places;
};

/* A step: the next instruction, and its verdict. */
struct finding_step {
	uint32_t object;
	uint64_t vaddr;
	const struct fpl_rule *rule; /* NULL: there is no table */
	const struct machine *machine;
	const struct shadow_frame *frame; /* may be NULL where nothing is judged */
	struct judgement judgement;
};

/* Count @step. Errors: -ENOMEM. */
FPL_MUST_CHECK int findings_add(struct findings *findings, const struct finding_step *step);
void findings_fini(struct findings *findings);

uint64_t findings_judged(const struct findings *findings);
uint64_t findings_wrong(const struct findings *findings);

/* By object, vaddr, and what is wrong. */
void findings_sort(struct findings *findings);

/* "CFA", "return address", or the name of a register. */
const char *finding_subject(uint32_t wrong);

const char *judge_skip_key(enum judge_skip skip);
const char *judge_skip_text(enum judge_skip skip);
const char *judge_origin_key(enum judge_origin origin);
