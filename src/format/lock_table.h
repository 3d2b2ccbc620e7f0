/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The locks of a recording of `fpless locks`: how long threads waited at each, who waited, and who
 * ended it. Waits that are no locks' come below them, so that no idle thread stands above a mutex.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "recording/recording.h"
#include "view/frame_texts.h"

/* Are the stacks of @recording told apart by locks? */
bool lock_table_fits(const struct recording *recording);

/* Write it to @to; a lack of memory ends the process. Cost: O(stacks log stacks). */
void lock_table_write(FILE *to, const struct frame_texts *texts);
