/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/code_maker.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"

enum code_maker code_maker_of(const char *path)
{
	static const struct {
		const char *name;
		bool is_whole; /* what follows the name is no part of another one */
		enum code_maker maker;
	} names[] = {
		{ "libjvm.so", true, CODE_MAKER_JVM },	{ "libpcre2-", false, CODE_MAKER_PCRE2 },
		{ "qemu-", false, CODE_MAKER_QEMU },	{ "libguile-", false, CODE_MAKER_GUILE },
		{ "php", false, CODE_MAKER_PHP },	{ "libphp", false, CODE_MAKER_PHP },
		{ "luajit", false, CODE_MAKER_LUAJIT }, { "libluajit", false, CODE_MAKER_LUAJIT },
		{ "beam.smp", true, CODE_MAKER_BEAM },
	};
	const char *slash = strrchr(path, '/');

	for (size_t i = 0; slash && i < ARRAY_SIZE(names); i++) {
		size_t length = strlen(names[i].name);

		if (strncmp(slash + 1, names[i].name, length) == 0 &&
		    (!names[i].is_whole || !slash[1 + length]))
			return names[i].maker;
	}
	return CODE_MAKER_NONE;
}
