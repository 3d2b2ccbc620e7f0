/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/walk_options.h"

#include <string.h>

#include "base/cleanup.h"
#include "cli/cli.h"

#define refuse(state, ...) argp_failure(state, CLI_EXIT_USAGE, 0, __VA_ARGS__)

void walk_options_unwind(const char *arg, enum engine_unwind *ret, struct argp_state *state)
{
	if (!strcmp(arg, "auto"))
		*ret = ENGINE_UNWIND_AUTO;
	else if (!strcmp(arg, "cfi"))
		*ret = ENGINE_UNWIND_CFI;
	else if (!strcmp(arg, "fp"))
		*ret = ENGINE_UNWIND_FP;
	else
		refuse(state, "--unwind %s: expected auto, cfi or fp", arg);
}

/* perf's dwarf takes a dump size behind a comma; there is no dump here to size. */
void walk_options_call_graph(const char *arg, enum engine_unwind *ret, struct argp_state *state)
{
	if (!strcmp(arg, "fp"))
		*ret = ENGINE_UNWIND_FP;
	else if (!strncmp(arg, "dwarf", 5) && (arg[5] == '\0' || arg[5] == ','))
		*ret = ENGINE_UNWIND_AUTO;
	else
		refuse(state, "--call-graph %s: expected fp or dwarf", arg);
}

void walk_options_script(const char *arg, struct script_options *ret, struct argp_state *state)
{
	static const char *const words[] = {
		[SCRIPT_MIX] = "mix", [SCRIPT_ONLY] = "only", [SCRIPT_ALL] = "all"
	};
	size_t length = strcspn(arg, ",");
	const char *lazy = arg[length] ? arg + length + 1 : arg;

	ret->mode = SCRIPT_MIX;
	ret->is_lazy = !strcmp(lazy, "lazy");
	if (ret->is_lazy && lazy == arg)
		return;
	for (size_t i = SCRIPT_MIX; i < ARRAY_SIZE(words); i++) {
		if (strlen(words[i]) == length && !strncmp(arg, words[i], length) &&
		    (!arg[length] || ret->is_lazy)) {
			ret->mode = (enum script_mode)i;
			return;
		}
	}
	refuse(state,
	       "--script %s: expected mix, only or all, with ,lazy behind it or not; or lazy", arg);
}

bool walk_options_yes(const char *option, const char *arg, struct argp_state *state)
{
	bool is_yes = !strcmp(arg, "yes");

	if (!is_yes && strcmp(arg, "no") != 0)
		refuse(state, "%s %s: expected yes or no", option, arg);
	return is_yes;
}
