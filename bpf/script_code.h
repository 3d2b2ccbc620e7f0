/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Code objects at first sight: what the name of a script function is made of is sent before the
 * first stack that has it, because the object may be gone a moment later, and another one may be in
 * its place. Only stacks that are new are looked through: others cost nothing.
 */
#pragma once

#include <bpf/bpf_helpers.h>

#include "bpf/env.h"
#include "bpf/maps.h"
#include "bpf/script.h"
#include "bpf/script_pieces.h"
#include "bpf/script_v8.h"

/* Send the code object of @word with @content, which rule @idx has led to. Returns 0, or non-zero
 * where the ring has no room. */
static __noinline long script_code_send(struct fpl_scratch *s, __u64 word, __u64 content, __u32 idx)
{
	struct fpl_script_code *record = &s->script_code;
	const struct fpl_script_rule *rule = bpf_map_lookup_elem(&script_rules, &idx);
	__u64 size;

	if (!rule)
		return 1;
	record->header.type = FPL_RECORD_SCRIPT_CODE;
	record->header.time_ns = s->sample.header.time_ns;
	record->gen = s->sample.gen;
	record->code = word;
	record->rule = idx;
	record->content = (__u32)content;
	/* that of V8 was copied by the caller */
	size = rule->is_native
		       ? 0
		       : script_pieces(0, record, rule, word & FPL_SCRIPT_CODE_MASK & ~7ull);
	LOOKUP_OPAQUE(size);
	if (size > FPL_SCRIPT_LINES_BYTES - 8)
		return 1;
	record->nr_lines = (__u32)size;
	size = sizeof(*record) - sizeof(record->lines) + ((size + 7) & ~7ull);
	LOOKUP_OPAQUE(size);
	if (size > sizeof(*record))
		return 1;
	record->header.size = (__u32)size;
	return bpf_ringbuf_output(&ring, record, size, 0);
}

/* Has rule @idx code objects that userspace reads itself? */
static __always_inline int script_is_lazy(__u32 idx)
{
	const struct fpl_script_rule *rule = bpf_map_lookup_elem(&script_rules, &idx);

	return rule && rule->is_lazy;
}

/* One turn of the loop over the script words. A function of V8 takes a turn for each part of its
 * name: a loop inside this one would be one more call on the kernel's stack. */
static long script_code_one(__u32 idx, void *arg)
{
	struct fpl_scratch *s = *(struct fpl_scratch **)arg;
	struct script_code_key key = { .gen = s->sample.gen, .window = (__u32)stack_seed[0] };
	__u32 one = 1;
	__u64 word, at = s->codes.at;

	(void)idx;
	LOOKUP_OPAQUE(at);
	if (at >= FPL_SCRIPT_WORDS_MAX - 1 || at >= s->sample.nr_script)
		return 1;
	word = s->walk.script_words[at];
	if (!s->codes.left) {
		s->codes.left = 2 * (word & 0xffff);
		s->codes.rule = word >> FPL_SCRIPT_RULE_SHIFT;
		s->codes.at++;
		if (script_is_lazy(s->codes.rule)) {
			s->codes.at += s->codes.left;
			s->codes.left = 0;
		}
		return 0;
	}
	key.code = word;
	key.content = s->walk.script_words[at + 1] >> 32;
	if (s->codes.turns) {
		v8_copy(s);
		if (--s->codes.turns)
			return 0;
		v8_line(s);
	} else if (bpf_map_lookup_elem(&script_codes, &key)) {
		goto next;
	} else if (!v8_function(s, word & FPL_SCRIPT_CODE_MASK, s->codes.rule)) {
		s->codes.turns = V8_TURNS;
		return 0;
	}
	if (!script_code_send(s, word, key.content, s->codes.rule))
		bpf_map_update_elem(&script_codes, &key, &one, BPF_ANY);
next:
	s->codes.at += 2;
	s->codes.left -= 2;
	return 0;
}

/* Send the code objects of the sample's script frames that were not sent yet. Inlined, because the
 * kernel's stack has no room for one more call. */
static __always_inline void script_codes_send(struct fpl_scratch *s)
{
	__builtin_memset(&s->codes, 0, sizeof(s->codes));
	bpf_loop(s->sample.nr_script * (1 + V8_TURNS), script_code_one, &s, 0);
}

/* Put the script words behind the other words of the sample, of which there are @nr. Returns 0. */
WALK_GLOBAL int script_words_append(struct fpl_scratch *s, __u64 nr)
{
	__u64 size;

	LOOKUP_OPAQUE(nr);
	if (!s || nr > FPL_FRAMES_MAX - FPL_SCRIPT_WORDS_MAX)
		return 0;
	size = (__u64)s->sample.nr_script * 8;
	LOOKUP_OPAQUE(size);
	if (size <= FPL_SCRIPT_WORDS_MAX * 8)
		bpf_probe_read_kernel(s->frames + nr, size, s->walk.script_words);
	return 0;
}
