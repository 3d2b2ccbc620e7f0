/* SPDX-License-Identifier: Apache-2.0 */
/* The closing numbers of a recording as JSON: --stats, and the books of other formats. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "view/json.h"
#include "recording/recording.h"

/*
 * Write them into the object that is open, in the order of the documentation: what the recording
 * says of the run, then its numbers, a key "a.b" as a member b of an object a. @shown: what was
 * written, in the place of the number of that name.
 */
void books_write_json(struct json *json, const struct recording *recording, uint64_t shown);

/* Write what is said of source @i of several into the object that is open. */
void books_write_source(struct json *json, const struct recording *recording, size_t i);
