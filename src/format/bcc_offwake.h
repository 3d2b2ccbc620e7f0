/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks as of bcc's offwaketime: where a thread waited, and who ended that. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "recording/recording.h"

/* Write @stack, of a recording of waits together with who ended them (RECORDING_DELIMITER), by
 * thread: as one line, or a line a frame. @delimited: put "-" between user and kernel frames. */
void bcc_put_offwake(FILE *to, bool folded, bool delimited, const struct recording *recording,
		     const struct recording_stack *stack);
