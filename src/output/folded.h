/* SPDX-License-Identifier: Apache-2.0 */
/* Folded stacks: `comm;root;...;leaf COUNT`, what flame graph tools read. */
#pragma once

#include <stdio.h>

#include "output/merge.h"

/*
 * Write every merged stack, ascending by count, ties by text. Returns the sum of the counts
 * written. Write errors stay in @to (ferror).
 */
uint64_t folded_write(FILE *to, const struct names *names, const struct merged *merged);
