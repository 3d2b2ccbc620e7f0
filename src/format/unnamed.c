/* SPDX-License-Identifier: Apache-2.0 */
#include "format/unnamed.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "recording/recording.h"

bool unnamed_parse(const char *text, size_t *ret_object_length, uint64_t *ret)
{
	size_t length = strlen(text);
	const char *digits, *end;

	if (length < 5 || text[0] != '[' || text[length - 1] != ']')
		return false;
	digits = strrchr(text, '+');
	digits = digits ? digits + 1 : text + 1;
	if (strncmp(digits, "0x", 2) != 0 || digits == text + 2)
		return false;
	if (text_hex_digit(digits[2]) < 0 || (digits[2] == '0' && digits[3] != ']'))
		return false;
	for (end = digits + 2; text_hex_digit(*end) >= 0; end++)
		;
	if (end != text + length - 1 || end - digits > 18)
		return false;
	*ret = strtoull(digits, NULL, 16);
	*ret_object_length = digits == text + 1 ? 0 : (size_t)(digits - text) - 2;
	return *ret != RECORDING_NO_ADDRESS;
}
