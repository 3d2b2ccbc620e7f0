/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Functions of V8 at first sight: what their names are made of is behind more pointers than a code
 * object of other languages has (bpf/script_code.h), and pointers lead to other objects after each
 * collection. Where everything is, is data of the rule (struct fpl_v8); each word is the target's.
 * Userspace does the same for threads that sleep (unwind/replay.h).
 */
#pragma once

#include "bpf/lookup.h"
#include "bpf/v8_state.h"
#include "bpf/walk_read.h"

/* The scratch memory has script_code, the record being made, and v8. In userspace it has env, too.
 */
#ifdef __bpf__
#define V8_ENV(s) ((struct env *)0)
#else
#define V8_ENV(s) ((s)->env)
#endif

#define V8_NO_TYPE	0x10000u
#define V8_HOPS		4u  /* from a string to the one that has its characters */
#define V8_WORDS	10u /* behind the locals of a ScopeInfo, in which its name and place are */
#define V8_LOCALS_MAX	(1u << 20)
#define V8_LOCALS_NAMED 75u	     /* a ScopeInfo with as many names them in another object */
#define V8_SOURCE_MAX	(128u << 10) /* characters in which lines are counted */
#define V8_BLOCK_BYTES	128u	     /* that are read at once */

/* The object that @word points to; 0: it is no pointer. */
WALK_INLINE __u64 v8_object(__u64 word)
{
	return (word & 7) == 1 && walk_is_user(word) ? word - 1 : 0;
}

/* The word @off bytes into @object; 0: it cannot be read. */
WALK_INLINE __u64 v8_word(struct env *env, __u64 object, __u32 off)
{
	__u64 word;

	return env_read_stack(env, &word, sizeof(word), object + off) ? 0 : word;
}

/* The type of @object, as its map has it; V8_NO_TYPE: it has none. */
WALK_INLINE __u32 v8_type(struct env *env, const struct fpl_v8 *v8, __u64 object)
{
	__u64 map = object ? v8_object(v8_word(env, object, 0)) : 0;
	__u16 type;

	return !map || env_read_stack(env, &type, sizeof(type), map + v8->type_off) ? V8_NO_TYPE
										    : type;
}

/* One hop: a string that has no characters leads to one that has. */
static long v8_hop(__u32 idx, void *arg)
{
	struct fpl_scratch *s = *(struct fpl_scratch **)arg;
	struct v8_state *state = &s->v8;
	struct env *env = V8_ENV(s);
	const struct fpl_v8 *v8 = &state->layout;
	__u64 object = state->object;
	__u32 type = v8_type(env, v8, object), shape = type & v8->shape_mask;
	__u32 length = (__u32)v8_word(env, object, v8->length_off);

	state->type = type;
	if (type >= v8->first_no_text)
		return 1;
	if (!idx)
		state->length = length;
	if (shape == v8->is_flat) {
		state->found = state->skipped + state->length <= length;
		return 1;
	}
	if (shape == v8->is_thin) {
		state->object = v8_object(v8_word(env, object, v8->actual_off));
	} else if (shape == v8->is_part) {
		/* a small integer is in the upper half of its word */
		state->skipped += v8_word(env, object, v8->offset_off) >> 32;
		state->object = v8_object(v8_word(env, object, v8->parent_off));
	} else if (shape == v8->is_pair) {
		/* of one that was made flat the first part has all */
		state->object = v8_object(v8_word(env, object, v8->first_off));
	} else {
		return 1;
	}
	return !state->object;
}

/* Find the characters of the string that state.word points to: state.addr. Returns 0: it has none.
 */
WALK_INLINE int v8_string(struct fpl_scratch *s)
{
	struct v8_state *state;

	s->v8.object = v8_object(s->v8.word);
	s->v8.skipped = 0;
	s->v8.found = 0;
	if (!s->v8.object)
		return 0;
	env_loop(V8_HOPS, v8_hop, &s);
	state = &s->v8;
	state->is_wide = !(state->type & state->layout.one_byte_mask);
	state->addr =
		state->object + state->layout.chars_off + (state->skipped << (state->is_wide & 1));
	return (int)state->found;
}

/*
 * Read the characters of the string that state.word points to into text state.text of the record
 * being made, behind those that are there. Returns 0.
 */
