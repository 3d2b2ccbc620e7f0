// SPDX-License-Identifier: Apache-2.0
#include "script/cpython.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "script/bytes.h"

/* In a code object the type is at 8, as in any object; a string's length is at 16. */
#define TYPE_OFF  8
#define SIZE_OFF  16 /* in an object with a length, */
#define BYTES_OFF 32 /* whose bytes follow, if it is one of bytes */

/*
 * Include/internal/pycore_frame.h and Include/cpython/code.h of each version. In 3.11 the frame
 * that a C call begins with is marked (is_entry); from 3.12 on it is followed by one that belongs
 * to the C stack (owner is FRAME_OWNED_BY_CSTACK, in 3.14 FRAME_OWNED_BY_INTERPRETER) and is no
 * script frame.
 * Up to 3.10 (Include/cpython/frameobject.h) each call of the loop runs one frame object; code
 * objects have no qualified names.
 */
static const struct cpython_layout layouts[] = {
	{ .minor = 9,
	  .lines = CPYTHON_LNOTAB,
	  .is_single = 1,
	  .code = 32,
	  .previous = 24,
	  .place = 104,
	  .shows_last = 1,
	  .above = 112,
	  .first_line = 40,
	  .filename = 104,
	  .name = 112,
	  .linetable = 120,
	  .ascii = 48,
	  .other = 72 },
	{ .minor = 10,
	  .lines = CPYTHON_LINETABLE,
	  .is_single = 1,
	  .code = 32,
	  .previous = 24,
	  .place = 96,
	  .shows_last = 1,
	  .above = 104,
	  .first_line = 40,
	  .filename = 104,
	  .name = 112,
	  .linetable = 120,
	  .ascii = 48,
	  .other = 72 },
	{ .minor = 11,
	  .lines = CPYTHON_LOCATIONS,
	  .has_slots = 1,
	  .code = 32,
	  .previous = 48,
	  .place = 56,
	  .stop = 68,
	  .stop_value = 1,
	  .shows_last = 1,
	  .above = 72,
	  .first_line = 72,
	  .filename = 112,
	  .name = 128,
	  .linetable = 136,
	  .instructions = 184,
	  .ascii = 48,
	  .other = 72 },
	{ .minor = 12,
	  .lines = CPYTHON_LOCATIONS,
	  .has_slots = 1,
	  .code = 0,
	  .previous = 8,
	  .place = 56,
	  .stop = 70,
	  .stop_value = 3,
	  .above = 72,
	  .first_line = 68,
	  .filename = 112,
	  .name = 128,
	  .linetable = 136,
	  .instructions = 192,
	  .ascii = 40,
	  .other = 56 },
	{ .minor = 13,
	  .lines = CPYTHON_LOCATIONS,
	  .code = 0,
	  .previous = 8,
	  .place = 56,
	  .stop = 70,
	  .stop_value = 3,
	  .above = 72,
	  .first_line = 68,
	  .filename = 112,
	  .name = 128,
	  .linetable = 136,
	  .instructions = 200,
	  .ascii = 40,
	  .other = 56 },
	{ .minor = 14,
	  .lines = CPYTHON_LOCATIONS,
	  .code = 0,
	  .previous = 8,
	  .place = 56,
	  .stop = 74,
	  .stop_value = 3,
	  .above = 80,
	  .first_line = 68,
	  .filename = 112,
	  .name = 128,
	  .linetable = 136,
	  .instructions = 208,
	  .ascii = 40,
	  .other = 56 },
};

const struct cpython_layout *cpython_layout(uint64_t version)
{
	/* Py_Version: 8 bits each of major, minor and micro, 4 of the level: 15 is a release */
	if ((version >> 4 & 15) != 15 || version >> 24 != 3)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		if (layouts[i].minor == (version >> 16 & 0xff))
			return &layouts[i];
	}
	return NULL;
}

/* The content of a code object has the word before its first line's and that of the first line; the
 * length, the hash and the first characters of its name. */
static struct fpl_script_content content(const struct cpython_layout *layout)
{
	int16_t first = (int16_t)((layout->first_line & ~7) - 8);
	uint8_t text = (uint8_t)((layout->name - first) / 8);

	return (struct fpl_script_content){
		.first = first, .other = 1, .text = text, .text_off = SIZE_OFF, .nr = text + 1
	};
}

static bool cpython_rule(const struct script_facts *facts, uint32_t object,
			 struct fpl_script_rule *ret)
{
	const struct cpython_layout *layout = cpython_layout(facts->version);

	if (!layout || facts->flags)
		return false;
	*ret = (struct fpl_script_rule){
		.check_vaddr = facts->code_type,
		.check_size = 1,
		.check = load_behind(layout->code, TYPE_OFF),
		.code = load_at(layout->code),
		.place = load_at(layout->place),
		.next = load_at(layout->previous),
		.stop = load_at(layout->stop),
		/* no mask: each frame is the last one of its native frame */
		.stop_mask = layout->is_single ? 0 : 0xff,
		.stop_value = layout->stop_value,
		.shows_last = layout->shows_last,
		.has_slots = layout->has_slots,
		.place_mask = layout->is_single ? 0 : UINT64_MAX,
		.carries = layout->is_single ? FPL_SCRIPT_CARRIES_CHAIN : FPL_SCRIPT_CARRIES_NEXT,
		.content = content(layout),
		.above = layout->above,
		.lines_size_off = SIZE_OFF,
		.lines_off = BYTES_OFF,
		.texts = { { .off = layout->name }, { .off = layout->filename } },
		.lines_ptr_off = layout->linetable,
	};
	if (layout->is_single)
		ret->place.bits = 32;
	rule_take_facts(ret, facts, object);
	return true;
}

/*
 * An object begins with its count of references: that of code is small, or the large one of what is
 * never freed (_Py_IMMORTAL_REFCNT; 999,999,999 in 3.11). From 3.14 on it has 32 bits, and flags
 * stand above. Memory that was freed begins with a pointer, or with 0: the heap is above 4 MiB.
 */
#define REFERENCES_MAX (4u << 20)
#define IMMORTAL_LEAST 999000000u
#define IMMORTAL_MOST  1001000000u
#define IMMORTAL_BITS  0xc0000000u

static bool cpython_is_alive(const uint8_t *head, const uint8_t *behind)
{
	(void)behind;
	uint32_t low;
	uint16_t high;

	memcpy(&low, head, sizeof(low));
	memcpy(&high, head + sizeof(low), sizeof(high));
	return !high && low &&
	       (low < REFERENCES_MAX || (low >= IMMORTAL_LEAST && low < IMMORTAL_MOST) ||
		(low & IMMORTAL_BITS) == IMMORTAL_BITS);
}

static void cpython_say_version(const struct script_facts *facts, char *ret)
{
	snprintf(ret, SCRIPT_VERSION_MAX, "CPython %" PRIu64 ".%" PRIu64 " (0x%" PRIx64 ")%s",
		 facts->version >> 24, facts->version >> 16 & 0xff, facts->version,
		 facts->flags & SCRIPT_FREE_THREADED ? ", free-threaded"
		 : facts->flags & SCRIPT_TAIL_CALLS  ? ", with tail calls"
						     : "");
}

const struct script_language cpython_language = {
	.name = "python",
	.rule = cpython_rule,
	.read_code = cpython_read_code,
	.line = cpython_line,
	.is_alive = cpython_is_alive,
	.say_version = cpython_say_version,
};
