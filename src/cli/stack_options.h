/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the sampled stacks are shown, by the names in them: --focus and --ignore. */
#pragma once

#include <argp.h>

/* Argp of these options; its input is the struct sampling_options they are part of. An invalid
 * option ends the process with CLI_EXIT_USAGE and one line. */
extern const struct argp stack_filter_argp;
