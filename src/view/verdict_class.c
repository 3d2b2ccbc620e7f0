/* SPDX-License-Identifier: Apache-2.0 */
#include "view/verdict_class.h"

const char *verdict_class_key(enum verdict_class class)
{
	static const char *const keys[VERDICT_CLASS_COUNT] = {
#define X(name, key, text) [VERDICT_##name] = #key,
		VERDICT_CLASS_LIST(X)
#undef X
			[VERDICT_UNJUDGED] = "unjudged",
	};

	return keys[class];
}
