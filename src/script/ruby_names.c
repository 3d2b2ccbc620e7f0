// SPDX-License-Identifier: Apache-2.0
#include "script/ruby.h"

#include <string.h>

#include "script/bytes.h"

/* An object begins with its flags: its type, and where its text or its elements are. */
#define TYPE_MASK      0x1fu
#define IS_STRING      5u
#define IS_ARRAY       7u
#define IS_ELSEWHERE   0x2000u /* of a string: RSTRING_NOEMBED */
#define IS_WITHIN      0x2000u /* of an array: RARRAY_EMBED_FLAG */
#define LENGTH_OFF     16u
#define TEXT_OFF       24u
#define SHORT_TEXT_OFF 16u /* up to 3.1: the length of a short string is in its flags */
#define SHORT_SHIFT    14u
#define SHORT_MASK     0x1fu

/* The index from instructions to entries of the table of lines (iseq.c, struct succ_index_table):
 * for each of the first ones the number of entries up to it, seven bits each; then blocks. */
#define FEW	    54u
#define FEW_A_WORD  9u
#define FEW_BITS    7u
#define BLOCK_STEPS 512u
#define BLOCK_BYTES 80u
#define SUMS_OFF    8u /* in a block: the numbers before each word but the first, nine bits each, */
#define BITS_OFF    16u /* then a bit for each instruction that begins an entry */
#define BLOCKS_OFF  (FEW / FEW_A_WORD * 8u)
#define SUM_BITS    9u

/* Text @i of @record. */
static const uint8_t *text_at(const struct fpl_script_code *record, uint32_t i)
{
	return i < FPL_SCRIPT_TEXTS
		       ? record->text[i]
		       : record->lines + (size_t)(i - FPL_SCRIPT_TEXTS) * FPL_SCRIPT_TEXT_BYTES;
}

/* The string whose object is in @object, and whose text is in @elsewhere if it is not within. */
static bool read_string(const struct ruby_layout *layout, const uint8_t *object,
			const uint8_t *elsewhere, char *ret)
{
	uint64_t flags = bytes_word(object, 0), length = bytes_word(object, LENGTH_OFF);
	size_t off = layout->strings_have_lengths ? TEXT_OFF : SHORT_TEXT_OFF;
	const uint8_t *text = object + off;
	size_t most = FPL_SCRIPT_TEXT_BYTES - off;

	ret[0] = '\0';
	if ((flags & TYPE_MASK) != IS_STRING)
		return false;
	if (flags & IS_ELSEWHERE) {
		text = elsewhere;
		most = FPL_SCRIPT_TEXT_BYTES;
	} else if (!layout->strings_have_lengths) {
		length = flags >> SHORT_SHIFT & SHORT_MASK;
	}
	if (length > most)
		length = most;
	memcpy(ret, text, length);
	ret[length] = '\0';
	return ret[0] != '\0';
}

/* The file as it was named: a string, or the first of two. */
static void read_path(const struct ruby_layout *layout, const struct fpl_script_code *record,
		      char *ret)
{
	const uint8_t *paths = text_at(record, RUBY_PATHS);
	uint64_t flags = bytes_word(paths, 0);

	if ((flags & TYPE_MASK) != IS_ARRAY)
		(void)read_string(layout, paths, text_at(record, RUBY_PATHS_TEXT), ret);
	else if (flags & IS_WITHIN)
		(void)read_string(layout, text_at(record, RUBY_PATH),
				  text_at(record, RUBY_PATH_TEXT), ret);
}

bool ruby_read_code(uint64_t version, const struct fpl_script_code *record, struct script_code *ret)
{
	size_t nr =
		record->nr_lines < sizeof(record->lines) ? record->nr_lines : sizeof(record->lines);
	const struct ruby_layout *layout = ruby_layout(version);
	uint32_t nr_lines;

	*ret = (struct script_code){ .version = version };
	if (!layout || record->size[0] < FPL_SCRIPT_OBJECT_BYTES || nr < FPL_SCRIPT_MORE_BYTES ||
	    !read_string(layout, text_at(record, RUBY_LABEL), text_at(record, RUBY_LABEL_TEXT),
			 ret->function))
		return false;
	read_path(layout, record, ret->file);
	ret->first_line = bytes_half(record->object, layout->first_line);
	if (layout->line_is_value)
		ret->first_line >>= 1;
	if (ret->first_line > INT32_MAX)
		ret->first_line = 0;
	ret->first_step = bytes_word(record->object, RUBY_STEPS_OFF);
	nr = (nr - FPL_SCRIPT_MORE_BYTES) / RUBY_LINE_BYTES;
	nr_lines = bytes_half(record->object, layout->nr_lines);
	ret->is_cut = nr_lines > nr;
	ret->nr_lines = ret->is_cut ? (uint32_t)nr : nr_lines;
	ret->lines = record->lines + FPL_SCRIPT_MORE_BYTES;
	ret->marks = text_at(record, RUBY_INDEX);
	ret->nr_marks = (RUBY_INDEX_MORE - RUBY_INDEX + 1) * FPL_SCRIPT_TEXT_BYTES;
	return true;
}

/* The number of entries of the table of lines up to instruction @step; 0: it is not known. */
static uint64_t nr_entries(const struct script_code *code, uint32_t step)
{
	uint32_t block, bit, word;
	uint64_t sums, bits;
	size_t at;

	if (step < FEW)
		return bytes_word(code->marks, (size_t)(step / FEW_A_WORD) * 8) >>
			       step % FEW_A_WORD * FEW_BITS &
		       ((1u << FEW_BITS) - 1);
	block = (step - FEW) / BLOCK_STEPS;
	bit = (step - FEW) % BLOCK_STEPS;
	at = BLOCKS_OFF + (size_t)block * BLOCK_BYTES;
	if (at + BLOCK_BYTES > code->nr_marks)
		return 0;
	word = bit / 64;
	sums = bytes_word(code->marks, at + SUMS_OFF);
	bits = bytes_word(code->marks, at + BITS_OFF + (size_t)word * 8) << (63 - bit % 64);
	return bytes_half(code->marks, at) +
	       (word ? sums >> (word - 1) * SUM_BITS & ((1u << SUM_BITS) - 1) : 0) +
	       (uint64_t)__builtin_popcountll(bits);
}

uint32_t ruby_line(const struct script_code *code, uint32_t place)
{
	uint32_t step = (place - (uint32_t)code->first_step) / RUBY_STEP_BYTES, line;
	uint64_t nr = 1;

	/* the place is behind the instruction; before the first one it is where it begins */
	step -= step != 0;
	if (code->nr_lines != 1)
		nr = nr_entries(code, step);
	if (!nr || nr > code->nr_lines)
		return 0;
	line = bytes_half(code->lines, (size_t)(nr - 1) * RUBY_LINE_BYTES);
	return line > INT32_MAX ? 0 : line;
}