WALK_GLOBAL int v8_text(struct fpl_scratch *s)
{
	struct fpl_script_code *record;
	__u64 size, at;
	__u32 text, is_wide;

	if (!s || !v8_string(s))
		return 0;
	record = &s->script_code;
	text = s->v8.text & 1;
	at = record->size[1 + text];
	is_wide = s->v8.is_wide & 1;
	/* all parts of a text are of one kind */
	if (at >= FPL_SCRIPT_TEXT_BYTES || (at && (record->wide >> text & 1) != is_wide))
		return 0;
	record->wide |= (__u16)(is_wide << text);
	size = (__u64)s->v8.length << is_wide;
	if (size > FPL_SCRIPT_TEXT_BYTES - at)
		size = FPL_SCRIPT_TEXT_BYTES - at;
	LOOKUP_OPAQUE(size);
	LOOKUP_OPAQUE(at);
	at &= FPL_SCRIPT_TEXT_BYTES - 1;
	if (size <= FPL_SCRIPT_TEXT_BYTES &&
	    !env_read_stack(V8_ENV(s), record->text[text] + at, (__u32)size, s->v8.addr))
		record->size[1 + text] += (__u16)size;
	return 0;
}

/* The length of the string that @word points to; 0: it points to no string. */
WALK_INLINE __u32 v8_length(struct env *env, const struct fpl_v8 *v8, __u64 word)
{
	__u64 object = v8_object(word);

	return v8_type(env, v8, object) < v8->first_no_text
		       ? (__u32)v8_word(env, object, v8->length_off)
		       : 0;
}

/*
 * Take the last of the parts of the function's name, and behind them the script's name: what is to
 * be read of it is state.word, for text state.text. A name such as `Module._load` is a pair, of
 * which each part may be one, too. Returns 0: all were taken.
 */
WALK_GLOBAL int v8_part(struct fpl_scratch *s)
{
	const struct fpl_v8 *v8;
	struct v8_state *state;
	struct env *env;
	__u64 object, first, nr;
	__u32 type;

	if (!s)
		return 0;
	env = V8_ENV(s);
	state = &s->v8;
	if (!state->nr_parts) {
		state->word = state->script_name;
		return !state->text++;
	}
	v8 = &state->layout;
	nr = --state->nr_parts;
	LOOKUP_OPAQUE(nr);
	nr &= V8_PARTS_MAX - 1;
	state->word = state->parts[nr];
	object = v8_object(state->word);
	type = v8_type(env, v8, object);
	first = v8_word(env, object, v8->first_off);
	/* the first part of one that was made flat has all */
	if (type >= v8->first_no_text || (type & v8->shape_mask) != v8->is_pair ||
	    v8_length(env, v8, first) == (__u32)v8_word(env, object, v8->length_off) ||
	    nr >= V8_PARTS_MAX - 1)
		return 1;
	state->word = 0;
	state->parts[nr] = v8_word(env, object, v8->first_off + 8);
	nr++;
	LOOKUP_OPAQUE(nr);
	nr &= V8_PARTS_MAX - 1;
	state->parts[nr] = first;
	state->nr_parts = (__u32)nr + 1;
	return 1;
}

/* How many line feeds are in @word? */
WALK_INLINE __u32 v8_feeds(__u64 word, __u32 is_wide)
{
	__u64 low = is_wide ? 0x7fff7fff7fff7fffull : 0x7f7f7f7f7f7f7f7full;

	/* a line feed becomes 0, and 0 becomes the highest bit alone */
	word ^= is_wide ? 0x000a000a000a000aull : 0x0a0a0a0a0a0a0a0aull;
	word = ~((((word & low) + low) | word) | low);
	return (__u32)(is_wide ? (word >> 15) * 0x0001000100010001ull >> 48
			       : (word >> 7) * 0x0101010101010101ull >> 56);
}

static long v8_count_block(__u32 idx, void *arg)
{
	struct fpl_scratch *s = *(struct fpl_scratch **)arg;
	struct v8_state *state = &s->v8;
	__u64 size = state->left, *words = (__u64 *)s->script_code.lines;

	(void)idx;
	if (size > V8_BLOCK_BYTES)
		size = V8_BLOCK_BYTES;
	LOOKUP_OPAQUE(size);
	if (!size || size > V8_BLOCK_BYTES)
		return 1;
	env_clear(words, V8_BLOCK_BYTES);
	if (env_read_stack(V8_ENV(s), words, (__u32)size, state->addr)) {
		state->found = 0;
		return 1;
	}
	/* not unrolled: the kernel's stack has no room for the words */
#ifdef __bpf__
#pragma clang loop unroll(disable)
#endif
	for (__u32 i = 0; i < V8_BLOCK_BYTES / 8; i++)
		state->lines += v8_feeds(words[i], state->is_wide);
	state->addr += size;
	state->left -= size;
	return 0;
}

/* Put the line, counted from 1, of character state.place of the source into the record being made;
 * it stays 0 if it is not known. Returns 0. */
