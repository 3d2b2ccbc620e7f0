/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that reads code objects of scripts from their processes while these run, with
 * --script=lazy (decision 0056): the thread of the run waits for no process.
 */
#pragma once

#include "base/err.h"
#include "profile/script_codes.h"

struct script_reader;

/* Time between two readings: what a program has for so long, and then drops, has its name. */
#define SCRIPT_READER_PAUSE_MS 100u

/* Begin the thread. Errors: -ENOMEM, -EAGAIN. */
FPL_MUST_CHECK int script_reader_begin(struct script_reader **ret);

/* From now on read what @codes wants. Those before are read once more. */
void script_reader_watch(struct script_reader *reader, struct script_codes *codes);

/* Read for the last time, and end the thread. NULL is allowed. */
void script_reader_finish(struct script_reader *reader);
