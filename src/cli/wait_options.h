/* SPDX-License-Identifier: Apache-2.0 */
/* Options about waits: which of them are sampled. Of verbs whose samples weigh them. */
#pragma once

#include <argp.h>

/* Argp of these options, the first child of the verb's; its input is a struct sampling_options,
 * whose blocks it fills in. An invalid option ends the process with CLI_EXIT_USAGE and one line. */
extern const struct argp wait_argp;
