// SPDX-License-Identifier: Apache-2.0
#include "script/cpython.h"

#include <string.h>

#include "script/bytes.h"

/* In an object with a length. */
#define SIZE_OFF  16u
#define BYTES_OFF 32u /* of a bytes object: its bytes */
#define STATE_OFF 32u /* of a string */

#define CODE_BYTES 128u /* of a code object: all that is read of it is in these */

/* Bits of a string's state, behind those that say whether it is interned. */
#define KIND_SHIFT 2u
#define KIND_MASK  7u
#define IS_COMPACT 32u
#define IS_ASCII   64u

/* Append @point as UTF-8. Returns false without room for it and a NUL. */
static bool put_point(char *to, size_t *at, uint32_t point)
{
	size_t nr = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
	static const uint8_t leads[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

	if (*at + nr + 1 > SCRIPT_NAME_MAX || point > 0x10ffff)
		return false;
	for (size_t i = nr; i-- > 1; point >>= 6)
		to[*at + i] = (char)(0x80 | (point & 0x3f));
	to[*at] = (char)(leads[nr] | point);
	*at += nr;
	return true;
}

/* The string object in @bytes [@size], or its beginning, in @ret [SCRIPT_NAME_MAX]. */
static bool read_string(const struct cpython_layout *layout, const uint8_t *bytes, size_t size,
			char *ret)
{
	uint32_t state, width;
	size_t off, at = 0;
	uint64_t length;

	ret[0] = '\0';
	if (size < 80)
		return false;
	state = (uint32_t)bytes_word(bytes, STATE_OFF);
	length = bytes_word(bytes, SIZE_OFF);
	width = state >> KIND_SHIFT & KIND_MASK;
	off = state & IS_ASCII ? layout->ascii : layout->other;
	if (!(state & IS_COMPACT) || (width != 1 && width != 2 && width != 4))
		return false;
	for (uint64_t i = 0; i < length && off + width <= size; i++, off += width) {
		uint32_t point = 0;

		memcpy(&point, bytes + off, width);
		if (!point || !put_point(ret, &at, point))
			break;
	}
	ret[at] = '\0';
	return at > 0;
}

bool cpython_read_code(uint64_t version, const struct fpl_script_code *record,
		       struct script_code *ret)
{
	size_t nr =
		record->nr_lines < sizeof(record->lines) ? record->nr_lines : sizeof(record->lines);
	uint64_t length = nr > BYTES_OFF ? bytes_word(record->lines, SIZE_OFF) : 0;
	const struct cpython_layout *layout = cpython_layout(version);

	*ret = (struct script_code){ .version = version };
	if (!layout || record->size[0] < layout->instructions || record->size[0] < CODE_BYTES ||
	    record->size[1] > FPL_SCRIPT_TEXT_BYTES || record->size[2] > FPL_SCRIPT_TEXT_BYTES ||
	    !read_string(layout, record->text[0], record->size[1], ret->function))
		return false;
	(void)read_string(layout, record->text[1], record->size[2], ret->file);
	ret->first_line = bytes_half(record->object, layout->first_line);
	if (ret->first_line > INT32_MAX)
		ret->first_line = 0;
	if (nr > BYTES_OFF) {
		ret->is_cut = length > nr - BYTES_OFF;
		ret->nr_lines = (uint32_t)(ret->is_cut ? nr - BYTES_OFF : length);
		ret->lines = record->lines + BYTES_OFF;
	}
	return true;
}

/* Numbers of six bits a byte, the lowest first; the seventh bit says that there are more. */
static int32_t read_delta(const struct script_code *code, size_t *at)
{
	uint32_t value = 0, shift = 0, byte = 0x40;

	while ((byte & 0x40) && *at < code->nr_lines && shift < 30) {
		byte = code->lines[(*at)++];
		value |= (byte & 0x3f) << shift;
		shift += 6;
	}
	return value & 1 ? -(int32_t)(value >> 1) : (int32_t)(value >> 1);
}

/* Codes of an entry (Objects/locations.md). */
enum { ONE_LINE = 10, NO_COLUMNS = 13, LONG = 14, NO_PLACE = 15 };

static uint32_t to_line(int64_t line)
{
	return line <= 0 || line > INT32_MAX ? 0 : (uint32_t)line;
}

/* The line of instruction @unit, of two bytes. */
static uint32_t location_line(const struct script_code *code, uint32_t unit)
{
	uint64_t end = 0;
	int64_t line = code->first_line;
	size_t at = 0;

	while (at < code->nr_lines) {
		uint8_t head = code->lines[at++];
		uint32_t kind = head >> 3 & 15;

		if (!(head & 0x80))
			return 0;
		end += (head & 7) + 1u;
		if (kind == LONG || kind == NO_COLUMNS)
			line += read_delta(code, &at);
		else if (kind >= ONE_LINE && kind < NO_COLUMNS)
			line += kind - ONE_LINE;
		if (unit < end)
			return kind == NO_PLACE ? 0 : to_line(line);
		/* the rest of the entry: bytes without the highest bit */
		while (at < code->nr_lines && !(code->lines[at] & 0x80))
			at++;
	}
	return 0;
}

#define NO_LINE (-128) /* the change that says: no line */

/* Pairs of bytes: so many of code, and how the line changes, @is_before them (3.10) or behind. */
static uint32_t pair_line(const struct script_code *code, uint64_t at_byte, bool is_before)
{
	int64_t line = code->first_line;
	uint64_t end = 0;

	for (size_t at = 0; at + 2 <= code->nr_lines; at += 2) {
		int8_t delta = (int8_t)code->lines[at + 1];
		bool is_none = is_before && delta == NO_LINE;

		end += code->lines[at];
		if (!is_before && at_byte < end)
			return to_line(line);
		line += is_none ? 0 : delta;
		if (is_before && at_byte < end)
			return is_none ? 0 : to_line(line);
	}
	/* behind the last pair of 3.9 the line goes on */
	return is_before || code->is_cut ? 0 : to_line(line);
}

uint32_t cpython_line(const struct script_code *code, uint32_t place)
{
	const struct cpython_layout *layout = cpython_layout(code->version);

	if (!layout)
		return 0;
	if (layout->lines == CPYTHON_LOCATIONS) {
		if (place == FPL_SCRIPT_NO_PLACE)
			return 0;
		/* before the first instruction: where it is about to begin */
		return location_line(code, place < layout->instructions
						   ? 0
						   : (place - layout->instructions) / 2);
	}
	/* the number of the last instruction: -1 before the first one */
	if (place == FPL_SCRIPT_NO_PLACE)
		return code->first_line;
	if (layout->lines == CPYTHON_LINETABLE)
		return pair_line(code, 2ull * place, true);
	return pair_line(code, place, false);
}
