/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/demangle.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>
#undef ARRAY_SIZE /* libiberty has its own */

#include "base/cleanup.h"

struct output {
	char *text; /* room for DEMANGLE_OUT_MAX bytes */
	size_t len;
	jmp_buf too_long;
};

static void append(const char *text, size_t len, void *opaque)
{
	struct output *out = opaque;

	/*
	 * The demangler has no way to be told to stop and would go on for hours; it holds its state
	 * on the stack, so leaving it by a jump loses nothing.
	 */
	if (len > DEMANGLE_OUT_MAX - out->len)
		longjmp(out->too_long, 1);
	if (len) /* an empty piece may come as NULL */
		memcpy(out->text + out->len, text, len);
	out->len += len;
}

static bool run(const char *mangled, struct output *out)
{
	const int options = DMGL_PARAMS | DMGL_ANSI;

	if (setjmp(out->too_long))
		return false;
	if (rust_demangle_callback(mangled, options, append, out))
		return true;
	/* What a failed attempt has written does not count. */
	out->len = 0;
	return cplus_demangle_v3_callback(mangled, options, append, out) != 0;
}

char *demangle_name(const char *mangled)
{
	AUTO_FREE char *text = NULL, *bare = NULL;
	struct output out = { .len = 0 };
	const char *suffix;

	/* All that libiberty takes starts like this; most names of C programs do not. */
	if (mangled[0] != '_' || (mangled[1] != 'Z' && mangled[1] != 'R'))
		return NULL;
	if (strnlen(mangled, DEMANGLE_IN_MAX + 1) > DEMANGLE_IN_MAX)
		return NULL;
	text = malloc(DEMANGLE_OUT_MAX + DEMANGLE_IN_MAX + 1);
	/* "@plt" and its like are no part of the mangling. */
	suffix = strchrnul(mangled, '@');
	bare = strndup(mangled, (size_t)(suffix - mangled));
	if (!text || !bare)
		return NULL;
	out.text = text;
	if (!run(bare, &out) || out.len == 0)
		return NULL;
	memcpy(text + out.len, suffix, strlen(suffix) + 1);
	return strdup(text);
}
