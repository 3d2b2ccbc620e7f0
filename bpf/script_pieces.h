/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Copies of code objects, the texts that their pointers lead to, and their tables of lines: names
 * of script functions are made of these. The rule of the interpreter says where they are. The
 * kernel side copies at first sight (bpf/script_code.h), userspace from threads that sleep
 * (unwind/replay.h).
 */
#pragma once

#include "bpf/lookup.h"
#include "bpf/shared_script.h"
#include "bpf/walk_read.h"

/* Copy @size bytes, a power of two, from @addr on, or what is left of its page. Returns how many
 * were read. */
WALK_INLINE __u32 script_copy(struct env *env, void *to, __u32 size, __u64 addr)
{
	__u32 to_page_end = FPL_STACK_PAGE - (__u32)(addr & (FPL_STACK_PAGE - 1));

	if (!walk_is_user(addr))
		return 0;
	if (!env_read_stack(env, to, size, addr))
		return size;
	to_page_end &= size - 1;
	if (!to_page_end || env_read_stack(env, to, to_page_end, addr))
		return 0;
	return to_page_end;
}

/* The object and the texts of a record lie behind each other. */
_Static_assert(FPL_SCRIPT_OBJECT_BYTES == FPL_SCRIPT_TEXT_BYTES, "a text is as long as the object");

/* The address at offset @off of the object in @record, or of text @from - 1; 0: it was not read. */
WALK_INLINE __u64 script_pointer(const struct fpl_script_code *record, __u32 from, __s16 off)
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
WALK_INLINE __u64 script_lines_size(const struct fpl_script_code *record,
				    const struct fpl_script_rule *rule, const __u8 *lines)
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
WALK_INLINE __u64 script_lines(struct env *env, struct fpl_script_code *record,
			       const struct fpl_script_rule *rule, const __u64 more)
{
	const __u64 most = FPL_SCRIPT_LINES_BYTES - 8 - more;
	__u64 addr = script_pointer(record, 0, rule->lines_ptr_off), few, size;
	__u8 *lines = record->lines + more;

	if (rule->lines_behind) {
		size = addr + (__u64)(__s64)rule->lines_behind;
		if (!walk_is_user(size) || env_read_stack(env, &addr, sizeof(addr), size))
			return more;
	}
	few = script_copy(env, lines, FPL_SCRIPT_LINES_FEW, addr);
	if (few < FPL_SCRIPT_LINES_FEW)
		return more + few;
	size = script_lines_size(record, rule, lines);
	if (size > most)
		size = most;
	LOOKUP_OPAQUE(size);
	if (size <= few || size > most || env_read_stack(env, lines, (__u32)size, addr))
		return more + few;
	return more + size;
}

/* Copy text @i of the code object in @record to @to. Returns its bytes. Inlined, because the
 * kernel's stack has no room for one more call. */
WALK_INLINE __u32 script_text(struct env *env, struct fpl_script_code *record,
			      const struct fpl_script_rule *rule, __u32 i, __u8 *to)
{
	const struct fpl_script_piece *piece = &rule->texts[i];
	__u64 addr = script_pointer(record, piece->from, piece->off);

	env_clear(to, FPL_SCRIPT_TEXT_BYTES);
#pragma GCC unroll 2
	for (__u32 j = 0; j < FPL_SCRIPT_PIECE_MORE; j++) {
		if (j < piece->nr_more) {
			addr += (__u64)(__s64)piece->more[j];
			if (!walk_is_user(addr) || env_read_stack(env, &addr, sizeof(addr), addr))
				return 0;
		}
	}
	return script_copy(env, to, FPL_SCRIPT_TEXT_BYTES, addr + 8ull * piece->behind);
}

/* Copy the code object at @code and the texts that it leads to. Returns the bytes of lines. */
WALK_INLINE __u64 script_pieces(struct env *env, struct fpl_script_code *record,
				const struct fpl_script_rule *rule, __u64 code)
{
	env_clear(record->object, sizeof(record->object));
	record->wide = 0;
	record->line = 0;
	record->size[0] = (__u16)script_copy(env, record->object, FPL_SCRIPT_OBJECT_BYTES, code);
	record->size[1] = (__u16)script_text(env, record, rule, 0, record->text[0]);
	record->size[2] = (__u16)script_text(env, record, rule, 1, record->text[1]);
	if (!rule->more_texts)
		return script_lines(env, record, rule, 0);
#pragma GCC unroll 6
	for (__u32 i = 0; i < FPL_SCRIPT_MORE_TEXTS; i++)
		script_text(env, record, rule, FPL_SCRIPT_TEXTS + i,
			    record->lines + FPL_SCRIPT_TEXT_BYTES * i);
	return script_lines(env, record, rule, FPL_SCRIPT_MORE_BYTES);
}
