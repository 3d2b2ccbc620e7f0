/* SPDX-License-Identifier: Apache-2.0 */
/* Members of JSON objects as the readers want them: of the right type and range, or an error. */
#pragma once

#include <json-c/json.h>
#include <stdint.h>

#include "recording/reading.h"

/* The whole number @value (of @key, for messages) of at most @max. */
FPL_MUST_CHECK int jsonl_whole(const struct reading *reading, const char *key, json_object *value,
			       uint64_t max, uint64_t *ret, struct fpl_err *err);

/* A whole number of at most @max; 0 where @key is absent or null. */
FPL_MUST_CHECK int jsonl_number(const struct reading *reading, json_object *object, const char *key,
				uint64_t max, uint64_t *ret, struct fpl_err *err);

/* A number that is written as the text "0x..."; RECORDING_NO_ADDRESS where it is absent or null. */
FPL_MUST_CHECK int jsonl_address(const struct reading *reading, json_object *object,
				 const char *key, uint64_t *ret, struct fpl_err *err);

/*
 * The text @value (of @key, for messages), with \xHH of bytes that are no UTF-8 undone; the caller
 * frees it. NULL where @value is.
 */
FPL_MUST_CHECK int jsonl_text_of(const struct reading *reading, const char *key, json_object *value,
				 char **ret, struct fpl_err *err);

/* The text at @key as one of the recording; 0 where it is absent or null. */
FPL_MUST_CHECK int jsonl_interned(struct reading *reading, json_object *object, const char *key,
				  uint32_t *ret, struct fpl_err *err);
