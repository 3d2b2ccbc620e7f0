/* SPDX-License-Identifier: Apache-2.0 */
/* The options of pictures, for every verb that draws. */
#pragma once

#include <argp.h>

#include "picture/picture_options.h"

/*
 * Argp of these options; its input is a struct picture_options, which it first sets to the
 * defaults. An invalid option ends the process with CLI_EXIT_USAGE and one line.
 */
extern const struct argp picture_argp;
