/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/name_rule.h"

#include <string.h>

static size_t underscores(const char *name)
{
	return strncmp(name, "__vdso_", 7) == 0 ? 0 : strspn(name, "_");
}

int name_rule_compare(const struct name_candidate *a, const struct name_candidate *b)
{
	bool local_a = a->binding == NAME_LOCAL, local_b = b->binding == NAME_LOCAL;
	size_t under_a, under_b, len_a, len_b;

	if (a->untyped != b->untyped)
		return a->untyped ? 1 : -1;
	if (local_a != local_b)
		return local_a ? 1 : -1;
	under_a = underscores(a->text);
	under_b = underscores(b->text);
	if (under_a != under_b)
		return under_a < under_b ? -1 : 1;
	if (a->binding != b->binding)
		return a->binding < b->binding ? -1 : 1;
	len_a = strlen(a->text);
	len_b = strlen(b->text);
	if (len_a != len_b)
		return len_a < len_b ? -1 : 1;
	return strcmp(a->text, b->text);
}
