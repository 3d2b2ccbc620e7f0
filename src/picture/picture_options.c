/* SPDX-License-Identifier: Apache-2.0 */
#include "picture/picture_options.h"

#include <stddef.h>
#include <string.h>

const struct picture_options picture_options_usual = { .min_width = -1 };

bool picture_options_set_colors(struct picture_options *options, const char *word)
{
	static const char *const words[PICTURE_COLORS_COUNT] = {
#define X(name, word_, text) [PICTURE_COLORS_##name] = #word_,
		PICTURE_COLORS_LIST(X)
#undef X
	};

	for (unsigned i = 0; i < PICTURE_COLORS_COUNT; i++) {
		if (!strcmp(words[i], word)) {
			options->colors = (enum picture_colors)i;
			options->colors_given = true;
			return true;
		}
	}
	return false;
}

uint32_t picture_width(const struct picture_options *options)
{
	return options->width ? options->width : PICTURE_WIDTH;
}

uint32_t picture_frame_height(const struct picture_options *options)
{
	return options->frame_height ? options->frame_height : PICTURE_FRAME_HEIGHT;
}

double picture_min_width(const struct picture_options *options)
{
	return options->min_width < 0 ? PICTURE_MIN_WIDTH : options->min_width;
}
