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
#include "bpf/script_v8.h"

/* Copy @size bytes, a power of two, from @addr on, or what is left of its page. Returns how many
 * were read. */
static __always_inline __u32 script_copy(void *to, __u32 size, __u64 addr)
{
	__u32 to_page_end = FPL_STACK_PAGE - (__u32)(addr & (FPL_STACK_PAGE - 1));

	if (!walk_is_user(addr))
		return 0;
	if (!bpf_probe_read_user(to, size, (const void *)addr))
		return size;
	to_page_end &= size - 1;
	if (!to_page_end || bpf_probe_read_user(to, to_page_end, (const void *)addr))
		return 0;
	return to_page_end;
}

/* The object and the texts of a record lie behind each other. */
_Static_assert(FPL_SCRIPT_OBJECT_BYTES == FPL_SCRIPT_TEXT_BYTES, "a text is as long as the object");

/* The address at offset @off of the object in @record, or of text @from - 1; 0: it was not read. */
static __always_inline __u64 script_pointer(const struct fpl_script_code *record, __u32 from,
					    __s16 off)
{
	const void *object = (const char *)record + offsetof(struct fpl_script_code, object);
	__u64 at = (__u64)off >> 3;

	LOOKUP_OPAQUE(at);
	if (at >= FPL_SCRIPT_OBJECT_BYTES / 8)
		return 0;
	at += FPL_SCRIPT_OBJECT_BYTES / 8 * (from & 7);
	return ((const __u64 *)object)[at];
}

/* The number of bytes of the table of lines at @lines, whose first ones are there already. */
static __always_inline __u64 script_lines_size(const struct fpl_script_code *record,
					       const struct fpl_script_rule *rule,
					       const __u8 *lines)
{
	__u64 at = (__u64)rule->lines_size_off >> (rule->line_bytes ? 2 : 3);

	LOOKUP_OPAQUE(at);
	if (rule->line_bytes)
		return at < FPL_SCRIPT_OBJECT_BYTES / 4
			       ? (__u64)((const __u32 *)record->object)[at] * rule->line_bytes
			       : 0;
	return at < FPL_SCRIPT_LINES_FEW / 8 ? ((const __u64 *)lines)[at] + rule->lines_off : 0;
}

/* Read the table of lines to behind the first @more bytes of lines, a constant. Returns how many
 * bytes of lines are used then. */
static __always_inline __u64 script_lines(struct fpl_script_code *record,
					  const struct fpl_script_rule *rule, const __u64 more)
{
	const __u64 most = FPL_SCRIPT_LINES_BYTES - 8 - more;
	__u64 addr = script_pointer(record, 0, rule->lines_ptr_off), few, size;
	__u8 *lines = record->lines + more;

	if (rule->lines_behind) {
		size = addr + (__u64)(__s64)rule->lines_behind;
		if (!walk_is_user(size) || bpf_probe_read_user(&addr, sizeof(addr), (void *)size))
			return more;
	}
	few = script_copy(lines, FPL_SCRIPT_LINES_FEW, addr);
	if (few < FPL_SCRIPT_LINES_FEW)
		return more + few;
	size = script_lines_size(record, rule, lines);
	if (size > most)
		size = most;
	LOOKUP_OPAQUE(size);
	if (size <= few || size > most || bpf_probe_read_user(lines, size, (const void *)addr))
		return more + few;
	return more + size;
}

/* Copy text @i of the code object in @record to @to. Returns its bytes. Inlined, because the
 * kernel's stack has no room for one more call. */
static __always_inline __u32 script_text(struct fpl_script_code *record,
					 const struct fpl_script_rule *rule, __u32 i, __u8 *to)
{
	const struct fpl_script_piece *piece = &rule->texts[i];
	__u64 addr = script_pointer(record, piece->from, piece->off);

	clear(to, FPL_SCRIPT_TEXT_BYTES);
#pragma GCC unroll 2
	for (__u32 j = 0; j < FPL_SCRIPT_PIECE_MORE; j++) {
		if (j < piece->nr_more) {
			addr += (__u64)(__s64)piece->more[j];
			if (!walk_is_user(addr) ||
			    bpf_probe_read_user(&addr, sizeof(addr), (void *)addr))
				return 0;
		}
	}
	return script_copy(to, FPL_SCRIPT_TEXT_BYTES, addr + 8ull * piece->behind);
}

/* Copy the code object at @code and the texts that it leads to. Returns the bytes of lines. */
static __always_inline __u64 script_pieces(struct fpl_script_code *record,
					   const struct fpl_script_rule *rule, __u64 code)
{
	clear(record->object, sizeof(record->object));
	record->wide = 0;
	record->line = 0;
	record->size[0] = (__u16)script_copy(record->object, FPL_SCRIPT_OBJECT_BYTES, code);
	record->size[1] = (__u16)script_text(record, rule, 0, record->text[0]);
	record->size[2] = (__u16)script_text(record, rule, 1, record->text[1]);
	if (!rule->more_texts)
		return script_lines(record, rule, 0);
#pragma GCC unroll 6
	for (__u32 i = 0; i < FPL_SCRIPT_MORE_TEXTS; i++)
		script_text(record, rule, FPL_SCRIPT_TEXTS + i,
			    record->lines + FPL_SCRIPT_TEXT_BYTES * i);
	return script_lines(record, rule, FPL_SCRIPT_MORE_BYTES);
}

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
	size = rule->is_native ? 0
			       : script_pieces(record, rule, word & FPL_SCRIPT_CODE_MASK & ~7ull);
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
