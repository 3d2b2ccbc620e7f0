/* SPDX-License-Identifier: Apache-2.0 */
/* Exact rows packed into the rules of a table image, each distinct rule stored once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/shared.h"
#include "unwind/rows.h"

/* A rule followed by its extended rules, as in the image. */
struct compact_rule {
	struct fpl_rule rule;
	struct fpl_ext ext[FPL_EXT_MAX + 1]; /* whole slots; what is not used is 0 */
	unsigned nr_slots;		     /* 1: no extended rules */
};

/*
 * Pack @row. A form that fits nowhere becomes FPL_CFA_EXPR or FPL_EXT_EXPR, where the walk ends
 * with that name. Rows that unwind the same pack to the same bytes.
 */
void compact_pack(const struct cfi_row *row, struct compact_rule *ret);

/* The distinct rules of one table. */
struct rule_set {
	struct fpl_rule *slots; /* owned [nr_slots]; slot 0 is NONE */
	size_t nr_slots, cap_slots;
	uint16_t *hash; /* owned [nr_hash]: slot of a rule; 0: free */
	size_t nr_hash; /* a power of two, at least twice nr_rules */
	size_t nr_rules, nr_ext;
	const char *name; /* borrowed: of the file, for messages */
};

/* Errors: -ENOMEM. */
FPL_MUST_CHECK int rule_set_init(struct rule_set *set, const char *name, struct fpl_err *err);
void rule_set_fini(struct rule_set *set);

/*
 * Find the slot of the rule of @nr_slots slots at @rule; add it if missing. Returns the slot;
 * -EFBIG if the table has no room for another; -ENOMEM.
 */
FPL_MUST_CHECK int rule_set_add(struct rule_set *set, const struct fpl_rule *rule,
				unsigned nr_slots, struct fpl_err *err);