WALK_GLOBAL int v8_line(struct fpl_scratch *s)
{
	if (!s)
		return 0;
	s->v8.word = s->v8.source;
	if (!v8_string(s) || s->v8.place > s->v8.length || s->v8.place > V8_SOURCE_MAX)
		return 0;
	s->v8.left = s->v8.place << (s->v8.is_wide & 1);
	s->v8.lines = 1;
	env_loop(2 * V8_SOURCE_MAX / V8_BLOCK_BYTES, v8_count_block, &s);
	if (s->v8.found)
		s->script_code.line = s->v8.lines;
	return 0;
}

/* Is @word a small integer? It is in the upper half then. */
WALK_INLINE int v8_is_small(__u64 word)
{
	return !(__u32)word;
}

/* Look at one word behind the locals of a ScopeInfo. */
static long v8_scope_word(__u32 idx, void *arg)
{
	struct fpl_scratch *s = *(struct fpl_scratch **)arg;
	const __u64 *words = (const __u64 *)s->script_code.object;
	struct v8_state *state = &s->v8;
	__u32 no_text = state->layout.first_no_text;
	__u64 word, at = idx;

	LOOKUP_OPAQUE(at);
	if (!at || at > V8_WORDS)
		return at != 0;
	word = words[at];
	if (v8_is_small(word)) {
		if (++state->run >= 2)
			state->place = words[at - 1] >> 32;
		return 0;
	}
	/* a function without a name has two small ones before what it is called */
	if (state->run >= 2 && v8_type(V8_ENV(s), &state->layout, v8_object(word)) >= no_text)
		return 1;
	state->run = 0;
	if (at <= V8_WORDS - 3 && !state->parts[0] && v8_length(V8_ENV(s), &state->layout, word))
		state->parts[0] = word;
	return 0;
}

/*
 * Find the name in the ScopeInfo at @scope, the first string behind its locals that has characters:
 * state.parts[0]; and the place in the source at which the function begins: state.place, the last
 * but one of the small integers that follow each other behind the name, or a field of its own.
 */
WALK_INLINE void v8_scope(struct fpl_scratch *s, __u64 scope)
{
	struct v8_state *state = &s->v8;
	const struct fpl_v8 *v8 = &state->layout;
	struct env *env = V8_ENV(s);
	__u64 nr = v8_word(env, scope, v8->nr_locals_off) >> 32;

	state->parts[0] = 0;
	state->run = 0;
	if (nr > V8_LOCALS_MAX)
		return;
	/* a name and a word of facts for each, or one word for all names */
	nr = nr < V8_LOCALS_NAMED ? 16 * nr : 8 + 8 * nr;
	if (env_read_stack(env, s->script_code.object + 8, 8 * V8_WORDS,
			   scope + v8->locals_off + nr))
		return;
	env_loop(V8_WORDS + 1, v8_scope_word, &s);
	if (v8->place_off)
		state->place = v8_word(env, scope, v8->place_off) >> 32;
}

/*
 * Find what the function at @code is called, if @idx is a rule of V8: words of the state lead to
 * its name, and to its script's name and source. The record being made is begun; its size[0] stays
 * 0 if there is no function. Returns 0, or 1: nothing is to be copied.
 */
WALK_GLOBAL int v8_function(struct fpl_scratch *s, __u64 code, __u32 idx)
{
	const struct fpl_script_rule *rule;
	struct fpl_script_code *record;
	struct v8_state *state;
	const struct fpl_v8 *v8;
	struct env *env;
	__u64 script;

	if (!s)
		return 1;
	env = V8_ENV(s);
	rule = env_script_rule(env, idx);
	if (!rule || !rule->is_native)
		return 1;
	record = &s->script_code;
	record->size[0] = record->size[1] = record->size[2] = 0;
	record->wide = 0;
	record->line = 0;
	state = &s->v8;
	state->layout = rule->v8;
	v8 = &state->layout;
	if (v8_type(env, v8, code) != v8->function_type)
		return 1;
	record->size[0] = 8;
	state->place = ~0ull;
	state->script_name = state->source = 0;
	state->text = 0;
	state->nr_parts = 1;
	state->parts[0] = v8_word(env, code, v8->name_off);
	if (v8_type(env, v8, v8_object(state->parts[0])) == v8->scope_type)
		v8_scope(s, v8_object(state->parts[0]));
	script = v8_object(v8_word(env, code, v8->script_off));
	if (v8_type(env, v8, script) == v8->script_type) {
		state->script_name = v8_word(env, script, v8->script_name_off);
		state->source = v8_word(env, script, v8->source_off);
	}
	return 0;
}

/* Turns in which all is copied: one for each part, and for the script's name. */
#define V8_TURNS (V8_PARTS_MAX + 2)

/* Copy the next of the texts that the function found is called by into the record being made: names
 * of the function and of its script. */
WALK_INLINE void v8_copy(struct fpl_scratch *s)
{
	if (v8_part(s))
		v8_text(s);
}
