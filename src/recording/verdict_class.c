/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/verdict_class.h"

#include <string.h>

static const struct {
	const char *key, *text;
} classes[VERDICT_CLASS_COUNT] = {
#define X(name, key, text) [VERDICT_##name] = { #key, text },
	VERDICT_CLASS_LIST(X)
#undef X
		[VERDICT_UNJUDGED] = {
			"unjudged",
			"there is no CFI walk, complete and by CFI alone, to judge it by",
		},
};

const char *verdict_class_key(enum verdict_class class)
{
	return classes[class].key;
}

const char *verdict_class_text(enum verdict_class class)
{
	return classes[class].text;
}

enum verdict_class verdict_class_of_key(const char *key)
{
	unsigned class = 0;

	while (class < VERDICT_CLASS_COUNT && strcmp(key, classes[class].key) != 0)
		class ++;
	return (enum verdict_class) class;
}
