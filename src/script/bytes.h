/* SPDX-License-Identifier: Apache-2.0 */
/* Words of records, and rules made of offsets: what the files of all languages need. */
#pragma once

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "bpf/shared_script.h"
#include "script/language.h"
#include "unwind/script_facts.h"

static inline uint64_t bytes_word(const uint8_t *bytes, size_t off)
{
	uint64_t word;

	memcpy(&word, bytes + off, sizeof(word));
	return word;
}

static inline uint32_t bytes_half(const uint8_t *bytes, size_t off)
{
	uint32_t half;

	memcpy(&half, bytes + off, sizeof(half));
	return half;
}

static inline struct fpl_script_load load_at(int16_t off)
{
	return (struct fpl_script_load){ .off = { off }, .nr = 1 };
}

static inline struct fpl_script_load load_behind(int16_t off, int16_t next)
{
	return (struct fpl_script_load){ .off = { off, next }, .nr = 2 };
}

/* "Lua 5.4.6" of a @version that is 50406, with @name in front, in @ret [SCRIPT_VERSION_MAX]. */
static inline void say_release(const char *name, uint64_t version, char *ret)
{
	snprintf(ret, SCRIPT_VERSION_MAX, "%s %" PRIu64 ".%" PRIu64 ".%" PRIu64, name,
		 version / 10000, version / 100 % 100, version % 100);
}

/* The ranges and the rows of @facts in the rule of object @object. */
static inline void rule_take_facts(struct fpl_script_rule *rule, const struct script_facts *facts,
				   uint32_t object)
{
	rule->object = object;
	rule->cfa_off = facts->cfa_off;
	rule->cfa_reg = facts->cfa_reg;
	/* the loop writes where it is into the frame, from the register that has it */
	if (rule->step_bytes && (uint32_t)rule->place.off[0] / 8 < SCRIPT_FACTS_WORDS)
		rule->leaf_reg = facts->value_regs[rule->place.off[0] / 8];
	for (size_t i = 0; i < facts->nr_ranges && i < FPL_SCRIPT_RANGES_MAX; i++) {
		rule->start[i] = facts->ranges[i].start;
		rule->end[i] = facts->ranges[i].end;
	}
}
