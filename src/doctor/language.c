/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/language.h"

#include <stdio.h>
#include <string.h>

#include "doctor/judge.h"

void language_judge(const struct language *language, pid_t pid, bool is_named, bool is_shown,
		    struct check *check)
{
	char own[LANGUAGE_NAME_MAX], other[LANGUAGE_NAME_MAX];
	const char *name = language_name(language, own, sizeof(own));
	const char *first = language_first(language, other, sizeof(other));
	const char *way = language_way(language), *number;

	if (is_shown) {
		check_ok(check, "%s: stacks show its functions, with file and line", name);
		return;
	}
	if (is_named) {
		check_ok(check, "%s: the perf map or jitdump it writes names its functions", name);
		return;
	}
	if (!way) {
		check_ok(
			check,
			"%s: it cannot name the functions it runs: stacks show what executes them%s%s%s",
			name, first ? "; " : "", first ? first : "", first ? " and later can" : "");
		return;
	}
	check_fact(check, "%s", name);
	check_warn(check, "its functions have no names");
	number = strstr(way, "PID ");
	if (number)
		check_fix(check, "%.*s%d%s", (int)(number - way), way, (int)pid, number + 3);
	else
		check_fix(check, "%s", way);
	if (!language->has_version && first && strlen(check->fix) + 1 < sizeof(check->fix)) {
		size_t length = strlen(check->fix);

		snprintf(check->fix + length, sizeof(check->fix) - length, " (%s or later)", first);
	}
}
