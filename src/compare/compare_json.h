/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison as one JSON document: fpless-formats(5). */
#pragma once

#include <stdio.h>

#include "compare/comparison.h"

void compare_json_write(FILE *to, const struct comparison *comparison);
