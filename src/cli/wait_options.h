/* SPDX-License-Identifier: Apache-2.0 */
/* Options about waits: which of them are sampled. Of verbs whose samples weigh them. */
#pragma once

#include <argp.h>

#include "profile/engine.h"

/* Argp of these options, the first child of the verb's; its input is a struct sampling_options,
 * whose blocks it fills in. An invalid option ends the process with CLI_EXIT_USAGE and one line. */
extern const struct argp wait_argp;

/* Can a wait be as long as -m and -M say? If not, the process ends in the same way. */
void wait_options_check(const struct engine_blocks *blocks, struct argp_state *state);
