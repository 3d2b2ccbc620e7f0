/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/go_way.h"

#include <string.h>

#include "unwind/go_code.h"

/*
 * Forms of instructions, as text. Two hexadecimal digits are a byte, a dot is any byte, blanks are
 * nothing. Capital letters are values: G to N one byte, that is not negative, W four; the same
 * letter twice must be the same value. T and a digit: the operand of a move between that register
 * and the g of thread-local storage, in one of its two forms; O: the load of its offset into rcx,
 * if any.
 */
enum {
	NR_VALUES = 26,
	UNSET = -1,
	SIZE_MAX_OF_THEM = 1024, /* the longest of the functions has 180 bytes */
};

struct match {
	const uint8_t *code; /* [size] */
	uint64_t size, at;
	int64_t values[NR_VALUES]; /* by letter */
};

static bool next_byte(struct match *match, uint8_t *ret)
{
	if (match->at >= match->size)
		return false;
	*ret = match->code[match->at++];
	return true;
}

static bool is_next(struct match *match, const char *bytes, size_t nr)
{
	if (nr > match->size - match->at || memcmp(match->code + match->at, bytes, nr) != 0)
		return false;
	match->at += nr;
	return true;
}

static unsigned hex_digit(char c)
{
	return (unsigned)(c >= 'a' ? c - 'a' + 10 : c - '0');
}

/* The operand of a move between register @reg and %fs:-8, or %fs:(%rcx). */
static bool match_tls(struct match *match, unsigned reg)
{
	uint8_t modrm;

	if (!next_byte(match, &modrm) || (modrm >> 3 & 7) != reg)
		return false;
	if ((modrm & 0xc7) == 1)
		return true;
	return (modrm & 0xc7) == 4 && is_next(match, "\x25\xf8\xff\xff\xff", 5);
}

static bool match_value(struct match *match, char letter)
{
	int64_t *known = &match->values[letter - 'A'], value;
	uint8_t byte = 0;

	if (letter == 'W') {
		int32_t wide;

		if (match->size - match->at < sizeof(wide))
			return false;
		memcpy(&wide, match->code + match->at, sizeof(wide));
		match->at += sizeof(wide);
		value = wide;
	} else {
		if (!next_byte(match, &byte))
			return false;
		value = (int8_t)byte;
	}
	if (value < 0 || (*known != UNSET && *known != value))
		return false;
	*known = value;
	return true;
}

static bool match_one(struct match *match, const char **form)
{
	char c = *(*form)++;
	uint8_t byte;

	if (c == ' ')
		return true;
	if (c == '.')
		return next_byte(match, &byte);
	if (c == 'T')
		return match_tls(match, hex_digit(*(*form)++));
	if (c == 'O') {
		if (is_next(match, "\x48\x8b\x0d", 3)) {
			match->at += 4;
			return match->at <= match->size;
		}
		return true;
	}
	if (c >= 'G' && c <= 'W')
		return match_value(match, c);
	return next_byte(match, &byte) && byte == (hex_digit(c) << 4 | hex_digit(*(*form)++));
}

/* Does @form stand at offset @at? Keeps its values; match->at is its end. */
static bool match_at(struct match *match, uint64_t at, const char *form)
{
	struct match tried = *match;

	tried.at = at;
	while (*form)
		if (!match_one(&tried, &form))
			return false;
	*match = tried;
	return true;
}

/* Find the first place of @form at or behind @from. GO_NOWHERE: not found. */
static uint64_t match_find(struct match *match, uint64_t from, const char *form)
{
	for (uint64_t at = from; at < match->size; at++)
		if (match_at(match, at, form))
			return at;
	return GO_NOWHERE;
}

/* Anew, as nothing is known of the values. */
static struct match match_begin(const uint8_t *code, uint64_t size)
{
	struct match match = { .code = code, .size = size };

	for (size_t i = 0; i < NR_VALUES; i++)
		match.values[i] = UNSET;
	return match;
}

static int64_t value_of(const struct match *match, char letter)
{
	return match->values[letter - 'A'];
}

/*
 * The instruction at offset @at has effect behind its first byte, since a pc at that byte has not
 * executed it.
 */
static void add(struct go_ways *ways, uint64_t at, enum go_way way, uint64_t off)
{
	uint64_t from = ways->nr ? at + 1 : 0;

	ways->list[ways->nr] = (struct go_stretch){ from, way, off };
	ways->nr++;
}

/*
 * systemstack: r14 = g0; rsp = g0.sched.sp; call; g = g.m.curg; rsp = g.sched.sp; g.sched.sp = 0;
 * ret. That rsp points to the caller's address.
 */
static bool is_systemstack(struct match *match, uint64_t *ret_left, uint64_t *ret_back)
{
	uint64_t entry = match_find(match, 0, "4989d6 488b5aP 4889dc");

	if (entry == GO_NOWHERE)
		return false;
	*ret_left = match->at - 3;
	if (match_find(match, match->at,
		       "O 64488b T0 488b58M 488b83W 644889 T0 488b60P 48c740P00000000 c3") ==
	    GO_NOWHERE)
		return false;
	*ret_back = match->at - 13;
	return true;
}

