// SPDX-License-Identifier: Apache-2.0
#include "script/cpython.h"

#include <string.h>

#include "base/cleanup.h"

/* In a code object the type is at 8, as in any object; a string's length is at 16. */
#define TYPE_OFF  8
#define SIZE_OFF  16 /* in an object with a length, */
#define BYTES_OFF 32 /* whose bytes follow, if it is one of bytes */

/* The word of a code object has of its content: counts and the first line, which lie 8 words before
 * its qualified name; the length, the hash and the first characters of that. */
#define CONTENT_OFF 64
#define TEXT_OFF    SIZE_OFF

/*
 * Include/internal/pycore_frame.h and Include/cpython/code.h of each version. In 3.11 the frame
 * that a C call begins with is marked (is_entry); from 3.12 on it is followed by one that belongs
 * to the C stack (owner is FRAME_OWNED_BY_CSTACK) and is no script frame.
 */
static const struct cpython_layout layouts[] = {
	{ .minor = 11,
	  .code = 32,
	  .previous = 48,
	  .place = 56,
	  .stop = 68,
	  .stop_value = 1,
	  .shows_last = 1,
	  .above = 72,
	  .first_line = 72,
	  .filename = 112,
	  .qualname = 128,
	  .linetable = 136,
	  .instructions = 184,
	  .ascii = 48,
	  .other = 72 },
	{ .minor = 12,
	  .code = 0,
	  .previous = 8,
	  .place = 56,
	  .stop = 70,
	  .stop_value = 3,
	  .above = 72,
	  .first_line = 68,
	  .filename = 112,
	  .qualname = 128,
	  .linetable = 136,
	  .instructions = 192,
	  .ascii = 40,
	  .other = 56 },
	{ .minor = 13,
	  .code = 0,
	  .previous = 8,
	  .place = 56,
	  .stop = 70,
	  .stop_value = 3,
	  .above = 72,
	  .first_line = 68,
	  .filename = 112,
	  .qualname = 128,
	  .linetable = 136,
	  .instructions = 200,
	  .ascii = 40,
	  .other = 56 },
};

const struct cpython_layout *cpython_layout(const struct script_facts *facts)
{
	uint64_t version = facts->version >> 16;

	/* Py_Version: 8 bits each of major, minor and micro, 4 of the level: 15 is a release */
	if ((facts->version >> 4 & 15) != 15 || version >> 8 != 3)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		if (layouts[i].minor == (version & 0xff))
			return &layouts[i];
	}
	return NULL;
}

static struct fpl_script_load load(int16_t off)
{
	return (struct fpl_script_load){ .off = { off }, .nr = 1 };
}

static struct fpl_script_load load_behind(int16_t off, int16_t next)
{
	return (struct fpl_script_load){ .off = { off, next }, .nr = 2 };
}

void cpython_rule(const struct cpython_layout *layout, const struct script_facts *facts,
		  uint32_t object, struct fpl_script_rule *ret)
{
	*ret = (struct fpl_script_rule){
		.object = object,
		.cfa_off = facts->cfa_off,
		.cfa_reg = facts->cfa_reg,
		.check_vaddr = facts->code_type,
		.check = load_behind(layout->code, TYPE_OFF),
		.code = load(layout->code),
		.place = load(layout->place),
		.next = load(layout->previous),
		.stop = load(layout->stop),
		.stop_value = layout->stop_value,
		.shows_last = layout->shows_last,
		.content = load_behind((int16_t)(layout->qualname - CONTENT_OFF), TEXT_OFF),
		.above = layout->above,
		.lines_size_off = SIZE_OFF,
		.lines_off = BYTES_OFF,
		.piece_off = { layout->qualname, layout->filename, layout->linetable },
	};
	ret->stop.bits = 8;
	for (size_t i = 0; i < facts->nr_ranges && i < FPL_SCRIPT_RANGES_MAX; i++) {
		ret->start[i] = facts->ranges[i].start;
		ret->end[i] = facts->ranges[i].end;
	}
}
