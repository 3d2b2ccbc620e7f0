/* SPDX-License-Identifier: Apache-2.0 */
/* The instructions of one function, as a worker has read them from its file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "obj/elf_file.h"

#define LISTING_NO_TARGET UINT64_MAX
#define LISTING_INSN_MAX  15u /* bytes of an instruction */

/* Effects of an instruction on the flow of control. X(name, word in JSON) */
#define LISTING_KIND_LIST(X) \
	X(PLAIN, "plain")    \
	X(JUMP, "jump")      \
	X(BRANCH, "branch")  \
	X(CALL, "call")      \
	X(RETURN, "return")  \
	X(BAD, "bad")

#define X(name, word) LISTING_##name,
enum listing_kind { LISTING_KIND_LIST(X) LISTING_KIND_COUNT };
#undef X

struct listing_insn {
	uint64_t vaddr;
	uint64_t target; /* vaddr that a direct jump, branch or call leads to; LISTING_NO_TARGET */
	const char *text;
	const char *target_name; /* of the function at a target outside; NULL: none, or unknown */
	uint8_t size;		 /* bytes; 1 where kind is BAD: bytes that are no instruction */
	uint8_t kind;		 /* enum listing_kind; BRANCH is a jump on a condition */
};

struct listing {
	struct vaddr_range range;   /* of the function */
	struct listing_insn *insns; /* owned [nr]: ascending, without a gap from the start on */
	size_t nr;
	bool is_cut; /* they end before the function does */
	char *text;  /* owned: all texts and names */
};

void listing_fini(struct listing *listing);