bool go_way_layout(const uint8_t *code, uint64_t size, struct go_layout *ret)
{
	struct match match = match_begin(code, size);
	uint64_t left, back;

	if (size > SIZE_MAX_OF_THEM || !is_systemstack(&match, &left, &back) ||
	    value_of(&match, 'M') % 8 || value_of(&match, 'M') > 120 ||
	    value_of(&match, 'W') > INT16_MAX)
		return false;
	*ret = (struct go_layout){
		.g_m = (uint64_t)value_of(&match, 'M'),
		.m_curg = (uint64_t)value_of(&match, 'W'),
		.sched_sp = (uint64_t)value_of(&match, 'P'),
		.known = true,
	};
	return true;
}

static bool find_systemstack(const uint8_t *code, uint64_t size, struct go_ways *ret)
{
	struct match match = match_begin(code, size);
	uint64_t left, back;

	if (!is_systemstack(&match, &left, &back))
		return false;
	add(ret, 0, GO_WAY_DEPTH, 0);
	add(ret, left, GO_WAY_CALL, 0);
	add(ret, back, GO_WAY_DEPTH, 0);
	return true;
}

/* mcall: g.sched = pc, sp, bp of the caller; ...; rsp = g0.sched.sp; push the argument; call a
 * function that never returns. */
static bool find_mcall(const uint8_t *code, uint64_t size, struct go_ways *ret)
{
	struct match match = match_begin(code, size);

	if (match_find(&match, 0, "488b1c24 49895eQ 488d5c2408 49895eP 49896eR 498b5eM") ==
	    GO_NOWHERE)
		return false;

	uint64_t left = match_find(&match, match.at, "498b66P 50 4c8b22 41ffd4 58 e9");

	if (left == GO_NOWHERE)
		return false;
	add(ret, 0, GO_WAY_DEPTH, 0);
	add(ret, left, GO_WAY_NONE, 0);
	return true;
}

/*
 * morestack: g.sched = pc, sp, bp of the function that needs more; ...; rsp = g0.sched.sp; call the
 * scheduler, which resumes the goroutine from sched.
 */
static bool find_morestack(const uint8_t *code, uint64_t size, const struct go_layout *layout,
			   struct go_ways *ret)
{
	struct match match = match_begin(code, size);

	if (!layout->known ||
	    match_find(&match, 0, "488b0424 488946Q 488d442408 488946P 48896eR") == GO_NOWHERE)
		return false;

	uint64_t left = match_find(&match, match.at, "488b1b 644889 T3 488b63P e8");

	if (left == GO_NOWHERE || value_of(&match, 'P') != (int64_t)layout->sched_sp ||
	    value_of(&match, 'Q') != value_of(&match, 'P') + 8)
		return false;
	add(ret, 0, GO_WAY_DEPTH, 0);
	add(ret, match.at - 5, GO_WAY_RESUME, 0);
	return true;
}

/*
 * asmcgocall: rdx = rsp; rsp = g0.sched.sp, aligned; store g, and g.stack.hi - rdx; call; rsp =
 * g.stack.hi - that; ret. On the system stack already: align rsp; store 0, and rdx; call; rsp =
 * what was stored; ret.
 */
static bool find_asmcgocall(const uint8_t *code, uint64_t size, struct go_ways *ret)
{
	struct match match = match_begin(code, size);
	uint64_t left, stored, back, aligned, kept;

	if (!match_at(&match, 0, "488b442408 488b5c2410 4889e2"))
		return false;
	left = match_find(&match, match.at,
			  "488b66P 4883ec40 4883e4f0 48897c24G 488b7fH 4829d7 48897c24K");
	if (left == GO_NOWHERE || value_of(&match, 'H') != 8 ||
	    value_of(&match, 'G') != value_of(&match, 'K') + 8)
		return false;
	stored = match.at - 5;
	if (match_find(&match, match.at, "488b7c24G 488b77H 482b7424K 644889 T7 4889f4") ==
	    GO_NOWHERE)
		return false;
	back = match.at - 3;
	aligned = match_find(&match, match.at, "4883ec40 4883e4f0 48c74424G00000000 48895424K");
	if (aligned == GO_NOWHERE)
		return false;
	kept = match.at - 5;
	if (match_find(&match, match.at, "488b7424K 4889f4") == GO_NOWHERE)
		return false;
	add(ret, 0, GO_WAY_DEPTH, 0);
	add(ret, left, GO_WAY_RDX, 0);
	add(ret, stored, GO_WAY_HEIGHT, (uint64_t)value_of(&match, 'G'));
	add(ret, back, GO_WAY_DEPTH, 0);
	add(ret, aligned, GO_WAY_RDX, 0);
	add(ret, kept, GO_WAY_SLOT, (uint64_t)value_of(&match, 'K'));
	add(ret, match.at - 3, GO_WAY_DEPTH, 0);
	return true;
}

void go_ways_find(const uint8_t *code, uint64_t size, const struct go_layout *layout,
		  struct go_ways *ret)
{
	*ret = (struct go_ways){ .nr = 0 };
	if (size > SIZE_MAX_OF_THEM)
		return;
	if (!find_systemstack(code, size, ret) && !find_mcall(code, size, ret) &&
	    !find_morestack(code, size, layout, ret))
		find_asmcgocall(code, size, ret);
}
