/* SPDX-License-Identifier: Apache-2.0 */
/* Requirements of a fuzz target on an answer. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

/* Abort, with the claim, where it does not hold. */
#define REQUIRE(claim)                                                                      \
	do {                                                                                \
		if (!(claim)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #claim); \
			abort();                                                            \
		}                                                                           \
	} while (0)
