/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/filler.h"

/* gas: up to nine 66, then a segment override */
enum { PREFIXES_MAX = 14, SIB = 4, ABSOLUTE = 5, DISP8 = 1, DISP32 = 2, REGISTER = 3 };

/* Length of the addressing form behind the opcode of a long nop: ModRM, SIB, displacement; 0: cut
 * off. */
static size_t form_length(const uint8_t *code, size_t size)
{
	if (size == 0)
		return 0;

	unsigned mod = code[0] >> 6, rm = code[0] & 7;
	size_t length = 1;

	if (mod != REGISTER && rm == SIB) {
		if (size < 2)
			return 0;
		length += 1;
		if (mod == 0 && (code[1] & 7) == ABSOLUTE)
			length += 4;
	} else if (mod == 0 && rm == ABSOLUTE) {
		length += 4;
	}
	length += mod == DISP8 ? 1 : mod == DISP32 ? 4 : 0;
	return length <= size ? length : 0;
}

/* Length of the nop or int3 at @code [size > 0]; 0: something else. */
static size_t instruction_length(const uint8_t *code, size_t size)
{
	size_t prefixes = 0;

	if (code[0] == 0xcc)
		return 1;
	while (prefixes < size && prefixes < PREFIXES_MAX &&
	       (code[prefixes] == 0x66 || code[prefixes] == 0x2e))
		prefixes++;
	if (prefixes < size && code[prefixes] == 0x90)
		return prefixes + 1;
	if (size - prefixes < 3 || code[prefixes] != 0x0f || code[prefixes + 1] != 0x1f)
		return 0;

	size_t form = form_length(code + prefixes + 2, size - prefixes - 2);

	return form ? prefixes + 2 + form : 0;
}

size_t filler_size(const uint8_t *code, size_t size, enum filler_kind kind)
{
	size_t done = 0;

	while (done < size) {
		size_t length = instruction_length(code + done, size - done);

		if (length == 0 && kind == FILLER_ZEROES && code[done] == 0)
			length = 1;
		if (length == 0)
			break;
		done += length;
	}
	return done;
}
