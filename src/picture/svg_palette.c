/* SPDX-License-Identifier: Apache-2.0 */
#include "picture/svg_palette.h"

#include <stdint.h>

#include "base/cleanup.h"

/* How many shades a name can have, and an object. */
enum { NR_SHADES = 16, NR_OBJECTS = 32 };

/* Shades of one kind of code: hues from @hue on, and how strong they are in daylight and at night.
 */
struct shades {
	char letter;
	unsigned nr, hue, hues, saturation, light, dark;
};

static const struct shades hot[] = {
	{ 'h', NR_SHADES, 2, 50, 88, 64, 30 },
	{ 'k', NR_SHADES, 318, 24, 52, 76, 32 },
	{ 's', NR_SHADES, 88, 56, 52, 70, 28 },
};
static const struct shades cold[] = {
	{ 'h', NR_SHADES, 188, 46, 68, 70, 30 },
	{ 'k', NR_SHADES, 140, 36, 42, 70, 27 },
	{ 's', NR_SHADES, 60, 40, 52, 70, 28 },
};
static const struct shades off_cpu[] = {
	{ 'b', NR_SHADES, 188, 46, 68, 70, 30 },
	{ 'd', NR_SHADES, 140, 36, 42, 70, 27 },
};
static const struct shades wakers[] = {
	{ 'w', NR_SHADES, 262, 24, 48, 76, 32 },
};
static const struct shades objects[] = {
	{ 'h', NR_OBJECTS, 0, 360, 58, 72, 31 },
};

/* By enum fpl_origin, then kernel code and code of unknown origin. */
static const struct {
	const char *light, *dark;
} origins[FPL_ORIGIN_COUNT + 2] = {
	[FPL_ORIGIN_CFI] = { "#8fd19e", "#24653a" },
	[FPL_ORIGIN_CFI_USER] = { "#86c5d8", "#1f5668" },
	[FPL_ORIGIN_FP] = { "#f2938a", "#8a2f2a" },
	[FPL_ORIGIN_SYNTH] = { "#f3cf6d", "#6b5412" },
	[FPL_ORIGIN_SCRIPT] = { "#9db7f0", "#2f4b8f" },
	[FPL_ORIGIN_JIT] = { "#e0a878", "#7a4a20" },
	[FPL_ORIGIN_COUNT] = { "#c9b3e6", "#4c3a6b" },
	[FPL_ORIGIN_COUNT + 1] = { "#c4c4c4", "#50545c" },
};

static void put_shades(FILE *to, const struct shades *shades, bool dark)
{
	for (unsigned i = 0; i < shades->nr; i++) {
		unsigned hue = (shades->hue + i * shades->hues / shades->nr) % 360;
		/* neighbours in hue differ in light, so that more can be told apart */
		unsigned light = (dark ? shades->dark : shades->light) + 3 * (i % 4);

		fprintf(to, ".fpl .%c%u rect { fill: hsl(%u,%u%%,%u%%); }\n", shades->letter, i,
			hue, dark ? shades->saturation * 2 / 3 : shades->saturation, light);
	}
}

static void put_list(FILE *to, const struct shades *list, size_t nr, bool dark)
{
	for (size_t i = 0; i < nr; i++)
		put_shades(to, &list[i], dark);
}

static void put_all(FILE *to, const struct picture_options *options, bool dark)
{
	switch (options->colors) {
	case PICTURE_COLORS_COLD:
		put_list(to, cold, ARRAY_SIZE(cold), dark);
		break;
	case PICTURE_COLORS_OBJECT:
		put_shades(to, &objects[0], dark);
		break;
	case PICTURE_COLORS_ORIGIN:
		for (unsigned i = 0; i < FPL_ORIGIN_COUNT + 2; i++)
			fprintf(to, ".fpl .o%u rect { fill: %s; }\n", i,
				dark ? origins[i].dark : origins[i].light);
		break;
	default:
		put_list(to, hot, ARRAY_SIZE(hot), dark);
	}
}

void svg_palette_put_css(FILE *to, const struct picture_options *options)
{
	put_all(to, options, false);
	fputs("@media (prefers-color-scheme: dark) {\n", to);
	put_all(to, options, true);
	fputs("}\n", to);
}

static void put_more(FILE *to, const struct shades *list, size_t nr)
{
	for (unsigned dark = 0; dark < 2; dark++) {
		fputs(dark ? "@media (prefers-color-scheme: dark) {\n" : "", to);
		put_list(to, list, nr, dark);
		fputs(dark ? "}\n" : "", to);
	}
}

void svg_palette_put_state_css(FILE *to, const struct picture_options *options)
{
	svg_palette_put_css(to, options);
	put_more(to, off_cpu, ARRAY_SIZE(off_cpu));
}

void svg_palette_put_waker_css(FILE *to, const struct picture_options *options)
{
	svg_palette_put_state_css(to, options);
	put_more(to, wakers, ARRAY_SIZE(wakers));
}

/* The same in every run, so that a function keeps its colour from picture to picture. */
static uint32_t hash_text(const char *text)
{
	uint32_t hash = 2166136261u;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 16777619u;
	return hash ^ hash >> 15;
}

/* The letter of the shades for its kind of code. */
static char letter_of(const struct svg_paint *paint)
{
	bool kernel = paint->kind == FUNCTION_KERNEL;

	if (paint->of_waker)
		return 'w';
	if (paint->off_cpu)
		return kernel ? 'd' : 'b';
	if (kernel)
		return 'k';
	return paint->origin == FPL_ORIGIN_SCRIPT ? 's' : 'h';
}

static void put_color(const struct picture_options *options, const struct svg_paint *paint,
		      char *buf, size_t size)
{
	bool kernel = paint->kind == FUNCTION_KERNEL;

	if (paint->kind == FUNCTION_LABEL)
		snprintf(buf, size, "l");
	else if (options->colors == PICTURE_COLORS_OBJECT && !*paint->object)
		snprintf(buf, size, "l");
	else if (options->colors == PICTURE_COLORS_OBJECT)
		snprintf(buf, size, "h%u", hash_text(paint->object) % NR_OBJECTS);
	else if (options->colors == PICTURE_COLORS_ORIGIN)
		snprintf(buf, size, "o%u",
			 kernel				    ? FPL_ORIGIN_COUNT
			 : paint->origin < FPL_ORIGIN_COUNT ? paint->origin
							    : FPL_ORIGIN_COUNT + 1u);
	else
		snprintf(buf, size, "%c%u", letter_of(paint), hash_text(paint->name) % NR_SHADES);
}

const char *svg_palette_class(const struct picture_options *options, const struct svg_paint *paint,
			      char buf[static SVG_PALETTE_CLASS_SIZE])
{
	char color[8];

	put_color(options, paint, color, sizeof(color));
	snprintf(buf, SVG_PALETTE_CLASS_SIZE, "%s%s%s%s", color,
		 paint->kind == FUNCTION_INLINED ? " i" : "", paint->by_synth ? " m" : "",
		 paint->by_fp ? " f" : "");
	return buf;
}
