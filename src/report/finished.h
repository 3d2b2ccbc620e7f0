/* SPDX-License-Identifier: Apache-2.0 */
/* A finished profile as a recording with names and numbers; with two walks of each stack, the
 * recording has their classes, too. */
#pragma once

#include "naming/recorded.h"

/* As recorded_make(), with all numbers of a finished run. */
void finished_make(struct names *names, struct recording *ret);
