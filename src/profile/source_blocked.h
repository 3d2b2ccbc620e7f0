/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of waits: the stack is taken in the best way that the kernel has. */
#pragma once

#include "profile/engine.h"

/* The way that a run takes here: one that always is there is the last. Needs the right to load
 * programs. Cost: about 1 ms. */
enum blocked_way source_blocked_way(void);
