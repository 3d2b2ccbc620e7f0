/* SPDX-License-Identifier: Apache-2.0 */
/* The words of options that say how stacks are walked. Each refuses by argp what is no such word.
 */
#pragma once

#include <argp.h>

#include "profile/engine.h"

/* --unwind */
void walk_options_unwind(const char *arg, enum engine_unwind *ret, struct argp_state *state);
/* --call-graph, as perf has it */
void walk_options_call_graph(const char *arg, enum engine_unwind *ret, struct argp_state *state);
/* --script: mix, only or all; lazy alone, or behind one of these and a comma. */
void walk_options_script(const char *arg, struct script_options *ret, struct argp_state *state);
/* The argument of @option, which is yes or no. */
bool walk_options_yes(const char *option, const char *arg, struct argp_state *state);
