/* SPDX-License-Identifier: Apache-2.0 */
#include "base/width.h"

#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <wchar.h>

#include "base/text.h"

/* The character at @text and its columns; 0: it cannot be shown. */
static size_t columns_at(const char *text, size_t *ret_bytes)
{
	size_t bytes = text_utf8_length(text);
	mbstate_t state = { 0 };
	wchar_t character;

	*ret_bytes = bytes ? bytes : 1;
	if (*text >= 0x20 && *text < 0x7f)
		return 1;
	/* in a locale of another encoding these bytes are other characters, or none */
	if (!bytes || mbrtowc(&character, text, bytes, &state) != bytes)
		return 0;

	int width = wcwidth(character);

	return width > 0 ? (size_t)width : 0;
}

size_t width_fit(char *dst, size_t size, const char *text, size_t columns)
{
	size_t taken = 0, written = 0;

	while (*text && size) {
		size_t bytes, width = columns_at(text, &bytes);
		const char *from = width ? text : "?";
		size_t length = width ? bytes : 1;

		if (!width)
			width = 1;
		if (taken + width > columns || written + length >= size)
			break;
		memcpy(dst + written, from, length);
		written += length;
		taken += width;
		text += bytes;
	}
	if (size)
		dst[written] = '\0';
	return taken;
}

size_t width_of(const char *text)
{
	size_t columns = 0;

	while (*text) {
		size_t bytes, width = columns_at(text, &bytes);

		columns += width ? width : 1;
		text += bytes;
	}
	return columns;
}

size_t width_of_terminal(int fd)
{
	struct winsize size;

	return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}
